"""Vectors, ids and metadata as values of the database, and the error for a row that has changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from factoid.errors import InvalidInputError, shown
from factoid.units import Metadata, check_size


class DamagedRowError(Exception):
    """The database does not hold what was written; `Connections` adds the name of the store."""

    def __init__(self, row: object, *, what: str) -> None:
        super().__init__(f"{what} {row!r} differs from what was written")


def digest(vector: bytes | memoryview) -> bytes:
    """Return a vector's digest, which tells vectors apart."""
    return blake2b(vector, digest_size=16).digest()


def to_array(values: Iterable[Any]) -> str:
    """Return rows or ids as an array for `json_each`, which reads strings up to a NUL.

    Stored ids never contain one.
    """
    if isinstance(values, str):
        raise InvalidInputError(f"expected a list of ids, got the string {values!r}")
    return json.dumps([value for value in values if not (isinstance(value, str) and "\0" in value)])


_METADATA = json.JSONEncoder(allow_nan=False)
_PLAIN = {str, int, float, bool, type(None)}


def to_json(metadata: Metadata) -> str:
    """Return metadata as JSON that reads back equal.

    Raises:
        InvalidInputError: No JSON reads back equal, or the metadata hold too much.
    """
    if not metadata:
        return "{}"
    check_size(metadata)
    values = dict(metadata)
    with suppress(TypeError, ValueError):
        text = _METADATA.encode(values)
        if _are_plain(values) or json.loads(text) == values:
            return text
    raise InvalidInputError(
        f"metadata {shown(values, 200)} would not come back from JSON unchanged: use strings as "
        "keys, and strings, numbers, booleans, None, lists or dicts as values"
    )


def _are_plain(values: Mapping[str, Any]) -> bool:
    """Return whether what JSON can hold of these comes back equal: it is quicker than to look."""
    return set(map(type, values)) == {str} and set(map(type, values.values())) <= _PLAIN
