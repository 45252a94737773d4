"""Words of a text, the choice among overlapping spans, and what looks like a part of a longer
name.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.linkers.spans import Span, Words, longest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who founded Zynga?", ["Who", "founded", "Zynga", "?"]),
        ("AC/DC, .NET", ["AC", "/", "DC", ",", ".", "NET"]),
        ("snake_case", ["snake", "case"]),
        ("東京タワーはNHKの", ["東", "京", "タ", "ワ", "ー", "は", "NHK", "の"]),
        ("서울은 어디", ["서울은", "어디"]),  # Korean writes spaces
        ("من هو طه؟", ["من", "هو", "طه", "؟"]),
        ("हिन्दी e\u0301t\u00e9", ["हिन्दी", "e\u0301t\u00e9"]),
        ("a\u200bb \u200fc\u200e!", ["a\u200bb", "\u200f", "c\u200e", "!"]),
        (" \n\t", []),
    ],
)
def test_words(text, expected):
    assert [text[word.start : word.end] for word in Words(text).words] == expected


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("Is Mary Jack here?", ["Mary"], [True]),
        ("Is Mary Jack here?", ["Mary", "Jack"], [False, False]),
        ("Is Mary, Jack said, here?", ["Mary"], [False]),
        ("Is The Mary here?", ["Mary"], [False]),
        ("Will Mary come, or They Jack?", ["Mary", "Jack"], [False, True]),
        ("Who won the Battle of Salamis?", ["Battle", "Salamis"], [False, False]),
        ("Who won the Battle of Salamis?", ["Battle"], [True]),
        ("who is mary jack", ["mary"], [False]),
    ],
)
def test_parts_of_longer_names(text, names, expected):
    words = Words(text)
    spans = {span.form: span for span in words.spans(lower_case=True)}
    used = {at for name in names for at in spans[name].places}
    assert [words.is_beside_a_name(spans[name], used) for name in names] == expected


@given(st.sets(st.tuples(st.integers(0, 11), st.integers(0, 3)), max_size=12))
def test_the_longest_of_all_is_taken_again_and_again(pairs):
    spans = [
        Span(first, min(11, first + more), "", inner=False, function=False, exact=False, weak=False)
        for first, more in sorted(pairs)
    ]
    expected, free = [], list(spans)
    while free:
        best = max(free, key=lambda span: (span.last - span.first, -span.first))
        expected.append(best)
        free = [span for span in free if span.first > best.last or span.last < best.first]
    assert longest(spans) == expected
