"""Read units and documents by their ids, and list ids in pages, behind a filter or without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import TypeVar

from factoid.errors import InvalidInputError, shown
from factoid.filters import Filter, to_condition
from factoid.store.database.snapshot import Snapshot
from factoid.store.filter_wall import VARIED_PASSAGES, Wall
from factoid.store.indexes.state import IndexState
from factoid.store.opened import OpenedStore
from factoid.store.search import open_documents
from factoid.units import Granularity, Unit, document_unit

T = TypeVar("T")

_TEXTS = 500  # documents whose texts are in memory at once


def behind_filter(
    store: OpenedStore, filter_: Filter | None, work: Callable[[Snapshot, Wall | None], T]
) -> T:
    """Do some work with a snapshot and what a filter lets through; None without a filter."""
    if filter_ is None:
        with store.connections.reading() as snapshot:
            return work(snapshot, None)
    condition = to_condition(filter_)

    def with_wall(snapshot: Snapshot, states: Sequence[IndexState]) -> T:
        [varied_passages] = states
        return work(snapshot, varied_passages.wall(snapshot, condition))

    return store.indexes.with_current([VARIED_PASSAGES], with_wall)


# -- Units by their ids --


def units_by_id(
    ids: Sequence[str], documents: bool, snapshot: Snapshot, wall: Wall | None
) -> list[Unit]:
    """Return the units with these ids, in this order, without what a filter excludes.

    With `documents`, documents whose texts are stored come before units.
    """
    stored = _stored_by_id(ids, documents, snapshot)
    if wall is None:
        return stored
    unit_ids: list[str] = []
    document_ids: list[str] = []
    for unit in stored:
        if unit.granularity is Granularity.DOCUMENT:
            document_ids.append(unit.id)
        else:
            unit_ids.append(unit.id)
    allowed = {*_allowed_ids(unit_ids, snapshot, wall)}
    units = [unit for unit in stored if unit.id in allowed]
    visible = {unit.id: unit for unit in wall.shown(snapshot, units)}
    rows = snapshot.document_rows(document_ids).tolist()
    for document in open_documents(snapshot, rows, wall).values():
        visible[document.id] = document
    return [visible[unit.id] for unit in stored if unit.id in visible]


def _stored_by_id(ids: Sequence[str], documents: bool, snapshot: Snapshot) -> list[Unit]:
    """Return the stored units with these ids, as `units_by_id` does without a filter."""
    if not documents:
        return snapshot.units_by_id(ids)
    stored: dict[str, Unit] = {}
    for document, _ in snapshot.documents_by_id(ids).values():
        stored[document.id] = document_unit(document)
    others = [unit_id for unit_id in ids if unit_id not in stored]
    for unit in snapshot.units_by_id(others):
        stored[unit.id] = unit
    units = []
    for unit_id in ids:
        if unit_id in stored:
            units.append(stored[unit_id])
    return units


def _allowed_ids(ids: Sequence[str], snapshot: Snapshot, wall: Wall) -> list[str]:
    """Return the ids of those of some units that a filter lets a search return, oldest first."""
    unit_ids, rows, metadata = snapshot.unit_metadata(ids)
    return list(compress(unit_ids, wall.allowed(rows, metadata).tolist()))


def passages_around(unit_id: str, count: int, snapshot: Snapshot, wall: Wall | None) -> list[Unit]:
    """Return the passage of a unit with `count` passages before and after, in order of the text.

    Without those that a filter excludes, and [] if it excludes the unit.
    """
    units = units_by_id([unit_id], False, snapshot, wall)
    if not units:
        return []
    [unit] = units
    if not unit.has_place:  # the place of a framework's node may be unknown
        return units_by_id([unit.parent_id], False, snapshot, wall) or units
    span = (unit.start, unit.end)
    passages = snapshot.neighbours(unit.document_id, Granularity.PASSAGE, *span, count)
    return units_by_id([passage.id for passage in passages], False, snapshot, wall)


# -- Lists of ids, in pages --


def listed_ids(
    after: str | None, limit: int | None, snapshot: Snapshot, wall: Wall | None
) -> list[str]:
    """Return the ids of units that a filter lets a search return, oldest first.

    They are those after a unit, as many as are wanted.

    Raises:
        InvalidInputError: There is no such unit in this list.
    """
    row = 0
    if after is not None:
        unit_ids, rows, metadata = snapshot.unit_metadata([after])
        is_listed = len(unit_ids) > 0
        if is_listed and wall is not None:
            is_listed = bool(wall.allowed(rows, metadata)[0])
        if not is_listed:
            raise _not_in_list("unit", after)
        row = int(rows[0])
    if wall is None:
        return snapshot.ids(row, limit)

    def block_after(row: int) -> tuple[list[str], Sequence[int]]:
        unit_ids, rows, metadata = snapshot.unit_metadata(after=row, limit=limit)
        allowed = wall.allowed(rows, metadata)
        return list(compress(unit_ids, allowed.tolist())), rows.tolist()

    return _page(block_after, row, limit)


def listed_document_ids(
    after: str | None, limit: int | None, snapshot: Snapshot, wall: Wall | None
) -> list[str]:
    """Return the ids of documents that a filter lets a search return, oldest first.

    They are those after a document, as many as are wanted.

    Raises:
        InvalidInputError: There is no such document in this list.
    """
    row = 0
    if after is not None:
        documents = open_documents(snapshot, snapshot.rows_with_texts([after]), wall)
        if not documents:
            raise _not_in_list("document", after)
        [row] = documents
    if wall is None:
        return snapshot.document_ids_with_texts(row, limit)

    def block_after(row: int) -> tuple[list[str], Sequence[int]]:
        by_row = snapshot.document_ids_over(wall.passing, row, limit)
        rows = [*by_row]
        ids = []
        for start in range(0, len(rows), _TEXTS):
            for open_row in sorted(open_documents(snapshot, rows[start : start + _TEXTS], wall)):
                ids.append(by_row[open_row])
        return ids, rows

    return _page(block_after, row, limit)


def _page(
    block_after: Callable[[int], tuple[list[str], Sequence[int]]], row: int, limit: int | None
) -> list[str]:
    """Return the ids after a row, as many as are wanted; None for all.

    Args:
        block_after: Reads up to `limit` rows after one. Returns the ids that a filter lets through,
            and all rows of the block.
        row: The row that the page comes after.
        limit: How many ids the page has.
    """
    ids: list[str] = []
    while True:
        allowed, rows = block_after(row)
        ids += allowed
        if limit is None or len(rows) < limit or len(ids) >= limit:
            return ids[:limit]
        row = rows[-1]


def _not_in_list(kind: str, after: str) -> InvalidInputError:
    return InvalidInputError(
        f"there is no {kind} with the id {shown(after)} in this list, after which it could go on"
    )
