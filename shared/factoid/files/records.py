"""Documents from records: JSON lines, JSON, and the rows of tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.tables import read_rows
from factoid.units import Document

_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_SNIFFED = 8192  # bytes in which a NUL tells a binary file from a text in another encoding
_TEXT_FIELDS = ("text", "content", "page_content")


def parse_lines(lines: Iterable[bytes], path: Path) -> Iterator[Document]:
    """Yield the document of each JSON line that is not blank."""
    for number, line in enumerate(lines, start=1):
        if line.removeprefix(_BOM).strip():
            place = f"{path}:{number}"
            yield _document(_parse(decode(line, place), place), path, place)


def parse_json(path: Path) -> Iterator[Document]:
    """Yield the documents of a JSON file: that of its object, or those of its list of objects."""
    content = _parse(decode(path.read_bytes(), str(path)), str(path))
    for number, record in enumerate(content if isinstance(content, list) else [content], start=1):
        yield _document(record, path, f"{path}: object {number}")


def parse_table(path: Path) -> Iterator[Document]:
    """Yield the document of each row of a table."""
    rows = read_rows(path)
    names = [name.strip() for name in next(rows, (0, []))[1]]
    text_name = next((name for name in _TEXT_FIELDS if name in names), None)
    for line, row in rows:
        if any(cell.strip() for cell in row[len(names) :]):
            message = f"{path}:{line}: {len(row)} cells under {len(names)} names"
            raise UnreadableFileError(message)
        record = {name: cell.strip() for name, cell in zip(names, row, strict=False) if name and cell.strip()}
        if text_name:
            yield _document({text_name: ""} | record, path, f"{path}:{line}")
        else:
            text = "\n".join(f"{name}: {cell}" for name, cell in record.items())
            yield _document({"text": text, "metadata": record}, path, f"{path}:{line}")


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
        message = f"{place}: not JSON: {reason}"
        raise UnreadableFileError(message) from error


def _document(record: Any, path: Path, place: str) -> Document:
    """Return the document of a record, whose fields are checked."""
    if not isinstance(record, dict):
        message = f'{place}: expected an object such as {{"text": "…"}}, got {_kind(record)}'
        raise UnreadableFileError(message)
    name = next((name for name in _TEXT_FIELDS if name in record), None)
    if name is None:
        fields = ", ".join(map(repr, list(record)[:5])) or "an empty object"
        message = f'{place}: expected a field "text", got {fields}'
        raise UnreadableFileError(message)
    metadata = record.pop("metadata", None)
    if metadata is None:
        metadata = {}
    elif not isinstance(metadata, dict):
        message = f'{place}: expected an object in "metadata", got {_kind(metadata)}'
        raise UnreadableFileError(message)
    text = _string(record, name, place)
    title, section = (_string(record, name, place, _string_in(metadata, name)) for name in ("title", "section"))
    if type(record.get("id")) is int:
        record["id"] = str(record["id"])
    document_id = _string(record, "id", place, "")
    metadata = {**record, **metadata}  # what is left are fields of the user's own
    try:
        document = Document(text, title, section, document_id, metadata)
    except InvalidInputError as error:
        message = f"{place}: {error}"
        raise UnreadableFileError(message) from error
    # Added after the id is made: the same content at another path is the same document.
    return replace(document, metadata={"source": path.as_posix(), **metadata})


def _string(record: dict[str, object], name: str, place: str, default: str | None = None) -> str:
    """Take a string out of a record. Null is the same as absent where there is a default."""
    value = record.pop(name, None)
    if value is None:
        value = default
    if not isinstance(value, str):
        message = f'{place}: expected a string in "{name}", got {_kind(value)}'
        raise UnreadableFileError(message)
    return value


def _string_in(metadata: Mapping[str, object], name: str) -> str:
    value = metadata.get(name)
    return value if isinstance(value, str) else ""


def _kind(value: object) -> str:
    names = {bool: "true or false", str: "a string", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "a number")


def decode(raw: bytes, place: str) -> str:
    """Return bytes as text, without a byte order mark.

    Raises:
        UnreadableFileError: They are not UTF-8.
    """
    try:
        return raw.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        if raw.startswith(_UTF16_BOMS):
            message = f"{place} is UTF-16: convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8"
        elif b"\0" in raw[:_SNIFFED]:
            message = f"{place} is a binary file: expected text in UTF-8"
        else:
            message = (
                f"{place} is not UTF-8: byte {error.object[error.start]:#04x} at offset {error.start}. "
                "Convert it, for example with iconv -f LATIN1 -t UTF-8"
            )
        raise UnreadableFileError(message) from error


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is no JSON number"
    raise ValueError(message)
