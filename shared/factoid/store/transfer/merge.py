"""Add the content of one store to another."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from factoid.encode import bare_name
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.files.sqlite import has_table
from factoid.progress import progress_bar
from factoid.propositions import PropositionCache
from factoid.store.database.connections import Connections
from factoid.store.database.records import to_array
from factoid.store.database.schema import local_folder
from factoid.store.database.snapshot import AMONG, Snapshot, StoredUnit
from factoid.store.database.transaction import Transaction
from factoid.store.settings import Settings
from factoid.store.transfer.formats import BLOCK, blocks
from factoid.units import Document, Granularity

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore

OnConflict = Literal["replace", "keep", "error"]

_IDENTITY = ("encoder", "embed_template")  # what made the vectors, and from which text

# An answer replaces a failure, and never the other way round.
_INSERT_PROPOSITION = """INSERT INTO propositions (key, name, output, reason) VALUES (?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET (output, reason) = (excluded.output, excluded.reason)
    WHERE propositions.reason IS NOT NULL AND excluded.reason IS NULL"""

_Documents = dict[str, tuple[Document, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReport:
    """What `UnitStore.merge` did.

    Attributes:
        units: Units added.
        replaced: Units of the other store that replaced units with the same id.
        skipped: Units of the other store left out in favour of those of this store.
        documents: Sources kept by `add_documents` that were added or replaced. Units without a source, as from the frameworks'
            stores, count only as units.
        propositions: Results of costly propositionizers added to the cache.
    """

    units: int = 0
    replaced: int = 0
    skipped: int = 0
    documents: int = 0
    propositions: int = 0

    def __str__(self) -> str:
        return (
            f"{self.units:,} units added, {self.replaced:,} replaced and {self.skipped:,} left out; {self.documents:,} "
            f"documents and {self.propositions:,} cached propositions added"
        )


def merge(
    store: UnitStore,
    other: UnitStore | str | Path,
    *,
    on_conflict: OnConflict = "replace",
    show_progress: bool = False,
) -> MergeReport:
    """Add all units, documents, vectors and cached propositions of another store, at one generation.

    A document with its text is a conflict, together with its units, if it is in both stores and differs (in text, title, metadata
    or how it was added). So is a passage, together with the units under it, and any other unit. About a thousand units are in
    memory at a time and are committed together, a document in one piece. An interrupted call can be repeated.

    Args:
        store: The store.
        other: The store to read, or its folder.
        on_conflict: "replace" takes the other's documents and units, "keep" leaves them out, "error" refuses to merge.
        show_progress: Show a progress bar.

    Raises:
        EncoderMismatchError: The stores' vectors differ in encoder, template, dimension or similarity.
        InvalidInputError: `on_conflict` is unknown, a store is merged into itself, or there is a conflict with "error"; then
            nothing was changed.
        StoreFormatError: There is no store at the path.
    """
    if on_conflict not in get_args(OnConflict):
        raise InvalidInputError(f"on_conflict must be 'replace', 'keep' or 'error', got {on_conflict!r}")
    target, replace = store.connections, on_conflict == "replace"
    target.check_writable()
    with ExitStack() as stack:
        if isinstance(other, str | Path):
            source = stack.enter_context(closing(Connections(local_folder(other), read_only=True)))
        else:
            source = other.connections
        same = target.path and source.path and source.path.exists() and target.path.samefile(source.path)
        if target is source or same:
            raise InvalidInputError(f"a store cannot be merged into itself: {target.path or 'memory'}")
        theirs = stack.enter_context(source.reading())
        with target.reading() as mine:
            _check_fit(mine, theirs)
            if on_conflict == "error":
                _refuse_conflicts(mine, theirs)
        counts: Counter[str] = Counter()
        with progress_bar(show=show_progress, unit=" units", total=sum(theirs.counts().values())) as bar:
            for block in _whole_documents(theirs.stored_units(by_document=True)):
                texts = theirs.documents_by_id({stored.unit.document_id for stored in block})
                with target.transaction() as writing:
                    counts.update(_add(writing, theirs, block, texts, replace=replace))
                bar.update(len(block))
        for group in blocks(theirs.all_documents()):  # once more, for those without units
            texts = {text[0].id: text for text in group}
            with target.transaction() as writing:
                counts.update(_add(writing, theirs, [], texts, replace=replace))
        return MergeReport(**counts, propositions=_merge_propositions(target, theirs.connection))


def _add(
    writing: Transaction, theirs: Snapshot, block: Sequence[StoredUnit], texts: _Documents, *, replace: bool
) -> dict[str, int]:
    """Add units and their documents; return counts as in `MergeReport`."""
    _check_fit(writing, theirs)  # another process may have written meanwhile
    present = set(writing.stored(stored.unit.id for stored in block))
    differing = _differing(writing, texts)
    if replace:
        writing.remove(differing)
    else:
        texts = {document_id: text for document_id, text in texts.items() if document_id not in differing}
        block = [stored for stored in block if stored.unit.document_id not in differing]
    changed = _changed_passages(writing, theirs, block)
    if replace:
        writing.remove(sorted(changed))  # with the units under them: all come from the other store
    else:
        block = [stored for stored in block if not changed & {stored.unit.id, stored.unit.parent_id}]
    same, conflicting = _compared(writing, block)
    omitted = same if replace else same | conflicting
    fresh = [stored for stored in block if stored.unit.id not in omitted]
    writing.put_units(fresh)
    for key in _IDENTITY:
        if fresh and writing.meta.get(key) is None and (value := theirs.meta.get(key)):
            writing.put(key, value)
    known = writing.documents_by_id(texts)
    for document_id, text in texts.items():
        if document_id not in known or (replace and known[document_id] != text):
            writing.put_document(*text)
    replaced = sum(stored.unit.id in present for stored in fresh)
    skipped = 0 if replace else len(conflicting) + len(changed)
    units, documents = len(fresh) - replaced, len(texts.keys() - known)
    return {"units": units, "replaced": replaced, "skipped": skipped, "documents": documents}


def _compared(mine: Snapshot, block: Sequence[StoredUnit]) -> tuple[set[str], set[str]]:
    """Return the ids of the units that are in the store and equal, and of those that are in it and differ."""
    units = {unit.id: unit for unit in mine.units_by_id([stored.unit.id for stored in block])}
    vectors = mine.vectors_by_id(list(units))
    same = set()
    for unit, vector in block:
        # A missing vector equals only a missing vector.
        if units.get(unit.id) == unit and np.array_equal(vector, vectors.get(unit.id)):  # type: ignore[arg-type]
            same.add(unit.id)
    return same, units.keys() - same


def _changed_passages(mine: Snapshot, theirs: Snapshot, block: Sequence[StoredUnit]) -> set[str]:
    """Return the ids of the passages that differ between the stores and have units under them in the other one."""
    passages = {unit.id if unit.granularity is Granularity.PASSAGE else unit.parent_id for unit, _ in block}
    sql = f"SELECT DISTINCT parent_id FROM units WHERE parent_id {AMONG}"  # noqa: S608
    parent_ids = theirs.values(sql, [to_array(passages)])
    parents = {unit.id: unit for unit in theirs.units_by_id(parent_ids)}
    return {unit.id for unit in mine.units_by_id(parent_ids) if unit.id in parents and unit != parents[unit.id]}


def _differing(mine: Snapshot, texts: _Documents) -> list[str]:
    """Return the ids of documents that are in both stores and differ."""
    return [
        document_id
        for document_id, (document, digest) in mine.documents_by_id(texts).items()
        if document != texts[document_id][0] or (digest and texts[document_id][1] not in ("", digest))
    ]


def _refuse_conflicts(mine: Snapshot, theirs: Snapshot) -> None:
    """Look for a conflict before anything is written."""
    units = (("unit", _compared(mine, block)[1]) for block in blocks(theirs.stored_units()))
    texts = ({text[0].id: text for text in group} for group in blocks(theirs.all_documents()))
    for what, ids in chain(units, (("document", _differing(mine, group)) for group in texts)):
        if ids:
            remedy = "choose on_conflict='replace' or 'keep'. Nothing was merged"
            raise InvalidInputError(f"{what} {min(ids)!r} is in both stores, but differs: {remedy}")


def _check_fit(mine: Snapshot, theirs: Snapshot) -> None:
    """Reject stores whose vectors were made or are compared differently."""
    pairs = {name: (mine.meta.get(name), theirs.meta.get(name)) for name in (*_IDENTITY, "dim")}
    if theirs.meta.get("dim") is not None:
        pairs["similarity"] = (str(Settings.of(mine).similarity), str(Settings.of(theirs).similarity))
    for name, (here, there) in pairs.items():
        if here is not None and there is not None and bare_name(str(here)) != bare_name(str(there)):
            raise EncoderMismatchError(
                f"the vectors of these stores do not fit together: {name} is {here!r} here and {there!r} there"
            )


def _whole_documents(units: Iterable[StoredUnit]) -> Iterator[list[StoredUnit]]:
    """Yield units in lists that end where a document ends."""
    block: list[StoredUnit] = []
    for _, of_document in groupby(units, lambda stored: stored.unit.document_id):
        block += of_document
        if len(block) >= BLOCK:
            yield block
            block = []
    if block:
        yield block


def _merge_propositions(target: Connections, source: sqlite3.Connection) -> int:
    """Add cached propositions, and return how many were new; a store in memory has no cache and takes none."""
    if target.path is None or not has_table(source, "propositions"):
        return 0
    PropositionCache(target.path).count()  # makes the table
    added = 0
    cursor = source.execute("SELECT key, name, output, reason FROM propositions ORDER BY row")
    while block := cursor.fetchmany(BLOCK):
        with target.writing() as connection:
            before = connection.total_changes
            connection.executemany(_INSERT_PROPOSITION, block)
            added += connection.total_changes - before
    return added
