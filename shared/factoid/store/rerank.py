"""Search with a reranker: the best passages of the blended search are ranked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.store.database.snapshot import Snapshot
from factoid.store.indexes.views import IndexState
from factoid.store.options import RankedParents, SearchOptions
from factoid.store.search import Query, document_units, find, with_neighbours
from factoid.units import Granularity, Hit, Unit

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore

RERANK = "rerank"
"""The reranker's score among the parts of a hit."""


class _Candidates(NamedTuple):
    """The input of the reranker for one query."""

    passages: Sequence[Hit]
    units: Sequence[Sequence[Unit]] | None  # the stored units of each passage; None if the reranker cuts them
    documents: Mapping[str, Unit]  # by id, if hits are documents


def answer(
    store: UnitStore, texts: Sequence[str] | None, vectors: Vectors | None, k: int, options: Mapping[str, Any]
) -> list[list[Hit]]:
    """Return the k best hits for each query, reranked if `rerank` is set; see `UnitStore.search`.

    The reranker runs after the search has ended, so neither writes nor other searches wait for its model.
    """
    search_options = SearchOptions.of(options)
    query = Query.of(store, search_options, texts, vectors, k)
    indexes = query.indexes(store.granularities)
    if search_options.rerank is None:
        return store.views.at(indexes, partial(find, query))
    if texts is None:
        raise InvalidInputError("rerank needs the text of the query: give text, or leave rerank out")
    kind = search_options.ranked(store.granularities)
    stored = kind in store.granularities and kind is not Granularity.PASSAGE
    candidates = store.views.at(indexes, partial(_candidates, query, kind if stored else None))
    ranked = [_ranked(text, of_query, query, kind) for text, of_query in zip(texts, candidates, strict=True)]
    if not search_options.expand:
        return ranked
    with store.connections.reading() as snapshot:
        return [[with_neighbours(snapshot, hit, search_options.expand) for hit in hits] for hits in ranked]


def _candidates(
    query: Query, kind: Granularity | None, snapshot: Snapshot, states: Sequence[IndexState]
) -> list[_Candidates]:
    """Return the best passages of a search and, for document hits, the best passage of each further document."""
    options = replace(query.options, parents="passage", min_score=None, expand=0, rerank=None)
    first = replace(query, k=max(query.k, options.candidates), options=options)
    results = find(first, snapshot, states)
    documents: dict[str, Unit] = {}
    if query.options.parents == "document":
        by_document = replace(first, k=query.k, options=replace(options, parents="document"))
        document_hits = find(by_document, snapshot, states)
        results = [
            [*passages, *_of_others(snapshot, passages, best)]
            for passages, best in zip(results, document_hits, strict=True)
        ]
        ids = {hit.unit.document_id for passages in results for hit in passages}
        rows = snapshot.document_rows(sorted(ids)).tolist()
        documents = {unit.id: unit for unit in document_units(snapshot, rows).values()}
    if kind is None:
        return [_Candidates(passages, None, documents) for passages in results]
    ids = {hit.unit.id for passages in results for hit in passages}
    children: dict[str, list[Unit]] = {}
    for unit in snapshot.searched_units(sorted(ids), kind, options.filter, options.unit_ids):
        children.setdefault(unit.parent_id, []).append(unit)
    # A unit whose passage is not stored was found as its own passage.
    return [
        _Candidates(passages, [children.get(hit.unit.id, [hit.unit]) for hit in passages], documents)
        for passages in results
    ]


def _of_others(snapshot: Snapshot, passages: Sequence[Hit], best: Sequence[Hit]) -> list[Hit]:
    """Return the best passage of each of the best documents that has none among the passages."""
    known = {hit.unit.document_id for hit in passages}
    hits = []
    for document in best:
        if document.unit.id not in known:
            unit = document.matches[0].unit
            stored = [] if unit.granularity is Granularity.PASSAGE else snapshot.units_by_id([unit.parent_id])
            hits.append(replace(document, unit=stored[0] if stored else unit))
    return hits


def _ranked(text: str, candidates: _Candidates, query: Query, kind: Granularity) -> list[Hit]:
    """Return the k best reranked hits, as hits of the search."""
    options = query.options
    if options.rerank is None or not candidates.passages:
        return []
    by_id = {hit.unit.id: hit for hit in candidates.passages}
    originals = {unit.id: unit for of_passage in candidates.units or () for unit in of_passage}
    passages = [_placed(hit.unit) for hit in candidates.passages]
    units = None
    if candidates.units is not None:
        units = [
            [_within(unit, hit.unit, passage) for unit in of_passage]
            for of_passage, hit, passage in zip(candidates.units, candidates.passages, passages, strict=True)
        ]
    level: RankedParents = "unit" if options.parents == "unit" else "passage"
    hits: dict[str, Hit] = {}
    for hit in options.rerank.rank(text, passages, kind, k=None, parents=level, units=units):
        candidate = by_id.get(hit.unit.id) or by_id[hit.unit.parent_id]
        unit = candidate.unit if hit.unit.id in by_id else originals.get(hit.unit.id, hit.unit)
        matches = tuple(Hit(originals.get(match.unit.id, match.unit), match.score) for match in hit.matches)
        if options.parents == "document":
            unit, matches = candidates.documents[candidate.unit.document_id], matches or (Hit(unit, hit.score),)
        elif kind is Granularity.PASSAGE:
            matches = candidate.matches
        ranked = {f"{RERANK} {name}": part for name, part in hit.parts.items()} if len(hit.parts) > 1 else {}
        parts = {**candidate.parts, **ranked, RERANK: hit.score}
        hits.setdefault(unit.id, Hit(unit, hit.score, matches, parts=parts))
    best = [hit for hit in hits.values() if options.min_score is None or hit.score >= options.min_score]
    return best[: query.k]


def _placed(passage: Unit) -> Unit:
    """Return a passage whose text stands at its span; the place of a framework's node may be unknown."""
    if passage.end - passage.start != len(passage.text):
        passage = replace(passage, start=0, end=len(passage.text))
    return replace(passage, granularity=Granularity.PASSAGE)


def _within(unit: Unit, original: Unit, passage: Unit) -> Unit:
    """Return a unit with its span in the placed passage, or the whole passage if its place is unknown."""
    same = (original.start, original.end) == (passage.start, passage.end)
    if same and passage.start <= unit.start < unit.end <= passage.end:
        return unit
    start = passage.text.find(unit.text)
    start, end = (0, len(passage.text)) if start < 0 else (start, start + len(unit.text))
    return replace(unit, start=passage.start + start, end=passage.start + end)
