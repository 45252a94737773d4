"""Units and documents as records of an exported file, written and read back with every field checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.store.records import to_json
from factoid.store.rows import Stored
from factoid.units import Document, Granularity, Unit, check_text

UNIT_FIELDS = (
    *(
        "id",
        "text",
        "granularity",
        "document_id",
        "parent_id",
        "start",
        "end",
        "title",
        "section",
        "metadata",
        "payload",
    ),
)
DOCUMENT_FIELDS = ("id", "text", "title", "section", "metadata", "digest")

Record = dict[str, Any]


def unit_record(unit: Unit) -> Record:
    """Return a unit's fields."""
    return {name: getattr(unit, name) for name in UNIT_FIELDS} | {
        "granularity": str(unit.granularity),
        "metadata": dict(unit.metadata),
    }


def document_record(document: Document, digest: str) -> Record:
    """Return a document's fields; the digest tells how it was added, so that it is not decomposed anew."""
    own = {name: getattr(document, name) for name in DOCUMENT_FIELDS if name != "digest"}
    return own | {"metadata": dict(document.metadata), "digest": digest}


def to_stored(record: Record, place: str) -> tuple[Stored, bool]:
    """Return the unit of a record, and whether the record says what its vector is (a null says that it has none).

    Args:
        record: Fields by name; `title`, `section`, `metadata`, `payload` and `vector` may be absent.
        place: Where it stands, for errors.

    Raises:
        UnreadableFileError: A field that is missing, unknown or of a wrong type.
    """
    _check_names(record, (*UNIT_FIELDS, "vector"), place)
    given = {name: _string(record, name, place) for name in ("id", "text", "document_id", "parent_id")}
    given |= {name: _string(record, name, place, "") for name in ("title", "section", "payload")}
    try:
        kind = Granularity(_string(record, "granularity", place))
    except InvalidInputError as error:
        raise _wrong(place, str(error)) from error
    span = {name: _integer(record, name, place) for name in ("start", "end")}
    unit = Unit(**given, **span, granularity=kind, metadata=_metadata(record, place))  # type: ignore[arg-type]
    vector = record.get("vector")
    return Stored(unit, None if vector is None else _vector(vector, place)), "vector" in record


def to_document_and_digest(record: Record, place: str) -> tuple[Document, str]:
    """Return the document of a record, and its digest.

    Raises:
        UnreadableFileError: See `to_stored`.
    """
    _check_names(record, DOCUMENT_FIELDS, place)
    given = {name: _string(record, name, place) for name in ("id", "text")}
    given |= {name: _string(record, name, place, "") for name in ("title", "section")}
    return Document(**given, metadata=_metadata(record, place)), _string(record, "digest", place, "")


def _check_names(record: Record, known: tuple[str, ...], place: str) -> None:
    unknown = sorted(set(record) - set(known))
    if unknown:
        raise _wrong(
            place, f"unknown field {unknown[0]!r}: expected {', '.join(known)}; put what is your own into metadata"
        )


def _string(record: Record, name: str, place: str, default: str | None = None) -> str:
    value = record.get(name)
    if value is None:
        value = default
    if not isinstance(value, str):
        raise _wrong(place, f"expected a string in {name!r}, got {value!r:.60}")
    try:
        check_text(value, name)
    except InvalidInputError as error:
        raise _wrong(place, str(error)) from error
    if name in ("id", "document_id", "parent_id") and "\0" in value:
        raise _wrong(place, f"{name!r} must not hold a NUL byte, got {value!r:.60}")
    return value


def _integer(record: Record, name: str, place: str) -> int:
    value = record.get(name)
    if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
        raise _wrong(place, f"expected a whole number in {name!r}, got {value!r:.60}")
    return value


def _metadata(record: Record, place: str) -> Mapping[str, Any]:
    value = record.get("metadata")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong(place, f"expected an object in 'metadata', got {value!r:.60}")
    try:
        return dict(json.loads(to_json(value)))
    except InvalidInputError as error:
        raise _wrong(place, str(error)) from error


def _vector(value: Any, place: str) -> Vectors:
    if isinstance(value, list) and not all(type(each) in (int, float) for each in value):
        raise _wrong(place, f"expected a list of numbers in 'vector', got {value!r:.60}")
    try:
        with np.errstate(over="ignore"):
            vector = np.asarray(value, np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise _wrong(place, f"expected a list of numbers in 'vector', got {value!r:.60}") from error
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
        raise _wrong(place, f"expected a list of finite numbers in 'vector', got {value!r:.60}")
    return vector


def _wrong(place: str, reason: str) -> UnreadableFileError:
    return UnreadableFileError(f"{place}: {reason}")
