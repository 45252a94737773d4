from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.spel.characters import plain_characters


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("‘a’ “b”", "'a' \"b\""),
        ("1–2 — 3", "1-2 - 3"),
        ("end… • item", "end. . item"),
        ("Bogotá, Zürich", "Bogota, Zurich"),
        ("\ufeffa\u00a0b\u3000c", " a b c"),
        ("東京。大阪、", "東京 大阪 "),
        ("😀 שלום 東京\n", "😀 שלום 東京\n"),  # what a text says stays
    ],
)
def test_typographic_characters_become_plain(text, plain):
    assert plain_characters(text) == plain


@given(st.text())
def test_every_character_is_replaced_by_one(text):
    plain = plain_characters(text)
    assert len(plain) == len(text)
    assert plain_characters(plain) == plain
