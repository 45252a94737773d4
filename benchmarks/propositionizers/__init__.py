"""Speed of propositionizers: `python -m benchmarks.propositionizers --help`."""
