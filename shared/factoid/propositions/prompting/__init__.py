"""Propositions from chat models, with the prompt of Dense X Retrieval (Figure 8)."""
