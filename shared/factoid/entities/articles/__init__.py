"""Articles by the names of what they are about, in one file."""
