"""Prompts and readers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.prompts import document_text, question_prompt
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


def test_the_first_line_of_an_answer_is_taken_even_if_it_is_empty():
    # What stands between thoughts and answer is no line of the answer.
    texts = [" Bobigny\nQ: Next?", "<think>hm</think>\n\nBobigny", "\nBobigny", ""]
    assert [clean_answer(text, skip_empty=False) for text in texts] == ["Bobigny", "Bobigny", "", ""]


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
    assert reader.read_batch(["Which city?"] * 2, ["On the Seine.", []]) == ["Rouen"] * 2
    assert asked == [question_prompt("Which city?", context) for context in ("On the Seine.", ())]
    assert reader.read_batch([], []) == []
    reader = LLMReader(lambda prompt: prompt, prompt=lambda question, context: f"{question} {list(context)}")
    assert reader.read("Which?", "one") == "Which? ['one']"
    with pytest.raises(InvalidInputError, match="got dict"):
        LLMReader(lambda prompt: {"text": "Rouen"}).read("Which city?")


@pytest.mark.parametrize(
    ("questions", "contexts", "reason"),
    [
        ("ab", [[], []], "expected a list of questions, got str"),
        (["a", "b"], "ab", "expected a list of contexts, got str"),
        (["a"], None, "expected a list of contexts, got NoneType"),
        (["a"], {"a": ["text"]}, "expected a list of contexts, got dict"),
        (["a", "b"], [[]], "got 1 for 2 questions"),
        ([" \n"], [[]], "expected a question"),
        ([None], [[]], "expected a question"),
        *((["a"], [wrong], "expected a list of documents") for wrong in (None, 3, b"text", {"text": "text"})),
        *((["a"], [[wrong]], "expected a list of documents") for wrong in (None, b"text", ["text"])),
    ],
)
def test_batches_that_are_none(questions, contexts, reason):
    with pytest.raises(InvalidInputError, match=reason):
        LLMReader(lambda prompt: prompt).read_batch(questions, contexts)
