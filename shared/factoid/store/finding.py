"""A search over one generation of a store: from query vectors to hits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.index import prepare
from factoid.index.parameters import NAMES
from factoid.search import Group, View, best_fused, best_groups, diverse_groups
from factoid.store.held import Held, Mask
from factoid.store.options import SearchOptions
from factoid.store.records import DamagedRowError
from factoid.store.snapshot import Snapshot
from factoid.units import Granularity, Hit, Unit


def find(snapshot: Snapshot, held: Sequence[Held], queries: Vectors, k: int, options: SearchOptions) -> list[list[Hit]]:
    """Return the k best hits for each query, best first.

    Args:
        snapshot: Where the units are.
        held: The indexes of the granularities that are compared with the queries.
        queries: Shape: (n, dim).
        k: How many distinct hits.
        options: See `UnitStore.search`.
    """
    wide = k if options.mmr is None else max(k, options.fetch_k)
    for index in [each.index for each in held if each.index is not None][:1]:  # all compare vectors in the same way
        with np.errstate(invalid="ignore"):  # an infinite query is refused below
            queries = prepare(queries, index.similarity)
    views = {each.granularity: view for each in held if (view := each.view(snapshot)) is not None}
    allowed = {
        each.granularity: mask
        for each in held
        if (mask := each.selection(snapshot, options.filter, options.document_ids, options.unit_ids)) is not None
    }
    found = _groups(views, queries, wide, options, allowed, _parameters(held, options.parameters or {}))
    if options.mmr is not None:
        weight, given = options.mmr, list(views.values())
        found = [
            diverse_groups(given, query, groups, k, lambda_mult=weight)
            for query, groups in zip(queries, found, strict=True)
        ]
    hits = _hits(snapshot, found, options)
    if not options.expand:
        return hits
    return [[_with_neighbours(snapshot, hit, options.expand) for hit in each] for each in hits]


def _groups(
    views: Mapping[Granularity, View],
    queries: Vectors,
    k: int,
    options: SearchOptions,
    allowed: Mapping[Granularity, Mask],
    parameters: Mapping[Granularity, Mapping[str, Any]],
) -> list[list[Group]]:
    if not views:
        return [[] for _ in queries]
    if len(views) == 1:
        [(kind, view)] = views.items()
        return best_groups(
            view,
            queries,
            k,
            level=options.level,
            allowed=allowed.get(kind),
            parameters=parameters.get(kind),
            refine=options.refine,
            min_score=options.min_score,
        )
    return best_fused(
        list(views.values()),
        queries,
        k,
        level=options.level,
        method=options.fusion,
        allowed=allowed,
        parameters=parameters,
        refine=options.refine,
        min_score=options.min_score,
    )


def _parameters(held: Sequence[Held], given: Mapping[str, Any]) -> dict[Granularity, Mapping[str, Any]]:
    """Return what each index is told: all but what is meant for others.

    An exact index needs none of it. Those of small stores are exact whatever kind is set: it cannot be trained yet.
    """
    indexes = {each.granularity: each.index for each in held if each.index is not None}
    known = {name for index in indexes.values() for name in (NAMES if index.exact else index.ability.parameters)}
    return {
        kind: {name: value for name, value in given.items() if name in index.ability.parameters or name not in known}
        for kind, index in indexes.items()
    }


def _hits(snapshot: Snapshot, found: Sequence[Sequence[Group]], options: SearchOptions) -> list[list[Hit]]:
    groups = [group for each in found for group in each]
    matched = {match.row for group in groups for match in group.matches}
    keys = {group.key for group in groups}
    wanted = matched if options.level == "document" else matched | keys
    units = snapshot.units(sorted(wanted))
    if missing := wanted - units.keys():
        raise DamagedRowError(min(missing), what="unit of row")
    tops = _documents(snapshot, keys) if options.level == "document" else units

    def hit(group: Group) -> Hit:
        top = tops[group.key]
        if options.level == "unit" and top.granularity is not Granularity.PASSAGE:
            return Hit(top, group.score)
        return Hit(top, group.score, _matches([Hit(units[match.row], match.score) for match in group.matches]))

    return [[hit(group) for group in each] for each in found]


def _matches(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Leave out what was matched before at another granularity: a proposition that is the whole of its sentence."""
    first: dict[str, Granularity] = {}
    return tuple(hit for hit in hits if first.setdefault(hit.unit.text, hit.unit.granularity) is hit.unit.granularity)


def _documents(snapshot: Snapshot, rows: Iterable[int]) -> dict[int, Unit]:
    """Return documents as units, by row."""
    units = {}
    for row, (own, document) in snapshot.documents(sorted(rows)).items():
        if document is None:
            message = (
                f"the store holds units of document {own!r}, and not its text: parents='document' needs documents that "
                "were added by add_documents"
            )
            raise InvalidInputError(message)
        units[row] = Unit(
            own,
            document.text,
            Granularity.DOCUMENT,
            own,
            own,
            0,
            len(document.text),
            document.title,
            document.section,
            document.metadata,
        )
    return units


def _with_neighbours(snapshot: Snapshot, hit: Hit, count: int) -> Hit:
    """Return a hit with what stands around it; a parent's are those of its matches, unless only itself matched."""
    if any(match.unit.id != hit.unit.id for match in hit.matches):
        matches = [
            match if match.unit.id == hit.unit.id else _with_neighbours(snapshot, match, count) for match in hit.matches
        ]
        return replace(hit, matches=tuple(matches))
    unit = hit.unit
    kind = Granularity.PASSAGE if unit.granularity is Granularity.PASSAGE else Granularity.SENTENCE
    around = snapshot.neighbours(unit.document_id, kind, unit.start, unit.end, count)
    return replace(hit, neighbours=tuple(around))
