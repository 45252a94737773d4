"""Where propositions come from and what supports them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Document, split_passages
from factoid.propositions.ground import Source, content_tokens, is_supported


def passage_of(text, title="", section=""):
    (passage,) = split_passages(Document(text, title=title, section=section), words=1000)
    return passage


def source_of(proposition, text, title=""):
    """Return the stretch of the text that a proposition is aligned with."""
    _, start, end = Source(passage_of(text, title)).align(proposition)
    return text[start:end]


TOWER = "Prior to restoration between 1990 and 2001, the tower leaned at 5.5 degrees, but it now leans at 3.99 degrees."


@pytest.mark.parametrize(
    ("proposition", "supported"),
    [
        ("The Tower of Pisa leaned at 5.5 degrees.", True),  # Pisa stands in the title
        ("The tower of Pisa was leaning between 1990 and 2001", True),
        ("The tower was located at Pisa before restoration.", True),  # a verb may be added
        ("The tower leaned at 5.6 degrees.", False),
        ("The tower leaned at 5 degrees.", False),
        ("The tower leaned before 1989.", False),
        ("The tower of Paris leaned at 5.5 degrees.", False),
        ("Napoleon restored the tower.", False),
        ("Restoration of the tower lasted from 1990 to 2001.", True),
        ("Cheese is wonderful.", False),
        ("It is.", True),  # says nothing
        ("", True),
    ],
)
def test_names_numbers_and_most_words_must_be_known(proposition, supported):
    assert (
        is_supported(proposition, Source(passage_of(TOWER, "Leaning Tower of Pisa")).known)
        is supported
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The towers were leaning at 1,000.5 degrees", ["tow", "lean", "1,000.5", "degre"]),
        ("été Zürich 12:30", ["été", "zürich", "12:30"]),
        ("The of and 's", []),
        ("我来了", ["我来了"]),
        ("😀 — …", []),
    ],
)
def test_content_words(text, words):
    tokens = content_tokens(text)
    assert [word for word, _, _ in tokens] == words
    for word, start, end in tokens:
        assert text[start:end].lower().startswith(word)


@pytest.mark.parametrize(
    ("proposition", "text", "title", "expected"),
    [
        ("Anna Berg died.", "Anna Berg was born in Oslo. She died.", "", "She died."),
        ("Anna Berg was born in Oslo.", "Anna Berg was born in Oslo. She died.", "", "Anna Berg was born in Oslo."),
        (
            "The Leaning Tower of Pisa reopened in December 2001.",
            "From 1990 to 2001 the tower leaned. It was closed in 1990 and reopened in December 2001.",
            "Leaning Tower of Pisa",
            "reopened in December 2001.",
        ),
        ("Paris lies on the Seine.", "It is old. Long is the Seine, on which Paris lies.", "", "Seine, on which Paris lies."),
        ("In 2001 it opened.", "The tower shut in 1990, opened in 2001, and grew.", "", "opened in 2001"),
        ("The pump is old.", "The pump is red. It is **old**.", "", "It is **old**."),
        ("The red pump is old.", "The red pump is new here. Nobody knows. It is old.", "", "It is old."),
        ("The red pump is new.", "The red pump, as one sees, is new. It is old.", "", "The red pump, as one sees, is new."),
        ("Rome.", "Rome and Milan and Rome.", "", "Rome."),
        ("Cheese smells.", "The tower leans. It is old.", "", "The tower leans. It is old."),
    ],
)  # fmt: skip
def test_alignment(proposition, text, title, expected):
    assert source_of(proposition, text, title) == expected


# A proposition that stands in its passage, and the stretch between ‹ and › that it must get.
VERBATIM = [
    ("Bob is in.", "Call Bob. ‹Bob is in.›"),
    ("He won it.", "He lost. Then he said so: ‹He won it.› Again."),
    (
        "The tower leaned at 5.5 degrees.",
        "In 1990 ‹the tower leaned at 5.5 degrees›, but less now.",
    ),
    ("One or two.", "- Zero\n- ‹One\n  or two.›\n- Three."),
    ("Dense X splits text.", "It is new. ‹[Dense X](https://x.org/splits) splits **text**.›"),
    ("Call `a()` now.", "Do: ‹Call `a()` now.› Yes."),
    ("漢字。", "文字！‹漢字。›我"),
]


@pytest.mark.parametrize(("proposition", "marked"), VERBATIM)
def test_what_stands_in_the_passage_gets_exactly_that_span(proposition, marked):
    before, exact, after = re.split("[‹›]", marked)
    assert source_of(proposition, before + exact + after) == exact


def _flat(text):
    return " ".join(text.split())


WORDS = st.lists(
    st.sampled_from(
        "Bob is in. the Call *a* [b](c.d) `e f` A. Oslo, (x) 漢。 - 1.\n \n\n".split(" ")
    ),
    max_size=25,
)


@settings(max_examples=200, deadline=None)
@given(WORDS, st.integers(0, 40), st.integers(1, 30))
def test_verbatim_spans_are_exact(words, start, length):
    """Any stretch of a sentence gets a span that reads the same."""
    for passage in split_passages(Document(" ".join(words)), words=1000):
        source = Source(passage)
        line = source.sentences[start % len(source.sentences)].readings[0][0]
        runs = [_flat(line[start % len(line) :][:length]), line]
        for proposition in filter(None, runs):
            _, begin, end = source.align(proposition)
            assert _flat(passage.text[begin - passage.start : end - passage.start]) == proposition


@settings(max_examples=100, deadline=None)
@given(
    st.text("ab AB.12 \n", max_size=60),
    st.lists(st.text("ab AB.12", max_size=30).map(str.strip), max_size=4),
)
def test_spans_lie_in_the_sentence(text, propositions):
    for passage in split_passages(Document(text, title="A b")):
        source = Source(passage)
        for proposition in propositions:
            index, start, end = source.align(proposition)
            sentence = source.sentences[index].sentence if index >= 0 else passage
            assert sentence.start <= start < end <= sentence.end


def test_a_sentence_is_covered_if_half_of_its_words_are_said():
    source = Source(passage_of("The tower leans today. It was restored in 1990. So be it."))
    assert source.uncovered(["The tower leans."]) == [1, 2]
    assert source.uncovered(["A restored tower."]) == [0, 2]
    assert source.uncovered(["A tower that leans was restored.", "so be it"]) == []
    assert source.uncovered([]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "proposition"),
    [
        ("Die Straße nach İzmir ist gesperrt.", "Die STRASSE nach izmir ist gesperrt."),
        ("Die STRASSE nach IZMIR ist gesperrt.", "Die Straße nach İzmir ist gesperrt."),
        ("The to\u200bwer of Pi\u00adsa \u200fleans\u200f.", "The tower of Pisa leans."),
    ],
)
def test_words_are_compared_case_folded_and_without_what_nobody_sees(text, proposition):
    assert is_supported(proposition, Source(passage_of(text)).known)


def test_tokens_have_places_in_the_text_with_what_nobody_sees():
    text = "a to\u200bwer\u200b of Pi\u00adsa"
    assert [text[start:end] for _, start, end in content_tokens(text)] == [
        "to\u200bwer",
        "Pi\u00adsa",
    ]
    assert content_tokens("") == content_tokens("\u200b") == ()
