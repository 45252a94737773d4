from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.linkers.selection import select_longest
from factoid.entities.linkers.spans import Span
from factoid.entities.linkers.tokens import tokenize

WORDS = 12


def overlap(one, other):
    return one.first <= other.last and other.first <= one.last


@given(st.sets(st.tuples(st.integers(0, WORDS - 1), st.integers(0, 3)), max_size=12), st.booleans())
def test_the_longest_of_all_is_taken_again_and_again(pairs, weak):
    tokens = tokenize(" ".join("abcdefghijkl"))
    spans = [
        Span(first, min(WORDS - 1, first + more), min(WORDS - 1, first + more) - first + 1, False, weak)
        for first, more in sorted(pairs)
    ]
    expected, left = [], list(dict.fromkeys(spans))
    while left:
        best = max(left, key=lambda span: (span.words, -span.first))
        expected.append(best)
        left = [span for span in left if not overlap(span, best)]
    assert select_longest(spans, tokens) == sorted(expected, key=lambda span: span.first)


def test_weak_spans_count_only_where_there_is_no_other():
    tokens = tokenize("It by King")
    weak, strong = Span(0, 0, 1, True, True), Span(2, 2, 1, False, False)
    assert select_longest([weak, strong], tokens) == [strong]
    assert select_longest([weak], tokens) == [weak]


def test_the_mark_of_the_question_is_not_the_names():
    tokens = tokenize("Who sang Why? Who sang Why??")
    short, long = Span(2, 2, 1, False, False), Span(2, 3, 1, False, False)
    assert select_longest([short, long], tokens) == [short]
    assert select_longest([long], tokens) == [long]
    spans = [Span(6, last, 1, False, False) for last in (6, 7)]
    assert select_longest(spans, tokens) == [spans[1]]


def test_more_words_go_before_more_characters():
    tokens = tokenize("On a Sea Internationalisation")
    three, two = Span(0, 2, 3, False, False), Span(2, 3, 2, False, False)
    assert select_longest([two, three], tokens) == [three]
    longer, shorter = Span(2, 3, 2, False, False), Span(1, 2, 2, False, False)
    assert select_longest([shorter, longer], tokens) == [longer]
