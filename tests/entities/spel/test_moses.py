"""Full stops that belong to their word, as Moses tells them from ends of sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.spel.moses import join_abbreviations
from factoid.entities.spel.words import split_words

pytest.importorskip("sacremoses")


def cut(text):
    return [text[start:end] for start, end in join_abbreviations(text, split_words(text))]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("He left the U.S. in May.", ["He", "left", "the", "U.S.", "in", "May", "."]),
        ("Dr. Who met Mr. Fog.", ["Dr.", "Who", "met", "Mr.", "Fog", "."]),
        ("She came. He went.", ["She", "came", ".", "He", "went", "."]),
        ("a list etc. and so on.", ["a", "list", "etc.", "and", "so", "on", "."]),
        ("the U.S., too", ["the", "U.S", ".,", "too"]),  # only a "." alone can be merged
        ("wait...", ["wait", "..."]),
        ("no stop at all", ["no", "stop", "at", "all"]),
        (". alone", [".", "alone"]),
        ("the end.\nThe U.S. again", ["the", "end", ".", "The", "U.S.", "again"]),  # a line end is a space
        ("a\x00b\x07c. the U.S. too", ["a\x00b\x07c.", "the", "U.S.", "too"]),  # Moses drops control characters
        ("& <b> the U.S. [x]", ["&", "<", "b", ">", "the", "U.S.", "[", "x", "]"]),  # and would escape these
        ("", []),
    ],
)
def test_words_keep_the_full_stop_that_moses_leaves_them(text, words):
    assert cut(text) == words


@given(st.text(alphabet="ab.US '\n\x00…DOTMUL&😀", max_size=40))
def test_words_are_only_ever_joined_with_a_stop_that_follows(text):
    words = split_words(text)
    joined = join_abbreviations(text, words)
    assert "".join(text[start:end] for start, end in joined) == "".join(text[start:end] for start, end in words)
    starts = {start for start, _ in joined}
    assert all(text[start:end] == "." for start, end in words if start not in starts)


def test_long_texts_are_mended_to_their_end():
    text = "He left the U.S. in May. " * 200
    assert len(join_abbreviations(text, split_words(text))) == 7 * 200
