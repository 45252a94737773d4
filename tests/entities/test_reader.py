"""Prompts and readers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.prompts import document_text, normalize_question, question_prompt
from factoid.entities.reader import LLMReader, Reader, clean_answer
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
    assert [question_prompt(QUESTION, context) for context in contexts] == [expected] * len(contexts)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who wrote it?", "who wrote it?"),
        ("Who wrote it", "who wrote it?"),
        (" When was NATO founded?  ", "when was NATO founded?"),
        ("Élan is what", "élan is what?"),
        ("?", "?"),
        ("  ", ""),
    ],
)
def test_normalization(question, expected):
    assert normalize_question(question) == expected


def test_document_text():
    assert document_text("Rouen", "Rouen is\n\na  city.\t") == "Rouen\n\nRouen\nRouen is a city."
    assert document_text("", "A city.") == "A city."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" Bobigny\nQ: Next?", "Bobigny"),
        ("\n \n  Bobigny  \n", "Bobigny"),
        ('"Bobigny"', "Bobigny"),
        ("“Bobigny”", "Bobigny"),
        ("“The Raven", "The Raven"),  # cut off
        ('"Rouen" and "Paris"', '"Rouen" and "Paris"'),
        ('"Rouen" in France', '"Rouen" in France'),
        ("'twas Poe", "'twas Poe"),
        ('Poe, "The Raven"', 'Poe, "The Raven"'),
        ('"', ""),
        (" \n\r\n", ""),
        ("<think>\nhm\n</think>\nParis", "Paris"),
        (" \n<Think>hm</Think> 'Paris'\nQ: and?", "Paris"),
        ("<thinking>Rouen? </think> no</thinking>\n\nParis", "Paris"),
        ("<think>one</think>\n<think>two</think>Paris", "Paris"),
        ("It is a city.\n</think>\nParis", "Paris"),  # the chat template began the thoughts
        ("<think>\nIs it Paris", ""),  # cut off
        ("<thought> Paris", "<thought> Paris"),
        ("The tag <think> is unknown", "The tag <think> is unknown"),
    ],
)
def test_cleaning(text, expected):
    assert clean_answer(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" Bobigny\nQ: Next?", "Bobigny"),
        ("\nBobigny", ""),
        (" \n\nQ: Next?", ""),
        ("", ""),
        ("<think>hm</think>\n\nBobigny", "Bobigny"),  # what stands between thoughts and answer is no line of the answer
    ],
)
def test_the_first_line_of_an_answer_is_taken_even_if_it_is_empty(text, expected):
    assert clean_answer(text, skip_empty=False) == expected


@given(st.lists(st.sampled_from([*"ab \"'“”\n\r", "<think>", "</think>"]), max_size=12).map("".join), st.booleans())
def test_a_clean_answer_is_a_piece_of_one_line(text, skip_empty):
    cleaned = clean_answer(text, skip_empty=skip_empty)
    assert cleaned in text
    assert cleaned == cleaned.strip()
    assert len(cleaned.splitlines()) <= 1


def test_anything_that_completes_a_prompt_is_a_reader():
    asked = []
    reader = LLMReader(lambda prompt: asked.append(prompt) or ' "Rouen"\nQ: and then?')
    assert isinstance(reader, Reader)
    assert reader.read("Which city?", "On the Seine.") == "Rouen"
    assert reader.read("Which city?") == "Rouen"
    assert asked == [
        "On the Seine.\n\nBased on this text, answer this question:\nQ: Which city?\nA:",
        "Answer this question:\nQ: Which city?\nA:",
    ]


def test_batches_and_a_prompt_of_ones_own():
    reader = LLMReader(lambda prompt: prompt, prompt=lambda question, context: f"{question} {list(context)}")
    assert reader.read("Which?", "one") == "Which? ['one']"
    reader = LLMReader(lambda prompt: prompt.partition("Q: ")[2].partition("?")[0])
    assert reader.read_batch(["Which?", "Where?"], ["On the Seine.", []]) == ["Which", "Where"]
    assert reader.read_batch([], []) == []


@pytest.mark.parametrize("context", [None, 3, b"text", {"text": "text"}, [None], ["text", b"text"], [["text"]]])
def test_contexts_that_are_none(context):
    with pytest.raises(InvalidInputError, match=r"expected (a list of documents|the text of each document)"):
        LLMReader(lambda prompt: prompt).read("Which?", context)


def test_a_callable_that_returns_no_text_and_no_question():
    with pytest.raises(InvalidInputError, match="got dict"):
        LLMReader(lambda prompt: {"text": "Rouen"}).read("Which city?")
    with pytest.raises(InvalidInputError, match="expected a question"):
        question_prompt(" \n", ["text"])
