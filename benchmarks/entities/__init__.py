"""Entity linking and Entity Retrieval on real questions: `python -m benchmarks.entities.linking --help`."""
