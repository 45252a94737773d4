from __future__ import annotations

import json

import pytest

from factoid.propositions.engines.repetition import loop_detector
from factoid.propositions.parse import read_propositions


def is_loop(text: str) -> bool:
    """Ask with one token for a character."""
    return loop_detector(lambda tokens: "".join(map(chr, tokens)))([ord(char) for char in text])


def listed(*texts: str) -> str:
    return json.dumps(texts)[:-1] + ', "'


@pytest.mark.parametrize(
    "text",
    [
        listed("One.", *["It is old."] * 5),
        listed("One.", *["It is old.", "It is new."] * 5),
        listed(*["It is old."] * 5) + "It is",
    ],
)
def test_the_same_propositions_again_and_again(text):
    assert is_loop(text)
    longer = read_propositions(text + "It is old.", cut_off=True)
    assert set(longer) == set(read_propositions(text, cut_off=True))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        listed("It is old.", "It is new.", "It is here."),
        listed(*["It is old."] * 3),
        listed(*["It is old."] * 6, "It is new."),
        listed("In the " + "very " * 20),  # within a proposition, which may still end
        "very old " * 20,
        listed(*(f"Town {number} has {number} gates." for number in range(10))),
    ],
)
def test_what_may_still_say_something_new(text):
    assert not is_loop(text)
