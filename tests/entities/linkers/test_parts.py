from __future__ import annotations

import pytest

from factoid.entities.linkers.casing import read_casing
from factoid.entities.linkers.parts import is_part
from factoid.entities.linkers.spans import Span
from factoid.entities.linkers.stop_words import STOP_WORDS
from factoid.entities.linkers.tokens import tokenize


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("Is Mary Jack here?", ["Mary"], [True]),
        ("Is Mary Jack here?", ["Jack"], [True]),
        ("Is Mary Jack here?", ["Mary", "Jack"], [True, True]),
        ("Is Mary Jack here?", ["Mary Jack"], [False]),
        ("Is Mary with Jack?", ["Jack"], [False]),
        ("Is Mary, Jack said, here?", ["Mary"], [False]),
        ("Is Terry Jack Mary's?", ["Terry Jack", "Mary"], [False, False]),
        ("Is the old Mary here?", ["Mary"], [False]),
        ("Is The Mary here?", ["Mary"], [False]),
        ("Will Mary come, or They Jack?", ["Mary", "Jack"], [False, True]),
        ("Is Seine-Mary here?", ["Mary"], [True]),
        ("Is Mary-based Jack here?", ["Mary"], [False]),
        ("Is Mary & Jack here?", ["Mary"], [True]),
        ("Who owns Line 6?", ["Line"], [True]),
        ("Who was Louis XVI then?", ["Louis"], [True]),
        ("Who won the Battle of Salamis?", ["Battle", "Salamis"], [True, False]),
        ("Who is Paul the Octopus?", ["Paul"], [True]),
        ("Is Paul the one?", ["Paul"], [False]),
        ("who is mary jack", ["mary"], [False]),
        ("Is Mary\n\nJack is here?", ["Mary", "Jack"], [False, False]),
        ("Mary", ["Mary"], [False]),
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
    assert [is_part(words, casing, spans, at) for at in range(len(spans))] == expected
