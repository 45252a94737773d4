"""Which words of a sentence a proposition is made of."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.late_interaction.align import align

SENTENCE = "Dracula is a novel by Bram Stoker that features Count Dracula as the protagonist."


def words(proposition: str, sentence: str = SENTENCE) -> list[str]:
    return [sentence[start:end] for start, end in align(proposition, sentence)]


@pytest.mark.parametrize(
    ("proposition", "expected"),
    [
        (SENTENCE, [SENTENCE[:-1]]),
        ("Dracula is a novel by Bram Stoker.", ["Dracula is a novel by Bram Stoker"]),
        ("Dracula features the protagonist.", ["Dracula", "features", "the protagonist"]),
        ("The protagonist is Count Dracula.", ["the protagonist"]),  # in the same order
        (
            "Novels by Bram Stoker featured counts",
            ["novel by Bram Stoker", "features Count"],
        ),  # other endings
        ("BRAM STOKER", ["Bram Stoker"]),
        ("Mary Shelley wrote Frankenstein.", []),
        ("…", []),
        ("", []),
    ],
)
def test_words_of_a_proposition(proposition: str, expected: list[str]) -> None:
    assert words(proposition) == expected


def test_context_decides_between_equal_words() -> None:
    sentence = "The old bridge crosses the river and the new bridge crosses the road."
    assert words("The new bridge crosses the road.", sentence) == [
        "the new bridge crosses the road"
    ]
    assert words("The old bridge crosses the river.", sentence) == [
        "The old bridge crosses the river"
    ]
    assert align("A fact.", "… !") == []


WORDS = st.lists(st.sampled_from("red green blue".split()), max_size=8)


@given(WORDS, WORDS)
def test_aligned_words_are_those_of_the_proposition_in_order(
    proposition: list[str], sentence: list[str]
) -> None:
    spans = align(" ".join(proposition), " ".join(sentence))
    assert all(first[1] + 1 < second[0] for first, second in pairwise(spans))
    rest = iter(proposition)
    chosen = [word for start, end in spans for word in " ".join(sentence)[start:end].split()]
    assert all(word in rest for word in chosen)
    assert bool(chosen) == bool({*proposition} & {*sentence})
