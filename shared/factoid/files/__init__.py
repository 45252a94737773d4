"""Read and write files safely: limits, isolation, whole or not at all, SQLite."""
