from __future__ import annotations

import math
import re
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.errors import InvalidInputError
from factoid.propositions.score import EncoderSimilarity, TokenF1, corpus_f1, proposition_f1
from factoid.testing import HashEncoder

OURS = ["Anna was born in Oslo.", "Anna moved to Berlin in 1925."]
THEIRS = ["Anna was born in Oslo.", "Anna moved to Berlin.", "Anna moved in 1925."]


def values(score):
    return score.precision, score.recall, score.f1


@given(st.data())
def test_scores_are_the_formulas_of_appendix_b(data):
    sides = st.lists(st.text("abc ", max_size=6), min_size=1, max_size=5, unique=True)
    predicted, references = data.draw(sides), data.draw(sides)
    table = {(one, other): data.draw(st.floats(-1, 1)) for one in predicted for other in references}

    def similarity(a, b):
        return np.array([[table[one, other] for other in b] for one in a])

    precision = sum(
        max(max(table[one, other], 0) for other in references) for one in predicted
    ) / len(predicted)
    recall = sum(max(max(table[one, other], 0) for one in predicted) for other in references) / len(
        references
    )
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    score = proposition_f1(predicted, references * 2, similarity)  # repetitions count once
    assert values(score) == pytest.approx((precision, recall, f1))
    assert proposition_f1(predicted + predicted[:1] * 3, references, similarity) == score


def test_sets_may_be_empty():
    for predicted, references, expected in (([], [], 1), ([], OURS, 0), (OURS, [], 0)):
        assert values(proposition_f1(predicted, references, TokenF1())) == (
            expected,
            expected,
            expected,
        )


def test_a_corpus_scores_the_mean_of_its_passages():
    predicted, references = (
        [OURS, OURS, ["Cats purr."], []],
        [THEIRS, OURS, ["Dogs bark."], ["Dogs bark."]],
    )
    for similarity in (EncoderSimilarity(HashEncoder()), TokenF1()):
        alone = [
            values(proposition_f1(*pair, similarity))
            for pair in zip(predicted, references, strict=True)
        ]
        assert values(corpus_f1(predicted, references, similarity)) == pytest.approx(
            np.mean(alone, axis=0)
        )


def test_cosine_of_vectors_of_any_length():
    vectors = {"x": [3.0, 4.0], "y": [-2.0, 0.5], "z": [0.0, 0.0]}

    class Encoder:
        def encode_units(self, texts):
            return np.array([vectors[text] for text in texts], dtype=np.float32)

    cosines = EncoderSimilarity(Encoder())(["x", "y"], ["y", "z", "x"])
    for row, one in enumerate("xy"):
        for column, other in enumerate("yzx"):
            dot = sum(p * q for p, q in zip(vectors[one], vectors[other], strict=True))
            norm = math.hypot(*vectors[one]) * math.hypot(*vectors[other])
            assert cosines[row, column] == pytest.approx(dot / norm if norm else 0)


def squad_f1(a, b):
    """Token F1 by matching tokens off against each other."""

    def tokens(text):
        letters = "".join(char for char in text.lower() if char not in string.punctuation)
        return re.sub(r"\b(a|an|the)\b", " ", letters).split()

    left, right = tokens(a), tokens(b)
    if not left or not right:
        return float(left == right)
    remaining = list(right)
    for token in left:
        if token in remaining:
            remaining.remove(token)
    common = len(right) - len(remaining)
    precision, recall = common / len(left), common / len(right)
    return 2 * precision * recall / (precision + recall) if common else 0.0


@given(
    st.lists(st.text("the an'., ABC", max_size=12), max_size=4),
    st.lists(st.text("the an'., ABC", max_size=12)),
)
def test_token_f1_agrees_with_matching_by_hand(a, b):
    scores = TokenF1()(a, b)
    assert scores.shape == (len(a), len(b)) == EncoderSimilarity(HashEncoder())(a, b).shape
    for row, one in enumerate(a):
        for column, other in enumerate(b):
            assert scores[row, column] == pytest.approx(squad_f1(one, other))


def test_bad_input_is_named():
    with pytest.raises(InvalidInputError, match="got the string 'One fact"):
        proposition_f1("One fact.", ["One fact."], TokenF1())
    with pytest.raises(InvalidInputError, match="got 1 lists and 2"):
        corpus_f1([OURS], [OURS, THEIRS], TokenF1())
    with pytest.raises(InvalidInputError, match="got 0 lists and 0"):
        corpus_f1([], [], TokenF1())
