"""The measures of the papers: of rankings, of answers, of entity linkers, and of what they cost."""
