"""Documents, vectors and metadata as rows of the database, and the checksums that reveal damage."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from factoid.errors import InvalidInputError
from factoid.units import Document, Metadata


class DamagedRowError(Exception):
    """The database does not hold what was written; `Connections` adds the name of the store."""

    def __init__(self, row: object, *, what: str) -> None:
        super().__init__(f"{what} {row!r} differs from what was written")


def checksum(*values: object) -> int:
    """Return the checksum of a row: SQLite does not notice a bit that flips within a value."""
    return zlib.crc32("\0".join(map(str, values)).encode())


def digest(vector: bytes) -> bytes:
    """Return a vector's digest, which tells vectors apart and shows whether one has changed on disk."""
    return blake2b(vector, digest_size=16).digest()


def intact(row: int, blob: bytes, written: bytes) -> bytes:
    """Return a vector's bytes, or raise DamagedRowError if their digest is not the one that was written."""
    if not isinstance(blob, bytes) or digest(blob) != written:
        raise DamagedRowError(row, what="vector")
    return blob


def to_document(row: Sequence[Any]) -> Document | None:
    """Return the document of a row of `snapshot.DOCUMENT`, or None if only its units were added."""
    written, document_id, text, title, section, metadata = row
    if text is None and not written:
        return None
    if checksum(document_id, text, title, section, metadata) != written:
        raise DamagedRowError(document_id, what="document")
    return Document(text, title, section, document_id, json.loads(metadata))


def to_array(values: Iterable[Any]) -> str:
    """Return rows or ids as an array for `json_each`, which reads strings up to a NUL; stored ids never contain one."""
    if isinstance(values, str):
        raise InvalidInputError(f"expected a list of ids, got the string {values!r}")
    return json.dumps([value for value in values if not (isinstance(value, str) and "\0" in value)])


def to_json(metadata: Metadata) -> str:
    """Return metadata as JSON that reads back equal; raise InvalidInputError if no JSON does."""
    values = dict(metadata)
    with suppress(TypeError, ValueError, RecursionError):
        text = json.dumps(values, allow_nan=False)
        if json.loads(text) == values:
            return text
    raise InvalidInputError(
        f"metadata {values!r:.200} would not come back from JSON unchanged: use strings as keys, and strings, numbers, "
        "booleans, None, lists or dicts as values"
    )
