"""The indexes of a store: what is searched at one generation, built from the database and cached in files."""
