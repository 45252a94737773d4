"""Entity Retrieval: from the entities in a question to the first words of their articles (Shavarani and Sarkar, 2024)."""
