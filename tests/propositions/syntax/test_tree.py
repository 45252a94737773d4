from __future__ import annotations

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from factoid.propositions.syntax.tree import tokenize

NLP = spacy.blank("en")


@given(
    st.lists(
        st.sampled_from(["`", "a b", "Hamlet", "s", " ", "-", "(", ".", ","]), max_size=30
    ).map("".join)
)
def test_no_character_is_lost(text: str) -> None:
    doc, words = tokenize(NLP, text)
    assert "".join(word + token.whitespace_ for word, token in zip(words, doc, strict=True)) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Set `key: a; b`, then go.", ["Set", "`key: a; b`", ",", "then", "go", "."]),
        ("A `Unit` of `Unit`s.", ["A", "`Unit`", "of", "`", "Unit`s", "."]),
    ],
)
def test_inline_code_is_one_token_unless_it_joins_a_word(text: str, words: list[str]) -> None:
    assert tokenize(NLP, text)[1] == words
