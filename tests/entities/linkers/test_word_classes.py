"""Verbs and common nouns in lower case are not the names of the same spelling."""

from __future__ import annotations

import pytest

from factoid import Document
from factoid.entities.articles.own_documents import build_own_articles
from factoid.entities.linkers.titles import TitleLinker


def entry(title: str, *aliases: str) -> Document:
    return Document("A text.", title=title, id=title, metadata={"aliases": list(aliases)})


ENTRIES = [
    entry("African Institute for Mathematical Sciences", "AIMS"),
    entry("Space Agency", "NASA"),
    entry("Service for Health", "HELPS"),
    entry("Nature"),
    entry("Filter"),
    entry("Export"),
]


@pytest.fixture(scope="module")
def linker() -> TitleLinker:
    return TitleLinker(build_own_articles(ENTRIES))


@pytest.mark.parametrize(
    "text",
    [
        "the organisation aims to grow",
        "the report aims at teachers",
        "what are the aims of the project",
        "our aims are simple",
        "this helps with the cold",
        "it helps people to move",
        "they want to filter the list",
    ],
)
def test_no_names(linker: TitleLinker, text: str) -> None:
    assert linker.link(text) == []


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("what is nasa", "Space Agency"),
        ("who founded nasa?", "Space Agency"),
        ("aims", "African Institute for Mathematical Sciences"),
        ("Who leads AIMS?", "African Institute for Mathematical Sciences"),
        ("how do i clean the filter", "Filter"),
        ("what is an export?", "Export"),
        ("Who publishes Nature?", "Nature"),
        ("who publishes nature", "Nature"),
    ],
)
def test_names(linker: TitleLinker, text: str, title: str) -> None:
    assert [mention.title for mention in linker.link(text)] == [title]


def test_the_score_says_how_sure(linker: TitleLinker) -> None:
    [sure] = linker.link("Who publishes Nature?")
    [typed] = linker.link("who publishes nature")
    [unsure] = linker.link("what is the nature of light")
    assert sure.score >= typed.score > 0.6 > unsure.score
    [capitals] = linker.link("Who leads NASA?")
    [lower] = linker.link("who leads nasa")
    assert capitals.score > lower.score


SHORT = [
    entry("Nature (journal)", "Nature"),
    entry("Apple Inc."),
    entry("Python (programming language)"),
    entry("Shell plc", "Shell"),
    entry("Target Corporation"),
    entry("Word (word processor)"),
    entry("Spring (framework)"),
    entry("Mercury (planet)"),
    entry("Reading, Berkshire"),
    entry("Square, Inc."),
    entry("Medium (website)"),
    entry("Gasket (part)"),
]


@pytest.fixture(scope="module")
def names() -> TitleLinker:
    return TitleLinker(build_own_articles(SHORT))


@pytest.mark.parametrize(
    "text",
    [
        "we walk in nature every day",
        "My sister loves nature.",
        "I eat an apple",
        "i eat an apple every day",
        "She ate two apples. Anna had none.",
        "Apples are red.",
        "Does Anna eat an apple in Oslo?",
        "how many apples are in a pie",
        "We shell the peas.",
        "we missed our target",
        "did you reach the target?",
        "in a word, it is so",
        "It rains in spring.",
        "how much mercury is in fish",
        "The python ate a rat.",
        "what is the square of two",
        "what target was set",
        "whose apple is it",
        "she was reading on the train",
        "it was served over a medium flame",
    ],
)
def test_common_nouns_are_no_short_names(names: TitleLinker, text: str) -> None:
    assert names.link(text) == []


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("what is python", "Python (programming language)"),
        ("python", "Python (programming language)"),
        ("python is a programming language", "Python (programming language)"),
        ("tell me about apple", "Apple Inc."),
        ("who is the ceo of apple?", "Apple Inc."),
        ("apple stock price", "Apple Inc."),
        ("who owns shell", "Shell plc"),
        ("how do i open word", "Word (word processor)"),
        ("who publishes nature", "Nature (journal)"),
        ("qué es python", "Python (programming language)"),
        ("We read Nature every day.", "Nature (journal)"),
        ("Apple makes phones.", "Apple Inc."),
        ("is mercury a planet", "Mercury (planet)"),
        ("the gasket broke", "Gasket (part)"),
        ("We changed two gaskets.", "Gasket (part)"),
    ],
)
def test_short_names(names: TitleLinker, text: str, title: str) -> None:
    assert [mention.title for mention in names.link(text)] == [title]


def test_the_score_of_a_short_name(names: TitleLinker) -> None:
    scores = []
    for text in (
        "We read Nature.",
        "Does Anna know that Nature is old?",
        "who reads nature",
        "who does a nature walk",
    ):
        [mention] = names.link(text)
        scores.append(mention.score)
    middle, asked, lower, describes = scores
    assert middle == asked > lower > 0.6 > describes


@pytest.mark.parametrize(
    ("statement", "evidence"),
    [
        ("Nature is beautiful.", "Nature is a weekly journal."),
        ("Nature offers many cures.", "Nature printed it. We read it in Nature."),
        ("Mercury is toxic.", "Mercury is hotter than any other planet."),
        ("Reading is fun.", "Reading is where?"),
        ("Spring rains are warm.", "Is Spring warm?"),
        ("Apple juice is sweet.", "Apple sold its office in May."),
        ("Target the audience first.", "Target was founded in 1902."),
        ("Shell scripts are slow.", "Shell sells oil."),
    ],
)
def test_first_words_of_statements_are_doubtful(
    names: TitleLinker, statement: str, evidence: str
) -> None:
    [doubtful] = names.link(statement)
    assert doubtful.score < 0.5
    assert all(mention.score >= 2 * doubtful.score for mention in names.link(evidence))


NAMED = {
    "Chad": "Chad is a landlocked country in Africa.",
    "Best Western": "Best Western is an American hotel chain and company.",
    "Mobile, Alabama": "Mobile is a city on a bay.",
    "Finish (language)": "A language.",
    "Bright (car)": "A car.",
    "Washing (village)": "A village.",
    "Critical (severity)": "The highest level.",
    "Computer Aided Return Document": "A form.",
    "Office of Rivers": "An office.",
    "Duty Cycle": "The share of the time in which it runs.",
    "Orange Box": "A box with a lid.",
}
ALIASES = {
    "Computer Aided Return Document": ["CARD"],
    "Office of Rivers": ["RIVER"],
    "Mobile, Alabama": ["Mobile"],
}


@pytest.fixture(scope="module")
def named() -> TitleLinker:
    documents = []
    for title, text in NAMED.items():
        metadata = {"aliases": ALIASES.get(title, [])}
        documents.append(Document(text, title=title, id=title, metadata=metadata))
    return TitleLinker(build_own_articles(documents))


@pytest.mark.parametrize(
    "text",
    [
        "my card is lost",  # a word that an acronym spells
        "Card games are fun",
        "wide rivers are slow",
        "WHERE IS MY CARD NOW",  # capitals that say nothing
        "who has a best western",
        "two best westerns closed",
        "finish the report",  # a command
        "a mobile phone shop",  # adjectives
        "is the lamp bright?",
        "washing hands helps",  # a gerund
    ],
)
def test_common_words_are_no_names(named: TitleLinker, text: str) -> None:
    assert named.link(text) == []


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("what is card", "Computer Aided Return Document"),
        ("Is the CARD filled in?", "Computer Aided Return Document"),
        ("who runs river", "Office of Rivers"),
        ("WHERE IS CHAD ON THE MAP", "Chad"),
        ("chad is dry", "Chad"),
        ("who founded best western", "Best Western"),
        ("the best western sold rooms", "Best Western"),
        ("is finish hard to learn", "Finish (language)"),
        ("hotels in mobile", "Mobile, Alabama"),
        ("who makes bright", "Bright (car)"),
        ("weather in washing", "Washing (village)"),
        ("is the alarm critical", "Critical (severity)"),
        ("a duty cycle of ten", "Duty Cycle"),  # capitals of a glossary
        ("an orange box was found", "Orange Box"),
    ],
)
def test_names_that_are_common_words(named: TitleLinker, text: str, title: str) -> None:
    assert [mention.title for mention in named.link(text)] == [title]


def test_the_score_of_a_name_that_is_a_common_word(named: TitleLinker) -> None:
    [sure] = named.link("who founded best western")
    [unsure] = named.link("a best western hotel")
    assert sure.score > 0.6 > unsure.score
