"""Wikitext to plain text and links: a page is prepared once, then its lines are parsed until there are enough words."""
