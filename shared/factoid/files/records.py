"""Documents from records: JSON lines, JSON, and the rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from factoid.errors import InvalidInputError
from factoid.files.lines import located, parse_json, parse_object
from factoid.files.tables import read_table
from factoid.units import Document

_TEXT_FIELDS = ("text", "content", "page_content")


def parse_lines(lines: Iterable[tuple[int, bytes]], path: Path) -> Iterator[Document]:
    """Yield the document of each JSON line that is not blank."""
    for number, line in lines:
        if line.strip():
            with located(f"{path}:{number}"):
                document = _document(parse_object(line), path)
            yield document


def parse_file(path: Path) -> Iterator[Document]:
    """Yield the documents of a JSON file: that of its object, or those of its list of objects."""
    with located(path):
        content = parse_json(path.read_bytes())
    for number, record in enumerate(content if isinstance(content, list) else [content], start=1):
        with located(f"{path}: object {number}"):
            document = _document(record, path)
        yield document


def parse_table(path: Path) -> Iterator[Document]:
    """Yield the document of each row of a table."""
    names, rows = read_table(path)
    text_name = next((name for name in _TEXT_FIELDS if name in names), None)
    for line, cells in rows:
        record: dict[str, Any] = {name: cell.strip() for name, cell in cells.items() if cell.strip()}
        if text_name:
            record = {text_name: ""} | record
        else:
            record = {"text": "\n".join(f"{name}: {cell}" for name, cell in record.items()), "metadata": record}
        with located(f"{path}:{line}"):
            document = _document(record, path)
        yield document


def _document(record: Any, path: Path) -> Document:
    """Return the document of a record, whose fields are checked."""
    name = next((name for name in _TEXT_FIELDS if name in record), None) if isinstance(record, dict) else None
    if name is None:
        raise InvalidInputError(f'expected an object with a field "text", got {record!r:.60}')
    fields = dict(record)
    text, metadata = fields.pop(name), fields.pop("metadata", None)
    if not isinstance(metadata, dict | None):
        raise InvalidInputError(f'expected an object in "metadata", got {metadata!r:.60}')
    metadata = metadata or {}
    strings: dict[str, Any] = {
        key: value for key in ("title", "section") if isinstance(value := metadata.get(key), str)
    }
    strings |= {key: value for key in ("title", "section", "id") if (value := fields.pop(key, None)) is not None}
    if type(strings.get("id")) is int:
        strings["id"] = str(strings["id"])
    metadata = fields | metadata  # what is left are fields of the user's own
    document = Document(text, **strings, metadata=metadata)
    # Added after the id is made: the same content at another path is the same document.
    return replace(document, metadata={"source": path.as_posix(), **metadata})
