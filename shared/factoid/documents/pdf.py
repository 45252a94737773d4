"""Read PDFs with text as layouts without a service, and draw pages with the evidence of an answer marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import itemgetter
from os import PathLike
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.documents.boxes import Box
from factoid.documents.flow import running_heads
from factoid.documents.layout import Element, Layout, Page, Role, grouped, words_of
from factoid.documents.table_parsers import is_caption
from factoid.documents.tables import Cell, Region, Table, is_number
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.sentences import Span

if TYPE_CHECKING:
    from PIL.Image import Image

_INCH = 72  # points
_HEADING = 1.15  # times the size of most words: a heading
_GAP = 0.6  # of a line's height: lines further apart belong to different paragraphs
_MARGIN = 0.08  # of a page's height, at the top and at the bottom
_COLOR = (255, 196, 0)

_Word = dict[str, Any]  # as pdfplumber returns it, with places in points


@dataclass(frozen=True, slots=True)
class _Paragraph:
    text: str
    span: Span
    page: int
    top: float
    bottom: float
    size: float
    line_count: int
    margin: Role  # if it turns out to be furniture, or ""


@dataclass(slots=True)
class _Reader:
    """The layout that grows page by page."""

    texts: list[str] = field(default_factory=list)
    length: int = 0
    words: list[Box] = field(default_factory=list)
    paragraphs: list[_Paragraph] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    def add(self, words: Sequence[_Word], page: int) -> Span:
        """Append words on a line of their own, and return their span."""
        start = self.length + (1 if self.texts else 0)
        at = start
        for word in words:
            end = at + len(word["text"])
            self.words.append(Box(at, end, page, _corners(word["x0"], word["top"], word["x1"], word["bottom"])))
            at = end + 1
        self.texts.append(_text(words))
        self.length = start + len(self.texts[-1])
        return start, self.length

    def read_page(self, page: Any) -> Page:
        """Append the paragraphs and the tables of a page, in the order of its text."""
        number, start, first = int(page.page_number), self.length, len(self.paragraphs)
        words = page.extract_words(use_text_flow=True, keep_blank_chars=False, extra_attrs=["size", "fontname"])
        grids = sorted((grid for grid in page.find_tables() if len(grid.cells) > 1), key=lambda grid: grid.bbox[1])
        inside = {id(word): grid for grid in grids for word in words if _lies_in(word, grid.bbox)}
        tables: list[Table] = []

        def read_tables(above: float) -> None:
            while grids and grids[0].bbox[1] < above:
                grid = grids.pop(0)
                tables.append(self.read_table(grid, [word for word in words if inside.get(id(word)) is grid], number))

        for lines in _paragraphs(_lines(word for word in words if id(word) not in inside)):
            read_tables(above=lines[0][0]["top"])
            flat = [word for line in lines for word in line]
            top, bottom = min(word["top"] for word in flat), max(word["bottom"] for word in flat)
            margin: Role = "pageHeader" if bottom < _MARGIN * page.height else ""
            margin = "pageFooter" if top > (1 - _MARGIN) * page.height else margin
            size = median(word["size"] for word in flat)
            span = self.add(flat, number)
            self.paragraphs.append(_Paragraph(_text(flat), span, number, top, bottom, size, len(lines), margin))
        read_tables(above=float("inf"))
        self.tables += _with_captions(tables, self.paragraphs[first:])
        width, height = float(page.width) / _INCH, float(page.height) / _INCH
        return Page(number, width, height, "inch", spans=((start, self.length),))

    def read_table(self, grid: Any, words: Sequence[_Word], page: int) -> Table:
        """Append the words of a table cell by cell, and return it."""
        lefts, tops = (sorted({box[side] for box in grid.cells}) for side in (0, 1))  # pdfplumber aligns them
        cells = []
        start = self.length + 1
        for box in sorted(grid.cells, key=itemgetter(1, 0)):
            within = [word for word in words if _lies_in(word, box)]
            cells.append(
                Cell(
                    tops.index(box[1]),
                    lefts.index(box[0]),
                    _text(within),
                    sum(box[1] <= top < box[3] for top in tops),
                    sum(box[0] <= left < box[2] for left in lefts),
                    span=self.add(within, page) if within else None,
                    regions=(Region(page, _corners(*box)),),
                )
            )
        headers = _header_rows(cells, words, [*tops, float("inf")])
        cells = [replace(cell, kind="columnHeader") if cell.row < headers else cell for cell in cells]
        region = Region(page, _corners(*grid.bbox))
        span = min(start, self.length), self.length
        return Table(tuple(cells), len(tops), len(lefts), pages=(page,), span=span, regions=(region,))


def read_pdf(path: str | PathLike[str]) -> Layout:
    """Read the text of a PDF with the places of its words, its ruled tables, and headings by their font size.

    Text is in the order in which the PDF draws it. The first row of a table is its header if it holds no number. For scans,
    for tables without rules and for difficult layouts, use a layout service and `read_layout`.

    Raises:
        MissingDependencyError: pdfplumber is not installed.
        UnreadableFileError: The file is missing, damaged, encrypted, or holds no text, as scans do.
    """
    pdfplumber: Any = require("pdfplumber", extra="documents")
    path = Path(path)
    reader = _Reader()
    pages: list[Page] = []
    try:
        with pdfplumber.open(path) as pdf:
            for page in pdf.pages:
                pages.append(reader.read_page(page))
                page.close()
    except OSError as error:
        raise UnreadableFileError(f"{path} cannot be read: {error.strerror or error}") from error
    except require("pdfplumber.utils.exceptions", extra="documents").PdfminerException as error:
        raise UnreadableFileError(f"{path} is not a PDF, is damaged or encrypted: {error!r:.120}") from error
    if not reader.texts:
        raise UnreadableFileError(f"{path} holds no text: pages that are pictures need a layout service")
    roles = zip(reader.paragraphs, _roles(reader.paragraphs), strict=True)
    elements = tuple(Element((paragraph.span,), role) for paragraph, role in roles)
    content, words = "\n".join(reader.texts), words_of(reader.words)
    return Layout(content, False, tuple(pages), words, elements, tuple(reader.tables))


def _lines(words: Iterable[_Word]) -> Iterator[list[_Word]]:
    """Return words in lines: those that follow each other at one height."""

    def apart(last: _Word, word: _Word) -> bool:
        return bool(abs(word["bottom"] - last["bottom"]) >= _GAP * last["size"] or word["x0"] <= last["x0"])

    return grouped(words, apart)


def _paragraphs(lines: Iterable[list[_Word]]) -> Iterator[list[list[_Word]]]:
    """Return lines in paragraphs: those of one size that are close to each other."""

    def apart(above: list[_Word], line: list[_Word]) -> bool:
        size, gap = line[0]["size"], line[0]["top"] - above[0]["bottom"]
        return abs(size - above[0]["size"]) >= 0.5 or not -size < gap < _GAP * size

    return grouped(lines, apart)


def _header_rows(cells: Sequence[Cell], words: Sequence[_Word], tops: Sequence[float]) -> int:
    """Return the number of rows in bold if others are not; else 1 if the first row has texts and no number."""
    bold = []
    for top, bottom in pairwise(tops):
        fonts = {word["fontname"].lower() for word in words if top <= (word["top"] + word["bottom"]) / 2 < bottom}
        bold.append(bool(fonts) and all("bold" in font or "black" in font for font in fonts))
    first = [cell.text for cell in cells if cell.row == 0]
    named = len(bold) > 1 and any(first) and not any(map(is_number, first))
    return bold.index(False) if bold[0] and not all(bold) else int(named)


def _with_captions(tables: Iterable[Table], paragraphs: Iterable[_Paragraph]) -> Iterator[Table]:
    """Yield the tables of a page, each with the nearest paragraph that names one."""
    captions = [paragraph for paragraph in paragraphs if is_caption(paragraph.text)]
    for table in tables:
        top, bottom = (table.regions[0].polygon[corner] * _INCH for corner in (1, 7))
        if captions:
            distances = [min(abs(caption.top - bottom), abs(top - caption.bottom)) for caption in captions]
            caption = captions.pop(distances.index(min(distances)))
            table = replace(table, caption=caption.text, caption_span=caption.span)
        yield table


def _roles(paragraphs: Sequence[_Paragraph]) -> list[Role]:
    """Return the roles of the paragraphs.

    Text in the margin that is the same on two or more pages, except for page numbers, is a header, footer or page number. The
    largest text of the first page is the title, and short paragraphs larger than most words are headings.
    """
    margins = [place for place, paragraph in enumerate(paragraphs) if paragraph.margin]
    lines = [(paragraphs[place].page, paragraphs[place].text) for place in margins]
    heads = {margins[line] for line in running_heads(lines, 2)}
    sizes: Counter[float] = Counter()
    for place, paragraph in enumerate(paragraphs):
        sizes[round(paragraph.size, 1)] += 0 if place in heads else len(paragraph.text)
    usual = sizes.most_common(1)[0][0] if sizes else 0.0
    roles: list[Role] = []
    for place, paragraph in enumerate(paragraphs):
        if place in heads:
            roles.append("pageNumber" if paragraph.text.isdigit() else paragraph.margin)
        else:
            is_heading = paragraph.size > _HEADING * usual and paragraph.line_count <= 3
            roles.append("sectionHeading" if is_heading else "")
    first = [n for n, role in enumerate(roles) if role == "sectionHeading" and paragraphs[n].page == 1]
    if first:
        roles[max(first, key=lambda place: paragraphs[place].size)] = "title"
    return roles


def _text(words: Iterable[_Word]) -> str:
    return " ".join(word["text"] for word in words)


def _lies_in(word: _Word, box: Sequence[float]) -> bool:
    x, y = (word["x0"] + word["x1"]) / 2, (word["top"] + word["bottom"]) / 2
    return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])


def _corners(left: float, top: float, right: float, bottom: float) -> tuple[float, ...]:
    """Return the corners of a box in points as a polygon in inches."""
    return tuple(float(value) / _INCH for value in (left, top, right, top, right, bottom, left, bottom))


def draw_regions(path: str | PathLike[str], regions: Iterable[Region], *, dpi: int = 110) -> dict[int, Image]:
    """Return the pages of a PDF that have regions as pictures by page number, with the regions marked.

    Args:
        path: The PDF that was analysed.
        regions: In inches, as `factoid.documents.regions` and `LayoutDocument.locate` return those of PDFs; for one without a
            polygon the page is returned unmarked.
        dpi: Dots per inch of the pictures.

    Raises:
        MissingDependencyError: pypdfium2 or Pillow is not installed.
        UnreadableFileError: The file is missing, damaged or encrypted.
        InvalidInputError: A region's page is not in the PDF.
    """
    pypdfium2: Any = require("pypdfium2", extra="documents")
    draw: Any = require("PIL.ImageDraw", extra="documents")
    try:
        pdf = pypdfium2.PdfDocument(Path(path))
    except (pypdfium2.PdfiumError, OSError) as error:
        raise UnreadableFileError(f"{path} is not a PDF that can be opened: {error}") from error
    images: dict[int, Image] = {}
    with pdf:
        for region in regions:
            if not 1 <= region.page <= len(pdf):
                raise InvalidInputError(
                    f"a region is on page {region.page}, and {path} has {len(pdf)}: expected the PDF that was analysed"
                )
            if region.page not in images:
                page = pdf[region.page - 1]
                images[region.page] = page.render(scale=dpi / _INCH).to_pil().convert("RGB")
                page.close()
            if region.polygon:
                corners = [coordinate * dpi for coordinate in region.polygon]
                canvas = draw.Draw(images[region.page], "RGBA")
                canvas.polygon(corners, fill=(*_COLOR, 70), outline=(*_COLOR, 255), width=2)
    return images
