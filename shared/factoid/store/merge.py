"""The content of one store added to another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np

from factoid.encode import Vectors
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.progress import progress_bar
from factoid.store.connections import Connections
from factoid.store.merge_propositions import merge_propositions
from factoid.store.records import to_array
from factoid.store.rows import BLOCK, Stored, blocks, put_units, stored_documents, stored_units
from factoid.store.settings import Settings
from factoid.store.snapshot import Snapshot
from factoid.store.transaction import Transaction, transaction
from factoid.units import Document, Granularity

OnConflict = Literal["replace", "keep", "error"]

_LARGEST = 8 * BLOCK  # units of one document that are committed together; of more, in parts

_Documents = dict[str, tuple[Document, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReport:
    """What `UnitStore.merge` did.

    Attributes:
        units: Units added.
        replaced: Units of the other store that took the place of units with the same id.
        kept: Units of the other store that were left out, because the own ones were kept.
        documents: Sources that `add_documents` keeps, added or replaced. Units that come without, as from the frameworks'
            stores, are counted as units only.
        propositions: Results of costly propositionizers added to the cache.
    """

    units: int = 0
    replaced: int = 0
    kept: int = 0
    documents: int = 0
    propositions: int = 0

    def __add__(self, other: MergeReport) -> MergeReport:
        return MergeReport(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})

    def __str__(self) -> str:
        return (
            f"{self.units:,} units added, {self.replaced:,} replaced and {self.kept:,} left out; {self.documents:,} "
            f"documents and {self.propositions:,} cached propositions added"
        )


def merge(
    own: Connections, other: Connections, *, on_conflict: OnConflict = "replace", show_progress: bool = False
) -> MergeReport:
    """Add units, documents, vectors and cached propositions of one generation of another store.

    A document with its text that is in both stores and not the same (text, title, metadata or how it was added) is a
    conflict, together with its units; so is a passage, together with the units under it, and any other unit. Some
    thousand units are in memory at a time, and are committed together; a document in one piece, unless it is larger. A
    call that was interrupted can be made again.

    Args:
        own: Of the store that is added to.
        other: Of the store that is read.
        on_conflict: "replace" takes the other's documents and units, "keep" leaves them out, "error" refuses to merge.
        show_progress: Show a progress bar over units.

    Raises:
        EncoderMismatchError: The stores' vectors differ in encoder, dimension or similarity.
        InvalidInputError: An unknown `on_conflict`, a store into itself, or a conflict that is to be an error; then
            nothing was changed.
    """
    if on_conflict not in get_args(OnConflict):
        message = f"on_conflict must be 'replace', 'keep' or 'error', got {on_conflict!r}"
        raise InvalidInputError(message)
    if own is other or (own.path and other.path and other.path.exists() and own.path.samefile(other.path)):
        message = f"a store cannot be merged into itself: {own.path or 'memory'}"
        raise InvalidInputError(message)
    with other.reading() as connection:
        theirs = Snapshot(connection)
        with own.reading() as reading:
            _check_fit(Snapshot(reading), theirs)
        if on_conflict == "error":
            _refuse_conflicts(own, theirs)
        report = MergeReport()
        total = sum(theirs.counts().values())
        with progress_bar(show=show_progress, unit=" units", total=total) as bar:
            for block, ended in _parts(stored_units(theirs, by_document=True)):
                texts = stored_documents(theirs, {each.unit.document_id for each in block})
                if not ended and (text := texts.get(block[-1].unit.document_id)):
                    texts[text[0].id] = (text[0], "")  # not complete before its last units have come
                with transaction(own) as writing:
                    report += _add(writing, theirs, block, texts, replace=on_conflict == "replace")
                bar.update(len(block))
        for group in blocks(_documents_without_units(theirs)):
            with transaction(own) as writing:
                texts = {document.id: (document, digest) for document, digest in group}
                report += _add(writing, theirs, [], texts, replace=on_conflict == "replace")
        return report + MergeReport(propositions=merge_propositions(own, theirs))


def _add(
    writing: Transaction, theirs: Snapshot, block: Sequence[Stored], texts: _Documents, *, replace: bool
) -> MergeReport:
    """Add units and the documents that they are of."""
    _check_fit(writing, theirs)  # another process may have written meanwhile
    held = set(writing.stored(each.unit.id for each in block))
    differing = _differing(writing, texts)
    if replace:
        writing.remove(differing)
    else:
        texts = {own: text for own, text in texts.items() if own not in differing}
        block = [each for each in block if each.unit.document_id not in differing]
    changed = _changed_passages(writing, theirs, block)
    if replace:
        writing.remove(sorted(changed))  # with what is under them: all of it comes from the other store
    else:
        block = [each for each in block if not changed & {each.unit.id, each.unit.parent_id}]
    same, other = _compared(writing, block)
    fresh = [each for each in block if each.unit.id not in same and (replace or each.unit.id not in other)]
    put_units(writing, fresh)
    if fresh and writing.get("encoder") is None and (name := theirs.get("encoder")):
        writing.put("encoder", name)
    known = stored_documents(writing, texts)
    for own, (document, digest) in texts.items():
        if own not in known or (replace and known[own] != (document, digest)):
            writing.put_document(document, digest)
    taken = sum(each.unit.id in held for each in fresh)
    return MergeReport(
        units=len(fresh) - taken,
        replaced=taken,
        kept=0 if replace else len(other) + len(changed),
        documents=len(texts.keys() - known),
    )


def _compared(mine: Snapshot, block: Sequence[Stored]) -> tuple[set[str], set[str]]:
    """Return the ids of those units that are there and the same, and of those that are there and are not."""
    ids = [each.unit.id for each in block]
    units = {unit.id: unit for unit in mine.units_by_id(ids)}
    vectors = mine.vectors_by_id(list(units))
    there = [each for each in block if each.unit.id in units]
    same = {
        each.unit.id for each in there if units[each.unit.id] == each.unit and _equal(vectors.get(each.unit.id), each)
    }
    return same, {each.unit.id for each in there} - same


def _changed_passages(mine: Snapshot, theirs: Snapshot, block: Sequence[Stored]) -> set[str]:
    """Return the ids of those passages that are in both stores and not the same, and have units under them in the other."""
    passages = {each.unit.id if each.unit.granularity is Granularity.PASSAGE else each.unit.parent_id for each in block}
    sql = "SELECT DISTINCT parent_id FROM units WHERE parent_id IN (SELECT value FROM json_each(?))"
    parents = [own for (own,) in theirs.connection.execute(sql, [to_array(passages)])]
    there = {unit.id: unit for unit in theirs.units_by_id(parents)}
    return {unit.id for unit in mine.units_by_id(parents) if unit.id in there and unit != there[unit.id]}


def _equal(vector: Vectors | None, stored: Stored) -> bool:
    if vector is None or stored.vector is None:
        return vector is stored.vector
    return np.array_equal(vector, stored.vector)


def _differing(mine: Snapshot, texts: _Documents) -> list[str]:
    """Return the ids of documents that are in both stores, and not the same."""
    return [
        own
        for own, (document, digest) in stored_documents(mine, texts).items()
        if document != texts[own][0] or (digest and texts[own][1] and digest != texts[own][1])
    ]


def _refuse_conflicts(own: Connections, theirs: Snapshot) -> None:
    """Look for a conflict before anything is written."""
    with own.reading() as connection:
        mine = Snapshot(connection)
        for block in blocks(stored_units(theirs)):
            _refuse("unit", _compared(mine, block)[1])
        for group in blocks(theirs.all_documents()):
            _refuse("document", _differing(mine, {document.id: (document, digest) for document, digest in group}))


def _refuse(what: str, ids: Collection[str]) -> None:
    if ids:
        message = (
            f"{what} {min(ids)!r} is in both stores, and not the same: choose on_conflict='replace' or 'keep'. "
            "Nothing was merged"
        )
        raise InvalidInputError(message)


def _check_fit(mine: Snapshot, theirs: Snapshot) -> None:
    if mine.get("dim") is None or theirs.get("dim") is None:
        pairs = [("encoder", mine.get("encoder"), theirs.get("encoder"))]
    else:
        pairs = [(name, mine.get(name), theirs.get(name)) for name in ("encoder", "dim")]
    if theirs.get("dim") is not None:
        pairs.append(("similarity", str(Settings.of(mine).similarity), str(Settings.of(theirs).similarity)))
    for name, here, there in pairs:
        if here is not None and there is not None and here != there:
            message = f"the vectors of these stores do not go together: {name} is {here!r} here and {there!r} there"
            raise EncoderMismatchError(message)


def _documents_without_units(snapshot: Snapshot) -> Iterator[tuple[Document, str]]:
    for group in blocks(snapshot.all_documents()):
        sql = """SELECT DISTINCT documents.id FROM units JOIN documents ON documents.row = units.document
            WHERE documents.id IN (SELECT value FROM json_each(?))"""
        rows = snapshot.connection.execute(sql, [to_array(document.id for document, _ in group)])
        with_units = {own for (own,) in rows}
        yield from (each for each in group if each[0].id not in with_units)


def _parts(units: Iterable[Stored]) -> Iterator[tuple[list[Stored], bool]]:
    """Yield units in lists that end with a document, and whether they do: of a very large one, they may not."""
    block: list[Stored] = []
    for each in units:
        new = bool(block) and each.unit.document_id != block[-1].unit.document_id
        if (new and len(block) >= BLOCK) or len(block) >= _LARGEST:
            yield block, new
            block = []
        block.append(each)
    if block:
        yield block, True
