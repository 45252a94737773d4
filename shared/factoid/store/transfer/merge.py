"""Add the content of one store to another."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.files.sqlite import has_table, row_checksum
from factoid.progress import tracked
from factoid.propositions import PropositionCache
from factoid.store.database.connections import Connections
from factoid.store.database.records import to_array
from factoid.store.database.schema import local_folder
from factoid.store.database.snapshot import AMONG, INCOMPLETE, Snapshot, StoredUnit
from factoid.store.database.transaction import Transaction
from factoid.store.settings import Settings, check_identity

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore

_BLOCK = 1000  # units committed together, at least

# An answer replaces a failure, and never the other way round.
_INSERT_PROPOSITION = """INSERT INTO propositions (key, name, output, reason, checksum) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET (output, reason, checksum) = (excluded.output, excluded.reason, excluded.checksum)
    WHERE propositions.reason IS NOT NULL AND excluded.reason IS NULL"""


def merge(
    store: UnitStore,
    other: UnitStore | str | Path,
    *,
    keep: bool = False,
    progress: bool | None = None,
) -> dict[str, int]:
    """Add all documents, units, vectors and cached propositions of another store, at one generation.

    A document that is in both stores, by its id, is replaced with all its units: those that only
    this store has are deleted. With `keep` it stays as it is here, and so does one that was added
    in the same way. About a thousand units are committed together, a document in one piece. An
    interrupted call can be repeated.

    Returns:
        The number of "units" added, "replaced" and "deleted", of "documents" whose texts were added
        or replaced, and of cached "propositions" added.

    Raises:
        EncoderMismatchError: The stores' vectors differ in encoder, template, dimension or
            similarity.
        InvalidInputError: A store is merged into itself; or, without `keep`, a unit of the other
            one has the id of a unit of another document here. What was merged before that document
            stays.
        StoreFormatError: There is no store at the path.
    """
    target = store.connections
    target.check_writable()
    counts = Counter(
        dict.fromkeys(("units", "replaced", "deleted", "documents", "propositions"), 0)
    )
    with ExitStack() as stack:
        if isinstance(other, str | Path):
            source = stack.enter_context(closing(Connections(local_folder(other), read_only=True)))
        else:
            source = other.connections
        if target is source or (target.path and source.path and target.path.samefile(source.path)):
            raise InvalidInputError(
                f"a store cannot be merged into itself: {target.path or 'memory'}"
            )
        theirs = stack.enter_context(source.reading())
        for ids in tracked(_blocks(theirs), show=progress, unit=" blocks"):
            with target.transaction() as writing:
                counts.update(_put(writing, theirs, ids, keep=keep))
        counts["propositions"] = _merge_propositions(target, theirs.connection)
    return dict(counts)


def _put(
    writing: Transaction, theirs: Snapshot, ids: Sequence[str], *, keep: bool
) -> dict[str, int]:
    """Add documents of the other store with their units; return counts as `merge` does."""
    identity = {
        name: theirs.meta.get(name) for name in ("encoder", "embed_template", "embed_metadata")
    }
    check_identity(writing, "the other one with", **identity, dim=theirs.meta.get("dim"))
    similarities = {str(Settings.of(snapshot).similarity) for snapshot in (writing, theirs)}
    if theirs.meta.get("dim") is not None and len(similarities) > 1:
        raise EncoderMismatchError(
            f"one store compares vectors by {' and the other by '.join(sorted(similarities))}"
        )
    texts, digests, before = theirs.documents_by_id(ids), writing.digests(ids), writing.count
    if keep:
        skipped = {*writing.values(f"SELECT id FROM documents WHERE id {AMONG}", [to_array(ids)])}  # noqa: S608
    else:
        complete = {
            id_: digest for id_, (_, digest) in texts.items() if digest not in ("", INCOMPLETE)
        }
        skipped = {id_ for id_, digest in complete.items() if digest == digests.get(id_)}
    chosen = [
        stored for stored in theirs.stored_units(ids) if stored.unit.document_id not in skipped
    ]
    owners = writing.owners(stored.unit.id for stored in chosen)
    present = {*owners}
    if keep:  # some may be in other documents here
        chosen, present = [stored for stored in chosen if stored.unit.id not in present], set()
    writing.remove_rows(_moved_rows(writing, theirs, chosen, owners), keep_texts=True)
    writing.remove_rows(writing.units_of_documents([*({*ids} - skipped)]).tolist())
    writing.put_units(chosen)
    documents = [text for id_, text in texts.items() if id_ not in skipped]
    for text in documents:
        writing.put_document(*text)
    writing.identify(identity)
    added = len(chosen) - len(present)
    deleted = before + added - writing.count
    return {
        "units": added,
        "replaced": len(present),
        "deleted": deleted,
        "documents": len(documents),
    }


def _moved_rows(
    writing: Transaction, theirs: Snapshot, chosen: Sequence[StoredUnit], owners: Mapping[str, str]
) -> list[int]:
    """Return the rows of units here that belong to another document than there, if the other store replaces that one, too."""
    moved = [
        unit for unit, _ in chosen if owners.get(unit.id, unit.document_id) != unit.document_id
    ]
    documents = {owners[unit.id] for unit in moved}
    known = {*theirs.values(f"SELECT id FROM documents WHERE id {AMONG}", [to_array(documents)])}  # noqa: S608
    ids = [unit.id for unit in moved if owners[unit.id] in known]
    return writing.values(f"SELECT row FROM units WHERE id {AMONG}", [to_array(ids)])  # noqa: S608


def _blocks(theirs: Snapshot) -> Iterator[list[str]]:
    """Yield the ids of all documents, of some that have about `_BLOCK` units at a time."""
    sql = "SELECT id, (SELECT count(*) FROM units WHERE document = documents.row) FROM documents ORDER BY row"
    ids, size = [], 0
    for document_id, count in theirs.connection.execute(sql).fetchall():
        ids.append(document_id)
        size += count + 1
        if size >= _BLOCK:
            yield ids
            ids, size = [], 0
    if ids:
        yield ids


def _merge_propositions(target: Connections, source: sqlite3.Connection) -> int:
    """Add cached propositions, and return how many were new.

    A store in memory has no cache and takes none.
    """
    if target.path is None or not has_table(source, "propositions"):
        return 0
    PropositionCache(target.path).count()  # makes the table
    with target.writing() as connection:
        before = connection.total_changes
        rows = source.execute(
            "SELECT key, name, output, reason, checksum FROM propositions ORDER BY row"
        )
        intact = (row for row in rows if row_checksum(*row[:-1]) == row[-1])
        connection.executemany(_INSERT_PROPOSITION, intact)
        return connection.total_changes - before
