"""Rank passages, or documents by their best passage, by BM25 alone, without vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factoid.ranking.columns import Columns, Mask
from factoid.ranking.ranked_parents import LEXICAL, Parents, RankedParent, Scored
from factoid.vectors.lexical import LexicalIndex
from factoid.vectors.matrix import best_first, largest

_WIDER = 4  # times as many passages, where the best ones are of too few documents


def best_by_words(
    lexical: LexicalIndex,
    texts: Sequence[str],
    k: int,
    columns: Columns,
    *,
    parents: Parents,
    allowed: Mask | None = None,
) -> list[list[RankedParent]]:
    """Return the k best passages, or documents by their best passage, by BM25 alone.

    The columns are those of the passages. `allowed` masks those that the filter allows; None for
    all.
    """
    rows = columns.rows
    parent_rows = columns.rows
    if parents == "document":
        parent_rows = columns.documents
    if allowed is not None:
        rows = rows[allowed]
        parent_rows = parent_rows[allowed]
    places = lexical.places(rows)
    results = []
    for text in texts:
        word_scores = lexical.relative_scores(text, places)
        matching = np.flatnonzero(word_scores)
        count = k
        while True:
            best = matching[largest(word_scores[matching], count)]
            best = best[best_first(word_scores[best], rows[best])]
            _, first = np.unique(parent_rows[best], return_index=True)
            if len(first) >= k or len(best) == len(matching):
                break
            count *= _WIDER
        best = best[np.sort(first)[:k]]
        ranked = []
        ordered = [column[best].tolist() for column in (parent_rows, rows, word_scores)]
        for key, row, score in zip(*ordered, strict=True):
            ranked.append(RankedParent(key, score, (Scored(row, score),), {LEXICAL: score}))
        results.append(ranked)
    return results
