"""What `atomic=True` leaves whole, because a part of it would not be true or would say nothing by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from factoid import Document, SyntaxPropositionizer, split_passages


def atomic(text: str, title: str = "") -> list[str]:
    return SyntaxPropositionizer(atomic=True).propositionize(split_passages(Document(text, title=title)))[0]


@pytest.mark.parametrize(
    "sentence",
    [
        "Apple and Google sued Samsung and Nokia, respectively.",
        "The Tenant shall pay rent on the first day of each month, unless the Landlord agrees otherwise.",
        "The pump may only be used indoors and below 2,000 m.",
        "It rains more in Bergen than in Oslo and Rome.",
        "He did not come because he was ill.",
        "He was a priest before the war, but after it a communist.",
        "He wrote under the name Carl Kell.",
        "Fire would have destroyed the town of Elm and its hospital.",
        "Maria Keller (born 3 May 1930, died 7 June 1999 in Rome) was a Swiss chemist.",
    ],
)
def test_what_holds_as_a_whole_is_left_whole(sentence: str) -> None:
    assert atomic(sentence) == [sentence]


def test_a_range_goes_together() -> None:
    assert atomic("She taught at Yale from 1950 to 1962.") == ["She taught at Yale.", "She taught from 1950 to 1962."]


def test_no_content_word_is_left_unsaid() -> None:
    assert "The film stars Lee as a spy and Kim as a thief." in atomic(
        "The film stars Lee as a spy and Kim as a thief."
    )


def test_a_whole_encyclopedia_is_taken_apart() -> None:
    files = sorted((Path(__file__).parents[3] / "examples" / "data").rglob("*.md"))
    passages = [passage for file in files for passage in split_passages(Document(file.read_text(encoding="utf-8")))]
    assert len(passages) > 50
    assert all(SyntaxPropositionizer(atomic=True).propositionize(passages))


def test_short_clauses_are_facts() -> None:
    found = atomic("Anna Berg was interned in a camp in India, but she escaped and made her way to Tibet.", "Anna Berg")
    assert "Anna Berg escaped." in found
    assert "Anna Berg was interned in a camp in India." in found


def test_a_name_and_what_describes_it_are_no_list() -> None:
    for proposition in atomic("She met the painter Ole Lund, a friend of her father, and two poets in Rome."):
        assert "Lund a friend" not in proposition
