from __future__ import annotations

import pytest

from tests.propositions.syntax.test_atoms import facts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
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
        ("Anna Berg is a Swedish opera singer.", ["Anna Berg is Swedish.", "Anna Berg is an opera singer."]),
        ("Anna Berg was born in Chicago, Illinois.", ["Chicago is in Illinois.", "Anna Berg was born in Chicago."]),
    ],
)
def test_what_is_said_on_the_side(text: str, expected: list[str]) -> None:
    assert set(expected) <= set(facts(text))


@pytest.mark.parametrize("text", ["Anna Berg lived in Paris, London and Rome.", "In Paris, France signed the treaty."])
def test_places_beside_each_other_are_not_within(text: str) -> None:
    assert not [fact for fact in facts(text) if " is in " in fact]
