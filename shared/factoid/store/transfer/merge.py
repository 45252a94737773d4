"""Add the content of one store to another."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.files.sqlite import has_table, row_checksum
from factoid.progress import tracked
from factoid.propositions import PropositionCache
from factoid.store.database.connections import Connections
from factoid.store.database.records import to_array
from factoid.store.database.schema import local_folder
from factoid.store.database.snapshot import AMONG, INCOMPLETE, Snapshot, StoredUnit
from factoid.store.database.transaction import Transaction
from factoid.store.opened import OpenedStore
from factoid.store.settings import Settings, check_identity
from factoid.units import Document

_BLOCK = 1000  # units committed together, at least
_COUNTS = ("units", "replaced", "deleted", "documents", "propositions")

# An answer replaces a failure, and never the other way round.
_INSERT_PROPOSITION = """INSERT INTO propositions (key, name, output, reason, checksum)
    VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE
    SET (output, reason, checksum) = (excluded.output, excluded.reason, excluded.checksum)
    WHERE propositions.reason IS NOT NULL AND excluded.reason IS NULL"""


def merge(
    store: OpenedStore,
    other: OpenedStore | str | Path,
    *,
    keep: bool = False,
    progress: bool | None = None,
) -> dict[str, int]:
    """Do what `UnitStore.merge` describes."""
    target = store.connections
    target.check_writable()
    counts = Counter(dict.fromkeys(_COUNTS, 0))
    with ExitStack() as stack:
        if isinstance(other, str | Path):
            source = stack.enter_context(closing(Connections(local_folder(other), read_only=True)))
        else:
            source = other.connections
        if target is source or _are_one_file(target.path, source.path):
            place = target.path or "memory"
            raise InvalidInputError(f"a store cannot be merged into itself: {place}")
        theirs = stack.enter_context(source.reading())
        for ids in tracked(_blocks(theirs), show=progress, unit=" blocks"):
            with target.transaction() as transaction:
                counts.update(_put(transaction, theirs, ids, keep=keep))
        store.encode_also(theirs.encoded_granularities())
        counts["propositions"] = _merge_propositions(target, theirs.connection)
    return dict(counts)


def _are_one_file(first: Path | None, second: Path | None) -> bool:
    return first is not None and second is not None and first.samefile(second)


def _put(
    transaction: Transaction, theirs: Snapshot, ids: Sequence[str], *, keep: bool
) -> dict[str, int]:
    """Add documents of the other store with their units; return counts as `merge` does."""
    # -- What made the vectors --
    names = ("encoder", "embed_template", "embed_metadata", "late_chunking")
    identity = {name: theirs.meta.get(name) for name in names}
    check_identity(transaction, "the other one with", **identity, dim=theirs.meta.get("dim"))
    similarities = {str(Settings.of(snapshot).similarity) for snapshot in (transaction, theirs)}
    if theirs.meta.get("dim") is not None and len(similarities) > 1:
        compared = " and the other by ".join(sorted(similarities))
        raise EncoderMismatchError(f"one store compares vectors by {compared}")

    # -- Which documents and units are added --
    documents = theirs.documents_by_id(ids)
    if keep:
        skipped = _present_documents(transaction, ids)
    else:
        skipped = _equal_documents(transaction, documents, ids)
    units = []
    for stored in theirs.stored_units(ids):
        if stored.unit.document_id not in skipped:
            units.append(stored)
    owners = transaction.owners(stored.unit.id for stored in units)
    replaced = len(owners)
    if keep:  # some may be in other documents here
        units = [stored for stored in units if stored.unit.id not in owners]
        replaced = 0

    # -- The writes --
    before = transaction.count
    transaction.remove_rows(_moved_rows(transaction, theirs, units, owners), keep_texts=True)
    rows = transaction.units_of_documents([*({*ids} - skipped)])
    transaction.remove_rows(rows.tolist())
    transaction.put_units(units)
    added_documents = 0
    for document_id, (document, digest) in documents.items():
        if document_id not in skipped:
            transaction.put_document(document, digest)
            added_documents += 1
    transaction.identify(identity)
    added = len(units) - replaced
    return {
        "units": added,
        "replaced": replaced,
        "deleted": before + added - transaction.count,
        "documents": added_documents,
    }


def _present_documents(snapshot: Snapshot, ids: Iterable[str]) -> set[str]:
    """Return the ids of the documents that a store has."""
    sql = f"SELECT id FROM documents WHERE id {AMONG}"  # noqa: S608
    return {*snapshot.values(sql, [to_array(ids)])}


def _equal_documents(
    transaction: Transaction, documents: Mapping[str, tuple[Document, str]], ids: Sequence[str]
) -> set[str]:
    """Return the ids of complete documents that were added here in the same way."""
    digests = transaction.digests(ids)
    equal = set()
    for document_id, (_, digest) in documents.items():
        is_complete = digest not in ("", INCOMPLETE)
        if is_complete and digest == digests.get(document_id):
            equal.add(document_id)
    return equal


def _moved_rows(
    transaction: Transaction,
    theirs: Snapshot,
    units: Sequence[StoredUnit],
    owners: Mapping[str, str],
) -> list[int]:
    """Return the rows of units here that belong to another document than there.

    Only those count whose document here the other store replaces, too.
    """
    moved = []
    for unit, _ in units:
        if owners.get(unit.id, unit.document_id) != unit.document_id:
            moved.append(unit)
    documents = _present_documents(theirs, {owners[unit.id] for unit in moved})
    ids = [unit.id for unit in moved if owners[unit.id] in documents]
    sql = f"SELECT row FROM units WHERE id {AMONG}"  # noqa: S608
    return transaction.values(sql, [to_array(ids)])


def _blocks(theirs: Snapshot) -> Iterator[list[str]]:
    """Yield the ids of all documents, of some that have about `_BLOCK` units at a time."""
    sql = """SELECT id, (SELECT count(*) FROM units WHERE document = documents.row)
        FROM documents ORDER BY row"""
    ids: list[str] = []
    size = 0
    for document_id, count in theirs.connection.execute(sql).fetchall():
        ids.append(document_id)
        size += count + 1
        if size >= _BLOCK:
            yield ids
            ids = []
            size = 0
    if ids:
        yield ids


def _merge_propositions(target: Connections, source: sqlite3.Connection) -> int:
    """Add cached propositions, and return how many were new.

    A store in memory has no cache and takes none.
    """
    if target.path is None or not has_table(source, "propositions"):
        return 0
    PropositionCache(target.path).count()  # makes the table
    with target.raw_transaction() as connection:
        before = connection.total_changes
        rows = source.execute(
            "SELECT key, name, output, reason, checksum FROM propositions ORDER BY row"
        )
        intact = (row for row in rows if row_checksum(*row[:-1]) == row[-1])
        connection.executemany(_INSERT_PROPOSITION, intact)
        return connection.total_changes - before
