"""Words and their subwords, rule by rule."""

from __future__ import annotations

import string
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.spel.words import group_subwords, split_words
from tests.entities.spel import tiny_spel


def cut(text):
    return [text[start:end] for start, end in split_words(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \t\n\u3000", []),
        ("one  two\nthree\u00a0four", ["one", "two", "three", "four"]),
        ("mid-way o'clock 3.14 a@b", ["mid-way", "o'clock", "3.14", "a@b"]),  # punctuation inside is no matter
        ("Etna's LAVA'S", ["Etna", "'s", "LAVA", "'S"]),
        ("dogs' d'", ["dogs", "'", "d", "'"]),  # ends in punctuation
        ("Etna’s", ["Etna’s"]),  # only the ASCII apostrophe
        ("(Etna)", ["(", "Etna", ")"]),
        ("“Etna”", ["“Etna”"]),  # no ASCII punctuation
        ('("Etna\'s".)', ['("', "Etna's", '".)']),  # with punctuation around, 's stays
        ("Etna's,", ["Etna's", ","]),
        ("'s", ["'", "s"]),
        ("U.S.", ["U.S", "."]),
        ("...", ["..."]),
        ("-", ["-"]),
        ("--a", ["--", "a"]),
    ],
)
def test_words(text, words):
    assert cut(text) == words


@given(st.text(alphabet=string.punctuation[:6] + "'sS ab\n😀", max_size=30))
def test_words_hold_every_character_that_is_no_space_once_and_in_order(text):
    assert "".join(cut(text)) == "".join(text.split())
    spans = split_words(text)
    assert all(start < end for start, end in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))


def test_subwords_belong_to_the_word_before_whose_end_they_start():
    words = [(0, 2), (2, 4), (5, 9)]
    offsets = [(0, 1), (1, 2), (2, 4), (5, 7), (7, 9)]
    assert group_subwords(words, offsets) == [range(2), range(2, 3), range(3, 5)]


def test_white_space_of_its_own_belongs_to_the_word_after_it():
    assert group_subwords([(0, 1), (4, 5)], [(0, 1), (2, 2), (3, 3), (4, 5)]) == [range(1), range(1, 4)]


def test_white_space_at_the_end_belongs_to_no_word():
    assert group_subwords([(0, 1)], [(0, 1), (1, 2)]) == [range(1)]


def test_a_subword_across_two_words_belongs_to_the_first_and_may_leave_the_second_empty():
    assert group_subwords([(0, 1), (1, 2), (2, 3)], [(0, 2), (2, 3)]) == [range(1), range(1, 1), range(1, 2)]


def greedy(text, words, tokenizer):
    """Map as SpEL does: extend the subwords of a word until they decode to it."""
    ids = tokenizer.encode(text).ids[1:-1]
    groups, first = [], 0
    for start, end in words:
        last = first
        while tokenizer.decode(ids[first:last]).strip() != text[start:end]:
            last += 1
            assert last <= len(ids)
        groups.append(range(first, last))
        first = last
    return groups


@given(
    st.lists(
        st.sampled_from(
            ["Ada Lovelace", "Mount", "Mira", "state's", "(quote)", "U.S.", "東京", "😀", "born,", "x-y", "?"]
        ),
        max_size=8,
    ),
    st.sampled_from([" ", "  ", " \n "]),
)
def test_the_mapping_is_that_of_decoding_subwords_one_after_the_other(pieces, space):
    pytest.importorskip("tokenizers")
    tokenizer = tiny_spel.make_tokenizer()
    text = space.join(pieces)
    words = split_words(text)
    assert group_subwords(words, tokenizer.encode(text).offsets[1:-1]) == greedy(text, words, tokenizer)
