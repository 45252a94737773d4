"""Edited text knows, for every character, where it stands in the source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.documents.trace import TracedText, join
from factoid.errors import InvalidInputError


def check(traced: TracedText, source: str) -> None:
    """Every character of a run is the source's, runs are in order, and nothing is in two of them."""
    at = 0
    for run in traced.runs:
        assert at <= run.start < run.end <= len(traced.text)
        assert traced.text[run.start : run.end] == source[run.origin : run.origin + run.end - run.start]
        at = run.end


def test_an_edit_keeps_what_it_does_not_change() -> None:
    source = "be- tween 1\\. and"
    traced = TracedText.of(source).edit([(10, 12, "1"), (2, 4, "")])
    assert traced.text == "between 1. and"
    assert traced.sources() == [(0, 2), (4, 11), (12, 17)]
    assert [traced.sources(place, place + 1)[0][0] for place in (0, 2, 9)] == [0, 4, 12]
    check(traced, source)


def test_what_is_put_in_stands_nowhere() -> None:
    traced = join([TracedText("# ", ()), TracedText.of("a heading", 2)], "")
    assert traced.text == "# heading"
    assert traced.sources(0, 2) == []
    assert traced.sources(0, 4) == [(2, 4)]


def test_a_replacement_keeps_what_both_share_at_its_ends() -> None:
    traced = TracedText.of("a :selected: b").edit([(1, 13, " ")])
    assert traced.text == "a b"
    assert traced.sources() == [(0, 2), (13, 14)]


@pytest.mark.parametrize("edits", [[(0, 3, ""), (2, 4, "")], [(3, 2, "")], [(0, 99, "")], [(-1, 1, "")]])
def test_edits_that_overlap_or_leave_the_text_are_refused(edits: list[tuple[int, int, str]]) -> None:
    with pytest.raises(InvalidInputError, match="edits must not overlap"):
        TracedText.of("abcdef").edit(edits)


EDITS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4), st.text("ab-# ", max_size=4)), max_size=5)


def applicable(edits: list[tuple[int, int, str]], length: int) -> list[tuple[int, int, str]]:
    chosen, at = [], 0
    for start, size, text in sorted(edits):
        if start >= at and start + size <= length:
            chosen.append((start, start + size, text))
            at = start + size
    return chosen


@given(st.text("abc- #\n", max_size=30), st.lists(EDITS, max_size=4))
def test_any_edits_after_each_other(source: str, rounds: list[list[tuple[int, int, str]]]) -> None:
    traced, plain = TracedText.of(source), source
    for edits in rounds:
        chosen = applicable(edits, len(plain))
        traced = traced.edit(chosen)
        for start, end, text in reversed(chosen):
            plain = plain[:start] + text + plain[end:]
        assert traced.text == plain
        check(traced, source)


@given(st.text("abc ", max_size=20), st.integers(0, 25), st.integers(0, 25), EDITS)
def test_cutting_and_joining_keep_the_trace(
    source: str, one: int, other: int, edits: list[tuple[int, int, str]]
) -> None:
    traced = TracedText.of(source).edit(applicable(edits, len(source)))
    start, end = sorted((min(one, len(traced.text)), min(other, len(traced.text))))
    part = traced.cut(start, end)
    assert part.text == traced.text[start:end]
    check(part, source)
    assert part.sources() == traced.sources(start, end)
    whole = join([traced.cut(0, start), part, traced.cut(end)])
    assert (whole.text, whole.sources()) == (traced.text, traced.sources())
    check(join([part, part], "\n\n"), source)
    check(traced.strip(), source)
