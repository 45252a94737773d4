from __future__ import annotations

import re
import string
import unicodedata

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
    score_answers,
)

TEXTS = st.text(st.sampled_from("aAntheb cß.,-é’\u0301 Σσ1\n\u00a0_") | st.characters(codec="utf-8"), max_size=20)


def normalized_step_by_step(text):
    """SQuAD v1.1's four steps, one character and one word at a time."""
    kept = "".join(char for char in text.lower() if char not in string.punctuation)
    spaced, word = [], ""
    for char in [*kept, " "]:
        if re.match(r"\w", char):
            word += char
            continue
        spaced.append(" " if word in ("a", "an", "the") else word)
        spaced.append(char)
        word = ""
    return " ".join("".join(spaced).split())


@given(TEXTS)
def test_normalization_against_its_steps(text):
    assert normalize_answer(text) == normalized_step_by_step(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Beatles!", "beatles"),
        ("U.S.", "us"),
        ("a-the-b", "atheb"),
        ("An apple\tand THE pear", "apple and pear"),
        ("“Theory”", "“theory”"),  # only ASCII punctuation goes
        ("the", ""),
    ],
)
def test_normalization(text, expected):
    assert normalize_answer(text) == expected


def test_exact_match_takes_the_best_answer():
    assert exact_match("The Seine.", ["Loire", "seine"])
    assert not exact_match("the Seine river", ["Loire", "seine"])
    assert exact_match("Seine", "the Seine")  # one string is one answer
    assert exact_match("the", ["a"])


@pytest.mark.parametrize(
    ("prediction", "answers", "expected"),
    [
        ("the river Seine", ["Seine"], 2 * (1 / 2) * 1 / (1 / 2 + 1)),
        ("Seine Seine", ["Seine"], 2 * (1 / 2) * 1 / (1 / 2 + 1)),
        ("one two", ["three", "two four five"], 2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3)),
        ("nothing", ["something"], 0.0),
        ("the", ["a"], 0.0),
        ("", ["x"], 0.0),
    ],
)
def test_f1_by_hand(prediction, answers, expected):
    assert f1(prediction, answers) == pytest.approx(expected, abs=1e-12)


def f1_by_pairing(prediction, answer):
    left, pairs = normalized_step_by_step(answer).split(), 0
    said = normalized_step_by_step(prediction).split()
    wanted = len(left)
    for word in said:
        if word in left:
            left.remove(word)
            pairs += 1
    return 0.0 if not pairs else 2 / (len(said) / pairs + wanted / pairs)


WORDS = st.lists(st.sampled_from(["the", "one", "two", "Two.", "three"]), max_size=6).map(" ".join)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_f1_against_pairing(prediction, answers):
    assert f1(prediction, answers) == pytest.approx(max(f1_by_pairing(prediction, each) for each in answers))


@given(WORDS, WORDS)
def test_f1_is_symmetric_and_1_for_what_matches(one, other):
    assert f1(one, other) == f1(other, one)
    if exact_match(one, other) and normalize_answer(one):
        assert f1(one, other) == 1.0


def test_means():
    scores = score_answers(["Paris", "no idea", "two three"], ["paris", ["Rome"], ["two"]])
    assert (scores.exact_match, scores.questions) == (1 / 3, 3)
    assert scores.f1 == pytest.approx((1 + 0 + 2 / 3) / 3)


@pytest.mark.parametrize(("predictions", "answers"), [([], []), (["x"], []), (["x"], ["x", "y"])])
def test_predictions_that_do_not_fit(predictions, answers):
    with pytest.raises(InvalidInputError, match=f"{len(predictions)} for {len(answers)} questions"):
        score_answers(predictions, answers)


@pytest.mark.parametrize("measure", [exact_match, f1, has_answer_normalized, has_answer_dpr])
def test_no_expected_answer(measure):
    with pytest.raises(InvalidInputError, match="at least one answer"):
        measure("text", [])


@pytest.mark.parametrize(
    ("text", "answer", "dpr", "paper", "whole"),
    [
        ("The party", "art", False, True, False),
        ("in the U.S. today", "US", False, True, True),
        ("in the US today", "U.S.", False, True, True),
        ("caf\u00e9", "cafe\u0301", True, False, False),
        ("Joan Collins played her.", "joan collins", True, True, True),
        ("Joan H. Collins", "Joan Collins", False, False, False),
        ("the Battle of the Bulge", "battle of Bulge", False, True, True),
        ("Ulm, 1879", "Ulm 1879", False, True, True),
        ("Ulm, 1879", "ulm , 1879", True, True, True),  # tokens, whatever the space between
        ("anything", "", False, False, False),
        ("anything", "the", False, False, False),
        ("anything", " \u200b ", False, False, False),
        ("", "x", False, False, False),
    ],
)
def test_answers_in_texts(text, answer, dpr, paper, whole):
    assert has_answer_dpr(text, [answer]) is dpr
    assert has_answer_normalized(text, [answer]) is paper
    assert has_answer_normalized(text, [answer], whole_words=True) is whole


def test_one_of_several_answers_is_enough():
    for has_answer in (has_answer_dpr, has_answer_normalized):
        assert has_answer("It flows to Rouen.", ["Paris", "Rouen"])
        assert has_answer("It flows to Rouen.", "Rouen")
        assert not has_answer("It flows to Rouen.", ["Paris", "Lyon"])


def tokens_one_by_one(text):
    tokens, open_word = [], False
    for char in unicodedata.normalize("NFD", text):
        kind = unicodedata.category(char)[0]
        if kind in "LNM":
            if open_word:
                tokens[-1] += char
            else:
                tokens.append(char)
        elif kind not in "ZC":
            tokens.append(char)
        open_word = kind in "LNM"
    return [token.lower() for token in tokens]


@given(TEXTS, TEXTS)
def test_dpr_against_all_runs_of_tokens(text, answer):
    held, wanted = tokens_one_by_one(text), tokens_one_by_one(answer)
    runs = [held[start : start + len(wanted)] for start in range(len(held))]
    assert has_answer_dpr(text, [answer]) is (bool(wanted) and wanted in runs)


@given(TEXTS, TEXTS, TEXTS)
def test_whole_words_are_found_where_they_stand_apart_and_nowhere_that_the_paper_finds_none(before, answer, after):
    if normalize_answer(answer):
        assert has_answer_normalized(f"{before} {answer} {after}", [answer], whole_words=True)
    if has_answer_normalized(before, [answer], whole_words=True):
        assert has_answer_normalized(before, [answer])


@pytest.mark.parametrize(
    ("predictions", "answers"), [("ab", [["a"], ["b"]]), (["a", "b"], "ab"), (["a"], [3]), (["a"], None)]
)
def test_strings_are_no_lists(predictions, answers):
    with pytest.raises(InvalidInputError, match=r"expected a list of (predictions|answers)"):
        score_answers(predictions, answers)


@pytest.mark.parametrize("measure", [exact_match, f1, has_answer_normalized, has_answer_dpr])
@pytest.mark.parametrize(("given", "answers"), [(None, ["a"]), ("a", [None]), (3, "a"), ("a", None), ("a", {"a": 1})])
def test_what_is_no_text(measure, given, answers):
    with pytest.raises(
        InvalidInputError, match=r"expected (a text as a string|a list of answers, or one as a string), got"
    ):
        measure(given, answers)
