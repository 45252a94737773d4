"""Which JSON Lines a file holds, by the fields of its first lines."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

from factoid.entities.importers.paths import numbered_lines
from factoid.errors import UnreadableFileError

_LOOKED_AT = 20  # lines
_KEYS = "title_key and text_key, on the command line --title-key and --text-key"
_FIELD_NAMES = frozenset(  # what stands before a value in every line, and is hardly the title of an article
    "title text content contents body definition description name term id url page_content document doc abstract summary "
    "passage paragraph heading label entry word key value question answer html markdown metadata".split()
)


def kind_of_lines(file: Path, title_key: str = "title", text_key: str = "text") -> str:
    """Return which importer reads a file of JSON Lines.

    Lines that have one field with a text are SpEL's `{title: text}` only where the fields differ from line to line and none
    is called as fields of records are.

    Args:
        file: Plain, or compressed by gzip or bzip2. It holds a line.
        title_key: Field of articles that holds the title.
        text_key: Field that holds the text.

    Raises:
        UnreadableFileError: The first line is no JSON object, or has other fields; says which.
    """
    lines = islice(numbered_lines(file), _LOOKED_AT)
    first = _parsed(next(lines)[1], file)
    if title_key in first and text_key in first:
        return "wikiextractor" if (title_key, text_key) == ("title", "text") and "url" in first else "jsonl"
    if "wikipedia_title" in first:
        return "kilt"
    if set(first) == {"name", "target"}:
        return "redirects"
    if (title_key, text_key) == ("title", "text"):
        keys = [_only_key(first), *(_only_key(_parsed(line, file)) for _, line in lines)]
        known = any(key.strip().casefold() in _FIELD_NAMES for key in keys)
        if all(keys) and not known and (len(keys) == 1 or len(set(keys)) > 1):
            return "titles"
    found = ", ".join(map(repr, list(first)[:8])) or "no fields"
    message = (
        f"{file} is of no known format: its first line has {found}; expected {title_key!r} and {text_key!r}. Say what the "
        f"fields of the title and the text are called ({_KEYS}), or name the format with --format"
    )
    raise UnreadableFileError(message)


def _only_key(fields: dict[str, Any]) -> str:
    """Return the only field of a line, if it has one and that is a text; else ""."""
    [(key, value), *more] = fields.items() or [("", None)]
    return "" if more or not isinstance(value, str) else key


def _parsed(line: bytes, file: Path) -> dict[str, Any]:
    line = line.strip()
    shown = f"{line[:60]!r}"
    try:
        fields = json.loads(line)
    except UnicodeDecodeError as error:
        if line.startswith(b"{"):
            message = f"{file} is not UTF-8: {error}. Convert it, or save it again as UTF-8"
            raise UnreadableFileError(message) from error
        fields = None
    except (ValueError, RecursionError):
        fields = None
    if isinstance(fields, dict):
        return fields
    if line.startswith(b"["):
        shown = "that of a JSON array. Write each of its objects on a line of its own"
    message = (
        f"{file} is of no known format: expected XML of MediaWiki, one JSON object per line, or a table that ends in .csv "
        f"or .tsv, in UTF-8; and its first line is {shown}. If it is of another format, name it with --format"
    )
    raise UnreadableFileError(message)
