"""Indexes to search in, good and bad ones, and brute force in plain loops to compare with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from factoid import Granularity
from factoid.ranking import Columns, View
from factoid.vectors import check_kind
from factoid.vectors.vector_index import membership


@dataclass
class StubIndex:
    """Brute force over vectors by id.

    `is_exact` says so; an index that is not exact finds only the ids in `seen`. `noise` makes scores
    those of a lossy one.
    """

    ids: np.ndarray
    vectors: np.ndarray
    is_exact: bool = True
    lossy: bool = False
    seen: np.ndarray | None = None
    noise: float = 0.0

    def __post_init__(self):
        self.asked = []
        self.ability = check_kind("Flat", 3)

    def __len__(self):
        return len(self.ids)

    def scores(self, queries, ids):
        assert self.is_exact
        return queries @ self.vectors[np.searchsorted(self.ids, ids)].T

    def marks(self, ids, chosen):
        return np.isin(self.ids, ids[chosen])

    def search(self, queries, k, *, allowed=None, parameters=None):
        self.asked.append((len(queries), k, parameters))
        assert queries.dtype == np.float32
        assert 1 <= k <= len(self)
        own = np.ones(len(self.ids), bool) if allowed is None else allowed.copy()
        if self.seen is not None:
            own &= np.isin(self.ids, self.seen)
        ids, vectors = self.ids[own], self.vectors[own]
        scores = queries @ vectors.T
        if self.noise:
            scores = scores + np.random.default_rng(0).normal(0, self.noise, scores.shape).astype(
                np.float32
            )
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        missing = ((0, 0), (0, k - order.shape[1]))
        found = np.pad(
            np.take_along_axis(scores, order, axis=1), missing, constant_values=np.float32(-3.4e38)
        )
        return found, np.pad(ids[order], missing, constant_values=-1)


@dataclass
class Case:
    """Units as plain tuples (row, vector id, parent, document, metadata), and vectors by id."""

    units: list
    vectors: dict

    def columns(self):
        rows, vectors, *others = np.array(self.units, np.int64).reshape(-1, 5).T
        return Columns.of(np.stack([vectors, rows, *others]))

    def view(self, granularity=Granularity.PROPOSITION, **options):
        ids = np.array(sorted(self.vectors), np.int64)
        rows = [self.vectors[own] for own in ids.tolist()] or np.empty((0, 3))
        matrix = np.array(rows, np.float32)

        def vectors_of(wanted):
            places = np.searchsorted(ids, wanted)
            assert (ids[places] == wanted).all()
            return matrix[places]

        return View(granularity, StubIndex(ids, matrix, **options), self.columns(), vectors_of)

    def filtered(self, view, metadata):
        """The view with the units alone that have some metadata; None for all."""
        if metadata is None:
            return view
        return replace(
            view, allowed=membership(view.columns.metadata, np.array(sorted(metadata), np.int64))
        )

    def scored(self, query, metadata):
        """All allowed units, as (score, unit), by plain loops."""
        return [
            (
                sum(float(a) * float(b) for a, b in zip(query, self.vectors[unit[1]], strict=True)),
                unit,
            )
            for unit in self.units
            if metadata is None or unit[4] in metadata
        ]

    def groups(self, query, metadata, level):
        """Scores and rows of units under each parent, best first."""
        place = {"unit": 0, "passage": 2, "document": 3}[level]
        under = {}
        for score, unit in self.scored(query, metadata):
            under.setdefault(unit[place], []).append((score, unit[0]))
        return {
            key: sorted(units, key=lambda unit: (-unit[0], unit[1])) for key, units in under.items()
        }


def check_groups(found, case, query, k, metadata, level):
    """The k best distinct parents, in order, each with its best units."""
    under = case.groups(query, metadata, level)
    expected = sorted((units[0][0] for units in under.values()), reverse=True)[:k]
    assert [group.score for group in found] == expected
    assert len({group.key for group in found}) == len(found)
    assert found == sorted(found, key=lambda group: (-group.score, group.key))
    for group in found:
        units = under[group.key]
        assert group.score == units[0][0]
        assert [(match.score, match.row) for match in group.matches] == units[:3]
