from __future__ import annotations

import pytest

from factoid.propositions.syntax.headings import headings
from factoid.propositions.syntax.reference import Discourse
from factoid.propositions.syntax.render import render
from tests.propositions.syntax.trees import tree


def read(title: str, *sentences: str) -> list[str]:
    """Return the sentences with their references written out."""
    discourse = Discourse(headings(title, ""))
    found = []
    for rows in sentences:
        parsed = tree(rows)
        found.append(render(parsed, range(len(parsed.words)), discourse.read(parsed)))
    return found


def simple(*words: str) -> str:
    """Subject words, a verb, a full stop; a noun phrase's head is its last word."""
    *subject, verb = words
    head = len(subject)
    rows = []
    for index, word in enumerate(subject, start=1):
        kind = {"the": "DT", "her": "PRP$", "his": "PRP$", "their": "PRP$", "a": "DT"}.get(
            word.lower()
        )
        kind = kind or (
            "PRP"
            if word.lower() in ("he", "she", "it", "they")
            else "NNP"
            if word[0].isupper()
            else "NN"
        )
        relation = (
            "nsubj"
            if index == head
            else "nmod:poss"
            if kind == "PRP$"
            else "det"
            if kind == "DT"
            else "compound"
        )
        rows.append(f"{word} {kind} {head + 1 if index == head else head} {relation}")
    return "\n".join([*rows, f"{verb}_ VBD 0 root", f". . {head + 1} punct"])


SURNAMES = "Curie NNP 2 nsubj\nsaid VBD 0 root\nCurie NNP 4 nsubj\nwon_ VBD 2 ccomp\n. . 2 punct"
HOUSE = "Anna NNP 2 nsubj\nsold VBD 0 root\nher PRP$ 4 nmod:poss\nhouse_ NN 2 obj\n. . 2 punct"
WARSHIP = (
    "The DT 2 det\nVasa NNP 5 nsubj\nwas VBD 5 cop\na DT 5 det\nwarship_ NN 0 root\n. . 5 punct"
)
MINERS = "Miners NNS 2 nsubj\nleft_ VBD 0 root\n. . 2 punct"


@pytest.mark.parametrize(
    ("title", "sentences", "expected"),
    [
        ("Marie Curie", [simple("She", "won")], ["Marie Curie won."]),
        ("Vasa (ship)", [simple("It", "sank")], ["Vasa sank."]),
        ("Yuan dynasty", [simple("He", "fled")], ["He fled."]),
        ("History of Norway", [simple("It", "began")], ["It began."]),
        (
            "",
            [simple("Anna", "Smith", "won"), simple("She", "slept")],
            ["Anna Smith won.", "Anna Smith slept."],
        ),
        (
            "Marie Curie",
            [simple("She", "won"), simple("Lise", "Meitner", "left"), simple("She", "slept")],
            ["Marie Curie won.", "Lise Meitner left.", "She slept."],
        ),
        (
            "Ada Lovelace",
            [simple("Her", "mother", "taught"), simple("She", "slept")],
            ["Ada Lovelace's mother taught.", "She slept."],
        ),
        ("Marie Curie", [HOUSE], ["Anna sold her house."]),
        (
            "Leaning Tower of Pisa",
            [simple("The", "tower", "leaned")],
            ["The Leaning Tower of Pisa leaned."],
        ),
        ("Leaning Tower of Pisa", [simple("The", "king", "slept")], ["The king slept."]),
        (
            "",
            [WARSHIP, simple("The", "ship", "sank")],
            ["The Vasa was a warship.", "The Vasa sank."],
        ),
        ("Marie Curie", [SURNAMES], ["Marie Curie said Curie won."]),
        ("Marie Curie", [simple("Pierre", "Curie", "won")], ["Pierre Curie won."]),
        ("", [MINERS, simple("They", "slept")], ["Miners left.", "Miners slept."]),
        (
            "",
            [simple("Anna", "Smith", "won"), simple("They", "slept")],
            ["Anna Smith won.", "They slept."],
        ),
    ],
)
def test_what_references_become(title: str, sentences: list[str], expected: list[str]) -> None:
    assert read(title, *sentences) == expected
