"""Search with a reranker: the best passages of the blended search are ranked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from factoid.errors import InvalidInputError
from factoid.store.database.snapshot import Snapshot
from factoid.store.indexes.compared import SUBSTITUTES
from factoid.store.indexes.live import IndexState
from factoid.store.indexes.wall import MIXED_PASSAGES, Wall
from factoid.store.options import FINEST_FIRST, RankedParents, Reranker
from factoid.store.search import (
    Query,
    find_within,
    open_documents,
    wall_of,
    whole_documents,
    with_neighbours,
)
from factoid.units import Granularity, Hit, Unit

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore

RERANK = "rerank"
"""The reranker's score among the parts of a hit."""

_CANDIDATES = 100  # as in AGRaME, §4.1

Children = Mapping[str, Sequence[Unit]]
"""The stored units of passages, by the passage's id."""


def answer(store: UnitStore, query: Query) -> list[list[Hit]]:
    """Return the k best hits for each query, ranked by its reranker.

    The reranker runs after the search has ended, so neither writes nor other searches wait for its
    model.
    """
    texts = query.texts
    if texts is None:
        raise InvalidInputError(
            "rerank needs the text of the query: give text, or leave rerank out"
        )
    kind = query.options.ranked_granularity(store.granularities)
    stored = kind in store.granularities and kind is not Granularity.PASSAGE
    results, children, documents = store.indexes.at(
        query.indexes, partial(_candidates, query, kind if stored else None)
    )
    ranked = [
        _ranked(text, query, kind, hits, children, documents)
        for text, hits in zip(texts, results, strict=True)
    ]
    if not query.options.expand:
        return ranked
    mixed = [name for name in query.indexes if name == MIXED_PASSAGES]
    return store.indexes.at(mixed, partial(expanded, query, ranked))


def expanded(
    query: Query, ranked: Sequence[Sequence[Hit]], snapshot: Snapshot, states: Sequence[IndexState]
) -> list[list[Hit]]:
    """Return hits with their neighbours."""
    wall, count = wall_of(query, snapshot, states), query.options.expand
    return [[with_neighbours(snapshot, hit, count, wall) for hit in hits] for hits in ranked]


def _candidates(
    query: Query, kind: Granularity | None, snapshot: Snapshot, states: Sequence[IndexState]
) -> tuple[list[list[Hit]], Children | None, dict[str, Unit]]:
    """Return the best passages for each query, their units to rank, and the documents that may come back, by id.

    These are for document hits the open ones, and with parents="auto" those that are one passage. A
    unit stands for a passage that is closed, or not stored. For document hits, the best passage of
    each further document is also a candidate. Without a kind, the reranker cuts the passages into
    units.
    """
    wall = wall_of(query, snapshot, states)
    options = replace(query.options, parents="passage", min_score=None, expand=0, rerank=None)
    first = replace(query, k=max(query.k, options.candidates or _CANDIDATES), options=options)
    results = find_within(wall, first, snapshot, states)
    documents: dict[str, Unit] = {}
    if query.options.parents == "document":
        by_document = replace(first, k=query.k, options=replace(options, parents="document"))
        document_hits = find_within(wall, by_document, snapshot, states)
        results = [
            [*passages, *_of_others(snapshot, passages, best)]
            for passages, best in zip(results, document_hits, strict=True)
        ]
        ids = {hit.unit.document_id for passages in results for hit in passages}
        rows = snapshot.document_rows(sorted(ids)).tolist()
        documents = {unit.id: unit for unit in open_documents(snapshot, rows, wall).values()}
    elif query.options.parents == "auto":
        rows = snapshot.unit_rows(
            sorted({hit.unit.id for passages in results for hit in passages})
        ).tolist()
        documents = {unit.id: unit for unit in whole_documents(snapshot, rows, wall).values()}
    if kind is None:
        return results, None, documents
    units_under = partial(_units_under, snapshot, kind, options.unit_ids, wall)
    if query.options.parents == "unit" and wall is not None:
        above = {
            hit.unit.parent_id for passages in results for hit in passages if not _is_passage(hit)
        }
        siblings = units_under(sorted(above))
        results = [_with_siblings(passages, siblings) for passages in results]
    parents = {hit.unit.id: hit.unit for passages in results for hit in passages}
    children = units_under(sorted(parents))
    # A unit that stands for its passage is ranked as its own one.
    return (
        results,
        {unit_id: children.get(unit_id, [unit]) for unit_id, unit in parents.items()},
        documents,
    )


def _is_passage(hit: Hit) -> bool:
    return hit.unit.granularity is Granularity.PASSAGE


def _units_under(
    snapshot: Snapshot,
    kind: Granularity,
    unit_ids: Sequence[str] | None,
    wall: Wall | None,
    passage_ids: Sequence[str],
) -> dict[str, list[Unit]]:
    """Return the units under some passages that a search compares and that may be shown, by the passage's id.

    A passage that has no unit of the kind is ranked by those that take their place, as in the
    search itself.
    """
    allowed = None if wall is None else wall.allowed
    having = {unit.parent_id for unit in snapshot.searched_units(passage_ids, kind, None)}
    lacking = [passage_id for passage_id in passage_ids if passage_id not in having]
    own = snapshot.searched_units(passage_ids, kind, unit_ids, allowed)
    substitutes = snapshot.searched_units(lacking, SUBSTITUTES[kind], unit_ids, allowed)
    units = [*own, *substitutes]
    by_passage: dict[str, list[Unit]] = {}
    for unit in units if wall is None else wall.shown(snapshot, units):
        by_passage.setdefault(unit.parent_id, []).append(unit)
    return by_passage


def _with_siblings(passages: Sequence[Hit], siblings: Mapping[str, Sequence[Unit]]) -> list[Hit]:
    """Return the hits, and in place of a unit that stands for its passage, all allowed units of the passage."""
    hits = []
    for hit in passages:
        units = siblings.get(hit.unit.parent_id, [])
        # The passage that a unit names may be of another document, and is not above it then.
        units = units if any(unit.id == hit.unit.id for unit in units) else [hit.unit]
        hits += [replace(hit, unit=unit) for unit in units]
    return hits


def _of_others(snapshot: Snapshot, passages: Sequence[Hit], best: Sequence[Hit]) -> list[Hit]:
    """Return the best passage of each of the best documents that has none among the passages."""
    known = {hit.unit.document_id for hit in passages}
    hits = []
    for document in best:
        if document.unit.document_id in known:
            continue
        unit = document.unit
        if unit.granularity is Granularity.DOCUMENT:  # it is open, and so are its passages
            unit = document.matches[0].unit
            stored = (
                []
                if unit.granularity is Granularity.PASSAGE
                else snapshot.units_by_id([unit.parent_id])
            )
            unit = stored[0] if stored and stored[0].document_id == unit.document_id else unit
        hits.append(replace(document, unit=unit))
    return hits


def _ranked(
    text: str,
    query: Query,
    kind: Granularity,
    candidates: Sequence[Hit],
    children: Children | None,
    documents: Mapping[str, Unit],
) -> list[Hit]:
    """Return the k best reranked hits, as hits of the search."""
    options = query.options
    if not isinstance(options.rerank, Reranker) or not candidates:
        return []
    by_id = {hit.unit.id: hit for hit in candidates}
    passages = [_placed(hit.unit) for hit in candidates]
    units, originals = None, {}
    if children is not None:
        originals = {unit.id: unit for passage_id in by_id for unit in children[passage_id]}
        units = [
            [_within(unit, hit.unit, passage) for unit in children[passage.id]]
            for hit, passage in zip(candidates, passages, strict=True)
        ]
    level: RankedParents = "unit" if options.parents == "unit" else "passage"
    hits: dict[str, Hit] = {}
    for hit in options.rerank.rank(text, passages, kind, k=None, parents=level, units=units):
        candidate = by_id.get(hit.unit.id) or by_id[hit.unit.parent_id]
        unit = candidate.unit if hit.unit.id in by_id else originals.get(hit.unit.id, hit.unit)
        matches = tuple(
            Hit(originals.get(match.unit.id, match.unit), match.score) for match in hit.matches
        )
        if options.parents == "document":
            matches = matches or (Hit(unit, hit.score),)
            unit = documents.get(unit.document_id, unit)
        elif kind is Granularity.PASSAGE:
            matches = candidate.matches
        ranked = (
            {f"{RERANK} {name}": part for name, part in hit.parts.items()}
            if len(hit.parts) > 1
            else {}
        )
        parts = {**candidate.parts, **ranked, RERANK: hit.score}
        key = unit.document_id if options.parents == "document" else unit.id
        if options.parents == "auto" and unit.granularity is Granularity.PASSAGE:
            unit = documents.get(unit.document_id, unit)
        found = hits.setdefault(key, Hit(unit, hit.score, matches, parts=parts))
        if unit.granularity is Granularity.PASSAGE and found.unit.granularity in FINEST_FIRST[:-1]:
            # the best open passage of a document that is not open itself
            hits[key] = replace(found, unit=unit)
    best = [
        hit for hit in hits.values() if options.min_score is None or hit.score >= options.min_score
    ]
    return best[: query.k]


def _placed(passage: Unit) -> Unit:
    """Return a passage whose text is at its span, and without payload.

    The place of a framework's node may be unknown.
    """
    if passage.end - passage.start != len(passage.text):
        passage = replace(passage, start=0, end=len(passage.text))
    return replace(passage, granularity=Granularity.PASSAGE, payload="")


def _within(unit: Unit, original: Unit, passage: Unit) -> Unit:
    """Return a unit with its span in the placed passage, or the whole passage if its place is unknown."""
    unit = replace(unit, payload="")
    same = (original.start, original.end) == (passage.start, passage.end)
    if same and passage.start <= unit.start < unit.end <= passage.end:
        return unit
    start = passage.text.find(unit.text)
    start, end = (0, len(passage.text)) if start < 0 else (start, start + len(unit.text))
    return replace(unit, start=passage.start + start, end=passage.start + end)
