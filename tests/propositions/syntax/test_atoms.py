"""Facts of `atomic=True`: what is taken apart, and what is left whole because a part of it would not be true by itself."""

from __future__ import annotations

from functools import partial

import pytest

from factoid.propositions.syntax.clauses import split_clauses
from factoid.propositions.syntax.render import render
from tests.propositions.syntax.trees import propositions, tree

facts = partial(propositions, atomic=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Karl Lund was born on 3 May 1950 in Oslo.",
            ["Karl Lund was born on 3 May 1950.", "Karl Lund was born in Oslo."],
        ),
        (
            "Karl Lund won the cup with Hamar in May 1970.",
            ["Karl Lund won the cup.", "Karl Lund won the cup with Hamar.", "Karl Lund won the cup in May 1970."],
        ),
        ("She taught at Yale from 1950 to 1962.", ["She taught at Yale.", "She taught from 1950 to 1962."]),
        (
            "Karl Lund worked as a baker, carpenter and engineer.",
            ["Karl Lund worked as a baker.", "Karl Lund worked as a carpenter.", "Karl Lund worked as an engineer."],
        ),
    ],
)
def test_each_time_place_and_role_is_a_fact(text: str, expected: list[str]) -> None:
    assert facts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Karl Lund played for Hamar in 1990, winning the cup and scoring twice.",
            ["Karl Lund won the cup.", "Karl Lund scored twice."],
        ),
        ("After retiring in 1996, Karl Lund moved to Oslo.", ["Karl Lund retired in 1996."]),
        ("The brothers left Oslo, being chosen by the king.", ["The brothers were chosen by the king."]),
        ("Anna Berg joined North Harbour, which premiered in 2016.", ["North Harbour premiered in 2016."]),
        ("Anna Berg moved to Oslo, where she wrote her first novel.", ["In Oslo she wrote her first novel."]),
        ("Anna Berg married Karl Lund, whose father was a baker.", ["Karl Lund's father was a baker."]),
        (
            "Anna Berg starred in films such as Winter Light (1994) and Summer Rain.",
            [
                "Winter Light is a film.",
                "Winter Light was released in 1994.",
                "Summer Rain is a film.",
                "Anna Berg starred in films.",
            ],
        ),
        (
            "Anna Berg appeared in the drama series North Harbour.",
            ["North Harbour is a drama series.", "Anna Berg appeared in North Harbour."],
        ),
        (
            "Anna Berg directed the film Winter Light (1994).",
            ["Winter Light is a film.", "Winter Light was released in 1994.", "Anna Berg directed Winter Light."],
        ),
        ("Anna Berg is an American actor.", ["Anna Berg is American.", "Anna Berg is an actor."]),
        ("Anna Berg was born in Chicago, Illinois.", ["Chicago is in Illinois.", "Anna Berg was born in Chicago."]),
        (
            "Anna Berg was interned in a camp in India, but she escaped and made her way to Tibet.",
            ["Anna Berg escaped.", "Anna Berg was interned in a camp in India."],
        ),
        # No content word is left unsaid.
        ("The film stars Lee as a spy and Kim as a thief.", ["The film stars Lee as a spy and Kim as a thief."]),
    ],
)
def test_what_is_said_on_the_side(text: str, expected: list[str]) -> None:
    assert set(expected) <= set(facts(text, "Anna Berg"))


@pytest.mark.parametrize(
    "text",
    [
        "Karl Lund did not play in Oslo in 1990.",
        "Anna Berg was the youngest winner of the prize in Norway.",
        "If he wins in Oslo, Karl Lund will retire.",
        "Karl Lund died in 1990.",
        "Apple and Google sued Samsung and Nokia, respectively.",
        "He did not come because he was ill.",
        "He was a priest before the war, but after it a communist.",
        "Fire would have destroyed the town of Elm and its hospital.",
        "Maria Keller (born 3 May 1930, died 7 June 1999 in Rome) was a Swiss chemist.",
        "Karl Lund plays for Hamar, winning the cup.",
        "The dam broke in 1990, leading to floods in Hamar.",
    ],
)
def test_what_holds_of_the_whole_only_is_not_taken_apart(text: str) -> None:
    assert facts(text) == [text]


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("Anna Berg lived in Paris, London and Rome.", " is in "),
        ("In Paris, France signed the treaty.", " is in "),
        ("She met the painter Ole Lund, a friend of her father, and two poets in Rome.", "Lund a friend"),
    ],
)
def test_what_is_beside_another_is_not_within_it_nor_in_a_list(text: str, absent: str) -> None:
    assert not [fact for fact in facts(text) if absent in fact]


def test_an_enumeration_of_enumerations_is_cut_short() -> None:
    """Every list doubles the facts; past the limit the rest of a statement keeps its lists."""
    count = 7
    rows = ["Anna NNP 2 nsubj", "met VBD 0 root"]
    for number in range(count):
        at = len(rows)
        rows += [f"in IN {at + 2} case", f"P{number} NNP 2 obl"]
        rows += [f"and CC {at + 4} cc", f"Q{number} NNP {at + 2} conj"]
    rows.append(". . 2 punct")
    parsed = tree("\n".join(rows))
    found = split_clauses(parsed, atomic=True)
    # Each of at most 32 statements gives one fact for each phrase, and one without any.
    assert count < len(found) <= 32 * (2 * count + 1)
    text = " ".join(render(parsed, items, {}) for items in found)
    assert all(f"{kind}{number}" in text for kind in "PQ" for number in range(count))
    assert "and" in text
