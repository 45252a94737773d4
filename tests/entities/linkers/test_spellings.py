"""Names of letters and digits in other spellings, and other forms of characters."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import Document
from factoid.entities import build_own_articles
from factoid.entities.linkers.spellings import join_digits, spellings
from factoid.entities.linkers.titles import TitleLinker
from tests.entities.linkers.stores import links, make_store

NAMES = ["T40", "Tern 40", "ISO 9001", "WD-40", "NASA", "Company 😀", "A4", "Tern 50", "Tern50", "X-20 B", "São Paulo"]
NAMES += ["Łódź", "Müller (bus)", "Résumé", "Resume", "Munster", "Iğdır", "Türkiye"]
NAMES += ["Öster Rund Verein (ÖRV)", "Hawaiʻi"]
FOUND = [
    ("How often is the T 40 changed?", {"T 40": "T40"}),
    ("Is the T-40 or the tern40 older?", {"T-40": "T40", "tern40": "Tern 40"}),
    ("Is TERN-40 wet?", {"TERN-40": "Tern 40"}),
    ("Who needs ISO-9001 and WD40?", {"ISO-9001": "ISO 9001", "WD40": "WD-40"}),
    ("who needs iso9001 and wd 40", {"iso9001": "ISO 9001", "wd 40": "WD-40"}),
    ("Is Tern50 a Tern 50?", {"Tern50": "Tern50", "Tern 50": "Tern 50"}),  # each is known
    ("Does X20-B run?", {"X20-B": "X-20 B"}),
    ("Does a 4 mm screw fit NASA?", {"NASA": "NASA"}),
    ("Does ＮＡＳＡ use ＴＥＲＮ４０?", {"ＮＡＳＡ": "NASA", "ＴＥＲＮ４０": "Tern 40"}),
    ("What does Company 😀 do?", {"Company 😀": "Company 😀"}),
    ("Who 😀 runs NASA 😀?", {"NASA": "NASA"}),
    ("Is Sao Paulo larger than Muller?", {"Sao Paulo": "São Paulo", "Muller": "Müller (bus)"}),
    ("Is Lodz or Łódz?", {"Lodz": "Łódź", "Łódz": "Łódź"}),
    ("Is Muñster Munster?", {"Muñster": "Munster", "Munster": "Munster"}),
    ("Is IĞDIR near TÜRKİYE?", {"IĞDIR": "Iğdır", "TÜRKİYE": "Türkiye"}),
    ("Who runs ORV or Hawai'i?", {"ORV": "Öster Rund Verein (ÖRV)", "Hawai'i": "Hawaiʻi"}),
    ("Is Resume a Résumé?", {"Resume": "Resume", "Résumé": "Résumé"}),  # each is known
]


@pytest.mark.parametrize(("question", "expected"), FOUND)
def test_in_small_stores(question, expected):
    with build_own_articles([Document("Text.", name) for name in NAMES]) as store:
        assert links(TitleLinker(store), question) == expected


@pytest.mark.parametrize(("question", "expected"), FOUND)
def test_in_large_stores(tmp_path, count_as_large, question, expected):
    with make_store(tmp_path / "s", NAMES) as store:
        found = links(TitleLinker(store), question)
    numbers = ("tern40", "iso9001")  # without a capital they are mentions for want of a better
    assert found == {form: title for form, title in expected.items() if form not in numbers}


def test_another_spelling_is_less_sure():
    with build_own_articles([Document("Text.", "Tern 40"), Document("Text.", "TERN-40")]) as store:
        exact, other = (TitleLinker(store).link(question)[0] for question in ("Is it Tern 40?", "Is it Tern40?"))
    assert (exact.title, exact.score, exact.ambiguous) == ("Tern 40", 1.0, False)
    assert other.score == pytest.approx(0.9)
    assert other.title == "Tern 40"  # the same capitals


def test_two_spellings_are_ambiguous():
    with build_own_articles([Document("Text.", "Tern 40"), Document("Text.", "Tern-40")]) as store:
        (mention,) = TitleLinker(store).link("Is it Tern40?")
    assert mention.ambiguous
    assert {candidate.title for candidate in mention.candidates} == {"Tern 40", "Tern-40"}


def test_what_somebody_wrote_goes_before_what_accents_are_taken_from():
    documents = [Document("Text.", name) for name in ("rose", "Rosé", "Résumé", "São Paulo")]
    documents.append(Document("Text.", "Club", metadata={"aliases": ["Sao Paulo"]}))
    with build_own_articles(documents) as store:
        linker = TitleLinker(store)
        for name, title in (("Rose", "rose"), ("Rosé", "Rosé"), ("Sao Paulo", "Club"), ("resume", "Résumé")):
            assert store.get(name).title == store.title_of(name) == title
            (mention,) = linker.link(f"What is {name}?")
            assert (mention.title, mention.ambiguous) == (title, False)
        (mention,) = linker.link("When does the pump resume?")
        assert mention.score <= 0.5


@given(st.text("ab12 -", max_size=8).map(lambda text: " ".join(text.split())))
def test_spellings_are_of_the_same_letters_and_digits(key):
    others = spellings(key)
    assert key not in others
    assert len(others) == len(set(others)) in (0, 2, 8)
    for other in others:
        assert join_digits(other) == join_digits(key)
        assert re.sub("[ -]", "", other) == re.sub("[ -]", "", key)
        assert set(spellings(other)) == {key, *others} - {other} or not spellings(other)
