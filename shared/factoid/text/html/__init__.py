"""HTML as blocks of what a reader sees, with the place of each character in the source."""

from factoid.text.html.reader import html_blocks
from factoid.text.html.tags import TAGS

__all__ = ["TAGS", "html_blocks"]
