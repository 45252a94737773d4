"""A small propositionizer, trained on what a large one returned (Dense X Retrieval, Appendix B)."""
