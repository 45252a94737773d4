"""Units and documents as they leave a store and come into another: in blocks, one generation throughout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np

from factoid.encode import Vectors
from factoid.errors import EncoderMismatchError
from factoid.store.records import FROM_UNITS, UNIT, to_array, to_document, to_unit
from factoid.store.snapshot import Snapshot
from factoid.store.transaction import Transaction
from factoid.units import Document, Unit

BLOCK = 1000  # units that are read, written or committed together

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stored:
    """A unit and its vector of shape (dim,), or None for one that is not searched."""

    unit: Unit
    vector: Vectors | None


def stored_units(snapshot: Snapshot, *, by_document: bool = False) -> Iterator[Stored]:
    """Yield all units with their vectors, oldest first, or those of a document one after the other."""
    order = "units.document, units.granularity, units.start, units.row" if by_document else "units.row"
    sql = f"""SELECT vectors.vector, {UNIT} FROM {FROM_UNITS} LEFT JOIN vectors ON vectors.row = units.vector
        ORDER BY {order}"""  # noqa: S608
    dtype = snapshot.dtype
    for blob, *rest in snapshot.connection.execute(sql):
        yield Stored(to_unit(rest), None if blob is None else np.frombuffer(blob, dtype).astype(np.float32))


def blocks(items: Iterable[T], size: int = BLOCK) -> Iterator[list[T]]:
    """Yield items in lists of so many, the last one shorter."""
    left = iter(items)
    while block := list(islice(left, size)):
        yield block


def stored_documents(snapshot: Snapshot, ids: Iterable[str]) -> dict[str, tuple[Document, str]]:
    """Return the documents with these ids whose texts are here, each with its digest."""
    sql = """SELECT digest, text, title, section, id, metadata FROM documents
        WHERE text IS NOT NULL AND id IN (SELECT value FROM json_each(?))"""
    rows = snapshot.connection.execute(sql, [to_array(ids)])
    return {rest[3]: (to_document(rest), digest) for digest, *rest in rows}


def put_units(writing: Transaction, stored: Sequence[Stored]) -> None:
    """Insert units, in place of those with the same ids; what is under them stays, and so do texts of documents.

    Raises:
        EncoderMismatchError: Vectors of another dimension than the store's, or that are not finite.
    """
    stored = list({each.unit.id: each for each in stored}.values())
    check_vectors(writing, stored)
    replaced = writing.stored(each.unit.id for each in stored)
    if replaced:
        # A document goes with its last unit; here its text is to stay, since units of it come back.
        kept = stored_documents(writing, _documents_of(writing, replaced))
        writing.remove(replaced, under=False)
    writing.insert(
        [each.unit for each in stored], {at: v.vector for at, v in enumerate(stored) if v.vector is not None}
    )
    if replaced:
        left = stored_documents(writing, kept)
        for own, (document, _) in kept.items():
            if own not in left:
                writing.put_document(document, "")


def check_vectors(writing: Transaction, stored: Sequence[Stored]) -> None:
    """Refuse vectors that do not fit the store; the first ones decide what fits.

    Raises:
        EncoderMismatchError: Says which unit, what it has and what was expected.
    """
    dim = writing.get("dim")
    for each in stored:
        if each.vector is None:
            continue
        if dim is None:
            dim = len(each.vector)
            writing.put("dim", dim)
        if len(each.vector) != dim:
            message = (
                f"this store holds vectors of {dim} dimensions, and unit {each.unit.id!r} comes with {len(each.vector)}"
            )
            raise EncoderMismatchError(message)
        if not np.isfinite(each.vector).all():
            message = f"the vector of unit {each.unit.id!r} is not finite: encode its text again"
            raise EncoderMismatchError(message)


def _documents_of(snapshot: Snapshot, ids: Sequence[str]) -> list[str]:
    sql = """SELECT DISTINCT documents.id FROM units JOIN documents ON documents.row = units.document
        WHERE units.id IN (SELECT value FROM json_each(?))"""
    return [own for (own,) in snapshot.connection.execute(sql, [to_array(ids)])]
