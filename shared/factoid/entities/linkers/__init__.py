"""Entity linkers: from a text to the entities that it names."""
