"""JSON Lines into records, each with where it stands."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from factoid.entities.articles.article import Record
from factoid.entities.importers.paths import numbered_lines
from factoid.errors import InvalidInputError, UnreadableFileError

ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.bz2", ".ndjson", ".ndjson.gz", ".ndjson.bz2")
EXPECTED = f"files that end in {', '.join(ENDINGS)}"
Fields = dict[str, Any]


def is_json_lines(path: Path) -> bool:
    """Tell whether a file is called as one of JSON Lines."""
    return path.name.lower().endswith(ENDINGS)


def read_json_lines(
    files: Iterable[Path], convert: Callable[[Fields], Sequence[Record]], *, skip: int, one_each: bool
) -> Iterator[Record]:
    """Yield the records of files with one JSON object a line.

    Args:
        files: Plain, or compressed by gzip or bzip2.
        convert: Makes the records of an object; raises InvalidInputError where it cannot.
        skip: How many records to leave out at first.
        one_each: Whether every line makes one record; then lines that are left out are not parsed.

    Raises:
        UnreadableFileError: A file is missing or damaged, or a line does not hold what is expected; says where.
    """
    for file in files:
        for number, line in numbered_lines(file):
            if one_each and skip:
                skip -= 1
                continue
            records = _converted(line, f"{file}:{number}", convert)
            if skip:
                yield from islice(records, skip, None)
                skip = max(0, skip - len(records))
            else:
                yield from records


def text_field(fields: Fields, name: str, *, default: str | None = None) -> str:
    """Return a field that is a string.

    Raises:
        InvalidInputError: It is missing or no string.
    """
    value = fields.get(name, default)
    if isinstance(value, str):
        return value
    if name not in fields:
        message = f"expected a field {name!r}, got {', '.join(map(repr, list(fields)[:8])) or 'an empty object'}"
    else:
        message = f"expected a string in {name!r}, got {value!r:.60}"
    raise InvalidInputError(message)


def texts_field(fields: Fields, name: str) -> tuple[str, ...]:
    """Return a field that is a list of strings; empty if it is missing or null.

    Raises:
        InvalidInputError: It is something else.
    """
    value = fields.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        message = f"expected a list of strings in {name!r}, got {value!r:.60}"
        raise InvalidInputError(message)
    return tuple(value)


def _converted(line: bytes, place: str, convert: Callable[[Fields], Sequence[Record]]) -> Sequence[Record]:
    try:
        fields = json.loads(line, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        message = f"{place}: not UTF-8: {error}. Convert the file, or save it again as UTF-8"
        raise UnreadableFileError(message) from error
    except (ValueError, RecursionError) as error:
        message = f"{place}: not JSON, expected one JSON object per line: {error}"
        raise UnreadableFileError(message) from error
    if not isinstance(fields, dict):
        message = f"{place}: expected one JSON object per line, got {fields!r:.60}"
        raise UnreadableFileError(message)
    try:
        return convert(fields)
    except InvalidInputError as error:
        message = f"{place}: {error}"
        raise UnreadableFileError(message) from error


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is no JSON number"
    raise ValueError(message)
