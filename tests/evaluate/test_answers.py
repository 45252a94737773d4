from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.errors import InvalidInputError
from factoid.evaluate.answers import (
    exact_match,
    f1,
    has_answer_dpr,
    has_answer_normalized,
    normalize_answer,
    read_yes_no,
    score_answers,
    score_yes_no,
)

TEXTS = st.text(
    st.sampled_from("aAntheb cß.,-é’\u0301 Σσ1\n\u00a0_") | st.characters(codec="utf-8"),
    max_size=20,
)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        (" The  Battle of\ta Bulge!", "battle of bulge"),
        ("U.S.A.", "usa"),
        ("anthem – a", "anthem –"),
        ("the", ""),
    ],
)
def test_normalization(text, normal):
    assert normalize_answer(text) == normal


def f1_by_pairing(prediction, answer):
    unpaired, pairs = normalize_answer(answer).split(), 0
    said = normalize_answer(prediction).split()
    expected = len(unpaired)
    for word in said:
        if word in unpaired:
            unpaired.remove(word)
            pairs += 1
    return 0.0 if not pairs else 2 / (len(said) / pairs + expected / pairs)


WORDS = st.lists(st.sampled_from(["the", "one", "two", "Two.", "three"]), max_size=6).map(" ".join)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_f1_against_pairing(prediction, answers):
    assert f1(prediction, answers) == pytest.approx(
        max(f1_by_pairing(prediction, answer) for answer in answers)
    )


def test_means():
    scores = score_answers(
        ["The Paris.", "no idea", "two three"], ["paris", ["Rome"], ["one", "two"]]
    )
    assert (scores.exact_match, scores.questions) == (1 / 3, 3)
    assert scores.f1 == pytest.approx((1 + 0 + 2 / 3) / 3)


@pytest.mark.parametrize(
    ("text", "answer", "dpr", "paper"),
    [
        ("The party", "art", False, True),
        ("in the U.S. today", "US", False, True),
        ("caf\u00e9", "cafe\u0301", True, False),
        ("Joan Collins played her.", "joan collins", True, True),
        ("Joan H. Collins", "Joan Collins", False, False),
        ("the Battle of the Bulge", "battle of Bulge", False, True),
        ("Ulm, 1879", "ulm , 1879", True, True),  # tokens, whatever the space between
        ("anything", "the", False, False),
    ],
)
def test_answers_in_texts(text, answer, dpr, paper):
    assert has_answer_dpr(text, [answer]) is dpr
    assert has_answer_normalized(text, [answer]) is paper


def tokens_one_by_one(text):
    tokens, open_word = [], False
    for char in unicodedata.normalize("NFD", text):
        kind = unicodedata.category(char)[0]
        if kind in "LNM" and open_word:
            tokens[-1] += char
        elif kind not in "ZC":
            tokens.append(char)
        open_word = kind in "LNM"
    return [token.lower() for token in tokens]


@given(TEXTS, TEXTS)
def test_dpr_against_all_runs_of_tokens(text, answer):
    tokens, answer_tokens = tokens_one_by_one(text), tokens_one_by_one(answer)
    runs = [tokens[start : start + len(answer_tokens)] for start in range(len(tokens))]
    assert has_answer_dpr(text, [answer]) is (bool(answer_tokens) and answer_tokens in runs)


@pytest.mark.parametrize("measure", [exact_match, f1, has_answer_normalized, has_answer_dpr])
def test_a_question_without_an_answer(measure):
    with pytest.raises(InvalidInputError, match="at least one answer"):
        measure("a", [])


def test_yes_and_no():
    answers = {
        True: [" YES, because", "Yes.", "yesterday"],
        False: ["no.", "Nobody", "Not"],
        None: ["True", "", "0 no"],
    }
    for expected, texts in answers.items():
        assert {read_yes_no(text) for text in texts} == {expected}
    scores = score_yes_no(["Yes", "no", "maybe", "False", ""], [True, True, "yes", np.False_, "NO"])
    assert (scores.accuracy, scores.invalid, scores.questions) == (1 / 5, 3, 5)
    with pytest.raises(InvalidInputError, match="got 'maybe'"):
        score_yes_no(["yes"], ["maybe"])
