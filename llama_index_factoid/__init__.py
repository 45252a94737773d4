"""Retrieval at the right granularity, native in LlamaIndex."""
