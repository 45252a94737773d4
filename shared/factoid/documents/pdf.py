"""Read PDFs with text as layouts without a service, and draw pages with the evidence of an answer marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.documents.boxes import Box
from factoid.documents.layout import Element, Layout, Page, grouped
from factoid.documents.table_parsers import with_captions
from factoid.documents.tables import Cell, Region, Table, is_number
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.sentences import Span

if TYPE_CHECKING:
    from PIL.Image import Image

_INCH = 72  # points
_HEADING = 1.15  # times the size of most words: a heading
_GAP = 0.6  # of a line's height: lines further apart belong to different paragraphs
_SEPARATOR = "\n\n"  # between paragraphs
_COLOR = (255, 196, 0)

_Word = dict[str, Any]  # as pdfplumber returns it, with places in points


@dataclass(frozen=True, slots=True)
class _Paragraph:
    span: Span
    page: int
    size: float
    line_count: int


@dataclass(slots=True)
class _Reader:
    """The layout that grows page by page."""

    texts: list[str] = field(default_factory=list)
    length: int = 0
    words: list[Box] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    paragraphs: list[_Paragraph] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    def add(self, words: Sequence[_Word], page: int) -> Span:
        """Append words as a paragraph, and return their span."""
        start = at = self.length + (len(_SEPARATOR) if self.texts else 0)
        for word in words:
            end = at + len(word["text"])
            place = _in_inches([word[side] for side in ("x0", "top", "x1", "bottom")])
            self.words.append(Box(at, end, page, place))
            at = end + 1
        self.texts.append(_text(words))
        self.length = start + len(self.texts[-1])
        return start, self.length

    def read_page(self, page: Any) -> None:
        """Append the paragraphs and the tables of a page, in the order of its text."""
        number, start = int(page.page_number), self.length
        words = page.extract_words(use_text_flow=True, keep_blank_chars=False, extra_attrs=["size", "fontname"])
        grids = sorted((grid for grid in page.find_tables() if len(grid.cells) > 1), key=lambda grid: grid.bbox[1])
        inside = {id(word): grid for grid in grids for word in words if _lies_in(word, grid.bbox)}

        def read_tables(above: float) -> None:
            while grids and grids[0].bbox[1] < above:
                grid = grids.pop(0)
                of_grid = [word for word in words if inside.get(id(word)) is grid]
                self.tables.append(_table(grid, of_grid, number, self.add(of_grid, number)))

        for lines in _paragraphs(_lines(word for word in words if id(word) not in inside)):
            read_tables(above=lines[0][0]["top"])
            flat = [word for line in lines for word in line]
            size = median(word["size"] for word in flat)
            self.paragraphs.append(_Paragraph(self.add(flat, number), number, size, len(lines)))
        read_tables(above=float("inf"))
        width, height = _in_inches((page.width, page.height))
        self.pages.append(Page(number, width, height, "inch", ((start, self.length),)))


def read_pdf(path: str | PathLike[str]) -> Layout:
    """Read the text of a PDF with the places of its words, its ruled tables, and headings by their font size.

    Text is in the order in which the PDF draws it. The first row of a table is its header if it holds no number. For scans,
    for tables without rules and for difficult layouts, use a layout service and `read_layout`.

    Raises:
        MissingDependencyError: pdfplumber is not installed.
        UnreadableFileError: The file is missing, damaged, encrypted, or holds no text, as scans do.
    """
    pdfplumber: Any = require("pdfplumber", extra="documents")
    reader = _Reader()
    try:
        with pdfplumber.open(path) as pdf:
            for page in pdf.pages:
                reader.read_page(page)
                page.close()
    except OSError as error:
        raise UnreadableFileError(f"{path} cannot be read: {error.strerror or error}") from error
    except require("pdfplumber.utils.exceptions", extra="documents").PdfminerException as error:
        raise UnreadableFileError(f"{path} is not a PDF, is damaged or encrypted: {error!r:.120}") from error
    if not reader.texts:
        raise UnreadableFileError(f"{path} holds no text: pages that are pictures need a layout service")
    content, roles = _SEPARATOR.join(reader.texts), _roles(reader.paragraphs)
    elements = (Element((part.span,), role) for part, role in zip(reader.paragraphs, roles, strict=True))
    tables = with_captions(content, reader.tables)
    return Layout(content, False, tuple(reader.pages), reader.words, tuple(elements), tuple(tables))


def _table(grid: Any, words: Sequence[_Word], page: int, span: Span) -> Table:
    lefts, tops = (sorted({box[side] for box in grid.cells}) for side in (0, 1))  # pdfplumber aligns them
    cells = [
        Cell(
            tops.index(top),
            lefts.index(left),
            _text(word for word in words if _lies_in(word, (left, top, right, bottom))),
            sum(top <= other < bottom for other in tops),
            sum(left <= other < right for other in lefts),
            regions=(Region(page, _in_inches((left, top, right, bottom))),),
        )
        for left, top, right, bottom in grid.cells
    ]
    headers = _header_rows(cells, words, [*tops, float("inf")])
    cells = [replace(cell, kind="columnHeader") if cell.row < headers else cell for cell in cells]
    region = Region(page, _in_inches(grid.bbox))
    return Table(tuple(cells), len(tops), len(lefts), pages=(page,), span=span, regions=(region,))


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


def _roles(paragraphs: Sequence[_Paragraph]) -> list[str]:
    """Return the roles of paragraphs: short ones in large letters are headings, the largest of the first page is the title."""
    sizes: Counter[float] = Counter()
    for paragraph in paragraphs:
        sizes[round(paragraph.size, 1)] += paragraph.span[1] - paragraph.span[0]
    usual = sizes.most_common(1)[0][0] if sizes else 0.0
    large = [paragraph.size > _HEADING * usual and paragraph.line_count <= 3 for paragraph in paragraphs]
    roles = ["sectionHeading" if is_large else "" for is_large in large]
    first = [place for place, is_large in enumerate(large) if is_large and paragraphs[place].page == 1]
    if first:
        roles[max(first, key=lambda place: paragraphs[place].size)] = "title"
    return roles


def _text(words: Iterable[_Word]) -> str:
    return " ".join(word["text"] for word in words)


def _lies_in(word: _Word, box: Sequence[float]) -> bool:
    x, y = (word["x0"] + word["x1"]) / 2, (word["top"] + word["bottom"]) / 2
    return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])


def _in_inches(points: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(number) / _INCH for number in points)


def draw_regions(path: str | PathLike[str], regions: Iterable[Region], *, dpi: int = 110) -> dict[int, Image]:
    """Return the pages of a PDF that have regions as pictures by page number, with the regions marked.

    Args:
        path: The PDF that was analysed.
        regions: In inches, as `factoid.documents.regions` returns those of PDFs; for one without a rectangle the page is returned
            unmarked.
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
            if region.rectangle:
                sides = [number * dpi for number in region.rectangle]
                canvas = draw.Draw(images[region.page], "RGBA")
                canvas.rectangle(sides, fill=(*_COLOR, 70), outline=(*_COLOR, 255), width=2)
    return images
