"""Clean text from layout services, traced back to the page, and tables as grids of cells."""

from factoid.documents.boxes import Box, regions
from factoid.documents.clean import CleaningOptions, clean
from factoid.documents.document import Figure, LayoutDocument, Paragraph, Section
from factoid.documents.ingest import aadd_layout, add_layout, summary_documents
from factoid.documents.layout import Element, Layout, Page, Picture, Words
from factoid.documents.pdf import draw_regions, read_pdf
from factoid.documents.read import read_layout, read_markdown
from factoid.documents.summarize import SummaryReport, TableSummarizer, TableSummary
from factoid.documents.table_parsers import markdown_tables
from factoid.documents.table_sentences import RowProposition, row_propositions
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
    "RowProposition",
    "Section",
    "SummaryReport",
    "Table",
    "TableSummarizer",
    "TableSummary",
    "Words",
    "aadd_layout",
    "add_layout",
    "clean",
    "draw_regions",
    "markdown_tables",
    "read_layout",
    "read_markdown",
    "read_pdf",
    "regions",
    "row_propositions",
    "summary_documents",
]
