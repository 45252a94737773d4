"""Entity linkers, which find the articles that a question names (Entity Retrieval, §3)."""
