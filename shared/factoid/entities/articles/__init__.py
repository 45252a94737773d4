"""Articles about entities, found by the names of the entities, in one file."""
