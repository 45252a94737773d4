"""Documents as layout services read them: clean text that leads back to the page, and tables as grids of cells."""

from factoid.documents.boxes import Box, regions
from factoid.documents.clean import CleaningOptions, clean
from factoid.documents.document import Figure, LayoutDocument, Paragraph, Section
from factoid.documents.layout import Element, Layout, Page, Picture, Words
from factoid.documents.read import read_layout, read_markdown
from factoid.documents.tables import Cell, Region, Table

__all__ = [
    "Box",
    "Cell",
    "CleaningOptions",
    "Element",
    "Figure",
    "Layout",
    "LayoutDocument",
    "Page",
    "Paragraph",
    "Picture",
    "Region",
    "Section",
    "Table",
    "Words",
    "clean",
    "read_layout",
    "read_markdown",
    "regions",
]
