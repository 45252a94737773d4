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
