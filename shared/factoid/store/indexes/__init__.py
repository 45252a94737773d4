"""The indexes of a store at one generation, built from the database and cached in files."""
