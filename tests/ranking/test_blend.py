"""Blended scores against their definition, in plain loops over everything."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Granularity
from factoid.errors import InvalidInputError
from factoid.ranking import Scale, Weights, best_parents
from tests.ranking.oracle import Case

PASSAGE, SENTENCE, PROPOSITION = Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION


FULL = (4.0, 5.0, 10.0)  # the highest scores that texts could have for the queries


MEAN = (1.0, -0.5, 0.0, 2.0)
SCALE = Scale(4.5, np.array(MEAN))


def reach_of(query):
    """How far the scores of a query reach above the average one."""
    highest = 4.5 * sum(float(number) ** 2 for number in query) ** 0.5
    average = sum(float(number) * mean for number, mean in zip(query, MEAN, strict=True))
    return max(highest - average, highest / 100)


class ScriptedLexical:
    """BM25 scores of passages by row, one dict for each query, which are numbers."""

    def __init__(self, scores):
        self.values = scores

    def places(self, rows):
        return rows

    def relative_scores(self, query, places):
        scores = np.array([self.values[query].get(row, 0) for row in places.tolist()], np.float32)
        return scores / np.float32(FULL[query])


def corpus(seed, *, complete, passages=30):
    """Passages, sentences and propositions of six documents as cases; rows of all are distinct."""
    rng = np.random.default_rng(seed)
    units = {PASSAGE: [], SENTENCE: [], PROPOSITION: []}
    for number in range(passages):
        row, document = 5000 + number, number % 6
        if complete or rng.random() < 0.7:
            units[PASSAGE].append((row, row, row, document, int(rng.integers(0, 3))))
        for kind, start in ((SENTENCE, 0), (PROPOSITION, 1000)):
            for place in range(int(rng.integers(1 if complete else 0, 4))):
                unit = start + 10 * number + place
                units[kind].append((unit, unit, row, document, int(rng.integers(0, 3))))
    cases = {}
    for kind, rows in units.items():
        cases[kind] = Case(rows, {row: tuple(rng.integers(-6, 7, 4).tolist()) for row, *_ in rows})
    words = [
        {5000 + at: int(score) for at, score in enumerate(rng.integers(0, 5, passages))}
        for _ in range(3)
    ]
    return cases, rng.integers(-6, 7, (3, 4)), words


def oracle(
    cases,
    kinds,
    query,
    words,
    weights,
    scale,
    full,
    metadata=None,
    level="passage",
    has_passages=True,
):
    """Score and key of every parent that may be found, best first."""
    scored = {kind: case.scored(query, metadata) for kind, case in cases.items() if kind in kinds}
    eligible = {unit[2] for found in scored.values() for _, unit in found}
    own = (
        {unit[0]: score for score, unit in cases[PASSAGE].scored(query, None)}
        if has_passages
        else {}
    )
    finer = [kind for kind in kinds if kind is not PASSAGE]
    lexical = 0 if words is None else weights.lexical
    documents = {unit[2]: unit[3] for case in cases.values() for unit in case.units}
    alpha = 1.0 if not finer else weights.passage if has_passages else 0.0
    totals = []
    for row in eligible:
        shared = lexical * scale * (words or {}).get(row, 0) / full
        dense = {
            kind: [(score, unit[0]) for score, unit in scored[kind] if unit[2] == row]
            for kind in finer
        }
        itself = own.get(row, -math.inf) if alpha else -math.inf  # also counts as one of its units
        parts = [
            (max(*units, (itself, row))[0], (1 - alpha) / len(finer))
            for units in dense.values()
            if units
        ]
        if level == "unit":
            for score, unit in [pair for units in dense.values() for pair in units]:
                totals.append(
                    (
                        (1 - lexical) * ((1 - alpha) * score + alpha * own.get(row, score))
                        + shared,
                        unit,
                    )
                )
            if PASSAGE in kinds and row in {unit[0] for _, unit in scored[PASSAGE]}:
                totals.append(((1 - lexical) * own[row] + shared, row))
            continue
        if row in own and (alpha or PASSAGE in kinds):
            parts.append((own[row], alpha))
        weight = sum(share for _, share in parts)
        mean = (
            sum(score * share for score, share in parts) / weight
            if weight
            else np.mean([score for score, _ in parts])
        )
        totals.append(
            ((1 - lexical) * mean + shared, row if level == "passage" else documents[row])
        )
    if level == "document":
        totals = [
            (max(score for score, key in totals if key == document), document)
            for document in {key for _, key in totals}
        ]
    return sorted(totals, key=lambda item: (-item[0], item[1]))


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 999),
    k=st.integers(1, 40),
    level=st.sampled_from(["unit", "passage", "document"]),
    kinds=st.sampled_from(
        [[PASSAGE], [PROPOSITION], [SENTENCE, PROPOSITION], [PASSAGE, SENTENCE, PROPOSITION]]
    ),
    weights=st.sampled_from(
        [Weights(), Weights(0.3, 0.5), Weights(0, 0.2), Weights(1, 0), Weights(0.5, 0.9)]
    ),
    metadata=st.sampled_from([None, {1}, {0, 2}, {9}]),
    complete=st.booleans(),
    has_words=st.booleans(),
    has_passages=st.booleans(),
)
def test_against_the_definition(
    seed, k, level, kinds, weights, metadata, complete, has_words, has_passages
):
    has_passages = has_passages or PASSAGE in kinds
    cases, queries, words = corpus(seed, complete=complete, passages=60)
    views = {
        kind: case.filtered(case.view(kind), metadata if kind in kinds else None)
        for kind, case in cases.items()
    }
    results = best_parents(
        [views[kind] for kind in kinds],
        views[PASSAGE] if has_passages else None,
        queries.astype(np.float32),
        k,
        parents=level,
        weights=weights,
        lexical=ScriptedLexical(words) if has_words else None,
        texts=range(3),
        scale=SCALE,
    )
    for number, groups in enumerate(results):
        of_words = words[number] if has_words else None
        full = FULL[number]
        reach = reach_of(queries[number])
        expected = oracle(
            cases,
            kinds,
            queries[number],
            of_words,
            weights,
            reach,
            full,
            metadata,
            level,
            has_passages,
        )
        scores = {key: score for score, key in expected}
        expected = [score for score, _ in expected][:k]
        np.testing.assert_allclose([group.score for group in groups], expected, atol=1e-4)
        assert all(scores[group.key] == pytest.approx(group.score, abs=1e-4) for group in groups)
        assert len({group.key for group in groups}) == len(groups)


def test_parts_and_matches_say_why():
    cases, queries, words = corpus(1, complete=True)
    views = {kind: case.view(kind) for kind, case in cases.items()}
    ((group, *_), *_) = best_parents(
        [views[PROPOSITION]],
        views[PASSAGE],
        queries.astype(np.float32),
        1,
        parents="passage",
        weights=Weights(0.4, 0.2),
        lexical=ScriptedLexical(words),
        texts=range(3),
        scale=SCALE,
    )
    parts = group.parts
    words = parts.get("lexical", 0)
    assert 0 <= words <= reach_of(queries[0])
    best = max(parts["proposition"], parts["passage"])
    assert 0.8 * (0.6 * best + 0.4 * parts["passage"]) + 0.2 * words == pytest.approx(group.score)
    assert group.matches[0].score == parts["proposition"]


@pytest.mark.parametrize(
    "weights",
    [
        {"passage": 1.1},
        {"lexical": -0.1},
        {"lexical": float("nan")},
        {"passage": "much"},
        {"lexical": True},
    ],
)
def test_weights_out_of_range(weights):
    with pytest.raises(InvalidInputError, match="from 0 to 1"):
        Weights(**weights)
