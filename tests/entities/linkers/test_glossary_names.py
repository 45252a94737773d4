"""Names that only a glossary or a catalogue has: of function words, of digits, of words that every question holds."""

from __future__ import annotations

import pytest

from factoid.entities.linkers.titles import TitleLinker
from tests.entities.linkers.stores import glossary, links, make_store

TERMS = """one-time password|first aid|last mile|out of stock|same-day delivery|over the counter|down payment|up-time
on-call duty|off-grid system|after-sales service|no-load loss|all-risk insurance|Heron|State|Seal""".replace("\n", "|")


@pytest.fixture(scope="module")
def terms():
    with glossary(*TERMS.split("|"), "4711", "e12", "2") as store:
        yield store


@pytest.mark.parametrize(
    "question", ["how is the {} changed", "Does Heron need the {}?", "What is {}?", "Which {} is it?"]
)
def test_names_that_begin_with_a_function_word(terms, question):
    heron = {"Heron": "Heron"} if "Heron" in question else {}
    for term in TERMS.split("|")[:13]:
        assert links(TitleLinker(terms), question.format(term)) == {term: term} | heron


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what does state mean", {"state": "State"}),
        ("What is a state?", {"state": "State"}),
        ("Did the first one out pay down the last time?", {}),
        ("Who was over at the first, for all that?", {}),
        # codes
        ("Does the 4711 fit the Heron?", {"4711": "4711", "Heron": "Heron"}),
        ("what does error e12 mean on the heron?", {"e12": "e12", "heron": "Heron"}),
        ("how often is the seal of an e12 changed", {"seal": "Seal", "e12": "e12"}),
        ("Does Heron need 2 of them?", {"Heron": "Heron"}),
        ("What is 2?", {"2": "2"}),
    ],
)
def test_words_of_every_question_and_codes(terms, question, expected):
    assert links(TitleLinker(terms), question) == expected


LARGE = "First aid|In Paris|Paris|A Long Way|1984|Ivan|In vitro|May|June|Will (law)|At Home".split("|")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who taught first aid to Ivan?", {"first aid": "First aid", "Ivan": "Ivan"}),
        ("Was it grown in vitro?", {"in vitro": "In vitro"}),
        ("Is it in Paris, Ivan?", {"Paris": "Paris", "Ivan": "Ivan"}),  # not the song
        ("it was a long way", {"a long way": "A Long Way"}),  # no capitals: they tell nothing
        ("It was a long way.", {"a long way": "A Long Way"}),  # nor does that of the first word
        ("Was Ivan at home?", {"Ivan": "Ivan"}),
        ("Did Ivan come in 1984?", {"Ivan": "Ivan"}),
        ("Is May warmer than June?", {"May": "May", "June": "June"}),
        ("Is it so, and may Ivan come?", {"Ivan": "Ivan"}),
        ("May Ivan come in June?", {"Ivan": "Ivan", "June": "June"}),
        ("Will Ivan come in June?", {"Ivan": "Ivan", "June": "June"}),
        ("Did Ivan see it at first sight?", {"Ivan": "Ivan"}),  # no title
    ],
)
def test_in_large_stores(tmp_path, count_as_large, question, expected):
    anchors = [("at first sight", "June", 9)]
    with make_store(tmp_path / "s", LARGE, redirects={"in June": "June"}, anchors=anchors) as store:
        assert links(TitleLinker(store), question) == expected
