"""Edited text knows, for every character, where it stands in the source."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from factoid.documents.trace import TracedText, inserted, join


def check(traced: TracedText, source: str) -> None:
    """Every character that is not inserted is the source's."""
    assert len(traced.origins) == len(traced.text)
    for character, origin in zip(traced.text, traced.origins, strict=True):
        assert origin < 0 or source[origin] == character


def test_what_is_put_in_stands_nowhere() -> None:
    traced = join([inserted("# "), TracedText.of("a heading", 2)])
    assert traced.text == "# heading"
    assert (traced.sources(0, 2), traced.sources(0, 4)) == ([], [(2, 4)])
    assert (join([]).text, join([]).sources()) == ("", [])


EDITS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 4), st.text("ab-# ", max_size=4)), max_size=5
)


@given(
    st.text("abc- #\n", max_size=30),
    st.lists(EDITS, max_size=4),
    st.integers(0, 25),
    st.integers(0, 25),
)
def test_any_edits_after_each_other(
    source: str, rounds: list[list[tuple[int, int, str]]], one: int, two: int
) -> None:
    traced, plain = TracedText.of(source), source
    for edits in rounds:
        chosen, at = [], 0
        for start, size, text in sorted(edits):  # those that do not overlap
            if start >= at and start + size <= len(plain):
                chosen.append((start, start + size, text))
                at = start + size
        traced = traced.edit(chosen)
        for start, end, text in reversed(chosen):
            plain = plain[:start] + text + plain[end:]
        assert traced.text == plain
        check(traced, source)
    start, end = sorted((one, two))
    part = traced.cut(start, end)
    assert (part.text, part.sources()) == (plain[start:end], traced.sources(start, end))
    whole = join([traced.cut(0, start), part, traced.cut(end)])
    assert (whole.text, whole.sources()) == (traced.text, traced.sources())
    check(join([part, part.strip()], "\n\n"), source)
