"""Names in part, misspelt names, plain words: found, marked, and never above a whole name."""

from __future__ import annotations

import sys

import pytest

from factoid.entities import Match, TitleLinker
from factoid.errors import MissingDependencyError
from tests.entities.linkers.stores import glossary, links

ENTRIES = {
    "Calvin Coolidge": "A president. It was said that Coolidge spoke little.",
    "John Fitzgerald Kennedy": "A president.",
    "Ludwig van Beethoven": "A composer.",
    "Acme Pumps GmbH": "A maker.",
    "Dyson V11": "It cleans.",
    "Acme Marsh Kite": "It flies.",
    "Station check": "Yearly.",
    "Heron (sensor)": "It senses.",
    "Tern 40": "A pump.",
    "Mary Smith": "One.",
    "Anna Smith": "Another.",
    "Bank of America": "A bank.",
    "V12": "Exact.",
    "Dyson V12": "In part.",
    "Müller & Co. KG": "A shop.",
    "J. K. Rowling": "She writes.",
}


@pytest.fixture(scope="module")
def store():
    with glossary(**ENTRIES) as store:
        yield store


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where was Coolidge born?", {"Coolidge": "Calvin Coolidge"}),
        ("where was coolidge born", {"coolidge": "Calvin Coolidge"}),  # his article calls him so
        ("Where was John Kennedy born?", {"John Kennedy": "John Fitzgerald Kennedy"}),
        ("What did Beethoven write?", {"Beethoven": "Ludwig van Beethoven"}),
        ("Who leads Acme Pumps?", {"Acme Pumps": "Acme Pumps GmbH"}),
        ("how long does the v11 run", {"v11": "Dyson V11"}),
        ("What does Müller sell?", {"Müller": "Müller & Co. KG"}),
        ("What does Rowling write?", {"Rowling": "J. K. Rowling"}),
        ("How high does the Marsh Kite fly?", {"Marsh Kite": "Acme Marsh Kite"}),
        ("How do I check the kite?", {}),
        ("What does the Check of America cost?", {}),
        ("Who is Bill Coolidge?", {}),  # somebody else
    ],
)
def test_names_in_part(store, question, expected):
    mentions = TitleLinker(store).link(question)
    assert {question[m.start : m.end]: m.title for m in mentions} == expected
    assert all(m.match is Match.PART and m.score <= 0.55 for m in mentions)


def test_a_part_is_never_above_a_whole_name_and_scores_lower_where_it_is_ambiguous(store):
    (whole,) = TitleLinker(store).link("how long does the v12 run")
    assert (whole.title, whole.match, [c.title for c in whole.candidates]) == (
        "V12",
        Match.NAME,
        ["V12"],
    )
    (part,) = TitleLinker(store).link("Where does Smith live?")
    assert (part.ambiguous, part.score) == (True, pytest.approx(0.55 / 2))
    assert {candidate.title for candidate in part.candidates} == {"Mary Smith", "Anna Smith"}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what does the hreon sense", {"hreon": "Heron (sensor)"}),
        ("Who was Calvin Colidge?", {"Calvin Colidge": "Calvin Coolidge"}),
        ("what does the tern 60 weigh", {}),
        ("what does the tren 40 weigh", {"tren 40": "Tern 40"}),
        ("what does it cost", {}),
    ],
)
def test_misspelt_names_on_demand(store, question, expected):
    pytest.importorskip("rapidfuzz")
    mentions = TitleLinker(store, misspellings=True).link(question)
    assert {question[m.start : m.end]: m.title for m in mentions} == expected
    assert all(m.match is Match.MISSPELLING and m.score <= 0.45 for m in mentions)
    assert not any(m.match is Match.MISSPELLING for m in TitleLinker(store).link(question))


def test_a_misspelt_name_is_never_above_a_whole_one():
    pytest.importorskip("rapidfuzz")
    with glossary("Heron", "Meron") as store:
        whole, misspelt = TitleLinker(store, misspellings=True).link("Is the heron a zeron?")
    assert (whole.title, whole.match, whole.score) == ("Heron", Match.NAME, 1.0)
    assert misspelt.ambiguous
    assert {candidate.title for candidate in misspelt.candidates} == {"Heron", "Meron"}


def test_without_rapidfuzz_the_error_says_what_to_install(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    monkeypatch.setitem(sys.modules, "rapidfuzz.process", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "factoid\[fuzzy\]"'):
        TitleLinker(store, misspellings=True)


def test_doubtful_mentions_are_left_out_on_demand(store):
    text = "Coolidge met Mary Smith. Then Bill Tern 40 Jones came."
    assert list(links(TitleLinker(store), text)) == ["Coolidge", "Mary Smith", "Tern 40"]
    assert list(links(TitleLinker(store, min_score=0.6), text)) == ["Mary Smith"]
