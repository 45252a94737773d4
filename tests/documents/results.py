"""Results of layout services, made up for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from factoid.documents import Cell, Table


def word(
    content: str, offset: int, box: tuple[float, float, float, float], length: int | None = None
) -> dict[str, Any]:
    left, top, right, bottom = box
    return {
        "content": content,
        "polygon": [left, top, right, top, right, bottom, left, bottom],
        "confidence": 0.9,
        "span": {"offset": offset, "length": len(content) if length is None else length},
    }


def paged(*texts: str, per_line: int = 8, **fields: Any) -> dict[str, Any]:
    """A result in Markdown with a page for each text, and a box for each of its words, so many on a
    line.
    """
    pages, at = [], 0
    for number, text in enumerate(texts, start=1):
        words, place = [], 0
        for index, content in enumerate(text.split()):
            place = text.index(content, place)
            x, y = 1 + index % per_line * 0.7, 1 + index // per_line * 0.25
            words.append(word(content, at + place, (x, y, x + 0.6, y + 0.15)))
            place += len(content)
        spans = [{"offset": at, "length": len(text) + 1}]
        size = {"width": 8.5, "height": 11, "unit": "inch", "angle": 0}
        pages.append({"pageNumber": number, "words": words, "spans": spans, **size})
        at += len(text) + 1
    return {"content": "\n".join(texts), "contentFormat": "markdown", "pages": pages, **fields}


def paragraph(content: str, text: str, role: str = "") -> dict[str, Any]:
    """A paragraph of a result whose content is text."""
    offset = content.index(text)
    return {
        "content": text,
        "spans": [{"offset": offset, "length": len(text)}],
        **({"role": role} if role else {}),
    }


def snake(value: Any) -> Any:
    """The same in the names of the Python packages."""
    if isinstance(value, list):
        return [snake(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        "".join(f"_{c.lower()}" if c.isupper() else c for c in name): snake(part)
        for name, part in value.items()
    }


def table_of(rows: Sequence[Sequence[str]], *, header_rows: int = 1, caption: str = "") -> Table:
    """A table of plain rows of texts, the first of which are headers."""
    cells = tuple(
        Cell(row, column, text, kind="columnHeader" if row < header_rows else "content")
        for row, texts in enumerate(rows)
        for column, text in enumerate(texts)
    )
    return Table(cells, len(rows), max(map(len, rows), default=0), caption)
