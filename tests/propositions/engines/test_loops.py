"""Which outputs of a model are loops."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from factoid.propositions.engines import loops
from factoid.propositions.parse import read_propositions

CHARACTERS = SimpleNamespace(decode=lambda tokens, skip_special_tokens: "".join(map(chr, tokens)))


def is_loop(text):
    return loops.is_loop([ord(char) for char in text], CHARACTERS)


def listed(*texts):
    return json.dumps(texts)[:-1] + ', "'


OLD, NEW = "It is old.", "It is new."


@pytest.mark.parametrize(
    ("text", "stuck"),
    [
        (listed("One.", *[OLD] * 5), True),
        (listed("One.", *[OLD, NEW] * 5), True),
        (listed(*[OLD] * 5) + OLD, True),
        ("", False),
        ("[", False),
        (listed(OLD, NEW, "It is here."), False),
        (listed(*[OLD] * 3), False),
        (listed(*[OLD] * 6, NEW), False),
        (listed("In the " + "very " * 20), False),  # within a proposition, which may still end
        ("very old " * 20, False),
        (listed(*(f"Town {number} has {number} gates." for number in range(10))), False),
    ],
)
def test_the_same_propositions_again_and_again_are_a_loop(text, stuck, monkeypatch):
    monkeypatch.setattr(loops, "_CHECK_EVERY", 1)
    assert is_loop(text) is stuck
    if stuck:
        longer = read_propositions(text + OLD, cut_off=True)
        assert set(longer) == set(read_propositions(text, cut_off=True))


def test_outputs_are_checked_every_32_tokens():
    text = listed(*[OLD] * 50)
    assert [length for length in range(100, 200) if is_loop(text[:length])] == [128, 160, 192]
