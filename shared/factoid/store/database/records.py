"""Documents, vectors and metadata as rows of the database, and the checksums that reveal damage."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

from factoid.errors import InvalidInputError
from factoid.units import Document, Metadata


class DamagedRowError(Exception):
    """The database does not hold what was written; `Connections` adds the name of the store."""

    def __init__(self, row: object, *, what: str) -> None:
        super().__init__(f"{what} {row!r} differs from what was written")


def checksum(*texts: str) -> int:
    """Return the checksum of a document's id, text, title, section and metadata as JSON, or of a unit's texts."""
    return zlib.crc32("\0".join(texts).encode())


def unit_checksum(row: int, vector: int | None, start: int, end: int, *texts: str) -> int:
    """Return the checksum of a unit's numbers and of all texts that `snapshot.UNIT` selects."""
    return zlib.crc32("\0".join((f"{row:d} {vector} {start:d} {end:d}", *texts)).encode())


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
    try:
        if text is None and not written:
            return None
        if checksum(document_id, text, title, section, metadata) != written:
            raise ValueError
        return Document(text, title, section, document_id, json.loads(metadata))
    except (ValueError, TypeError) as error:
        raise DamagedRowError(document_id, what="document") from error


def to_array(values: Iterable[Any]) -> str:
    """Return rows or ids as an array for `json_each`, which reads strings up to a NUL; stored ids never contain one."""
    if isinstance(values, str):
        raise InvalidInputError(f"expected a list of ids, got the string {values!r}")
    return json.dumps([value for value in values if not (isinstance(value, str) and "\0" in value)])


def to_json(metadata: Metadata) -> str:
    """Return metadata as JSON that reads back equal; raise InvalidInputError for a key whose value does not."""
    values = dict(metadata)
    text = _dump(values)
    if text is None:
        key, value = next((key, value) for key, value in values.items() if _dump({key: value}) is None)
        raise InvalidInputError(
            f"metadata[{key!r}] = {value!r} would not come back from JSON unchanged: "
            "use strings as keys, and strings, numbers, booleans, None, lists or dicts as values"
        )
    return text


def _dump(metadata: dict[str, Any]) -> str | None:
    """Return metadata as JSON, or None if they would not read back equal."""
    try:
        text = json.dumps(metadata, allow_nan=False)
        return text if json.loads(text) == metadata else None
    except (TypeError, ValueError, RecursionError):
        return None
