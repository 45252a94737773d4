"""The SQLite database of a store: the truth of which indexes are caches."""
