"""Stores side by side: `python -m benchmarks.store --help`."""
