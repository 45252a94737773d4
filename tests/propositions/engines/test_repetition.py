from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from factoid.propositions.engines import repetition
from factoid.propositions.parse import read_propositions

CHARACTERS = SimpleNamespace(decode=lambda tokens, skip_special_tokens: "".join(map(chr, tokens)))


def is_loop(text):
    return repetition.is_loop([ord(char) for char in text], CHARACTERS)


def listed(*texts):
    return json.dumps(texts)[:-1] + ', "'


OLD, NEW = "It is old.", "It is new."


@pytest.mark.parametrize(
    "text", [listed("One.", *[OLD] * 5), listed("One.", *[OLD, NEW] * 5), listed(*[OLD] * 5) + OLD]
)
def test_the_same_propositions_again_and_again(text, monkeypatch):
    monkeypatch.setattr(repetition, "_CHECK_EVERY", 1)
    assert is_loop(text)
    longer = read_propositions(text + "It is old.", cut_off=True)
    assert set(longer) == set(read_propositions(text, cut_off=True))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        listed(OLD, NEW, "It is here."),
        listed(*[OLD] * 3),
        listed(*[OLD] * 6, NEW),
        listed("In the " + "very " * 20),  # within a proposition, which may still end
        "very old " * 20,
        listed(*(f"Town {number} has {number} gates." for number in range(10))),
    ],
)
def test_what_may_still_say_something_new(text, monkeypatch):
    monkeypatch.setattr(repetition, "_CHECK_EVERY", 1)
    assert not is_loop(text)


def test_outputs_are_checked_every_32_tokens():
    text = listed(*[OLD] * 50)
    assert [length for length in range(100, 200) if is_loop(text[:length])] == [128, 160, 192]
