"""Search with a reranker: the best passages of the blended search are ranked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from factoid.errors import InvalidInputError
from factoid.heading_template import with_heading, with_metadata
from factoid.store.database.snapshot import Snapshot
from factoid.store.filter_wall import VARIED_PASSAGES, Wall
from factoid.store.indexes.state import IndexState
from factoid.store.opened import OpenedStore
from factoid.store.options import (
    FINEST_FIRST,
    SUBSTITUTES,
    RankedParents,
    Reranker,
    SearchOptions,
)
from factoid.store.search import (
    Queries,
    open_documents,
    search_snapshot,
    wall_of,
    whole_documents,
    with_neighbours,
)
from factoid.units import Granularity, Hit, Unit

RERANK = "rerank"
"""The reranker's score among the parts of a hit."""

RERANKER_CANDIDATES = 100  # as in AGRaME, §4.1


@dataclass(slots=True)
class RerankCandidates:
    """The hits and units that a reranker gets, and the documents that may come back."""

    # The best passages of each query. A unit stands for a passage that is closed or not stored.
    hits: list[list[Hit]]
    # The units to rank, by the id of their passage; None if the reranker cuts the passages.
    units: Mapping[str, Sequence[Unit]] | None = None
    # The documents that may come back, by id: for document hits the open ones, with
    # parents="auto" those that are one passage.
    documents: Mapping[str, Unit] = field(default_factory=dict)


def reranked_search(store: OpenedStore, queries: Queries) -> list[list[Hit]]:
    """Return the k best hits for each query, ranked by its reranker.

    The reranker runs after the search has ended, so neither writes nor other searches wait for its
    model.

    Raises:
        InvalidInputError: The query has no text.
    """
    texts = queries.texts
    if texts is None:
        raise InvalidInputError(
            "rerank needs the text of the query: give text, or leave rerank out"
        )
    granularity = queries.options.ranked_granularity(store.granularities)
    stored = None  # the granularity of the stored units to rank
    if granularity in store.granularities and granularity is not Granularity.PASSAGE:
        stored = granularity
    candidates = store.indexes.with_current(queries.indexes, partial(_candidates, queries, stored))
    ranked = []
    for text, hits in zip(texts, candidates.hits, strict=True):
        ranked.append(
            ranked_hits(
                text,
                queries.options,
                queries.k,
                granularity,
                hits,
                candidates,
                store.embed_metadata,
            )
        )
    return with_expansion(store, queries, ranked)


def with_expansion(
    store: OpenedStore, queries: Queries, results: Sequence[Sequence[Hit]]
) -> list[list[Hit]]:
    """Return the hits of each query with their neighbours, if the query asks for them."""
    if not queries.options.expand:
        return list(map(list, results))
    varied = []
    for name in queries.indexes:
        if name == VARIED_PASSAGES:
            varied.append(name)
    return store.indexes.with_current(varied, partial(_expanded, queries, results))


def _expanded(
    queries: Queries,
    results: Sequence[Sequence[Hit]],
    snapshot: Snapshot,
    states: Sequence[IndexState],
) -> list[list[Hit]]:
    wall = wall_of(queries, snapshot, states)
    count = queries.options.expand
    expanded = []
    for hits in results:
        expanded.append([with_neighbours(snapshot, hit, count, wall) for hit in hits])
    return expanded


# -- Candidates --


def _candidates(
    queries: Queries,
    granularity: Granularity | None,
    snapshot: Snapshot,
    states: Sequence[IndexState],
) -> RerankCandidates:
    """Return the best passages for each query, with their units of a granularity.

    For document hits, the best passage of each further document is also a candidate.
    """
    wall = wall_of(queries, snapshot, states)
    options = replace(queries.options, parents="passage", min_score=None, expand=0, rerank=None)
    most = max(queries.k, options.candidates or RERANKER_CANDIDATES)
    first = replace(queries, k=most, options=options)
    candidates = RerankCandidates(search_snapshot(first, wall, snapshot, states))

    # -- Documents that may come back --
    if queries.options.parents == "document":
        by_document = replace(first, k=queries.k, options=replace(options, parents="document"))
        best_documents = search_snapshot(by_document, wall, snapshot, states)
        for passages, best in zip(candidates.hits, best_documents, strict=True):
            passages += _passages_of_others(snapshot, passages, best)
        document_ids: set[str] = set()
        for hits in candidates.hits:
            document_ids.update(hit.unit.document_id for hit in hits)
        rows = snapshot.document_rows(sorted(document_ids)).tolist()
        candidates.documents = _by_id(open_documents(snapshot, rows, wall))
    elif queries.options.parents == "auto":
        unit_ids: set[str] = set()
        for hits in candidates.hits:
            unit_ids.update(hit.unit.id for hit in hits)
        rows = snapshot.unit_rows(sorted(unit_ids)).tolist()
        candidates.documents = _by_id(whole_documents(snapshot, rows, wall))

    # -- Units to rank --
    if granularity is None:
        return candidates
    units_under = partial(_units_under, snapshot, granularity, options.unit_ids, wall)
    if queries.options.parents == "unit" and wall is not None:
        above: set[str] = set()
        for hits in candidates.hits:
            above.update(hit.unit.parent_id for hit in hits if not _is_passage(hit))
        siblings = units_under(sorted(above))
        candidates.hits = [_with_siblings(hits, siblings) for hits in candidates.hits]
    parents: dict[str, Unit] = {}
    for hits in candidates.hits:
        parents |= {hit.unit.id: hit.unit for hit in hits}
    children = units_under(sorted(parents))
    # A unit that stands for its passage is ranked as its own one.
    candidates.units = {id_: children.get(id_, [unit]) for id_, unit in parents.items()}
    return candidates


def _by_id(documents: Mapping[int, Unit]) -> dict[str, Unit]:
    return {document.id: document for document in documents.values()}


def _is_passage(hit: Hit) -> bool:
    return hit.unit.granularity is Granularity.PASSAGE


def _units_under(
    snapshot: Snapshot,
    granularity: Granularity,
    unit_ids: Sequence[str] | None,
    wall: Wall | None,
    passage_ids: Sequence[str],
) -> dict[str, list[Unit]]:
    """Return the units under some passages that a search compares and may show.

    They come by the passage's id. A passage that has no unit of the granularity is ranked by those
    that take their place, as in the search itself.
    """
    allowed = None
    if wall is not None:
        allowed = wall.allowed
    every = snapshot.encoded_units(passage_ids, granularity, None)
    represented = {unit.parent_id for unit in every}
    lacking = []
    for passage_id in passage_ids:
        if passage_id not in represented:
            lacking.append(passage_id)
    units = snapshot.encoded_units(passage_ids, granularity, unit_ids, allowed)
    units += snapshot.encoded_units(lacking, SUBSTITUTES[granularity], unit_ids, allowed)
    if wall is not None:
        units = wall.shown(snapshot, units)
    by_passage: dict[str, list[Unit]] = {}
    for unit in units:
        by_passage.setdefault(unit.parent_id, []).append(unit)
    return by_passage


def _with_siblings(hits: Sequence[Hit], siblings: Mapping[str, Sequence[Unit]]) -> list[Hit]:
    """Return hits with all allowed units of the passage in place of a unit that stands for it."""
    expanded = []
    for hit in hits:
        units = siblings.get(hit.unit.parent_id, [])
        # The passage that a unit names may be of another document, and is not above it then.
        if not any(unit.id == hit.unit.id for unit in units):
            units = [hit.unit]
        expanded += [replace(hit, unit=unit) for unit in units]
    return expanded


def _passages_of_others(
    snapshot: Snapshot, passages: Sequence[Hit], documents: Sequence[Hit]
) -> list[Hit]:
    """Return the best passage of each of the best documents that has none among the passages."""
    known = {hit.unit.document_id for hit in passages}
    hits = []
    for document in documents:
        if document.unit.document_id not in known:
            hits.append(replace(document, unit=_best_passage(snapshot, document)))
    return hits


def _best_passage(snapshot: Snapshot, document: Hit) -> Unit:
    """Return the best passage of a document hit, or the unit that stands for it."""
    unit = document.unit
    if unit.granularity is not Granularity.DOCUMENT:
        return unit
    unit = document.matches[0].unit  # the document is open, and so are its passages
    if unit.granularity is not Granularity.PASSAGE:
        for passage in snapshot.units_by_id([unit.parent_id]):
            if passage.document_id == unit.document_id:
                return passage
    return unit


# -- Ranking --


def ranked_hits(
    text: str,
    options: SearchOptions,
    k: int,
    granularity: Granularity,
    hits: Sequence[Hit],
    candidates: RerankCandidates,
    embed_metadata: Sequence[str],
) -> list[Hit]:
    """Return the k best reranked hits of one query, as hits of the search."""
    if not isinstance(options.rerank, Reranker) or not hits:
        return []
    by_id = {hit.unit.id: hit for hit in hits}
    passages = [_placed(hit.unit, embed_metadata) for hit in hits]
    originals: dict[str, Unit] = {}  # stored units, by id
    units: list[list[Unit]] | None = None
    if candidates.units is not None:
        units = []
        for hit, passage in zip(hits, passages, strict=True):
            children = candidates.units[hit.unit.id]
            originals |= {unit.id: unit for unit in children}
            units.append([_within(unit, hit.unit, passage) for unit in children])
    parents: RankedParents = "passage"
    if options.parents == "unit":
        parents = "unit"
    ranked: dict[str, Hit] = {}
    rank = options.rerank.rank
    for hit in rank(text, passages, granularity, k=None, parents=parents, units=units):
        candidate = by_id.get(hit.unit.id) or by_id[hit.unit.parent_id]
        result = _result(hit, candidate, originals, granularity, options, candidates.documents)
        key = result.unit.id
        if options.parents == "document":
            key = result.unit.document_id
        elif options.parents == "auto" and _is_passage(result):
            document = candidates.documents.get(result.unit.document_id, result.unit)
            result = replace(result, unit=document)
        first = ranked.setdefault(key, result)
        is_finer = first.unit.granularity in FINEST_FIRST[:-1]
        if _is_passage(result) and is_finer:
            # The best open passage of a document that is not open itself.
            ranked[key] = replace(first, unit=result.unit)
    best = list(ranked.values())
    if options.min_score is not None:
        best = [hit for hit in best if hit.score >= options.min_score]
    return best[:k]


def _result(
    hit: Hit,
    candidate: Hit,
    originals: Mapping[str, Unit],
    granularity: Granularity,
    options: SearchOptions,
    documents: Mapping[str, Unit],
) -> Hit:
    """Return a reranker's hit with stored units, and the scores of the search as further parts."""
    title = candidate.unit.title
    unit = originals.get(hit.unit.id, replace(hit.unit, title=title))
    if hit.unit.id == candidate.unit.id:
        unit = candidate.unit
    matches: tuple[Hit, ...] = ()
    for match in hit.matches:
        cut = replace(match.unit, title=title)
        matches += (Hit(originals.get(match.unit.id, cut), match.score),)
    if options.parents == "document":
        matches = matches or (Hit(unit, hit.score),)
        unit = documents.get(unit.document_id, unit)
    elif granularity is Granularity.PASSAGE:
        matches = candidate.matches
    parts = dict(candidate.parts)
    if len(hit.parts) > 1:
        parts |= {f"{RERANK} {name}": part for name, part in hit.parts.items()}
    parts[RERANK] = hit.score
    return Hit(unit, hit.score, matches, parts=parts)


def _placed(passage: Unit, embed_metadata: Sequence[str]) -> Unit:
    """Return a passage as a ranker reads it: without payload, its text at its span.

    The place of a framework's node may be unknown. The metadata that the store encodes with the
    text stands before the title.
    """
    if embed_metadata:
        heading = replace(passage, text=passage.title, title="", section="")
        passage = replace(
            passage, title=with_heading(heading, with_metadata("{text}", embed_metadata))
        )
    if not passage.is_text_at_span():
        passage = replace(passage, start=0, end=len(passage.text))
    return replace(passage, granularity=Granularity.PASSAGE, payload="")


def _within(unit: Unit, original: Unit, passage: Unit) -> Unit:
    """Return a unit with its span in the placed passage, or all of the passage if unknown."""
    unit = replace(unit, payload="")
    is_in_place = (original.start, original.end) == (passage.start, passage.end)
    if is_in_place and passage.start <= unit.start < unit.end <= passage.end:
        return unit
    start = passage.text.find(unit.text)
    end = start + len(unit.text)
    if start < 0:
        start = 0
        end = len(passage.text)
    return replace(unit, start=passage.start + start, end=passage.start + end)
