"""The baseline reader: which sentence and span it copies, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.errors import InvalidInputError
from factoid.readers import ExtractiveReader, Reader, normalize_question

CONTEXT = [
    "The Leaning Tower of Pisa was begun in August 1173. It leans at 3.99 degrees.",
    "Galileo Galilei was born in Pisa. He did not build the tower.",
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was the tower of Pisa begun?", "August 1173"),
        ("How many degrees does it lean?", "3.99"),
        ("Who was born in Pisa?", "Galileo Galilei"),
        ("Did he build the tower?", "no"),
        ("Is the tower of Pisa leaning?", "yes"),
    ],
)
def test_the_question_word_says_what_is_copied(question, answer):
    reader = ExtractiveReader()
    assert isinstance(reader, Reader)
    assert reader.read(question, CONTEXT) == answer
    assert reader.read_batch([question], ["\n".join(CONTEXT)]) == [answer]


def test_the_best_sentence_has_the_rarest_words_of_the_question():
    sentences = ["The tower leans.", "The tower stands in Pisa.", "The tower is old."]
    question = "Which tower stands old?"
    # 'tower' is in three sentences, 'stands' and 'old' in one each.
    weight = {"tower": math.log(2), "stands": math.log(4), "old": math.log(4)}
    shares = [
        sum(weight[w] for w in weight if w in s.lower()) / sum(weight.values()) for s in sentences
    ]
    best = sentences[int(np.argmax(shares))]
    assert ExtractiveReader(answers="sentence").read(question, sentences) == best == sentences[1]


def test_an_encoder_adds_its_inner_product():
    class Encoder:
        def encode_queries(self, texts):
            return np.array([[0.0, 1.0]] * len(texts), np.float32)

        def encode_units(self, texts):
            return np.array([[0.0, 0.9 * ("old" in text)] for text in texts], np.float32)

    sentences = [
        "It is old.",
        "The tower leans.",
    ]  # words alone would take the second (its share is 0.5)
    assert ExtractiveReader(answers="sentence").read("tower age?", sentences) == sentences[1]
    assert (
        ExtractiveReader(Encoder(), answers="sentence").read("tower age?", sentences)
        == sentences[0]
    )


@given(st.text(max_size=60), st.lists(st.text(max_size=80), max_size=3))
def test_an_answer_is_copied_or_yes_or_no(question, context):
    answer = ExtractiveReader().read(question, context)
    assert answer in ("", "yes", "no") or any(answer in text for text in context)


def test_nothing_comes_of_nothing():
    assert ExtractiveReader().read("Who?") == ExtractiveReader().read("Who?", [" "]) == ""
    with pytest.raises(InvalidInputError, match="answers must be 'span' or 'sentence'"):
        ExtractiveReader(answers="word")


@pytest.mark.parametrize(
    ("question", "normalized"),
    [
        ("Who wrote it", "who wrote it?"),
        ("who?", "who?"),
        (" Is it? ", "is it?"),
        ("É vero", "é vero?"),
    ],
)
def test_questions_of_ram_et_al(question, normalized):
    assert normalize_question(question) == normalized
    with pytest.raises(InvalidInputError, match="not blank"):
        normalize_question("  ")
