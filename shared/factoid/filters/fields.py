"""The tables behind filters: distinct metadata, and an index of the values of each key.

`fields` has one row for every key of a metadata row, and one for every distinct number and string
in a list. Its primary key is the index: equality, ranges and `in` on a key read only the matching
rows. Values that do not fit (a dict, a long string, an integer beyond 64 bits) are marked as
opaque, so that only those rows are compared by their JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from factoid.errors import InvalidInputError
from factoid.units import DEPTH, check_size, check_text

# `value` has no type, so SQLite stores every value as bound.
SCHEMA = """
CREATE TABLE metadata (row INTEGER PRIMARY KEY AUTOINCREMENT, json TEXT NOT NULL UNIQUE);
CREATE TABLE fields (
    key TEXT NOT NULL, kind INTEGER NOT NULL, value NOT NULL, metadata INTEGER NOT NULL,
    PRIMARY KEY (key, kind, value, metadata)
) WITHOUT ROWID;
"""
INSERT_FIELD = "INSERT INTO fields (key, kind, value, metadata) VALUES (?, ?, ?, ?)"
DELETE_FIELD = "DELETE FROM fields WHERE key = ? AND kind = ? AND value = ? AND metadata = ?"

# UTF-8 bytes of a string in `fields`; longer ones are text rather than labels, and would make it
# grow
_LONGEST = 256
MOST_IN_PATHS = 10_000_000
"""The most characters in the dotted keys of one document's metadata.

The keys above it are written before each key.
"""
_LARGEST = 64  # elements of a list in `fields`; longer ones are data rather than tags

Scalar = str | int | float


class ValueKind(IntEnum):
    """The statement of a row of `fields` about its key; comments say what its `value` is."""

    NUMBER = 0  # the number; booleans are the numbers that they equal
    STRING = 1  # the string
    NULL = 2  # 0
    LIST = 3  # the count of elements; the numbers and strings among them have rows of their own
    OPAQUE = 4  # 0: a value that does not fit here and is compared by its JSON
    ELEMENT = 5  # a number or string in a list


_STRING = int(ValueKind.STRING)
# Values that hold no keys. A dict in a list has no row of its own.
_UNNESTED = {str, int, float, bool, type(None), list}


def parse_metadata(text: object) -> dict[str, Any] | None:
    """Parse metadata from JSON; return None for anything but a JSON object that metadata may be."""
    try:
        metadata = json.loads(text) if isinstance(text, str) else None
        # it may be nested too deep
        if isinstance(text, str) and text.count("{") + text.count("[") > DEPTH:
            check_size(metadata)
    except (ValueError, RecursionError):
        return None
    if isinstance(metadata, dict):
        return metadata
    return None


def field_rows(metadata: Mapping[str, Any]) -> list[tuple[str, int, Scalar]]:
    """Return `(key, kind, value)` of every row that this metadata has in `fields`.

    The primary key, without the metadata.

    Raises:
        InvalidInputError: A key holds lone surrogates, or the keys of nested dicts are too long
            (`MOST_IN_PATHS`).
    """
    is_nested = not _UNNESTED.issuperset(map(type, metadata.values()))
    length = sum(map(len, metadata))
    if is_nested:
        length = _length_of_paths(metadata)
    if length > MOST_IN_PATHS:
        raise InvalidInputError(
            f"the dotted keys of metadata's nested dicts have {length:,} characters, and "
            f"{MOST_IN_PATHS:,} are allowed: use shorter keys, or fewer dicts in each other"
        )
    if is_nested:
        metadata = with_paths(metadata)
    return _rows_of_keys(metadata)


def _rows_of_keys(metadata: Mapping[str, Any]) -> list[tuple[str, int, Scalar]]:
    """Return the rows of keys without those inside their values."""
    rows: list[tuple[str, int, Scalar]] = []
    for key, value in metadata.items():
        if not key.isascii():
            check_text(key, "key")
        if type(value) is str and len(value) <= _LONGEST and value.isascii():
            rows.append((key, _STRING, value))  # as nearly all values are
            continue
        rows += [(key, int(kind), scalar) for kind, scalar in _rows(value)]
    return rows


def _length_of_paths(metadata: Mapping[str, Any], above: int = 0) -> int:
    """Return the number of characters that `with_paths` would write.

    Those are of all keys with the keys above them.
    """
    length = 0
    for key, value in metadata.items():
        path = above + len(key)
        length += path
        if isinstance(value, Mapping):
            length += _length_of_paths(value, path + 1)
    return length


def with_paths(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with the values of nested dicts also under dotted keys.

    An existing key with dots takes precedence.
    """
    nested = {}
    for key, value in metadata.items():
        if isinstance(value, Mapping):
            for name, element in with_paths(value).items():
                nested[f"{key}.{name}"] = element
    return nested | dict(metadata)


def is_text(value: str) -> bool:
    """Return whether SQLite can store a string, which must not have lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def scalar(value: Scalar) -> Scalar | None:
    """Return a string or number as `fields` holds it.

    None for a long string, or an integer beyond SQLite's 64 bits.
    """
    if isinstance(value, str):
        if len(value) > _LONGEST:
            return None
        if value.isascii() or (is_text(value) and len(value.encode()) <= _LONGEST):
            return value
        return None
    if isinstance(value, float):
        return value
    if -(1 << 63) <= value < 1 << 63:
        return int(value)
    return None


def _rows(value: Any) -> list[tuple[ValueKind, Scalar]]:
    if value is None:
        return [(ValueKind.NULL, 0)]
    if isinstance(value, Scalar) and (single := scalar(value)) is not None:
        if isinstance(value, str):
            return [(ValueKind.STRING, single)]
        return [(ValueKind.NUMBER, single)]
    if isinstance(value, list | tuple) and len(value) <= _LARGEST:
        elements = dict.fromkeys(
            scalar(element) for element in value if isinstance(element, Scalar)
        )
        if None not in elements:
            return [
                (ValueKind.LIST, len(value)),
                *((ValueKind.ELEMENT, element) for element in elements if element is not None),
            ]
    return [(ValueKind.OPAQUE, 0)]
