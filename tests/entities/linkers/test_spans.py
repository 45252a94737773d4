from __future__ import annotations

import pytest

from factoid.entities.linkers.casing import Casing, read_casing
from factoid.entities.linkers.spans import LowerCase, find_spans
from factoid.entities.linkers.stop_words import STOP_WORDS
from factoid.entities.linkers.tokens import tokenize


def spans(text, most_words=3):
    tokens = tokenize(text)
    casing, words = read_casing(tokens, STOP_WORDS)
    found = find_spans(tokens, words, casing, most_words=most_words, lower_case=LowerCase.AUTO)
    return {text[tokens.tokens[span.first].start : tokens.tokens[span.last].end]: span for span in found}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Is AC/DC?", {"AC", "DC", "AC/DC", "AC/DC?", "DC?", "Is AC", "Is AC/DC", "Is AC/DC?"}),
        ("Is Ivan's?", {"Ivan", "Ivan's", "Ivan's?", "Is Ivan", "Is Ivan's", "Is Ivan's?"}),
        ("Does it, Ivan?", {"Ivan", "Ivan?", "Does it, Ivan", "Does it, Ivan?"}),
        ("Is a (Ivan) so?", {"Ivan", "Ivan)", "(Ivan", "(Ivan)", "a (Ivan", "a (Ivan)", "Is a (Ivan", "Is a (Ivan)"}),
    ],
)
def test_where_names_begin_and_end(text, expected):
    assert set(spans(text)) >= expected - {text}
    for form in set(spans(text)) - expected:
        # What is more is a name with words after it.
        assert any(form.startswith(start) for start in expected)
    assert not any(form.endswith(("/", "'", ",", "(")) for form in spans(text))


def test_what_is_asked_of_a_name():
    found = spans("Did Ivan see black water in 1984 or It?")
    assert (found["Ivan"].exact, found["Ivan"].weak) == (False, False)
    assert (found["black water"].exact, found["black water"].weak) == (True, False)
    assert found["1984"].weak
    assert (found["It"].exact, found["It"].weak) == (True, True)
    assert not {"water", "black", "see", "in", "or", "Did"} & set(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("who is ivan", Casing.SILENT),
        ("WHO IS IVAN", Casing.SILENT),
        ("Who is ivan? Is it he?", Casing.INITIAL),
        ("Who is Ivan?", Casing.TELLING),
        ("Is it NASA?", Casing.TELLING),
        ("東京はどこ", Casing.TELLING),
        ("", Casing.TELLING),
    ],
)
def test_casing(text, expected):
    assert read_casing(tokenize(text), STOP_WORDS)[0] is expected
