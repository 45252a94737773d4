"""Train a small propositionizer on the output of a large one (Dense X Retrieval, Appendix B)."""
