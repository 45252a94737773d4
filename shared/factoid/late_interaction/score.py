"""MaxSim of queries, or parts of them, with passages, or parts of them (AGRaME, §3.1 and §3.2).

It uses only NumPy. Token vectors may have any length and sign. Shapes: query vectors (query tokens,
dim), passage vectors (passage tokens, dim), masks (tokens,), true where a token counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.sentences import Span

Mask = NDArray[np.bool_]
Scores = NDArray[np.float64]


def span_scores(
    similarities: Vectors, masks: Sequence[Mask], *, query_mask: Mask | None = None
) -> Scores:
    """Return the MaxSim of each span of a passage.

    The sum, over the query's tokens, of the largest product with a token of it. The sum over no
    query tokens is 0; a query token without any passage token gives minus infinity, the maximum of
    nothing.

    Args:
        similarities: Inner products of the tokens. Shape: (query tokens, passage tokens).
        masks: For each span the tokens in it. Shape of each: (passage tokens,).
        query_mask: Which tokens of the query count (sub-query → unit, Figure 1 C and D); None for
            all.
    """
    rows = similarities if query_mask is None else similarities[query_mask]
    # Index instead of multiplying by the mask, as PyLate does: zeros would win where all products
    # are negative.
    best = (rows[:, mask].max(axis=1, initial=-np.inf).sum(dtype=np.float64) for mask in masks)
    return np.fromiter(best, np.float64)


def token_mask(tokens: NDArray[np.int64], spans: Iterable[Span]) -> Mask:
    """Return a mask of the tokens that are at least partly in any of the spans.

    Args:
        tokens: Start and end of each token in the text; tokens that represent no text, such as
            [CLS], have (0, 0) and are in no span. Shape: (tokens, 2).
        spans: Spans in characters of the same text. An empty span holds no token.
    """
    mask = np.zeros(len(tokens), bool)
    for start, end in spans:
        if start < end:
            mask |= (tokens[:, 0] < end) & (tokens[:, 1] > start)
    return mask
