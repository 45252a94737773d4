"""Tokens of a text, possible names in it, the choice among them, and what looks like a part of a longer name."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.entities.articles.names import name_key
from factoid.entities.linkers.spans import Span, is_part, select_longest
from factoid.entities.linkers.stop_words import STOP_WORDS
from factoid.entities.linkers.tokens import read_casing, tokenize

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


@settings(deadline=None)
@given(TEXTS)
def test_the_key_of_a_stretch_is_its_name_key(text):
    tokens = tokenize(text)
    count = len(tokens.tokens)
    for first in range(count):
        for last in range(first, min(count, first + 4)):
            stretch = text[tokens.tokens[first].start : tokens.tokens[last].end]
            assert tokens.key_of(first, last) == name_key(stretch)


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("Is Mary Jack here?", ["Mary"], [True]),
        ("Is Mary Jack here?", ["Mary", "Jack"], [True, True]),
        ("Is Mary Jack here?", ["Mary Jack"], [False]),
        ("Is Mary, Jack said, here?", ["Mary"], [False]),
        ("Is Terry Jack Mary's?", ["Terry Jack", "Mary"], [False, False]),
        ("Is The Mary here?", ["Mary"], [False]),
        ("Will Mary come, or They Jack?", ["Mary", "Jack"], [False, True]),
        ("Is Seine-Mary here?", ["Mary"], [True]),
        ("Is Mary-based Jack here?", ["Mary"], [False]),
        ("Is Mary & Jack here?", ["Mary"], [True]),
        ("Who owns Line 6?", ["Line"], [True]),
        ("Who was Louis XVI then?", ["Louis"], [True]),
        ("Who won the Battle of Salamis?", ["Battle", "Salamis"], [True, False]),
        ("Who is Paul the Octopus?", ["Paul"], [True]),
        ("who is mary jack", ["mary"], [False]),
        ("Is Mary\n\nJack is here?", ["Mary", "Jack"], [False, False]),
    ],
)
def test_parts_of_longer_names(text, names, expected):
    tokens = tokenize(text)
    casing, words = read_casing(tokens, STOP_WORDS)
    spans = []
    for name in names:
        start = text.index(name)
        first = next(at for at, token in enumerate(tokens.tokens) if token.start == start)
        last = next(at for at, token in enumerate(tokens.tokens) if token.end == start + len(name))
        spans.append(Span(first, last, len(name.split()), False, False))
    assert [is_part(words, casing, span, spans) for span in spans] == expected


@given(st.sets(st.tuples(st.integers(0, 11), st.integers(0, 3)), max_size=12))
def test_the_longest_of_all_is_taken_again_and_again(pairs):
    ends = [(first, min(11, first + more)) for first, more in sorted(pairs)]
    spans = [Span(first, last, last - first + 1, False, False) for first, last in ends]
    expected, free = [], list(dict.fromkeys(spans))
    while free:
        best = max(free, key=lambda span: (span.words, -span.first))
        expected.append(best)
        free = [span for span in free if span.first > best.last or span.last < best.first]
    longest = select_longest(spans, tokenize(" ".join("abcdefghijkl")))
    assert longest == sorted(expected, key=lambda span: span.first)


def test_words_go_before_characters():
    shorter, longer = Span(2, 3, 2, False, False), Span(0, 2, 3, False, False)
    assert select_longest([shorter, longer], tokenize("On a Sea Internationalisation")) == [longer]
