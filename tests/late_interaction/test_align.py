"""Which words of a sentence a proposition is made of, and that no other assignment is better."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("scipy")

from factoid.late_interaction.align import _with_context, align

SENTENCE = "Dracula is a novel by Bram Stoker that features Count Dracula as the protagonist."


def words(proposition: str, sentence: str = SENTENCE) -> list[str]:
    return [sentence[start:end] for start, end in align(proposition, sentence)]


@pytest.mark.parametrize(
    ("proposition", "expected"),
    [
        (SENTENCE, [SENTENCE[:-1]]),
        ("Dracula is a novel by Bram Stoker.", ["Dracula is a novel by Bram Stoker"]),
        # The second "Dracula" goes with "Count", the first with "is".
        ("Count Dracula is the protagonist of Dracula.", ["Dracula is", "Count Dracula", "the protagonist"]),
        ("The protagonist is Count Dracula.", ["is", "Count Dracula", "the protagonist"]),
        ("Novels by Bram Stoker featured counts", ["novel by Bram Stoker", "features Count"]),  # other endings
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
    assert words("The new bridge crosses the road.", sentence) == ["the new bridge crosses the road"]
    assert words("The old bridge crosses the river.", sentence) == ["The old bridge crosses the river"]


def test_a_sentence_without_words() -> None:
    assert align("A fact.", "… !") == []


WORDS = st.lists(st.sampled_from("red green blue".split()), min_size=1, max_size=5)


@given(WORDS, WORDS)
def test_no_other_assignment_is_better(proposition: list[str], sentence: list[str]) -> None:
    """All assignments tried: as many words as can match do, with the most context."""
    import numpy as np

    matches = np.array([[one == other for other in sentence] for one in proposition], float)
    weights = _with_context(matches)
    if len(proposition) > len(sentence):
        weights = weights.T
    rows, columns = weights.shape
    best = max(
        sum(weights[row, column] for row, column in enumerate(order)) for order in permutations(range(columns), rows)
    )
    text, places, at = " ".join(sentence), [], 0
    for word in sentence:
        places.append((at, at + len(word)))
        at += len(word) + 1
    spans = align(" ".join(proposition), text)
    chosen = [column for column, (start, end) in enumerate(places) if any(a <= start and end <= b for a, b in spans)]
    shared = sum(min(proposition.count(word), sentence.count(word)) for word in set(proposition))
    assert len(chosen) == shared
    reached = max(
        (
            sum(_with_context(matches)[row, column] for row, column in zip(order, chosen, strict=True))
            for order in permutations(range(len(proposition)), len(chosen))
            if all(matches[row, column] for row, column in zip(order, chosen, strict=True))
        ),
        default=0.0,
    )
    assert reached == pytest.approx(best)
