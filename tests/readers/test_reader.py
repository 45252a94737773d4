"""Prompts and readers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.readers.prompts import document_text, question_prompt
from factoid.readers.reader import LLMReader, Reader, clean_answer
from factoid.errors import InvalidInputError

QUESTION = "who wrote {it}?"


@pytest.mark.parametrize(
    ("contexts", "expected"),
    [
        ([(), ["", " \n"], ""], "Answer this question:\nQ: who wrote {it}?\nA:"),
        (
            [["A {text}."], "A {text}.", ["", "A {text}."]],
            "A {text}.\n\nBased on this text, answer this question:\nQ: who wrote {it}?\nA:",
        ),
        (
            [("One.", "Two.", "Three.")],
            "One.\n\nTwo.\n\nThree.\n\nBased on these texts, answer this question:\nQ: who wrote {it}?\nA:",
        ),
    ],
)
def test_prompts(contexts, expected):
    assert [question_prompt(QUESTION, context) for context in contexts] == [expected] * len(
        contexts
    )


def test_document_text():
    assert document_text("Rouen", "Rouen is\n\na  city.\t") == "Rouen\n\nRouen\nRouen is a city."
    assert document_text("", "A city.") == "A city."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" Bobigny\nQ: Next?", "Bobigny"),
        ('"Bobigny"', "Bobigny"),
        ("“The Raven", "The Raven"),  # cut off
        ("Paris 'x' city", "Paris 'x' city"),
        ('"', ""),
        ("<think>\nhm\n</think>\nParis", "Paris"),
        ("<think>one</think>\n<think>two</think> 'Paris'\nQ: and?", "Paris"),
        ("It is a city.\n</think>\nParis", "Paris"),  # the chat template began the thoughts
        ("<think>\nIs it Paris", ""),  # cut off
        ("The tag <think> is unknown", "The tag <think> is unknown"),
    ],
)
def test_cleaning(text, expected):
    assert clean_answer(text) == expected


@given(
    st.lists(st.sampled_from([*"ab \"'“”\n\r", "<think>", "</think>"]), max_size=12).map("".join)
)
def test_a_clean_answer_is_a_piece_of_one_line(text):
    cleaned = clean_answer(text)
    assert cleaned in text
    assert cleaned == cleaned.strip()
    assert len(cleaned.splitlines()) <= 1


def test_anything_that_completes_a_prompt_is_a_reader():
    asked = []
    reader = LLMReader(lambda prompt: asked.append(prompt) or ' "Rouen"\nQ: and then?')
    assert isinstance(reader, Reader)
    assert reader.read_batch(["Which city?"] * 2, ["On the Seine.", []]) == ["Rouen"] * 2
    assert asked == [question_prompt("Which city?", context) for context in ("On the Seine.", ())]
    assert reader.read_batch([], []) == []
    reader = LLMReader(
        lambda prompt: prompt, prompt=lambda question, context: f"{question} {list(context)}"
    )
    assert reader.read("Which?", "one") == "Which? ['one']"
    with pytest.raises(InvalidInputError, match="got dict"):
        LLMReader(lambda prompt: {"text": "Rouen"}).read("Which city?")


def test_batches_that_are_none():
    reader = LLMReader(lambda prompt: prompt)
    with pytest.raises(ValueError, match="zip"):
        reader.read_batch(["a", "b"], [[]])
    with pytest.raises(InvalidInputError, match="not blank"):
        reader.read(" \n")
