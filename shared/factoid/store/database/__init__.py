"""The SQLite database of a store, which holds all its data; indexes are caches of it."""
