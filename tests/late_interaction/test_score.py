"""Scores against loops over single numbers, in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from factoid.late_interaction import span_scores, token_mask

NUMBERS = st.floats(-8, 8, width=32)


@st.composite
def cases(draw):
    """Query, passage and a mask of the query: vectors of any length and sign, all and no tokens
    included.
    """
    rows, columns, dim = draw(st.integers(0, 5)), draw(st.integers(0, 6)), draw(st.integers(1, 4))
    query, passage = (
        draw(arrays(np.float32, (count, dim), elements=NUMBERS)) for count in (rows, columns)
    )
    return query, passage, draw(arrays(bool, rows))


def by_loops(query, passage, query_mask, passage_mask):
    total = 0.0
    for i in range(len(query)):
        if not query_mask[i]:
            continue
        best = -math.inf
        for j in range(len(passage)):
            if passage_mask[j]:
                product = 0.0
                for a, b in zip(query[i], passage[j], strict=True):
                    product += float(a) * float(b)
                best = max(best, product)
        total += best
    return total


@given(cases(), st.data())
def test_all_spans_of_a_passage_are_scored_at_once(case, data):
    query, passage, query_mask = case
    masks = data.draw(st.lists(arrays(bool, len(passage)), max_size=4))
    for mask, counted in ((query_mask, query_mask), (None, np.ones(len(query), bool))):
        scores = span_scores(query @ passage.T, masks, query_mask=mask)
        assert scores.dtype == np.float64
        expected = [by_loops(query, passage, counted, tokens) for tokens in masks]
        assert scores.tolist() == pytest.approx(expected, rel=1e-5, abs=1e-3)


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 6)), max_size=8),
    st.integers(0, 25),
    st.integers(0, 25),
)
def test_a_token_is_in_a_span_if_they_share_a_character(pairs, start, end):
    tokens = np.array(
        [(first, first + length) if length else (0, 0) for first, length in pairs], np.int64
    ).reshape(-1, 2)
    expected = [bool(set(range(*token)) & set(range(start, end))) for token in tokens.tolist()]
    assert token_mask(tokens, [(start, end)]).tolist() == expected
    assert token_mask(tokens, []).tolist() == [False] * len(tokens)
    assert token_mask(tokens, [(0, 3), (start, end)]).tolist() == [
        one or other for one, other in zip(expected, token_mask(tokens, [(0, 3)]), strict=True)
    ]
