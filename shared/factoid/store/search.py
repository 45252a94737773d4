"""Search one generation of a store, from query vectors to hits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.index import RowIds, Similarity, prepare
from factoid.index.kinds import NAMES
from factoid.index.lexical import LexicalIndex
from factoid.search import (
    LEXICAL,
    Group,
    View,
    Weights,
    best_blended,
    best_by_words,
    best_fused,
    best_groups,
    diverse_groups,
)
from factoid.store.database.records import DamagedRowError
from factoid.store.database.snapshot import Snapshot
from factoid.store.indexes.views import IndexState, Mask
from factoid.store.options import FINEST_FIRST, SearchOptions
from factoid.units import Granularity, Hit, Unit, check_text, whole_number

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore


@dataclass(frozen=True, slots=True)
class Query:
    """A checked query and its options. It is made before indexes are updated, since it determines which ones are needed."""

    vectors: Vectors | None  # shape: (n, dim); None if only words count
    texts: Sequence[str] | None  # None if only vectors are known
    k: int
    options: SearchOptions
    searched: Sequence[Granularity]  # the granularities that are compared
    weights: Weights | None  # None if units are fused
    indexes: Sequence[str]  # names of the indexes that are needed

    @classmethod
    def of(
        cls, store: UnitStore, texts: Sequence[str] | None, vectors: Vectors | None, k: int, options: SearchOptions
    ) -> Self:
        """Return a checked query, encoding the texts if no vectors are given."""
        held = store.granularities if options.granularity else _held(store)
        searched, k = options.kinds(held), whole_number("k", k)
        for text in texts or ():
            check_text(text, "query")
        blend = options.blend(store.weights, has_texts=texts is not None)
        if blend is not None and blend.lexical == 1:
            vectors = None
        elif vectors is None:
            if store.encoder is None:
                raise InvalidInputError("this store has no encoder: use search_by_vector, or give UnitStore an encoder")
            vectors = np.asarray(store.encoder.encode_queries(texts or ()), np.float32)
        indexes: list[str] = [] if vectors is None else list(searched)
        if indexes and blend and blend.passage and Granularity.PASSAGE in store.granularities:
            indexes.append(Granularity.PASSAGE)
        if blend and blend.lexical:
            indexes.append(LEXICAL)
        return cls(vectors, texts, k, options, searched, blend, list(dict.fromkeys(indexes)))


def _held(store: UnitStore) -> Sequence[Granularity]:
    """Return the searched granularities that have vectors, or all if there are none, or if the finest is known to have them."""
    finest = min(store.granularities, key=FINEST_FIRST.index)
    if store.views.states[finest].index is not None:
        return store.granularities
    with store.connections.reading() as snapshot:
        return [kind for kind in snapshot.searched() if kind in store.granularities] or store.granularities


def find(query: Query, snapshot: Snapshot, states: Sequence[IndexState]) -> list[list[Hit]]:
    """Return the k best hits for each query in a snapshot and the indexes it needs, of the same generation."""
    options, weights = query.options, query.weights
    filtered = not (options.filter is None and options.document_ids is None and options.unit_ids is None)
    common: dict[str, Any] = {"level": options.parents, "min_score": options.min_score}
    views: dict[str, View] = {}
    lexical: LexicalIndex | None = None
    for state in states:
        if state.index is None:
            continue
        mask: Mask | None = None
        if filtered and (state.granularity in query.searched or query.vectors is None):
            mask = state.selection(snapshot, options)
        if state.granularity != LEXICAL:
            kind, exact = Granularity(state.granularity), state.index.vectors
            if not state.index.ability.holds_vectors:
                exact = partial(_stored, snapshot, state.index.similarity)
            views[kind] = View(
                kind, state.index, state.columns, exact, mask, length=state.length, refine=options.refine
            )
        elif query.vectors is None:
            ranked = best_by_words(state.index, query.texts or (), query.k, state.columns, allowed=mask, **common)
            return _hits(snapshot, ranked, options, 1.0)
        else:
            lexical = state.index
    if options.parameters:
        views = _with_parameters(views, options.parameters)
    searched = [views[kind] for kind in query.searched if kind in views]
    if query.vectors is None:
        return [[] for _ in query.texts or ()]
    if not searched:
        counts = snapshot.counts()
        if counts and not {*query.searched} & {*counts}:
            raise InvalidInputError(
                f"the store holds {' and '.join(f'{kind}s' for kind in counts)}, and no "
                f"{' or '.join(f'{kind}s' for kind in query.searched)}: search what it holds, with granularity=..., or add "
                "what is missing"
            )
        return [[] for _ in query.vectors]
    queries = searched[0].index.prepare(query.vectors)  # all indexes compare vectors in the same way
    limit = query.k if options.mmr is None else max(query.k, options.fetch_k)
    kind, passages = searched[0].granularity, views.get(Granularity.PASSAGE)
    context = weights is not None and weights.passage and passages is not None and kind is not Granularity.PASSAGE
    if len(searched) == 1 and lexical is None and not context:
        groups = best_groups(searched[0], queries, limit, **common)
    elif weights is None:
        groups = best_fused(searched, queries, limit, method=options.fusion or "rrf", **common)
    else:
        common |= {"weights": weights, "lexical": lexical, "texts": query.texts or ()}
        groups = best_blended(searched, passages, queries, limit, **common)
    if options.mmr is not None:
        groups = [
            diverse_groups(searched, vector, best, query.k, lambda_mult=options.mmr)
            for vector, best in zip(queries, groups, strict=True)
        ]
    cosine = searched[0].index.similarity is Similarity.COSINE
    return _hits(snapshot, groups, options, 1.0 if cosine else math.inf)  # float32 rounds some cosines beyond 1


def _stored(snapshot: Snapshot, similarity: Similarity, ids: RowIds) -> Vectors:
    """Return vectors of the database in the form that is compared. Shape: (n, dim)."""
    return prepare(snapshot.vectors(ids), similarity)


def _with_parameters(views: Mapping[str, View], parameters: Mapping[str, Any]) -> dict[str, View]:
    """Pass each index all parameters except those meant for others.

    An exact index needs none. Indexes of small stores are exact whatever kind is set, since it cannot be trained yet.
    """
    indexes = [view.index for view in views.values()]
    known = {name for index in indexes for name in (NAMES if index.exact else index.ability.parameters)}
    views_with_parameters = {}
    for kind, view in views.items():
        names = [name for name in parameters if name in view.index.ability.parameters or name not in known]
        views_with_parameters[kind] = replace(view, parameters={name: parameters[name] for name in names})
    return views_with_parameters


def _hits(
    snapshot: Snapshot, groups: Sequence[Sequence[Group]], options: SearchOptions, highest: float
) -> list[list[Hit]]:
    level = options.parents
    keys: set[int] = set()
    rows: set[int] = set()
    for group in chain.from_iterable(groups):
        keys.add(group.key)
        rows.update(map(itemgetter(0), group.matches))
    if level != "document":
        rows |= keys
    units = snapshot.units(sorted(rows))
    if len(units) < len(rows):
        raise DamagedRowError(min(rows - units.keys()), what="unit of row")
    parents = document_units(snapshot, keys) if level == "document" else units
    hits: list[list[Hit]] = []
    for best in groups:
        of_query = []
        for group in best:
            parent = parents[group.key]
            matches: tuple[Hit, ...] = ()
            if level != "unit" or parent.granularity is Granularity.PASSAGE:
                matches = _matches(group, units, highest)
            hit = Hit(parent, min(group.score, highest), matches, parts=dict(group.parts))
            of_query.append(with_neighbours(snapshot, hit, options.expand) if options.expand else hit)
        hits.append(of_query)
    return hits


def _matches(group: Group, units: Mapping[int, Unit], highest: float) -> tuple[Hit, ...]:
    """Leave out units already matched at another granularity, such as a proposition equal to its sentence."""
    first: dict[str, Granularity] = {}
    matches = []
    for row, score in group.matches:
        unit = units[row]
        if first.setdefault(unit.text, unit.granularity) is unit.granularity:
            matches.append(Hit(unit, min(score, highest)))
    return tuple(matches)


def document_units(snapshot: Snapshot, rows: Iterable[int]) -> dict[int, Unit]:
    """Return documents as units, by row."""
    units = {}
    for row, (document_id, document) in snapshot.documents(sorted(rows)).items():
        if document is None:
            raise InvalidInputError(
                f"the store holds units of document {document_id!r}, and not its text: parents='document' needs documents "
                "that were added by add_documents; use parents='passage'"
            )
        content = (document.text, Granularity.DOCUMENT, document_id, document_id, 0, len(document.text))
        units[row] = Unit(document_id, *content, document.title, document.section, document.metadata)
    return units


def with_neighbours(snapshot: Snapshot, hit: Hit, count: int) -> Hit:
    """Return a hit with its neighbours; a parent's are those of its matches, unless only itself matched."""
    if any(match.unit.id != hit.unit.id for match in hit.matches):
        matches = [
            match if match.unit.id == hit.unit.id else with_neighbours(snapshot, match, count) for match in hit.matches
        ]
        return replace(hit, matches=tuple(matches))
    unit = hit.unit
    kind = Granularity.PASSAGE if unit.granularity is Granularity.PASSAGE else Granularity.SENTENCE
    around = snapshot.neighbours(unit.document_id, kind, unit.start, unit.end, count)
    return replace(hit, neighbours=tuple(around))
