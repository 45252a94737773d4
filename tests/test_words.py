"""Words of texts, with and without spaces between them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.words import count_words, cut_words, stands_in

SPACED = st.text("ab é.\n\t\u00a0\u2003한", max_size=60)
MIXED = st.text("ab \n日本語カ。、กา่ขี。㐀", max_size=60)


def test_words_are_runs_of_characters_and_single_characters_of_scripts_without_spaces():
    assert count_words("The tower, 3.99 degrees — leans!\n") == 6
    assert count_words("我来了 OK") == 4
    assert count_words("我来了。") == 3  # a mark goes with what it stands behind
    assert count_words("カタカナ 한글") == 5
    assert count_words("नमस्ते दुनिया") == 2
    assert count_words(" \t\n") == 0
    assert [count_words(text) for text in ("「東京」は", "《红楼梦》", "「「」」", "東。京")] == [
        3,
        3,
        1,
        2,
    ]


@given(SPACED, st.integers(1, 9))
def test_texts_with_spaces(text, words):
    assert count_words(text) == len(text.split())
    assert cut_words(text, words).split() == text.split()[:words]


@given(MIXED, st.integers(1, 9))
def test_any_text_is_cut_to_so_many_words(text, words):
    cut = cut_words(text, words)
    assert text.startswith(cut)
    assert count_words(cut) == min(words, count_words(text))
    assert cut_words(cut, words) == cut
    rest = text[len(cut) :]
    assert not rest or not cut or not unicodedata.combining(rest[0])


@pytest.mark.parametrize(
    ("text", "words", "cut"),
    [
        ("水力発電所は、川の水を使う。" * 90, 8, "水力発電所は、川の"),
        ("ปั๊มน้ำ" * 90, 1, "ปั๊"),
        ("펌프는 물을 올린다", 2, "펌프는 물을"),
    ],
)
def test_scripts_without_spaces(text, words, cut):
    assert cut_words(text, words) == cut


@pytest.mark.parametrize(
    ("part", "text", "stands"),
    [
        ("he ran", "Then he  ran.", True),
        ("he ran", "Then she ran.", False),
        ("he ran", "he rang", False),
        ("(a)", "x(a)y", False),
        ("東京", "大東京都", True),  # nothing tells where a word of these scripts ends
        ("a\nb", "a b", True),
        ("OK", "大OK京", True),
        ("a", "", False),
    ],
)
def test_a_text_in_another(part, text, stands):
    assert stands_in(part, text) is stands
