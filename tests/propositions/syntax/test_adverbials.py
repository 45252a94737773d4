from __future__ import annotations

import pytest

from tests.propositions.syntax.test_atoms import facts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Karl Lund played for Hamar in 1990, winning the cup and scoring twice.",
            ["Karl Lund won the cup.", "Karl Lund scored twice."],
        ),
        ("After retiring in 1996, Karl Lund moved to Oslo.", ["Karl Lund retired in 1996."]),
        ("Karl Lund moved to Oslo after retiring in 1996.", ["Karl Lund retired in 1996."]),
        ("The brothers left Oslo, being chosen by the king.", ["The brothers were chosen by the king."]),
        ("Anna Berg joined North Harbour, which premiered in 2016.", ["North Harbour premiered in 2016."]),
        ("Anna Berg married Karl Lund, who played for Hamar.", ["Karl Lund played for Hamar."]),
        ("Anna Berg moved to Oslo, where she wrote her first novel.", ["In Oslo she wrote her first novel."]),
        ("Anna Berg married Karl Lund, whose father was a baker.", ["Karl Lund's father was a baker."]),
    ],
)
def test_clauses_beside_the_main_one(text: str, expected: list[str]) -> None:
    assert set(expected) <= set(facts(text))


@pytest.mark.parametrize(
    "text", ["Karl Lund plays for Hamar, winning the cup.", "The dam broke in 1990, leading to floods in Hamar."]
)
def test_neither_the_present_nor_what_an_event_did(text: str) -> None:
    assert facts(text) == [text]
