"""Names in other spellings, other forms of characters, other capitals, and in the plural."""

from __future__ import annotations

import pytest

from factoid import Document
from factoid.entities import build_own_articles
from factoid.entities.linkers.titles import TitleLinker
from tests.entities.linkers.stores import glossary, links, make_store

NAMES = [
    "T40",
    "Tern 40",
    "ISO 9001",
    "WD-40",
    "NASA",
    "A4",
    "Tern 50",
    "Tern50",
    "X-20 B",
    "São Paulo",
]
NAMES += ["Łódź", "Müller (bus)", "Résumé", "Resume", "Munster", "Iğdır", "Türkiye"]
NAMES += ["Öster Rund Verein (ÖRV)", "Hawaiʻi", "Marks and Co"]
FOUND = [
    ("Who owns Marks & Co?", {"Marks & Co": "Marks and Co"}),
    ("Is the T-40 or the tern40 older?", {"T-40": "T40", "tern40": "Tern 40"}),
    ("Is TERN-40 wet?", {"TERN-40": "Tern 40"}),
    ("Who needs ISO-9001 and WD40?", {"ISO-9001": "ISO 9001", "WD40": "WD-40"}),
    ("who needs iso9001 and wd 40", {"iso9001": "ISO 9001", "wd 40": "WD-40"}),
    ("Is Tern50 a Tern 50?", {"Tern50": "Tern50", "Tern 50": "Tern 50"}),  # each is known
    ("Does X20-B run?", {"X20-B": "X-20 B"}),
    ("Does a 4 mm screw fit NASA?", {"NASA": "NASA"}),
    ("Does ＮＡＳＡ use ＴＥＲＮ４０?", {"ＮＡＳＡ": "NASA", "ＴＥＲＮ４０": "Tern 40"}),
    ("Who 😀 runs NASA 😀?", {"NASA": "NASA"}),
    ("Is Sao Paulo larger than Muller?", {"Sao Paulo": "São Paulo", "Muller": "Müller (bus)"}),
    ("Is Lodz or Łódz?", {"Lodz": "Łódź", "Łódz": "Łódź"}),
    ("Is IĞDIR near TÜRKİYE?", {"IĞDIR": "Iğdır", "TÜRKİYE": "Türkiye"}),
    ("Who runs ORV or Hawai'i?", {"ORV": "Öster Rund Verein (ÖRV)", "Hawai'i": "Hawaiʻi"}),
    ("Is Resume a Résumé?", {"Resume": "Resume", "Résumé": "Résumé"}),  # each is known
]


def test_in_small_stores():
    with glossary(*NAMES) as store:
        assert [links(TitleLinker(store), question) for question, _ in FOUND] == [
            expected for _, expected in FOUND
        ]


def test_in_large_stores(tmp_path, count_as_large):
    numbers = ("tern40", "iso9001")  # without a capital they are mentions for want of a better
    with make_store(tmp_path / "s", NAMES) as store:
        for question, expected in FOUND:
            strong = {form: title for form, title in expected.items() if form not in numbers}
            assert links(TitleLinker(store), question) == strong


def test_another_spelling_is_less_sure():
    with glossary("Tern 40", "TERN-40") as store:
        exact, other = (
            TitleLinker(store).link(question)[0] for question in ("Is it Tern 40?", "Is it Tern40?")
        )
    assert (exact.title, exact.score, exact.ambiguous) == ("Tern 40", 1.0, False)
    assert other.score == pytest.approx(0.9)
    assert other.title == "Tern 40"  # the same capitals


def test_what_somebody_wrote_goes_before_what_accents_are_taken_from():
    documents = [Document("Text.", name) for name in ("rose", "Rosé", "Résumé", "São Paulo")]
    documents.append(Document("Text.", "Club", metadata={"aliases": ["Sao Paulo"]}))
    with build_own_articles(documents) as store:
        linker = TitleLinker(store)
        for name, title in (
            ("Rose", "rose"),
            ("Rosé", "Rosé"),
            ("Sao Paulo", "Club"),
            ("resume", "Résumé"),
        ):
            assert store.get(name).title == title
            (mention,) = linker.link(f"What is {name}?")
            assert (mention.title, mention.ambiguous) == (title, False)


def test_only_names_with_a_mark_are_joined_beside_a_function_word():
    with glossary("Inform", "on-call", "AT&T") as store:
        found = links(TitleLinker(store), "Are those on call in form, at AT & T?")
        assert links(TitleLinker(store), "the at&t plan") == {"at&t": "AT&T"}
    assert found == {"on call": "on-call", "AT & T": "AT&T"}


def test_a_common_word_in_lower_case_is_a_name_for_want_of_a_better():
    with glossary("Free", "Tern") as store:
        (free,) = TitleLinker(store).link("is there a free trial")
        assert links(TitleLinker(store), "is there a free trial of the tern") == {"tern": "Tern"}
        assert links(TitleLinker(store), "Is the Tern of Free?") == {"Tern": "Tern", "Free": "Free"}
    assert (free.title, free.score) == ("Free", 0.5)


def test_plurals_and_redirects_in_lower_case_also_in_large_stores(tmp_path, count_as_large):
    redirects = {"Steam pump": "Steam Pump"}
    linker = TitleLinker(
        make_store(tmp_path / "s", ["Steam engine", "Ivan", "Steam Pump"], redirects=redirects)
    )
    assert links(linker, "Do steam engines need water, Ivan?") == {
        "steam engines": "Steam engine",
        "Ivan": "Ivan",
    }
    (mention,) = linker.link("Do steam engines need water?")
    assert mention.score == 0.9
    assert links(linker, "Who are the Ivans?") == {}
    assert links(linker, "Does Ivan own a steam pump?") == {
        "Ivan": "Ivan",
        "steam pump": "Steam Pump",
    }
