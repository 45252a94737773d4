from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.articles.names import name_key
from factoid.entities.linkers.tokens import TokenKind, tokenize

TEXTS = st.text(alphabet=st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("aB. '’-\n_é\u0301東ß")))


def forms(text):
    return [text[token.start : token.end] for token in tokenize(text).tokens]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who founded Zynga?", ["Who", "founded", "Zynga", "?"]),
        ("AC/DC, .NET", ["AC", "/", "DC", ",", ".", "NET"]),
        ("Obama's", ["Obama", "'", "s"]),
        ("snake_case", ["snake", "case"]),
        ("東京タワーはNHKの", ["東", "京", "タ", "ワ", "ー", "は", "NHK", "の"]),
        ("서울은 어디", ["서울은", "어디"]),  # Korean writes spaces
        ("من هو طه؟", ["من", "هو", "طه", "؟"]),
        ("e\u0301t\u00e9 ก็", ["e\u0301t\u00e9", "ก็"]),
        ("ok 👍🏽!", ["ok", "👍🏽", "!"]),
        ("a\u200bb \u200fc\u200e! \ufeff", ["a\u200bb", "c", "!"]),
        ("", []),
        (" \n\t", []),
    ],
)
def test_tokens(text, expected):
    assert forms(text) == expected


@given(TEXTS)
def test_the_key_of_a_stretch_is_its_name_key(text):
    tokens = tokenize(text)
    count = len(tokens.tokens)
    for first in range(count):
        for last in range(first, min(count, first + 4)):
            stretch = text[tokens.tokens[first].start : tokens.tokens[last].end]
            assert tokens.key_of(first, last) == name_key(stretch)


@given(TEXTS)
def test_tokens_hold_all_but_white_space(text):
    before = 0
    for token in tokenize(text).tokens:
        assert before <= token.start < token.end
        assert name_key(text[before : token.start]) == ""
        before = token.end
    assert name_key(text[before:]) == ""


@given(st.text(alphabet="aéçöñ Zü'-", max_size=20))
def test_both_unicode_forms_have_the_same_tokens(text):
    composed, decomposed = (tokenize(unicodedata.normalize(form, text)) for form in ("NFC", "NFD"))
    assert [token.key for token in composed.tokens] == [token.key for token in decomposed.tokens]
    assert composed.key == decomposed.key


def test_paragraphs_and_spaces():
    after_line, after_gap = tokenize("A\nB"), tokenize("A\n \nB")
    assert [token.paragraph for token in after_line.tokens] == [True, False]
    assert [token.paragraph for token in after_gap.tokens] == [True, True]
    assert [token.spaced for token in tokenize("a-b c").tokens] == [True, False, False, True]
    assert [token.kind for token in tokenize("1a").tokens] == [TokenKind.WORD]
