"""Retrieval by entities beside retrieval by similarity: `python -m benchmarks.entities --help`."""
