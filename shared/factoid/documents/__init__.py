"""Clean text from layout services, traced back to the page, and tables as grids of cells."""

from factoid.documents.clean import clean
from factoid.documents.document import LayoutDocument, Part, SummaryReport
from factoid.documents.layout import Element, Layout, Page
from factoid.documents.pdf import draw_regions, read_pdf
from factoid.documents.read import read_layout, read_markdown
from factoid.documents.summarize import (
    aadd_layout,
    add_layout,
    asummarize_tables,
    summarize_tables,
)
from factoid.documents.table_parsers import markdown_tables
from factoid.documents.table_sentences import RowProposition, row_propositions
from factoid.documents.tables import Cell, Region, Table
from factoid.documents.word_boxes import Box, regions

__all__ = [
    "Box",
    "Cell",
    "Element",
    "Layout",
    "LayoutDocument",
    "Page",
    "Part",
    "Region",
    "RowProposition",
    "SummaryReport",
    "Table",
    "aadd_layout",
    "add_layout",
    "asummarize_tables",
    "clean",
    "draw_regions",
    "markdown_tables",
    "read_layout",
    "read_markdown",
    "read_pdf",
    "regions",
    "row_propositions",
    "summarize_tables",
]
