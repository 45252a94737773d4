"""The measures of the papers, for rankings, answers and entity linkers."""
