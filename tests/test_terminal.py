"""Text for a terminal: highlights stay in sight, lines stay short, documents stay harmless."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.terminal import WIDTH, count, excerpt, place, plain, show_hit, wants_color, wrap
from factoid.units import Granularity, Hit, Unit

LONG = " ".join(f"word{number}" for number in range(300))


def unit(text, start=0, granularity=Granularity.PASSAGE, **fields):
    return Unit(
        "",
        text,
        granularity,
        document_id="d",
        parent_id="d",
        start=start,
        end=start + len(text),
        **fields,
    )


def test_an_excerpt_is_cut_at_words_around_the_highlight():
    start = LONG.index("word150")
    shown = excerpt(LONG, start, start + 7, chars=60)
    assert re.fullmatch(r"… word\d+ .*»word150« .* word\d+ …", shown)
    assert len(shown) < 80


def test_an_excerpt_of_a_short_text_is_the_text():
    assert excerpt("One  fact\nhere.") == "One fact here."
    assert excerpt("One fact here.", 4, 8) == "One »fact« here."
    assert excerpt("One fact here.", 0, 14) == "»One fact here.«"
    assert excerpt("One fact here.", 0, 14, color=True) == "\x1b[1;33mOne fact here.\x1b[0m"


@given(st.text(), st.integers(0, 50), st.integers(0, 50), st.integers(1, 400))
def test_an_excerpt_is_one_harmless_line_with_all_of_a_short_highlight(text, start, length, chars):
    shown = excerpt(text, start, start + length, chars=chars)
    assert not re.search(r"[\n\r\x1b\x07]", shown)
    inside = re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", text[start : start + length])
    if inside.strip() and len(inside) <= chars:
        assert f"»{inside}«" in shown
    assert len(shown) <= chars + 8  # dots and marks


def test_wrapped_lines_fit_and_are_not_cut_at_hyphens():
    lines = wrap(f"{LONG} {'Cherry-Garrard ' * 30}", indent="    ", first="  • ").splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert lines[0].startswith("  • word0")
    assert all(line.startswith("    ") for line in lines[1:])
    assert not any(line.endswith("-") for line in lines)


def test_places_and_counts():
    assert place(unit("x", title="Vasa", section="Wreck, Today")) == "Vasa › Wreck, Today"
    assert place(unit("x")) == ""
    assert (count(1, "passage"), count(0, "passage"), count(1200, "fact")) == (
        "1 passage",
        "0 passages",
        "1,200 facts",
    )
    assert plain(" a\x1b[31m\tb\n") == "a [31m b"


def test_a_hit_shows_its_matches_and_a_passage_does_not_repeat_itself():
    passage = unit("The Vasa sank. She was raised.", title="Vasa", metadata={"source": "vasa.md"})
    fact = unit("She was raised.", 15, Granularity.PROPOSITION)
    shown = show_hit(1, Hit(passage, 0.5, (Hit(fact, 0.5),)))
    assert shown.splitlines() == [
        "  1  0.500  Vasa",
        "     The Vasa sank. »She was raised.«",
        "     • 0.500  She was raised.",
        "     vasa.md",
    ]
    assert show_hit(2, Hit(passage, 0.5, (Hit(passage, 0.5),))).count("The Vasa sank.") == 1
    long = unit("She sank. " * 5000, 15, Granularity.PROPOSITION)
    assert len(show_hit(1, Hit(passage, 0.5, (Hit(long, 0.5),)))) < 1000


@pytest.mark.parametrize(
    ("terminal", "environment", "wanted"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(monkeypatch, terminal, environment, wanted):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.setenv(name, environment.get(name, ""))
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    assert wants_color(stream) is wanted
