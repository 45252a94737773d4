"""Hits of the core as LlamaIndex's results: nodes, with the units that made them results and what stands around."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from llama_index.core.vector_stores.types import VectorStoreQueryResult

from factoid.store import UnitStore
from factoid.units import Hit, Unit
from llama_index_factoid.records import is_stand_in, span_of, to_node

_Original = Callable[[Unit], Unit | None]


@dataclass
class MultiGranularQueryResult(VectorStoreQueryResult):
    """A query's result, and for each node why it is one and what stands around it.

    Attributes:
        matches: The units that made a parent a result, best first; none for units themselves.
        neighbours: With `expand`, what stands around the matches, or around a unit itself, in order of the text.
    """

    matches: list[list[dict[str, Any]]] = field(default_factory=list)
    neighbours: list[list[dict[str, Any]]] = field(default_factory=list)


def to_results(
    store: UnitStore, found: Sequence[Sequence[Hit]], k: Sequence[int], *, parents: bool
) -> list[MultiGranularQueryResult]:
    """Return the hits of each query as a result.

    Args:
        store: Where the hits were found.
        found: The hits of each query, best first. A node may be there several times, by its stand-ins.
        k: How many distinct nodes each query wants.
        parents: Whether hits are parents, with matches.

    Raises:
        StoreFormatError: A unit was not stored by `MultiGranularFaissVectorStore`.
    """
    original = _originals(store, [unit for hits in found for hit in hits for unit in _units(hit)])
    best = [list(islice(_distinct(hits, original), own)) for hits, own in zip(found, k, strict=True)]
    return [_result(each, original, parents=parents) for each in best]


def _result(best: Sequence[tuple[Hit, Unit]], original: _Original, *, parents: bool) -> MultiGranularQueryResult:
    return MultiGranularQueryResult(
        nodes=[to_node(unit) for _, unit in best],
        similarities=[hit.score for hit, _ in best],
        ids=[unit.id for _, unit in best],
        matches=[
            [_described(unit) | {"score": match.score} for match, unit in _distinct(hit.matches, original) if parents]
            for hit, _ in best
        ],
        neighbours=[_neighbours(hit, unit, original, parents=parents) for hit, unit in best],
    )


def _neighbours(hit: Hit, own: Unit, original: _Original, *, parents: bool) -> list[dict[str, Any]]:
    found = (original(unit) for each in (hit, *hit.matches) for unit in each.neighbours)
    around = {unit.id: unit for unit in found if unit is not None}
    if parents and around.keys() <= {own.id}:  # a node that is its own match, and stands alone
        return []
    return [_described(unit) for unit in sorted(around.values(), key=lambda unit: (unit.start, unit.end))]


def _described(unit: Unit) -> dict[str, Any]:
    start, end = span_of(unit)
    return {
        "text": unit.text,
        "start_char_idx": start,
        "end_char_idx": end,
        "granularity": str(unit.granularity),
        "id": unit.id,
    }


def _distinct(hits: Iterable[Hit], original: _Original) -> Iterator[tuple[Hit, Unit]]:
    """Yield the best hit of each node, with the unit that carries the node."""
    seen = set()
    for hit in hits:
        unit = original(hit.unit)
        if unit is not None and unit.id not in seen:
            seen.add(unit.id)
            yield hit, unit


def _originals(store: UnitStore, units: Iterable[Unit]) -> _Original:
    """Return a function that gives the unit that carries the node of a unit; None if it has just been deleted."""
    stand_ins, known = {}, {}
    for unit in units:
        if is_stand_in(unit):
            stand_ins[unit.id] = unit.parent_id
        else:
            known[unit.id] = unit
    missing = [own for own in dict.fromkeys(stand_ins.values()) if own not in known]
    known |= {unit.id: unit for unit in (store.get(missing) if missing else [])}
    return lambda unit: known.get(stand_ins.get(unit.id, unit.id))


def _units(hit: Hit) -> Iterator[Unit]:
    yield hit.unit
    yield from hit.neighbours
    for match in hit.matches:
        yield from _units(match)
