"""Entity linkers: from a question to the titles of the articles about the entities it names (Entity Retrieval, §3)."""
