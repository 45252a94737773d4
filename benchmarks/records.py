"""One field of many records: of questions, units, documents and hits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def texts_of(records: Iterable[Any]) -> list[str]:
    """Return the texts of questions, units or documents."""
    return [record.text for record in records]


def indexed_by_id(records: Iterable[Any]) -> dict[str, Any]:
    """Return units or documents by their id; of equal ones the last, at the place of the first."""
    return {record.id: record for record in records}


def units_of(hits: Iterable[Any]) -> list[Any]:
    """Return the units that were found."""
    return [hit.unit for hit in hits]


def ids_of(hits: Iterable[Any]) -> list[str]:
    """Return the ids of the units that were found."""
    return [hit.unit.id for hit in hits]
