"""PDFs with text into layouts without a service, and pages as pictures with the evidence of an answer marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.documents.azure import read_result
from factoid.documents.layout import Layout
from factoid.documents.table_parsers import is_caption
from factoid.documents.tables import Region, is_number
from factoid.errors import InvalidInputError, UnreadableFileError

if TYPE_CHECKING:
    from PIL.Image import Image

_INCH = 72  # points
_HEADING = 1.15  # times the size of most words: a heading
_GAP = 0.6  # of a line's height: lines further apart are different paragraphs
_MARGIN = 0.08  # of a page's height, at the top and at the bottom
_EDGE = 2.0  # points by which edges of cells of one row or column differ
_COLOR = (255, 196, 0)


@dataclass(slots=True)
class _Content:
    """The result that grows page by page, in the form of the services."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    words: list[dict[str, Any]] = field(default_factory=list)

    def add(self, words: Sequence[dict[str, Any]], separator: str) -> dict[str, int]:
        """Append words, and return the span that they take."""
        if not words:
            return {"offset": self.length, "length": 0}
        if self.parts:
            self.parts.append(separator)
            self.length += len(separator)
        start = self.length
        for number, word in enumerate(words):
            text = word["text"]
            if number:
                self.parts.append(" ")
                self.length += 1
            span = {"offset": self.length, "length": len(text)}
            self.words.append({"content": text, "polygon": _polygon(word), "span": span})
            self.parts.append(text)
            self.length += len(text)
        return {"offset": start, "length": self.length - start}


def read_pdf(path: str | PathLike[str]) -> Layout:
    """Read the text of a PDF with the places of its words, its ruled tables, and headings by the size of their letters.

    Text comes in the order in which the PDF draws it. The first row of a table is its header if it holds no number. For scans,
    for tables without rules and for difficult layouts, use a layout service and `read_layout`.

    Raises:
        MissingDependencyError: pdfplumber is not installed.
        UnreadableFileError: The file is missing, damaged, encrypted, or holds no text, as scans do.
    """
    pdfplumber: Any = require("pdfplumber", extra="documents")
    path = Path(path)
    content = _Content()
    pages: list[dict[str, Any]] = []
    paragraphs: list[dict[str, Any]] = []
    tables: list[dict[str, Any]] = []
    try:
        with pdfplumber.open(path) as pdf:
            for page in pdf.pages:
                pages.append(_read_page(page, content, paragraphs, tables))
                page.close()
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}"
        raise UnreadableFileError(message) from error
    except require("pdfplumber.utils.exceptions", extra="documents").PdfminerException as error:
        message = f"{path} is no PDF, damaged or encrypted: {error!r:.120}"
        raise UnreadableFileError(message) from error
    if not content.parts:
        message = f"{path} holds no text: pages that are pictures have to be read by a layout service"
        raise UnreadableFileError(message)
    _give_furniture(paragraphs, {page["pageNumber"]: page["height"] for page in pages})
    _give_roles(paragraphs)
    result = {"content": "".join(content.parts), "pages": pages, "paragraphs": paragraphs, "tables": tables}
    return read_result(result | {"contentFormat": "text"})


def _read_page(
    page: Any, content: _Content, paragraphs: list[dict[str, Any]], tables: list[dict[str, Any]]
) -> dict[str, Any]:
    start, first_word = content.length, len(content.words)
    grids = sorted(page.find_tables(), key=lambda grid: grid.bbox[1])
    words = page.extract_words(use_text_flow=True, keep_blank_chars=False, extra_attrs=["size", "fontname"])
    waiting = [grid for grid in grids if len(grid.cells) > 1]
    inside = {id(word): grid for grid in waiting for word in words if _lies_in(word, grid.bbox)}
    loose = [word for word in words if id(word) not in inside]

    def words_of(grid: Any) -> list[dict[str, Any]]:
        return [word for word in words if inside.get(id(word)) is grid]

    for lines in _paragraphs(list(_lines(loose))):
        while waiting and waiting[0].bbox[1] < lines[0][0]["top"]:
            grid = waiting.pop(0)
            tables.append(_table(grid, words_of(grid), page.page_number, content))
        flat = [word for line in lines for word in line]
        span = content.add(flat, "\n")
        region = {"pageNumber": page.page_number, "polygon": _around(flat)}
        size = median(word["size"] for word in flat)
        paragraphs.append(
            {"spans": [span], "boundingRegions": [region], "size": size, "lines": len(lines), "text": _text(flat)}
        )
    tables += [_table(grid, words_of(grid), page.page_number, content) for grid in waiting]
    _give_captions(paragraphs, [table for table in tables if table["page"] == page.page_number], page.page_number)
    return {
        "pageNumber": page.page_number,
        "width": float(page.width) / _INCH,
        "height": float(page.height) / _INCH,
        "unit": "inch",
        "words": content.words[first_word:],
        "spans": [{"offset": start, "length": content.length - start}],
    }


def _lines(words: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield words that follow each other at one height."""
    line: list[dict[str, Any]] = []
    for word in words:
        if line and not (
            abs(word["bottom"] - line[-1]["bottom"]) < _GAP * line[-1]["size"] and word["x0"] > line[-1]["x0"]
        ):
            yield line
            line = []
        line.append(word)
    if line:
        yield line


def _paragraphs(lines: Sequence[list[dict[str, Any]]]) -> Iterator[list[list[dict[str, Any]]]]:
    """Yield lines of one size that stand close to each other."""
    paragraph: list[list[dict[str, Any]]] = []
    for line in lines:
        if paragraph:
            above, size = paragraph[-1], line[0]["size"]
            gap = line[0]["top"] - above[0]["bottom"]
            if not (abs(size - above[0]["size"]) < 0.5 and -size < gap < _GAP * size):
                yield paragraph
                paragraph = []
        paragraph.append(line)
    if paragraph:
        yield paragraph


def _table(grid: Any, words: Sequence[dict[str, Any]], page: int, content: _Content) -> dict[str, Any]:
    lefts, tops = (_edges(box[side] for box in grid.cells) for side in (0, 1))
    cells = []
    start = content.length + 1
    for box in sorted(grid.cells, key=lambda box: (_place(tops, box[1]), box[0])):
        row, column = _place(tops, box[1]), _place(lefts, box[0])
        within = [word for word in words if _lies_in(word, box)]
        cells.append(
            {
                "rowIndex": row,
                "columnIndex": column,
                "rowSpan": max(1, sum(box[1] - _EDGE < top < box[3] - _EDGE for top in tops)),
                "columnSpan": max(1, sum(box[0] - _EDGE < left < box[2] - _EDGE for left in lefts)),
                "content": _text(within),
                "spans": [content.add(within, "\n")] if within else [],
                "boundingRegions": [{"pageNumber": page, "polygon": _corners(*box)}],
            }
        )
    headers = _header_rows(cells, words, [*tops, float("inf")])
    cells = [cell | {"kind": "columnHeader"} if cell["rowIndex"] < headers else cell for cell in cells]
    return {
        "rowCount": len(tops),
        "columnCount": len(lefts),
        "cells": cells,
        "spans": [{"offset": min(start, content.length), "length": max(0, content.length - start)}],
        "boundingRegions": [{"pageNumber": page, "polygon": _corners(*grid.bbox)}],
        "page": page,
    }


def _header_rows(cells: Sequence[dict[str, Any]], words: Sequence[dict[str, Any]], tops: Sequence[float]) -> int:
    """Return how many rows are in bold letters while others are not; else 1 if the first row has texts and no number."""
    bold = []
    for top, bottom in pairwise(tops):
        fonts = {word["fontname"].lower() for word in words if top <= (word["top"] + word["bottom"]) / 2 < bottom}
        bold.append(bool(fonts) and all("bold" in font or "black" in font for font in fonts))
    first = [cell["content"] for cell in cells if cell["rowIndex"] == 0]
    named = len(bold) > 1 and any(first) and not any(map(is_number, first))
    return bold.index(False) if bold[0] and not all(bold) else int(named)


def _give_captions(paragraphs: list[dict[str, Any]], tables: Sequence[dict[str, Any]], page: int) -> None:
    """Give tables the nearest paragraph of the page that names one."""
    named = [
        paragraph
        for paragraph in paragraphs
        if paragraph["boundingRegions"][0]["pageNumber"] == page and is_caption(paragraph["text"])
    ]
    for table in tables:
        box = table["boundingRegions"][0]["polygon"]

        def distance(paragraph: dict[str, Any], box: Sequence[float] = box) -> float:
            other = paragraph["boundingRegions"][0]["polygon"]
            return min(abs(float(other[1] - box[7])), abs(float(box[1] - other[7])))

        if named:
            nearest = min(named, key=distance)
            table["caption"] = {"content": nearest["text"], "spans": nearest["spans"]}
            named.remove(nearest)


def _give_furniture(paragraphs: Iterable[dict[str, Any]], heights: Mapping[int, float]) -> None:
    """Call what stands in the margin of two pages or more, but for its numbers, a header, footer or page number."""
    margins: dict[str, list[tuple[dict[str, Any], int]]] = {}
    for paragraph in paragraphs:
        region = paragraph["boundingRegions"][0]
        page, top, bottom = region["pageNumber"], region["polygon"][1], region["polygon"][7]
        if bottom < _MARGIN * heights[page] or top > (1 - _MARGIN) * heights[page]:
            margins.setdefault(re.sub(r"\d+", "0", paragraph["text"]), []).append((paragraph, page))
    for text, places in margins.items():
        if len({page for _, page in places}) > 1:
            for paragraph, page in places:
                is_top = paragraph["boundingRegions"][0]["polygon"][1] < heights[page] / 2
                paragraph["role"] = "pageNumber" if text == "0" else "pageHeader" if is_top else "pageFooter"


def _give_roles(paragraphs: Iterable[dict[str, Any]]) -> None:
    """Call the largest text of the first page a title, and short paragraphs that are larger than most words headings."""
    paragraphs = [paragraph for paragraph in paragraphs if "role" not in paragraph]
    sizes: Counter[float] = Counter()
    for paragraph in paragraphs:
        sizes[round(paragraph["size"], 1)] += len(paragraph["text"])
    usual = sizes.most_common(1)[0][0] if sizes else 0.0
    large = [paragraph for paragraph in paragraphs if paragraph["size"] > _HEADING * usual and paragraph["lines"] <= 3]
    for paragraph in large:
        paragraph["role"] = "sectionHeading"
    first = [paragraph for paragraph in large if paragraph["boundingRegions"][0]["pageNumber"] == 1]
    if first:
        max(first, key=lambda paragraph: paragraph["size"])["role"] = "title"


def _text(words: Iterable[dict[str, Any]]) -> str:
    return " ".join(word["text"] for word in words)


def _lies_in(word: dict[str, Any], box: Sequence[float]) -> bool:
    x, y = (word["x0"] + word["x1"]) / 2, (word["top"] + word["bottom"]) / 2
    return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])


def _edges(values: Iterable[float]) -> list[float]:
    edges: list[float] = []
    for value in sorted(values):
        if not edges or value - edges[-1] > _EDGE:
            edges.append(value)
    return edges


def _place(edges: Sequence[float], value: float) -> int:
    return min(range(len(edges)), key=lambda place: abs(edges[place] - value))


def _polygon(word: dict[str, Any]) -> list[float]:
    return _corners(word["x0"], word["top"], word["x1"], word["bottom"])


def _around(words: Sequence[dict[str, Any]]) -> list[float]:
    sides = (min(word["x0"] for word in words), min(word["top"] for word in words))
    return _corners(*sides, max(word["x1"] for word in words), max(word["bottom"] for word in words))


def _corners(left: float, top: float, right: float, bottom: float) -> list[float]:
    """Return the corners of a box in points as a polygon in inches."""
    return [float(value) / _INCH for value in (left, top, right, top, right, bottom, left, bottom)]


def draw_regions(path: str | PathLike[str], regions: Iterable[Region], *, dpi: int = 110) -> dict[int, Image]:
    """Return the pages of a PDF that regions lie on as pictures by page number, with the regions marked.

    Args:
        path: The PDF that was analysed.
        regions: In inches, as `factoid.documents.regions` and `LayoutDocument.locate` return those of PDFs; of one without a
            polygon the page is returned, with no mark.
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
        message = f"{path} is no PDF that can be opened: {error}"
        raise UnreadableFileError(message) from error
    images: dict[int, Image] = {}
    with pdf:
        for region in regions:
            if not 1 <= region.page <= len(pdf):
                message = f"a region stands on page {region.page}, and {path} has {len(pdf)}: expected the PDF that was analysed"
                raise InvalidInputError(message)
            if region.page not in images:
                page = pdf[region.page - 1]
                images[region.page] = page.render(scale=dpi / _INCH).to_pil().convert("RGB")
                page.close()
            if region.polygon:
                corners = [(x * dpi, y * dpi) for x, y in zip(region.polygon[::2], region.polygon[1::2], strict=True)]
                draw.Draw(images[region.page], "RGBA").polygon(
                    corners, fill=(*_COLOR, 70), outline=(*_COLOR, 255), width=2
                )
    return images
