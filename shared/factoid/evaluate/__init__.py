"""The measures of the papers: of rankings, of answers and of entity linkers."""
