"""Read PDFs with text as layouts, and draw pages with marked evidence."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain, pairwise
from operator import itemgetter
from os import PathLike
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.documents.layout import Element, Layout, Page, grouped
from factoid.documents.table_parsers import with_captions
from factoid.documents.tables import Cell, Region, Table, is_number
from factoid.documents.word_boxes import Box
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.isolation import run_isolated
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.pdf_streams import open_pdf
from factoid.sentences import Span

if TYPE_CHECKING:
    from PIL.Image import Image

_INCH = 72  # points
_HEADING = 1.15  # times the size of most words: a heading
_GAP = 0.6  # of a line's height: lines further apart belong to different paragraphs
_COLUMN_GAP = 1.2  # of a line's height: a wider space within a line is between columns
# least lines, words in a line, and share of the page's width
_COLUMN_LINES = 3
_COLUMN_WORDS = 3
_COLUMN_WIDTH = 0.2
_SAME_GAP = 0.05  # of the page's width: how far gaps between the same columns are apart
_SEPARATOR = "\n\n"  # between paragraphs
_COLOR = (255, 196, 0)
_EXTRA = "documents"
_sides_of = itemgetter("x0", "top", "x1", "bottom")
_text_of = itemgetter("text")
_WORD_FIELDS = ("text", "x0", "top", "x1", "bottom", "size", "fontname")
_MOST_PIXELS = 200_000_000  # of a page's picture: 600 MB. A0 at 300 dots per inch has 140 million

_Word = Mapping[str, Any]  # as pdfplumber returns it, with places in points


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
        start = self.length
        if self.texts:
            start += len(_SEPARATOR)
        at = start
        for word in words:
            end = at + len(word["text"])
            place = _in_inches(_sides_of(word))
            self.words.append(Box(at, end, page, place))
            at = end + 1
        self.texts.append(_text(words))
        self.length = start + len(self.texts[-1])
        return start, self.length

    def add_page(self, page: Mapping[str, Any]) -> None:
        """Append the paragraphs and the tables of a page from `pdf_pages`."""
        number = page["number"]
        start = self.length
        for block in page["blocks"]:
            span = self.add(block["words"], number)
            if "cells" in block:
                self.tables.append(_table(block, number, span))
            else:
                self.paragraphs.append(_Paragraph(span, number, block["size"], block["line_count"]))
        width, height = _in_inches((page["width"], page["height"]))
        self.pages.append(Page(number, width, height, "inch", ((start, self.length),)))


def read_pdf(path: str | PathLike[str], *, limits: ReadLimits = DEFAULT_LIMITS) -> Layout:
    """Read the text of a PDF as a layout.

    It has the places of its words, its ruled tables, and headings by their font size. Text is in
    the order in which the PDF draws it; but of two columns of prose that are drawn line by line in
    turn, the left one comes first, and a table comes before the first paragraph that begins below
    its top. The first row of a table is its header if it holds no number. For scans, for tables
    without rules and for difficult layouts, use a layout service and `read_layout`.

    Raises:
        MissingDependencyError: pdfplumber is not installed.
        UnreadableFileError: The file is missing, damaged, encrypted, above a limit, or holds no
            text, as scans do.
    """
    if find_spec("pdfplumber") is None:
        require("pdfplumber", extra=_EXTRA)  # says how to install it
    reader = _Reader()
    run_isolated(pdf_pages, Path(path), limits, reader.add_page)
    if not reader.texts:
        raise UnreadableFileError(
            f"{path} holds no text: pages that are pictures need a layout service"
        )
    content = _SEPARATOR.join(reader.texts)
    roles = _roles(reader.paragraphs)
    elements = []
    for paragraph, role in zip(reader.paragraphs, roles, strict=True):
        elements.append(Element((paragraph.span,), role))
    tables = with_captions(content, reader.tables)
    return Layout(content, False, tuple(reader.pages), reader.words, tuple(elements), tuple(tables))


def pdf_pages(path: Path, limits: ReadLimits) -> Iterator[dict[str, Any]]:
    """Yield the pages of a PDF in what JSON can hold.

    It has their sizes and, in the order of the text, paragraphs and ruled tables.
    All work that a hostile page could make long is done here, for `run_isolated`.

    Raises:
        MissingDependencyError, UnreadableFileError: See `read_pdf`.
    """
    pdfplumber: Any = require("pdfplumber", extra=_EXTRA)
    failures = require("pdfplumber.utils.exceptions", extra=_EXTRA).PdfminerException
    with open_pdf(path, limits) as file:
        try:
            with pdfplumber.open(file) as pdf:
                for page in pdf.pages:
                    yield _plain_page(page)
                    page.close()
        except failures as error:
            raise UnreadableFileError(
                f"{path} is not a PDF, is damaged or encrypted: {error!r:.120}"
            ) from error


def _plain_word(word: Mapping[str, Any]) -> dict[str, Any]:
    return {name: word[name] for name in _WORD_FIELDS}


def _plain_page(page: Any) -> dict[str, Any]:
    words = page.extract_words(
        use_text_flow=True, keep_blank_chars=False, extra_attrs=["size", "fontname"]
    )
    words = list(map(_plain_word, words))
    grids = [grid for grid in page.find_tables() if len(grid.cells) > 1]
    grids.sort(key=lambda grid: grid.bbox[1])
    inside: dict[int, Any] = {}  # the table of a word
    for grid in grids:
        for word in words:
            if _lies_in(word, grid.bbox):
                inside[id(word)] = grid
    blocks: list[dict[str, Any]] = []

    def add_tables(above: float) -> None:
        while grids and grids[0].bbox[1] < above:
            grid = grids.pop(0)
            of_grid = []
            for word in words:
                if inside.get(id(word)) is grid:
                    of_grid.append(word)
            blocks.append({"words": of_grid, "bbox": grid.bbox, **_grid_cells(grid, of_grid)})

    outside = [word for word in words if id(word) not in inside]
    all_lines = _in_columns(_lines(outside), float(page.width))
    for lines in _paragraphs(all_lines):
        add_tables(above=lines[0][0]["top"])
        flat = []
        for line in lines:
            flat += line
        size = median(word["size"] for word in flat)
        blocks.append({"words": flat, "size": size, "line_count": len(lines)})
    add_tables(above=float("inf"))
    return {
        "number": int(page.page_number),
        "width": page.width,
        "height": page.height,
        "blocks": blocks,
    }


def _grid_cells(grid: Any, words: Sequence[_Word]) -> dict[str, Any]:
    """Return the cells of a ruled table, with their places and texts.

    The result also says how many rows, columns and header rows it has.
    """
    # pdfplumber aligns them
    lefts = sorted(set(map(itemgetter(0), grid.cells)))
    tops = sorted(set(map(itemgetter(1), grid.cells)))
    cells = []
    for box in grid.cells:
        left, top, right, bottom = box
        row = tops.index(top)
        column = lefts.index(left)
        inside = [word for word in words if _lies_in(word, box)]
        cells.append(
            {
                "row": row,
                "column": column,
                "text": _text(inside),
                "row_span": bisect_left(tops, bottom) - row,
                "column_span": bisect_left(lefts, right) - column,
                "box": box,
            }
        )
    first = []
    for cell in cells:
        if cell["row"] == 0:
            first.append(cell["text"])
    headers = _header_rows(first, words, [*tops, float("inf")])
    return {"cells": cells, "row_count": len(tops), "column_count": len(lefts), "headers": headers}


def _table(grid: Mapping[str, Any], page: int, span: Span) -> Table:
    cells = []
    for cell in grid["cells"]:
        kind = "content"
        if cell["row"] < grid["headers"]:
            kind = "columnHeader"
        cells.append(
            Cell(
                cell["row"],
                cell["column"],
                cell["text"],
                cell["row_span"],
                cell["column_span"],
                kind,
                (Region(page, _in_inches(cell["box"])),),
            )
        )
    region = Region(page, _in_inches(grid["bbox"]))
    rows = grid["row_count"]
    columns = grid["column_count"]
    return Table(tuple(cells), rows, columns, pages=(page,), span=span, regions=(region,))


def _lines(words: Iterable[_Word]) -> Iterator[list[_Word]]:
    """Return words in lines: those that follow each other at one height."""

    def apart(last: _Word, word: _Word) -> bool:
        return bool(
            abs(word["bottom"] - last["bottom"]) >= _GAP * last["size"] or word["x0"] <= last["x0"]
        )

    return grouped(words, apart)


def _in_columns(lines: Iterable[list[_Word]], width: float) -> list[list[_Word]]:
    """Return lines in the order in which they are drawn, but two columns of prose one by one.

    A page may draw the lines of two columns in turn, each on one height.
    """
    result: list[list[_Word]] = []
    # Consecutive lines as their parts: two on both sides of a gap, or one on one side of it.
    run: list[list[list[_Word]]] = []
    middle = 0.0  # of the gap
    for line in lines:
        parts = _at_gap(line)
        has_columns = 2 in map(len, run)
        gap = 0.0
        if len(parts) == 2:
            gap = (parts[0][-1]["x1"] + parts[1][0]["x0"]) / 2
            goes_on = abs(gap - middle) < _SAME_GAP * width
        else:
            goes_on = line[-1]["x1"] < middle or line[0]["x0"] > middle
        if run and has_columns and not goes_on:
            result += _ordered(run, middle, width)
            run = []
        if len(parts) == 2:
            middle = gap
            run.append(parts)
        elif run:
            run.append([line])
        else:
            result.append(line)
    return result + _ordered(run, middle, width)


def _at_gap(line: list[_Word]) -> list[list[_Word]]:
    """Cut a line at its widest gap between words if that is the only wide one."""
    wide = []
    for place, (before, after) in enumerate(pairwise(line), start=1):
        gap = after["x0"] - before["x1"]
        if gap > _COLUMN_GAP * line[0]["size"]:
            wide.append(place)
    if len(wide) == 1:
        return [line[: wide[0]], line[wide[0] :]]
    return [line]


def _ordered(run: Sequence[list[list[_Word]]], middle: float, width: float) -> list[list[_Word]]:
    """Return the left parts of lines before the right ones if both are prose.

    The rows of a table stay as they are.
    """
    both = [parts for parts in run if len(parts) == 2]
    is_prose = len(both) >= _COLUMN_LINES
    for side in (0, 1):
        words = []
        widths = []
        for parts in both:
            part = parts[side]
            words.append(len(part))
            widths.append(part[-1]["x1"] - part[0]["x0"])
        has_words = is_prose and median(words) >= _COLUMN_WORDS
        is_prose = has_words and median(widths) >= _COLUMN_WIDTH * width
    if not is_prose:
        return [list(chain.from_iterable(parts)) for parts in run]
    left_column = []
    right_column = []
    for part in chain.from_iterable(run):
        if part[-1]["x1"] < middle:
            left_column.append(part)
        else:
            right_column.append(part)
    return left_column + right_column


def _paragraphs(lines: Iterable[list[_Word]]) -> Iterator[list[list[_Word]]]:
    """Return lines in paragraphs: those of one size that are close to each other."""

    def apart(above: list[_Word], line: list[_Word]) -> bool:
        size = line[0]["size"]
        gap = line[0]["top"] - above[0]["bottom"]
        return abs(size - above[0]["size"]) >= 0.5 or not -size < gap < _GAP * size

    return grouped(lines, apart)


def _header_rows(first: Sequence[str], words: Sequence[_Word], tops: Sequence[float]) -> int:
    """Return the number of rows in bold if others are not.

    Else it is 1 if the first row, of these texts, has texts and no number.
    """
    bold = []
    for top, bottom in pairwise(tops):
        fonts = set()
        for word in words:
            if top <= (word["top"] + word["bottom"]) / 2 < bottom:
                fonts.add(word["fontname"].lower())
        bold.append(bool(fonts) and all(map(_is_bold, fonts)))
    named = len(bold) > 1 and any(first) and not any(map(is_number, first))
    if bold[0] and not all(bold):
        return bold.index(False)
    return int(named)


def _is_bold(font: str) -> bool:
    return "bold" in font or "black" in font


def _roles(paragraphs: Sequence[_Paragraph]) -> list[str]:
    """Return the roles of paragraphs.

    Short ones in large letters are headings, the largest of the first page is the title.
    """
    sizes: Counter[float] = Counter()
    for paragraph in paragraphs:
        sizes[round(paragraph.size, 1)] += paragraph.span[1] - paragraph.span[0]
    usual = 0.0
    if sizes:
        usual = sizes.most_common(1)[0][0]
    roles = []
    first = []  # the places of headings on the first page
    for place, paragraph in enumerate(paragraphs):
        role = ""
        if paragraph.size > _HEADING * usual and paragraph.line_count <= 3:
            role = "sectionHeading"
            if paragraph.page == 1:
                first.append(place)
        roles.append(role)
    if first:
        largest = max(first, key=lambda place: paragraphs[place].size)
        roles[largest] = "title"
    return roles


def _text(words: Iterable[_Word]) -> str:
    return " ".join(map(_text_of, words))


def _lies_in(word: _Word, box: Sequence[float]) -> bool:
    x = (word["x0"] + word["x1"]) / 2
    y = (word["top"] + word["bottom"]) / 2
    return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])


def _in_inches(points: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(number) / _INCH for number in points)


def draw_regions(
    path: str | PathLike[str], regions: Iterable[Region], *, dpi: int = 110
) -> dict[int, Image]:
    """Return pictures of the pages that have regions, with these marked.

    They come by page number.

    Args:
        path: The PDF that was analysed.
        regions: In inches, as `factoid.documents.regions` returns those of PDFs; for one without a
            rectangle the page is returned unmarked.
        dpi: Dots per inch of the pictures.

    Raises:
        MissingDependencyError: pypdfium2 or Pillow is not installed.
        UnreadableFileError: The file is missing, damaged or encrypted.
        InvalidInputError: A region's page is not in the PDF, or is larger than 200 million pixels
            at this `dpi`.
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
                    f"a region is on page {region.page}, and {path} has {len(pdf)}: expected the "
                    "PDF that was analysed"
                )
            if region.page not in images:
                page = pdf[region.page - 1]
                width_in_points, height_in_points = page.get_size()
                width = width_in_points * dpi / _INCH
                height = height_in_points * dpi / _INCH
                if width * height > _MOST_PIXELS:
                    raise InvalidInputError(
                        f"page {region.page} of {path} has {width:,.0f} × {height:,.0f} pixels at "
                        f"{dpi} dots per inch, more than {_MOST_PIXELS:,}: give a smaller dpi"
                    )
                images[region.page] = page.render(scale=dpi / _INCH).to_pil().convert("RGB")
                page.close()
            if region.rectangle:
                sides = [number * dpi for number in region.rectangle]
                canvas = draw.Draw(images[region.page], "RGBA")
                canvas.rectangle(sides, fill=(*_COLOR, 70), outline=(*_COLOR, 255), width=2)
    return images
