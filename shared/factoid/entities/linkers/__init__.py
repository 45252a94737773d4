"""Entity linkers: from a question to the titles of the articles about what it names (Entity Retrieval, §3)."""
