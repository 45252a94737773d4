from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.prompts import document_text, normalize_question, question_prompt
from factoid.errors import InvalidInputError

QUESTION = "who wrote {it}?"


def test_closed_book():
    assert question_prompt(QUESTION) == "Answer this question:\nQ: who wrote {it}?\nA:"
    assert question_prompt(QUESTION, ["", " \n"]) == question_prompt(QUESTION)
    assert question_prompt(QUESTION, "") == question_prompt(QUESTION)


def test_one_document():
    expected = "A {text}.\n\nBased on this text, answer this question:\nQ: who wrote {it}?\nA:"
    assert question_prompt(QUESTION, ["A {text}."]) == expected
    assert question_prompt(QUESTION, "A {text}.") == expected
    assert question_prompt(QUESTION, ["", "A {text}."]) == expected


def test_several_documents():
    expected = "One.\n\nTwo.\n\nThree.\n\nBased on these texts, answer this question:\nQ: who wrote {it}?\nA:"
    assert question_prompt(QUESTION, ("One.", "Two.", "Three.")) == expected


@pytest.mark.parametrize("question", ["", " \n"])
def test_no_question(question):
    with pytest.raises(InvalidInputError, match="expected a question"):
        question_prompt(question, ["text"])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Who wrote it?", "who wrote it?"),
        ("Who wrote it", "who wrote it?"),
        (" When was NATO founded?  ", "when was NATO founded?"),
        ("Élan is what", "élan is what?"),
        ("?", "?"),
        ("  ", ""),
    ],
)
def test_normalization(given, expected):
    assert normalize_question(given) == expected


@given(st.text(max_size=10))
def test_normalization_ends_in_a_question_mark_and_changes_nothing_twice(question):
    normal = normalize_question(question)
    assert normal.endswith("?") or not question.strip()
    assert normalize_question(normal) == normal


def test_document_text():
    assert document_text("Rouen", "Rouen is a city.") == "Rouen\n\nRouen\nRouen is a city."
    assert document_text("", "A city.") == "A city."
