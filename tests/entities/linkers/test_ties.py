"""Several articles of one name: what decides between them, and what is reported."""

from __future__ import annotations

import numpy as np
import pytest

from factoid.entities.linkers.titles import TitleLinker
from tests.entities.linkers.stores import make_store

pytestmark = pytest.mark.usefixtures("count_as_large")


class Encoder:
    """Encodes by a function of a text, and remembers what it was asked."""

    def __init__(self, vector):
        self.vector, self.calls = vector, []

    def encode_units(self, texts):
        self.calls.append(list(texts))
        return np.array([self.vector(text) for text in texts], np.float32)

    encode_queries = encode_units


SEALS = {
    "Seal (animal)": "A seal is an animal of the sea. It eats fish.",
    "Seal (singer)": "Seal is a singer of songs. Fish he does not like.",
    "Seal (stamp)": "A seal marks a letter.",
}


@pytest.fixture
def seals(tmp_path):
    with make_store(tmp_path / "seals", SEALS) as store:
        yield store


def test_ties_are_reported(seals):
    (mention,) = TitleLinker(seals).link("Where does Seal live?")
    assert (mention.title, mention.ambiguous) == ("Seal (animal)", True)
    assert [(candidate.title, candidate.score) for candidate in mention.candidates] == [
        (title, pytest.approx(1 / 3)) for title in sorted(SEALS)
    ]


def test_ties_are_broken_by_context(seals):
    encoder = Encoder(lambda text: [float(word in text) for word in ("song", "sea", "letter")])
    texts = ["Which song is of Seal?", "Is the Seal on the letter?", "Is a Seal here?"]
    mentions = [
        mention for text in texts for mention in TitleLinker(seals, encoder=encoder).link(text)
    ]
    expected = [("Seal (singer)", False), ("Seal (stamp)", False), ("Seal (animal)", True)]
    assert [(mention.title, mention.ambiguous) for mention in mentions] == expected
    scores = [candidate.score for candidate in mentions[0].candidates]
    assert sum(scores) == pytest.approx(1)
    assert scores[0] > 0.9
    units, queries = encoder.calls[:2]
    assert units == [f"{title}. {text}" for title, text in SEALS.items()]
    assert queries == [texts[0], "Seal"]


def test_a_preference_of_the_bare_name_decides_nothing(seals):
    # The cosines to animal, singer and stamp of "Seal" are 0.94, 0.34, -0.34; the text must be
    # ahead by 0.08 more than that.
    degrees = {
        "(animal)": 0,
        "(singer)": 90,
        "(stamp)": 130,
        "Seal": 20,
        "Near": 18,
        "Far": 10,
        "Song": 60,
    }

    def direction(text):
        angle = np.radians(
            next(
                angle for word, angle in degrees.items() if word in text.removesuffix(" the Seal?")
            )
        )
        return np.cos(angle), np.sin(angle)

    encoder = Encoder(direction)
    for text, title, ambiguous in [
        ("Seal?", "Seal (animal)", True),
        ("Near the Seal?", "Seal (animal)", True),
        ("Far from the Seal?", "Seal (animal)", False),
        ("Song of the Seal?", "Seal (singer)", True),  # less than the stamp gains
    ]:
        (mention,) = TitleLinker(seals, encoder=encoder).link(text)
        assert (mention.title, mention.ambiguous) == (title, ambiguous), text


ALBANY = [
    "Albany, New York",
    "Albany, Georgia",
    "New York",
    "Mercury",
    "Mercury (planet)",
    "Mercury (disambiguation)",
]


@pytest.mark.parametrize(
    ("text", "form", "title"),
    [
        (
            "Will the Albany in Georgia reach 100,000 before the one in New York?",
            "Albany",
            "Albany, Georgia",
        ),
        ("How far is the planet Mercury?", "Mercury", "Mercury (planet)"),
        ("Which planets are near Mercury?", "Mercury", "Mercury"),  # "planets" is what is asked for
        ("What did Mercury do?", "Mercury", "Mercury"),
        ("What is Mercury (planet)?", "Mercury (planet)", "Mercury (planet)"),
    ],
)
def test_words_that_tell_one_from_others(tmp_path, text, form, title):
    with make_store(tmp_path / "albany", ALBANY) as store:
        mention = next(m for m in TitleLinker(store).link(text) if text[m.start : m.end] == form)
    assert (mention.title, mention.ambiguous) == (title, False)
    assert not any(candidate.title.endswith("(disambiguation)") for candidate in mention.candidates)


def test_kinds_of_names(tmp_path):
    titles = ["Rom", "A", "B", "Rom (x)"]
    for left in range(4):  # the best kind is taken out, one after the other
        redirects = {"ROM": "A"} if left < 2 else {}
        aliases = [("rom", "B")] if left < 3 else []
        with make_store(
            tmp_path / str(left), titles[left > 0 :], redirects=redirects, aliases=aliases
        ) as store:
            (mention,) = TitleLinker(store, lower_case=True).link("rom")
        assert [candidate.title for candidate in mention.candidates] == titles[left:]
        assert not mention.ambiguous
        scores = [candidate.score for candidate in mention.candidates]
        assert scores == sorted(set(scores), reverse=True)
        assert sum(scores) == pytest.approx(1)


def test_counts_of_links_decide(tmp_path):
    anchors = [("Apple", "Apple", 3), ("Apple", "Apple Inc.", 90), ("apple", "Apple Inc.", 6)]
    with make_store(tmp_path / "apples", ["Apple", "Apple Inc."], anchors=anchors) as store:
        (mention,) = TitleLinker(store).link("Who leads Apple?")
    assert (mention.title, mention.ambiguous) == ("Apple Inc.", False)
    assert mention.candidates[0].score == pytest.approx(
        97 / 108
    )  # 96 links and its own name, of 3 links and a title
