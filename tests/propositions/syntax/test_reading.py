from __future__ import annotations

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from factoid.propositions.syntax.reading import read

NLP = spacy.blank("en")
PIECES = ["John", "Smith", "A", " ", '"', "“", "”", "(", ")", "1994", "-", "/", ".", ",", "in ", "the ", "'s"]
PIECES += ["Lund, Sweden", "May 3, 1990"]


def written(text: str) -> str:
    doc, reading = read(NLP, text)
    return "".join(word + token.whitespace_ for word, token in zip(reading.words, doc, strict=True))


@given(st.one_of(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.text(max_size=60)))
def test_no_character_is_lost(text: str) -> None:
    """Only punctuation moves, out of a closing quote."""
    found = written(text)
    assert sorted(found) == sorted(text)
    assert [c for c in found if c not in ",.;"] == [c for c in text if c not in ",.;"]


@pytest.mark.parametrize(
    "text", ["(John/Smith)", "Anna Berg-like", '"A"s', 'Rain "Light"(1994)', 'x/"A" Hamlet', "A B" * 900, '"A' * 90]
)
def test_masks_that_join_with_their_neighbours(text: str) -> None:
    assert written(text) == text


def test_names_dates_and_places_are_single_tokens() -> None:
    _, found = read(NLP, "Anna Berg (1900–1980) left on May 3, 1950, from Lund, Sweden.")
    assert found.words == ["Anna Berg (1900–1980)", "left", "on", "May 3, 1950", ",", "from", "Lund, Sweden", "."]
    assert found.times == {3}
    assert found.places == {6: ["Lund", "Sweden"]}


def test_a_comma_leaves_its_quote() -> None:
    _, found = read(NLP, 'He wrote "Winter Light," a novel.')
    assert found.words == ["He", "wrote", '"Winter Light"', ",", "a", "novel", "."]


def test_unmasked() -> None:
    assert read(NLP, "Anna Berg left.", masked=False)[1].words == ["Anna", "Berg", "left", "."]
