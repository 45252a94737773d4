"""Units, documents and metadata as rows of the database."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

from factoid.errors import InvalidInputError
from factoid.units import Document, Granularity, Metadata, Unit

# What `to_unit` reads, in this order.
UNIT = """units.id, units.text, units.granularity, documents.id, units.parent_id, units.start, units."end", units.title,
    units.section, metadata.json, units.payload"""
FROM_UNITS = """units JOIN documents ON documents.row = units.document JOIN metadata ON metadata.row = units.metadata"""


class DamagedRowError(Exception):
    """The database holds what no write has put there; `Connections` says of which store."""

    def __init__(self, own: object, *, what: str) -> None:
        super().__init__(f"{what} {own!r} cannot be read")


def to_unit(row: Sequence[Any]) -> Unit:
    """Return the unit of a row of `UNIT`."""
    own, text, kind, document, parent, start, end, title, section, metadata, payload = row
    try:
        return Unit(
            own, text, Granularity(kind), document, parent, start, end, title, section, json.loads(metadata), payload
        )
    except (ValueError, TypeError) as error:
        raise DamagedRowError(own, what="unit") from error


def to_document(row: Sequence[Any]) -> Document:
    """Return the document of a row of text, title, section, id and metadata."""
    text, title, section, own, metadata = row
    try:
        return Document(text, title, section, own, json.loads(metadata))
    except (ValueError, TypeError) as error:
        raise DamagedRowError(own, what="document") from error


def to_array(values: Iterable[Any]) -> str:
    """Return rows or ids for json_each, which reads strings up to a NUL only: no id that is stored holds one."""
    return json.dumps([value for value in values if not (isinstance(value, str) and "\0" in value)])


def to_json(metadata: Metadata) -> str:
    """Return metadata as JSON that reads back equal.

    Raises:
        InvalidInputError: A value that JSON would change or cannot hold; says which key.
    """
    given = dict(metadata)
    text = _dumped(given)
    if text is not None:
        return text
    for key, value in given.items():
        if _dumped({key: value}) is None:
            message = (
                f"metadata[{key!r}] = {value!r} would not come back from JSON unchanged: "
                "use strings as keys, and strings, numbers, booleans, None, lists or dicts as values"
            )
            raise InvalidInputError(message)
    return json.dumps(given)


def _dumped(metadata: dict[str, Any]) -> str | None:
    """Return metadata as JSON, or None if they would not read back equal."""
    try:
        text = json.dumps(metadata, allow_nan=False)
        return text if json.loads(text) == metadata else None
    except (TypeError, ValueError, RecursionError):
        return None


def digest(vector: bytes) -> bytes:
    """Return what tells vectors apart, and whether one has changed on disk."""
    return blake2b(vector, digest_size=16).digest()
