"""Front matter in YAML and TOML, and what only looks like it."""

from __future__ import annotations

import logging
from datetime import date

import pytest

from factoid.text.front_matter import front_matter, title_of
from tests.hostile_texts import seconds


@pytest.mark.parametrize(
    ("matter", "fields"),
    [
        (
            "---\ntitle: Mills\ndate: 2024-05-01\n---\n",
            {"title": "Mills", "date": date(2024, 5, 1)},
        ),
        ("\ufeff---\r\ntitle: Mills\r\n---\r\n", {"title": "Mills"}),
        ("--- \ntitle: Mills\n...\n", {"title": "Mills"}),
        (
            "---\n\n# about\ntitle: 'A: B'\n\ntags:\n- a\n- b\n---\n",
            {"title": "A: B", "tags": ["a", "b"]},
        ),
        (
            '---\n"title": >-\n  Mills of\n  Varn\n2024: year\n---\n',
            {"title": "Mills of Varn", "2024": "year"},
        ),
        ("---\ntitle:\n---\n", {"title": None}),
        (
            "+++\ntitle = 'Mills'\n[params]\nyear = 1628\n+++\n",
            {"title": "Mills", "params": {"year": 1628}},
        ),
        ("+++\r\ntitle = 'Mills'\r\n+++\r\n", {"title": "Mills"}),
    ],
)
@pytest.mark.parametrize("text", ["# Mills\n\nThey turn.\n", ""])
def test_fields_and_where_the_text_starts(matter, fields, text):
    assert front_matter(matter + text) == (fields, len(matter))


@pytest.mark.parametrize(
    "text",
    [
        "Mills.\n---\ntitle: Mills\n---\n",
        "---\nThe mills turn.\n---\nText.",
        "---\nNote: the mills turn,\nand they hum: listen.\nMore: of it.\n\nAnd prose\n---\nText.",
        "---\n\n---\nText.",
        "---\ntitle: Mills\n\nText without an end.",
        "----\ntitle: Mills\n----\n",
        "+++\nThe mills turn.\n+++\n",
        "",
    ],
)
def test_texts_without_front_matter(text):
    assert front_matter(text) == ({}, 0)


@pytest.mark.parametrize(
    "block", ["---\ntitle: a: b\n---\n", "---\n- a: *x\nb: 1\n---\n", "+++\ntitle = Mills\n+++\n"]
)
def test_what_cannot_be_parsed_is_no_text_either(block, caplog):
    with caplog.at_level(logging.WARNING):
        start = front_matter(f"{block}Text.")[1]
        assert start in (0, len(block))
        assert not caplog.records
        if start:
            assert front_matter(f"{block}Text.", place="a.md") == ({}, len(block))
            assert "a.md: its front matter is not" in caplog.text


def test_the_title_is_a_text():
    assert title_of(fields := {"title": 1984, "a": 1}) == "1984"
    assert fields == {"a": 1}
    assert (title_of({}), title_of({"title": None})) == ("", "")


@pytest.mark.parametrize("piece", ["a: b\n", " ", "\n", "#\n", "- ", "[", "a", "\t\n", "? "])
def test_it_takes_linear_time(piece):
    def read(size: int) -> float:
        return seconds(front_matter, f"---\na: b\n{piece * size}\n---\n")

    few = read(20_000)
    assert read(80_000) < 8 * few + 0.5
