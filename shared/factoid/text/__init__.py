"""Texts as a reader sees them."""
