"""Search one generation of a store, from query vectors to hits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, compress
from operator import itemgetter
from typing import TYPE_CHECKING, Self

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.filters import Condition, to_condition
from factoid.ranking import (
    LEXICAL,
    Group,
    Level,
    View,
    Weights,
    best_by_words,
    best_groups,
    diverse_groups,
)
from factoid.store.database.records import DamagedRowError
from factoid.store.database.snapshot import Snapshot
from factoid.store.indexes.live import IndexState, Mask
from factoid.store.indexes.wall import MIXED_PASSAGES, Wall
from factoid.store.options import FINEST_FIRST, SearchOptions
from factoid.units import Granularity, Hit, Unit, check_text, document_unit, whole_number
from factoid.vectors import RowIds, Similarity, prepare

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore


@dataclass(frozen=True, slots=True)
class Query:
    """A checked query and its options.

    It is made before indexes are updated, since it determines which ones are needed.
    """

    vectors: Vectors | None  # shape: (n, dim); None if only words count
    texts: Sequence[str] | None  # None if only vectors are known
    k: int
    options: SearchOptions
    condition: Condition | None  # the filter
    searched: Sequence[Granularity]  # the granularities that are compared
    weights: Weights
    indexes: Sequence[str]  # names of the indexes that are needed

    @classmethod
    def of(
        cls,
        store: UnitStore,
        texts: Sequence[str] | None,
        vectors: Vectors | None,
        k: int,
        options: SearchOptions,
    ) -> Self:
        """Return a checked query, encoding the texts if no vectors are given."""
        condition = None if options.filter is None else to_condition(options.filter)
        present = store.granularities if options.granularity else _present(store)
        searched, k = options.kinds(present), whole_number("k", k)
        for text in texts or ():
            check_text(text, "query")
        weights = options.blend(store.weights, has_texts=texts is not None)
        if weights.lexical == 1:
            vectors = None
        elif vectors is None:
            if store.encoder is None:
                raise InvalidInputError(
                    "this store has no encoder: use search_by_vector, or give UnitStore an encoder"
                )
            vectors = np.asarray(store.encoder.encode_queries(texts or ()), np.float32)
        indexes: list[str] = [] if vectors is None else list(searched)
        if indexes and weights.passage and Granularity.PASSAGE in store.granularities:
            indexes.append(Granularity.PASSAGE)
        if weights.lexical:
            indexes.append(LEXICAL)
        if condition is not None:
            indexes.append(MIXED_PASSAGES)
        return cls(
            vectors, texts, k, options, condition, searched, weights, list(dict.fromkeys(indexes))
        )


def _present(store: UnitStore) -> Sequence[Granularity]:
    """Return the searched granularities that have vectors, or all if there are none, or if the finest is known to have them."""
    if len(store.granularities) == 1:
        return store.granularities
    state = store.indexes.states[min(store.granularities, key=FINEST_FIRST.index)]
    with store.connections.reading() as snapshot:
        if state.generation == snapshot.generation and state.has_own:
            return store.granularities
        return [
            kind for kind in snapshot.searched() if kind in store.granularities
        ] or store.granularities


def wall_of(query: Query, snapshot: Snapshot, states: Sequence[IndexState]) -> Wall | None:
    """Return what the filter of a query lets through, from the indexes that the query needs.

    None without a filter.
    """
    if query.condition is None:
        return None
    [mixed] = [state for state in states if state.granularity == MIXED_PASSAGES]
    return mixed.wall(snapshot, query.condition)


def find(query: Query, snapshot: Snapshot, states: Sequence[IndexState]) -> list[list[Hit]]:
    """Return the k best hits for each query in a snapshot and the indexes it needs, of the same generation."""
    return find_within(wall_of(query, snapshot, states), query, snapshot, states)


def find_within(
    wall: Wall | None, query: Query, snapshot: Snapshot, states: Sequence[IndexState]
) -> list[list[Hit]]:
    """Return the k best hits for each query among what a wall lets through; None is no wall."""
    options, texts, limit = query.options, query.texts or (), query.k
    limited = not (wall is None and options.document_ids is None and options.unit_ids is None)
    views: dict[str, View] = {}
    mask: Mask | None = None
    words: IndexState | None = None
    scale, highest = None, 1.0
    for state in states:
        if state.index is None or (state.granularity != LEXICAL and not len(state.index)):
            continue
        searched = query.vectors is None or state.granularity in query.searched
        mask = state.selection(snapshot, options, wall) if limited and searched else None
        if state.granularity == LEXICAL:
            words = state
            continue
        kind, exact = Granularity(state.granularity), state.index.vectors
        if not state.index.ability.holds_vectors:
            exact = partial(_stored, snapshot, state.index.similarity)
        scale = scale or state.scale  # of the first that is searched
        views[kind] = View(kind, state.index, state.columns, exact, mask, options.parameters)
    if query.vectors is None:
        groups: list[list[Group]] = [[] for _ in texts]
        if words is not None:
            groups = best_by_words(
                words.index, texts, limit, words.columns, level=options.level, allowed=mask
            )
    else:
        chosen = list(filter(None, map(views.get, query.searched)))
        if not chosen:
            counts = snapshot.counts()
            if counts and not {*query.searched} & {*counts}:
                raise InvalidInputError(
                    f"the store holds {' and '.join(f'{kind}s' for kind in counts)}, and no "
                    f"{' or '.join(f'{kind}s' for kind in query.searched)}: search what it holds, "
                    "with granularity=..., or add what is missing"
                )
            return [[] for _ in query.vectors]
        # all indexes compare vectors in the same way
        queries = chosen[0].index.prepare(query.vectors)
        limit = limit if options.mmr is None else max(limit, options.fetch_k)
        groups = best_groups(
            chosen,
            views.get(Granularity.PASSAGE),
            queries,
            limit,
            level=options.level,
            weights=query.weights,
            lexical=None if words is None else words.index,
            texts=texts,
            scale=scale,
            closed=None if wall is None else wall.closed,
        )
        if chosen[0].index.similarity is not Similarity.COSINE:
            highest = math.inf  # float32 rounds some cosines beyond 1
    if options.min_score is not None:
        groups = [[group for group in best if group.score >= options.min_score] for best in groups]
    if options.mmr is not None and query.vectors is not None:
        groups = [
            diverse_groups(chosen, vector, best, query.k, lambda_mult=options.mmr)
            for vector, best in zip(queries, groups, strict=True)
        ]
    return _hits(snapshot, groups, options, highest, wall)


def _stored(snapshot: Snapshot, similarity: Similarity, ids: RowIds) -> Vectors:
    """Return vectors of the database in the form that is compared. Shape: (n, dim)."""
    return prepare(snapshot.vectors(ids), similarity)


def _hits(
    snapshot: Snapshot,
    groups: Sequence[Sequence[Group]],
    options: SearchOptions,
    highest: float,
    wall: Wall | None,
) -> list[list[Hit]]:
    level = options.level
    # by row of the parent: of the document, or with parents="auto" of its only passage
    documents: dict[int, Unit] = {}
    keys = {group.key for group in chain.from_iterable(groups)}
    if level == "document":
        documents = open_documents(snapshot, keys, wall)
    elif options.parents == "auto":
        documents = whole_documents(snapshot, keys, wall)
    shown = [[_shown_row(group, level, documents, wall) for group in best] for best in groups]
    rows = {row for row in chain.from_iterable(shown) if row is not None}
    for group in chain.from_iterable(groups):
        rows.update(map(itemgetter(0), group.matches))
    units = snapshot.units(sorted(rows))
    if len(units) < len(rows):
        raise DamagedRowError(min(rows - units.keys()), what="unit of row")
    if wall is not None:
        units = dict(zip(units, wall.shown(snapshot, list(units.values())), strict=True))
    hits: list[list[Hit]] = []
    for best, parents in zip(groups, shown, strict=True):
        of_query = []
        for group, row in zip(best, parents, strict=True):
            parent = documents[group.key] if row is None else units[row]
            matches: tuple[Hit, ...] = ()
            if level != "unit" or parent.granularity is Granularity.PASSAGE:
                matches = _matches(group, units, highest)
            hit = Hit(parent, min(group.score, highest), matches, parts=dict(group.parts))
            of_query.append(
                with_neighbours(snapshot, hit, options.expand, wall) if options.expand else hit
            )
        hits.append(of_query)
    return hits


def _shown_row(
    group: Group, level: Level, documents: Mapping[int, Unit], wall: Wall | None
) -> int | None:
    """Return the row of the unit that is returned for a group; None for its document.

    In place of a document that is not open this is the best of its open passages, and in place of a
    passage its best unit.
    """
    if group.key in documents:
        return None
    if level == "document":
        return group.matches[0].row if group.passage is None else group.passage
    if level == "passage" and wall is not None and wall.is_closed(group.key):
        return group.matches[0].row
    return group.key


def _matches(group: Group, units: Mapping[int, Unit], highest: float) -> tuple[Hit, ...]:
    """Leave out units already matched at another granularity, such as a proposition equal to its sentence."""
    first: dict[str, Granularity] = {}
    matches = []
    for row, score in group.matches:
        unit = units[row]
        if first.setdefault(unit.text, unit.granularity) is unit.granularity:
            matches.append(Hit(unit, min(score, highest)))
    return tuple(matches)


def open_documents(snapshot: Snapshot, rows: Iterable[int], wall: Wall | None) -> dict[int, Unit]:
    """Return those of some documents that a wall leaves open, as units by row.

    Raises:
        InvalidInputError: The text of one of the documents is not stored.
    """
    documents = _document_units(snapshot, rows)
    if wall is None:
        return documents
    return {row: documents[row] for row in wall.open_documents(snapshot, documents)}


def whole_documents(snapshot: Snapshot, rows: Iterable[int], wall: Wall | None) -> dict[int, Unit]:
    """Return the documents of which some passages are all there is, as units by the passage's row.

    Those to show as added.
    """
    documents = snapshot.whole_documents(sorted(rows))
    units = open_documents(snapshot, documents.values(), wall)
    return {
        passage: units[document] for passage, document in documents.items() if document in units
    }


def _document_units(snapshot: Snapshot, rows: Iterable[int]) -> dict[int, Unit]:
    """Return documents as units, by row."""
    units = {}
    for row, (document_id, document) in snapshot.documents(sorted(rows)).items():
        if document is None:
            raise InvalidInputError(
                f"the store holds units of document {document_id!r}, and not its text: "
                "parents='document' needs documents that were added by add_documents; use "
                "parents='passage'"
            )
        units[row] = document_unit(document)
    return units


def with_neighbours(snapshot: Snapshot, hit: Hit, count: int, wall: Wall | None) -> Hit:
    """Return a hit with its neighbours.

    A parent's are those of its matches, unless only itself matched.
    """
    if any(match.unit.id != hit.unit.id for match in hit.matches):
        matches = []
        for match in hit.matches:
            is_parent = match.unit.id == hit.unit.id
            matches.append(match if is_parent else with_neighbours(snapshot, match, count, wall))
        return replace(hit, matches=tuple(matches))
    unit = hit.unit
    kind = Granularity.PASSAGE if unit.granularity is Granularity.PASSAGE else Granularity.SENTENCE
    allowed = None if wall is None else wall.allowed
    around = snapshot.neighbours(unit.document_id, kind, unit.start, unit.end, count, allowed)
    return replace(hit, neighbours=tuple(around if wall is None else wall.shown(snapshot, around)))


def allowed_ids(
    condition: Condition,
    ids: Sequence[str] | None,
    snapshot: Snapshot,
    states: Sequence[IndexState],
) -> list[str]:
    """Return the ids of units that a filter lets a search return, oldest first.

    Of all, or of some.
    """
    names, rows, metadata = snapshot.unit_metadata(ids)
    wall = states[0].wall(snapshot, condition)
    return list(compress(names, wall.allowed(rows, metadata).tolist()))


def allowed_units(
    condition: Condition,
    ids: Sequence[str],
    documents: bool,
    snapshot: Snapshot,
    states: Sequence[IndexState],
) -> list[Unit]:
    """Return what `stored_by_id` returns, without what a filter excludes."""
    wall = states[0].wall(snapshot, condition)
    found = stored_by_id(snapshot, ids, documents=documents)
    units = [unit for unit in found if unit.granularity is not Granularity.DOCUMENT]
    allowed = {*allowed_ids(condition, [unit.id for unit in units], snapshot, states)}
    shown = {
        unit.id: unit
        for unit in wall.shown(snapshot, [unit for unit in units if unit.id in allowed])
    }
    whole = [unit.id for unit in found if unit.granularity is Granularity.DOCUMENT]
    for document in open_documents(snapshot, snapshot.document_rows(whole).tolist(), wall).values():
        shown[document.id] = document
    return [shown[unit.id] for unit in found if unit.id in shown]


def stored_by_id(snapshot: Snapshot, ids: Sequence[str], *, documents: bool) -> list[Unit]:
    """Return the units with these ids, in this order.

    With `documents`, documents whose texts are stored come before units.
    """
    if not documents:
        return snapshot.units_by_id(ids)
    whole = {
        document.id: document_unit(document)
        for document, _ in snapshot.documents_by_id(ids).values()
    }
    units = {
        unit.id: unit
        for unit in snapshot.units_by_id([unit_id for unit_id in ids if unit_id not in whole])
    }
    found = units | whole
    return [found[unit_id] for unit_id in ids if unit_id in found]
