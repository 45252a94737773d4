from __future__ import annotations

import math
import re
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.errors import InvalidInputError
from factoid.propositions.score import EncoderSimilarity, TokenF1, corpus_f1, mean_f1, proposition_f1
from factoid.testing import HashEncoder

OURS = ["Anna was born in Oslo.", "Anna moved to Berlin in 1925."]
THEIRS = ["Anna was born in Oslo.", "Anna moved to Berlin.", "Anna moved in 1925."]


def oracle(predicted, references, pair):
    """The formulas of Appendix B, loop by loop."""
    precision = sum(max(max(pair(own, wanted), 0) for wanted in references) for own in predicted) / len(predicted)
    recall = sum(max(max(pair(own, wanted), 0) for own in predicted) for wanted in references) / len(references)
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


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


def values(score):
    return score.precision, score.recall, score.f1


@given(st.data())
def test_the_oracle_agrees(data):
    predicted = data.draw(st.lists(st.text("abc ", max_size=6), min_size=1, max_size=5, unique=True))
    references = data.draw(st.lists(st.text("abc ", max_size=6), min_size=1, max_size=5, unique=True))
    numbers = st.floats(-1, 1)
    table = {(own, wanted): data.draw(numbers) for own in predicted for wanted in references}

    def similarity(a, b):
        return np.array([[table[one, other] for other in b] for one in a])

    score = proposition_f1(predicted, references, similarity)
    expected = oracle(predicted, references, lambda own, wanted: table[own, wanted])
    assert values(score) == pytest.approx(expected)
    assert all(0 <= value <= 1 for value in values(score))


def test_repetitions_count_once_and_sets_may_be_empty():
    once, twice = proposition_f1(OURS, THEIRS, TokenF1()), proposition_f1(OURS + OURS[:1] * 3, THEIRS * 2, TokenF1())
    assert once == twice
    for predicted, references, expected in (([], [], 1), ([], OURS, 0), (OURS, [], 0)):
        assert values(proposition_f1(predicted, references, TokenF1())) == (expected, expected, expected)


def test_a_corpus_scores_the_mean_of_its_passages():
    predicted, references = [OURS, ["Cats purr."], []], [THEIRS, ["Cats purr."], ["Dogs bark."]]
    first = values(proposition_f1(OURS, THEIRS, TokenF1()))
    assert values(corpus_f1(predicted, references, TokenF1())) == pytest.approx(
        [(value + 1 + 0) / 3 for value in first]
    )


def test_a_corpus_is_encoded_together_and_each_text_once(monkeypatch):
    monkeypatch.setattr("factoid.propositions.score._TOGETHER", 2)
    calls = []

    class Encoder(HashEncoder):
        def encode_units(self, texts):
            calls.append(list(texts))
            return super().encode_units(texts)

    predicted, references = [OURS, OURS, ["Cats purr."]], [THEIRS, OURS, ["Dogs bark."]]
    score = corpus_f1(predicted, references, EncoderSimilarity(Encoder()))
    assert [sorted(call) for call in calls] == [sorted({*OURS, *THEIRS}), ["Cats purr.", "Dogs bark."]]
    alone = [
        proposition_f1(*pair, EncoderSimilarity(HashEncoder())) for pair in zip(predicted, references, strict=True)
    ]
    assert score == mean_f1(alone)


def test_cosine_of_vectors_of_any_length():
    vectors = {"x": [3.0, 4.0], "y": [-2.0, 0.5], "z": [0.0, 0.0]}

    class Encoder:
        def encode_units(self, texts):
            return np.array([vectors[text] for text in texts], dtype=np.float32)

    found = EncoderSimilarity(Encoder())(["x", "y"], ["y", "z", "x"])
    for row, one in enumerate("xy"):
        for column, other in enumerate("yzx"):
            dot = sum(p * q for p, q in zip(vectors[one], vectors[other], strict=True))
            norm = math.hypot(*vectors[one]) * math.hypot(*vectors[other])
            assert found[row, column] == pytest.approx(dot / norm if norm else 0)


@given(st.lists(st.text("the an'., ABC", max_size=12), max_size=4), st.lists(st.text("the an'., ABC", max_size=12)))
def test_token_f1_agrees_with_matching_by_hand(a, b):
    found = TokenF1()(a, b)
    assert found.shape == (len(a), len(b))
    for row, one in enumerate(a):
        for column, other in enumerate(b):
            assert found[row, column] == pytest.approx(squad_f1(one, other))


@pytest.mark.parametrize("similarity", [TokenF1(), EncoderSimilarity(HashEncoder())])
def test_no_texts_have_an_empty_matrix(similarity):
    assert similarity([], []).shape == (0, 0)
    assert similarity(OURS, []).shape == (2, 0)
    assert similarity([], OURS).shape == (0, 2)


def test_bad_input_is_named():
    with pytest.raises(InvalidInputError, match="got the string 'One fact"):
        proposition_f1("One fact.", ["One fact."], TokenF1())
    with pytest.raises(InvalidInputError, match="got 1 lists and 2"):
        corpus_f1([OURS], [OURS, THEIRS], TokenF1())
    with pytest.raises(InvalidInputError, match="one passage at least"):
        corpus_f1([], [], TokenF1())
    with pytest.raises(InvalidInputError, match="one passage at least"):
        mean_f1([])
