"""What is no passage, no propositionizer or no result is refused with what was given and what was expected."""

from __future__ import annotations

import asyncio

import pytest

from factoid import SyntaxPropositionizer
from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions import CachedPropositionizer, adecompose, decompose
from tests.propositions.passages import Batching, passages

WAYS = [decompose, lambda *of: asyncio.run(adecompose(*of))]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("units", "message"),
    [
        ("text", r"expected a list of passages, .*got a value of type str \('text'\)"),
        (["str"], r"expected a list of passages, .*got one with a value of type str \('str'\)"),
        (passages(1)[0], "got a value of type Unit"),
        (iter(passages(1)), "got a value of type list_iterator"),
        (None, "got None"),
    ],
)
def test_what_are_no_passages(way, units, message):
    with pytest.raises(InvalidInputError, match=message):
        way(units, Batching())


@pytest.mark.parametrize("way", [*WAYS, lambda _, value: CachedPropositionizer(value, "unused")])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("flan", r"a method propositionize\(passages\).*got a value of type str \('flan'\)"),
        (None, "expected a propositionizer, .* got None"),
        (SyntaxPropositionizer, "expected a propositionizer, got the class SyntaxPropositionizer"),
    ],
)
def test_what_is_no_propositionizer(way, value, message):
    with pytest.raises(InvalidInputError, match=message):
        way(passages(1), value)


@pytest.mark.parametrize("outputs", [None, (["a"] for _ in range(1)), {"a": 1}, "a"])
def test_what_are_no_results(outputs, tmp_path):
    class Returning(Batching):
        def propositionize(self, units):
            return outputs

    for propositionizer in (Returning(), CachedPropositionizer(Returning(), tmp_path / "c")):
        with pytest.raises(PropositionizerError, match=r"returned .*expected a list with one list of strings for each"):
            decompose(passages(1), propositionizer)
