"""The experiments of the papers, at the scale that given data allow."""
