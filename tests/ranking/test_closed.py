"""Closed passages score by their allowed units alone: as if they had no vector and no words of
their own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.ranking import Weights, best_parents, candidates, columns
from factoid.vectors.vector_index import membership
from tests.ranking.oracle import Case
from tests.ranking.test_blend import (
    FULL,
    PASSAGE,
    PROPOSITION,
    SCALE,
    SENTENCE,
    ScriptedLexical,
    corpus,
    oracle,
    reach_of,
)


@settings(deadline=None, max_examples=400)
@given(
    seed=st.integers(0, 999),
    k=st.integers(1, 3) | st.integers(1, 40),
    level=st.sampled_from(["unit", "passage", "document"]),
    kinds=st.sampled_from(
        [[PASSAGE], [PROPOSITION], [SENTENCE, PROPOSITION], [PASSAGE, SENTENCE, PROPOSITION]]
    ),
    weights=st.sampled_from(
        [Weights(), Weights(0.3, 0.5), Weights(0, 0.2), Weights(1, 0), Weights(0.5, 0.9)]
    ),
    metadata=st.sampled_from([{1}, {0, 2}]),
    has_words=st.booleans(),
    whole=st.booleans(),
)
def test_against_a_corpus_without_them(seed, k, level, kinds, weights, metadata, has_words, whole):
    cases, queries, words = corpus(seed, complete=False, passages=60)
    rows = 5000 + np.arange(60)
    closed = rows[np.random.default_rng(seed).random(60) < 0.5]
    words = [
        {row: score + 3 * (row in closed) for row, score in each.items()} for each in words
    ]  # closed ones would win
    views = {}
    for kind, case in cases.items():
        view = case.filtered(case.view(kind, is_exact=whole), metadata if kind in kinds else None)
        if kind is PASSAGE and view.allowed is not None:
            view = replace(view, allowed=view.allowed & ~membership(view.columns.rows, closed))
        views[kind] = view
    with pytest.MonkeyPatch.context() as patch:
        if not whole:
            patch.setattr(columns, "_FEW_HELD", 0)
        if not whole and seed % 2:
            patch.setattr(candidates, "_CHANNEL_CANDIDATES", 1)  # and few candidates
        results = best_parents(
            [views[kind] for kind in kinds],
            views[PASSAGE],
            queries.astype(np.float32),
            k,
            parents=level,
            weights=weights,
            lexical=ScriptedLexical(words) if has_words else None,
            texts=range(3),
            scale=SCALE,
            closed=closed,
        )
    without = {
        **cases,
        PASSAGE: Case(
            [unit for unit in cases[PASSAGE].units if unit[0] not in closed], cases[PASSAGE].vectors
        ),
    }
    documents = {unit[2]: unit[3] for case in cases.values() for unit in case.units}
    for number, groups in enumerate(results):
        of_words = (
            {row: score for row, score in words[number].items() if row not in closed}
            if has_words
            else None
        )
        asked = (
            queries[number],
            of_words,
            weights,
            reach_of(queries[number]),
            FULL[number],
            metadata,
        )
        expected = oracle(without, kinds, *asked, level)
        scores = {key: score for score, key in expected}
        assert {group.key for group in groups} <= {*scores}
        if whole or not seed % 2:
            np.testing.assert_allclose(
                [group.score for group in groups], [score for score, _ in expected][:k], atol=1e-4
            )
            assert all(
                scores[group.key] == pytest.approx(group.score, abs=1e-4) for group in groups
            )
        if level == "document":
            passages = oracle(without, kinds, *asked, "passage")
            for group in groups:
                of_document = [
                    (score, row)
                    for score, row in passages
                    if documents[row] == group.key and row not in closed
                ]
                if not of_document:
                    assert group.passage is None
                elif whole:
                    best = max(score for score, _ in of_document)
                    assert [score for score, row in of_document if row == group.passage] == [
                        pytest.approx(best, abs=1e-4)
                    ]
                else:
                    assert group.passage in [row for _, row in of_document]


def test_an_open_passage_that_was_not_among_the_candidates(monkeypatch):
    """A document's near units are all in a closed passage; its open passage is far from the
    query.
    """
    monkeypatch.setattr(columns, "_FEW_HELD", 0)
    monkeypatch.setattr(candidates, "_CHANNEL_CANDIDATES", 1)
    near = [(row, row, 100, 7, 0) for row in range(80)]
    case = Case(
        [*near, (90, 90, 101, 7, 0)], {**{row: (3, row, 0) for row in range(80)}, 90: (-3, 0, 0)}
    )
    view = case.filtered(case.view(SENTENCE, is_exact=False), {0})
    passages = Case(
        [(100, 100, 100, 7, 0), (101, 101, 101, 7, 0)], {100: (1, 1, 1), 101: (1, 0, 0)}
    ).view(PASSAGE, is_exact=False)
    query = np.array([[1, 1, 0]], np.float32)
    [[group]] = best_parents(
        [view],
        passages,
        query,
        1,
        parents="document",
        weights=Weights(0, 0),
        closed=np.array([100], np.int64),
    )
    assert (group.key, group.passage, group.matches[0].row) == (7, 101, 79)
