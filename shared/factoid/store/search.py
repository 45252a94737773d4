"""Search one generation of a store, from query vectors to hits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.filters import Condition, to_condition
from factoid.ranking import (
    LEXICAL,
    Parents,
    RankedParent,
    Scale,
    View,
    Weights,
    best_by_words,
    best_parents,
    diverse_parents,
)
from factoid.ranking.columns import Mask
from factoid.split import split_sentences
from factoid.store.database.records import DamagedRowError
from factoid.store.database.snapshot import Allowed, Snapshot
from factoid.store.filter_wall import VARIED_PASSAGES, Wall
from factoid.store.indexes.state import IndexState
from factoid.store.opened import OpenedStore
from factoid.store.options import FINEST_FIRST, SearchOptions
from factoid.units import Granularity, Hit, Unit, check_text, document_unit, whole_number
from factoid.vectors import RowIds, Similarity, normalized

# -- The queries --


@dataclass(frozen=True, slots=True)
class Queries:
    """Checked queries and the options that they share.

    They are made before indexes are updated, since they determine which ones are needed.
    """

    vectors: Vectors | None  # shape: (n, dim); None if only words count
    texts: Sequence[str] | None  # None if only vectors are known
    k: int
    options: SearchOptions
    condition: Condition | None  # the filter
    granularities: Sequence[Granularity]  # those compared: their units may be matches
    weights: Weights
    indexes: Sequence[str]  # names of the indexes that are needed


def prepare_queries(
    store: OpenedStore,
    texts: Sequence[str] | None,
    vectors: Vectors | None,
    k: int,
    options: SearchOptions,
) -> Queries:
    """Check queries, and encode the texts if no vectors are given."""
    condition = None
    if options.filter is not None:
        condition = to_condition(options.filter)
    searchable: Sequence[Granularity] = store.granularities
    if not options.granularity:  # a default never chooses a granularity without vectors
        searchable = _granularities_with_vectors(store)
    granularities = store.compared_by(options, searchable)
    k = whole_number("k", k)
    for text in texts or ():
        check_text(text, "query")
    weights = options.checked_weights(store.weights, has_texts=texts is not None)
    if weights.lexical == 1:
        vectors = None
    elif vectors is None:
        vectors = _encode_texts(store, texts or ())

    indexes: list[str] = []
    if vectors is not None:
        indexes += granularities
        if weights.passage and Granularity.PASSAGE in store.granularities:
            indexes.append(Granularity.PASSAGE)
    if weights.lexical:
        indexes.append(LEXICAL)
    if condition is not None:
        indexes.append(VARIED_PASSAGES)
    needed = list(dict.fromkeys(indexes))
    return Queries(vectors, texts, k, options, condition, granularities, weights, needed)


def _encode_texts(store: OpenedStore, texts: Sequence[str]) -> Vectors:
    """Run the encoder of a store on queries. Shape: (n, dim)."""
    if store.encoder is None:
        raise InvalidInputError(
            "this store has no encoder: use search_by_vector, or give UnitStore an encoder"
        )
    return np.asarray(store.encoder.encode_queries(texts), np.float32)


def _granularities_with_vectors(store: OpenedStore) -> Sequence[Granularity]:
    """Return the granularities of a store that have vectors; all of them if none has any.

    If the finest is known to have some, all are returned: the default search needs no more.
    """
    if len(store.granularities) == 1:
        return store.granularities
    finest = min(store.granularities, key=FINEST_FIRST.index)
    # Read outside the lock of indexes: another thread may be updating the state. Its generation is
    # cleared first and set last, so one that equals the snapshot's is that of a whole state, and
    # otherwise the database answers. The search takes a snapshot of its own afterwards.
    state = store.indexes.states[finest]
    with store.connections.reading() as snapshot:
        if state.generation == snapshot.generation and state.has_vectors:
            return store.granularities
        present = []
        for granularity in snapshot.encoded_granularities():
            if granularity in store.granularities:
                present.append(granularity)
    return present or store.granularities


# -- The search --


def search(store: OpenedStore, queries: Queries) -> list[list[Hit]]:
    """Return the k best hits for each query, by the blended score alone."""

    def work(snapshot: Snapshot, states: Sequence[IndexState]) -> list[list[Hit]]:
        wall = wall_of(queries, snapshot, states)
        return search_snapshot(queries, wall, snapshot, states)

    return store.indexes.with_current(queries.indexes, work)


def wall_of(queries: Queries, snapshot: Snapshot, states: Sequence[IndexState]) -> Wall | None:
    """Return what the filter of the queries lets through; None without a filter."""
    if queries.condition is None:
        return None
    # `prepare_queries` asked for it, since there is a filter.
    [varied] = [state for state in states if state.name == VARIED_PASSAGES]
    return varied.wall(snapshot, queries.condition)


def search_snapshot(
    queries: Queries, wall: Wall | None, snapshot: Snapshot, states: Sequence[IndexState]
) -> list[list[Hit]]:
    """Return the k best hits for each query in a snapshot, among what a wall lets through.

    Rerankers begin with it, too.

    Args:
        queries: The queries.
        wall: What their filter lets through; None without a filter.
        snapshot: That of the generation.
        states: The indexes that the queries need, of the same generation.
    """
    # -- Rank, as rows --
    options = queries.options
    indexes = _query_indexes(queries, wall, snapshot, states)
    score_limit = 1.0  # what words and cosines are clipped to: float32 may exceed it
    if queries.vectors is None:
        rankings = _at_least(options.min_score, _by_words(queries, indexes))
    else:
        views = []
        for granularity in queries.granularities:
            if granularity in indexes.views:
                views.append(indexes.views[granularity])
        if not views:
            _check_present(queries, snapshot)
            return [[] for _ in queries.vectors]
        # All indexes compare vectors in the same way.
        vectors = views[0].index.normalized_queries(queries.vectors)
        blended = _by_vectors(queries, vectors, views, indexes, wall)
        rankings = _at_least(options.min_score, blended)
        if options.mmr is not None:
            diverse = []
            for vector, ranking in zip(vectors, rankings, strict=True):
                diverse.append(
                    diverse_parents(views, vector, ranking, queries.k, lambda_mult=options.mmr)
                )
            rankings = diverse
        if views[0].index.similarity is not Similarity.COSINE:
            score_limit = math.inf  # inner products have no bound

    # -- Read what is shown --
    return _hits(snapshot, rankings, options, score_limit, wall)


@dataclass(slots=True)
class _QueryIndexes:
    """The indexes that queries need, in the form that `factoid.ranking` takes."""

    views: dict[Granularity, View]  # those of vectors
    words: IndexState | None = None
    # Passages that a search by words alone may find; None for all. In a search with vectors the
    # masks of the views say which passages are ranked.
    allowed_words: Mask | None = None
    scale: Scale | None = None  # of the first granularity that has one


def _query_indexes(
    queries: Queries, wall: Wall | None, snapshot: Snapshot, states: Sequence[IndexState]
) -> _QueryIndexes:
    """Return the indexes of queries that hold anything, with masks of what may be found."""
    options = queries.options
    has_ids = options.document_ids is not None or options.unit_ids is not None
    is_limited = wall is not None or has_ids
    indexes = _QueryIndexes({})
    for state in states:
        if state.name == VARIED_PASSAGES or state.index is None:
            continue
        if state.name == LEXICAL:
            indexes.words = state
            if is_limited and queries.vectors is None:
                indexes.allowed_words = state.selection(snapshot, options, wall)
            continue
        if not len(state.index):
            continue
        granularity = Granularity(state.name)
        # Passages that are not compared are the context of units: they have no mask, they only
        # weigh in the scores of allowed units, and `best_parents` leaves out the closed ones.
        mask = None
        if is_limited and granularity in queries.granularities:
            mask = state.selection(snapshot, options, wall)
        vectors_of = state.index.vectors
        if not state.index.ability.holds_vectors:
            vectors_of = partial(_stored_vectors, snapshot, state.index.similarity)
        indexes.scale = indexes.scale or state.scale
        indexes.views[granularity] = View(
            granularity, state.index, state.columns, vectors_of, mask, options.parameters
        )
    return indexes


def _stored_vectors(snapshot: Snapshot, similarity: Similarity, ids: RowIds) -> Vectors:
    """Return stored vectors in the form that is compared. Shape: (n, dim)."""
    vectors = snapshot.vectors(ids)
    if similarity is Similarity.INNER_PRODUCT:
        return vectors  # as they lie in the file: a copy would take as long as scoring them
    return normalized(vectors, similarity)


def _by_words(queries: Queries, indexes: _QueryIndexes) -> list[list[RankedParent]]:
    """Return the best passages or documents for each query by words alone."""
    texts = queries.texts or ()
    words = indexes.words
    if words is None:
        return [[] for _ in texts]
    return best_by_words(
        words.index,
        texts,
        queries.k,
        words.columns,
        parents=queries.options.ranked_parents,
        allowed=indexes.allowed_words,
    )


def _by_vectors(
    queries: Queries,
    vectors: Vectors,
    views: Sequence[View],
    indexes: _QueryIndexes,
    wall: Wall | None,
) -> list[list[RankedParent]]:
    """Return the best parents for each query by vectors, and words if they count."""
    limit = queries.k
    if queries.options.mmr is not None:
        limit = max(limit, queries.options.fetch_k)
    lexical = None
    if indexes.words is not None:
        lexical = indexes.words.index
    closed = None
    if wall is not None:
        closed = wall.closed
    return best_parents(
        views,
        indexes.views.get(Granularity.PASSAGE),
        vectors,
        limit,
        parents=queries.options.ranked_parents,
        weights=queries.weights,
        lexical=lexical,
        texts=queries.texts or (),
        scale=indexes.scale,
        closed=closed,
    )


def _check_present(queries: Queries, snapshot: Snapshot) -> None:
    """Refuse a search of granularities of which a store that is not empty has no units."""
    counts = snapshot.counts()
    if counts and not {*queries.granularities} & {*counts}:
        present = " and ".join(f"{granularity}s" for granularity in counts)
        missing = " or ".join(f"{granularity}s" for granularity in queries.granularities)
        raise InvalidInputError(
            f"the store holds {present}, and no {missing}: search what it holds, with "
            "granularity=..., or add what is missing"
        )


def _at_least(score: float | None, rankings: list[list[RankedParent]]) -> list[list[RankedParent]]:
    """Return rankings without the parents below a score; all of them if it is None."""
    if score is None:
        return rankings
    limited = []
    for ranking in rankings:
        limited.append([parent for parent in ranking if parent.score >= score])
    return limited


# -- From ranked parents, which are rows, to hits, which have texts --


def _hits(
    snapshot: Snapshot,
    rankings: Sequence[Sequence[RankedParent]],
    options: SearchOptions,
    score_limit: float,
    wall: Wall | None,
) -> list[list[Hit]]:
    """Return a hit for each ranked parent of each query.

    The key of a ranked parent is a row, and the option `parents` says of what:

        parents     key of      what is shown
        document    a document  the document; a closed one's best open passage, else its best unit
        passage     a passage   the passage; a closed one's best unit
        auto        a passage   the same, but an open document that is one passage as a document
        unit        a unit      the unit
    """
    # -- Read all texts, once for all queries --
    documents = _shown_documents(snapshot, rankings, options, wall)
    unit_rows: set[int] = set()
    for parent in chain.from_iterable(rankings):
        if parent.key not in documents:
            unit_rows.add(_shown_row(parent, options.ranked_parents, wall))
        unit_rows.update(match.row for match in parent.matches)
    units = _units(snapshot, unit_rows, wall)

    # -- Make the hits --
    hits: list[list[Hit]] = []
    for ranking in rankings:
        query_hits = []
        for parent in ranking:
            if parent.key in documents:
                unit = documents[parent.key]
            else:
                unit = units[_shown_row(parent, options.ranked_parents, wall)]
            matches: tuple[Hit, ...] = ()
            # A unit that is returned for itself has none, but a passage has itself, as where
            # passages are ranked and one of them matches as a whole.
            if options.ranked_parents != "unit" or unit.granularity is Granularity.PASSAGE:
                matches = _matches(parent, units, score_limit)
            hit = Hit(unit, min(parent.score, score_limit), matches, parts=dict(parent.parts))
            if options.expand:
                hit = with_neighbours(snapshot, hit, options.expand, wall)
            query_hits.append(hit)
        hits.append(query_hits)
    return hits


def _shown_documents(
    snapshot: Snapshot,
    rankings: Sequence[Sequence[RankedParent]],
    options: SearchOptions,
    wall: Wall | None,
) -> dict[int, Unit]:
    """Return the documents that are shown whole, by the key of the ranked parent.

    With parents="auto" these are the documents that are one passage, by that passage.
    """
    keys = {parent.key for parent in chain.from_iterable(rankings)}
    if options.ranked_parents == "document":
        return open_documents(snapshot, keys, wall)
    if options.parents == "auto":
        return whole_documents(snapshot, keys, wall)
    return {}


def _units(snapshot: Snapshot, rows: Set[int], wall: Wall | None) -> dict[int, Unit]:
    """Return the units of some rows as they may be shown, by row."""
    units = snapshot.units(sorted(rows))
    if len(units) < len(rows):
        raise DamagedRowError(min(rows - units.keys()), what="unit of row")
    if wall is None:
        return units
    visible = wall.shown(snapshot, list(units.values()))
    return dict(zip(units, visible, strict=True))


def _shown_row(parent: RankedParent, parents: Parents, wall: Wall | None) -> int:
    """Return the row of the unit that is shown for a ranked parent that is no whole document."""
    is_closed = False
    if parents == "document":
        is_closed = True  # an open one is shown whole
    elif parents == "passage" and wall is not None:
        is_closed = wall.is_closed(parent.key)
    if not is_closed:
        return parent.key
    if parent.passage is not None:  # the best open one of a document
        return parent.passage
    return parent.matches[0].row


def _matches(
    parent: RankedParent, units: Mapping[int, Unit], score_limit: float
) -> tuple[Hit, ...]:
    """Return the matches of a ranked parent, each text at one granularity only.

    A proposition may be equal to its sentence.
    """
    first: dict[str, Granularity] = {}
    matches = []
    for row, score in parent.matches:
        unit = units[row]
        if first.setdefault(unit.text, unit.granularity) is unit.granularity:
            matches.append(Hit(unit, min(score, score_limit)))
    return tuple(matches)


def open_documents(snapshot: Snapshot, rows: Iterable[int], wall: Wall | None) -> dict[int, Unit]:
    """Return those of some documents that a wall leaves open, as units by row.

    Raises:
        InvalidInputError: The text of one of the documents is not stored.
    """
    documents = _document_units(snapshot, rows)
    if wall is None:
        return documents
    open_units = {}
    for row in wall.open_documents(snapshot, documents):
        open_units[row] = documents[row]
    return open_units


def whole_documents(snapshot: Snapshot, rows: Iterable[int], wall: Wall | None) -> dict[int, Unit]:
    """Return the documents that are one passage each, as units by the passage's row.

    They are shown as they were added.
    """
    documents = snapshot.whole_documents(sorted(rows))
    units = open_documents(snapshot, documents.values(), wall)
    by_passage: dict[int, Unit] = {}
    for passage, document in documents.items():
        if document in units:
            by_passage[passage] = units[document]
    return by_passage


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
    """Return a hit with its neighbours; where finer units matched in it, these have theirs."""
    has_finer = any(match.unit.id != hit.unit.id for match in hit.matches)
    if not has_finer:
        return replace(hit, neighbours=_neighbours(snapshot, hit.unit, count, wall))
    matches = []
    for match in hit.matches:
        if match.unit.id != hit.unit.id:
            match = replace(match, neighbours=_neighbours(snapshot, match.unit, count, wall))
        matches.append(match)
    return replace(hit, matches=tuple(matches))


def _neighbours(snapshot: Snapshot, unit: Unit, count: int, wall: Wall | None) -> tuple[Unit, ...]:
    """Return the passages around a passage, or the sentences around a finer unit."""
    granularity = Granularity.SENTENCE
    if unit.granularity is Granularity.PASSAGE:
        granularity = Granularity.PASSAGE
    allowed = None
    if wall is not None:
        allowed = wall.allowed
    span = (unit.start, unit.end)
    neighbours = snapshot.neighbours(unit.document_id, granularity, *span, count, allowed)
    if granularity is Granularity.SENTENCE and not neighbours:
        neighbours = _cut_sentences(snapshot, unit, count, allowed)
    if wall is not None:
        neighbours = wall.shown(snapshot, neighbours)
    return tuple(neighbours)


def _cut_sentences(
    snapshot: Snapshot, unit: Unit, count: int, allowed: Allowed | None
) -> list[Unit]:
    """Return the sentences around a unit, for a document whose sentences are not stored.

    They are cut from its passages.
    """
    passages = snapshot.neighbours(
        unit.document_id, Granularity.PASSAGE, unit.start, unit.end, count, allowed
    )
    return cut_sentences(passages, unit, count)


def cut_sentences(passages: Iterable[Unit], unit: Unit, count: int) -> list[Unit]:
    """Return the sentences of some passages around a unit.

    They are those that overlap it, and `count` before and after.
    """
    before: list[Unit] = []
    within: list[Unit] = []
    after: list[Unit] = []
    for passage in passages:
        if not passage.is_text_at_span():
            continue  # the place of a framework's node may be unknown
        for sentence in split_sentences(replace(passage, payload="")):
            if sentence.end <= unit.start:
                before.append(sentence)
            elif sentence.start >= unit.end:
                after.append(sentence)
            else:
                within.append(sentence)
    return [*before[-count:], *within, *after[:count]]
