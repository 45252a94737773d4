"""The k best units of one granularity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from factoid.encode import Vectors
from factoid.search.ranges import Mask
from factoid.search.records import Scored
from factoid.search.view import View
from factoid.search.widening import Wanted, checked, widen


def best_units(
    view: View,
    queries: Vectors,
    k: int,
    *,
    allowed: Mask | None = None,
    parameters: Mapping[str, Any] | None = None,
    refine: int | None = None,
    min_score: float | None = None,
) -> list[list[Scored]]:
    """Return the k best units for each query, best first, equal ones by row; all if there are fewer.

    Exact for exact indexes. An approximate index that finds fewer than k is helped out by a search of everything.

    Args:
        view: What is searched.
        queries: Shape: (n, dim).
        k: How many, at least 1.
        allowed: Units that the filter allows, shape (len(view.columns),); None for all. Few are scored exactly without
            the index.
        parameters: How wide an approximate index searches (`nprobe`, `efSearch`).
        refine: Candidates of a lossy index that are scored exactly, for each of the k; 10 by default.
        min_score: Worse units are left out.

    Raises:
        InvalidInputError: An argument is out of range.
        EncoderMismatchError: The queries are not finite or of another dimension.
    """
    queries, wanted = checked(
        view, queries, Wanted(k, mask=allowed, refine=refine, min_score=min_score, parameters=parameters)
    )
    ranked, _ = widen(view, queries, wanted)
    found: list[list[Scored]] = [[] for _ in queries]
    flat = zip(ranked.queries.tolist(), ranked.keys.tolist(), ranked.scores.tolist(), strict=True)
    for query, row, score in flat:
        if min_score is None or score >= min_score:
            found[query].append(Scored(row, score))
    return found
