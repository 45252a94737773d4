from __future__ import annotations

import pytest
import spacy

from factoid import Document, SyntaxPropositionizer, split_passages
from factoid.propositions.syntax.clauses import split_clauses
from factoid.propositions.syntax.render import render
from tests.propositions.syntax.trees import doc, tree


def facts(text: str) -> list[str]:
    found = SyntaxPropositionizer(atomic=True).propositionize(split_passages(Document(text)))
    return [fact for texts in found for fact in texts]


@pytest.mark.parametrize(
    "text",
    [
        "Karl Lund did not play in Oslo in 1990.",
        "Karl Lund is not an American actor.",
        "Anna Berg was the youngest winner of the prize in Norway.",
        "Karl Lund was the first American actor in Oslo.",
        "If he wins in Oslo, Karl Lund will retire.",
        "Karl Lund died in 1990.",
    ],
)
def test_what_holds_of_the_whole_only_is_not_taken_apart(text: str) -> None:
    assert facts(text) == [text]


def test_each_time_and_place_is_a_fact() -> None:
    assert facts("Karl Lund was born on 3 May 1950 in Oslo.") == [
        "Karl Lund was born on 3 May 1950.",
        "Karl Lund was born in Oslo.",
    ]
    assert facts("Karl Lund won the cup with Hamar in May 1970.") == [
        "Karl Lund won the cup.",
        "Karl Lund won the cup with Hamar.",
        "Karl Lund won the cup in May 1970.",
    ]


def test_an_enumeration_of_enumerations_is_cut_short() -> None:
    """Every list doubles the facts; past the limit the rest of a statement keeps its lists."""
    count = 7
    rows = ["Anna NNP 2 nsubj", "met VBD 0 root"]
    for number in range(count):
        at = len(rows)
        rows += [f"in IN {at + 2} case", f"P{number} NNP 2 obl"]
        rows += [f"and CC {at + 4} cc", f"Q{number} NNP {at + 2} conj"]
    rows.append(". . 2 punct")
    parsed = tree("\n".join(rows))
    found = split_clauses(parsed, atomic=True)
    # Each of at most 32 statements gives one fact for each phrase, and one without any.
    assert count < len(found) <= 32 * (2 * count + 1)
    text = " ".join(render(parsed, items, {}) for items in found)
    assert all(f"{kind}{number}" in text for kind in "PQ" for number in range(count))
    assert "and" in text


def test_a_pipeline_of_the_users() -> None:
    parsed = doc(
        "Anna NNP 2 nsubj\nplayed VBD 0 root\nin IN 4 case\nOslo NNP 2 obl\nand CC 6 cc\nLund_ NNP 4 conj\n. . 2 punct"
    )
    nlp = spacy.blank("en")

    @spacy.Language.component("parse_for_atoms_test")
    def parse(made: spacy.tokens.Doc) -> spacy.tokens.Doc:
        assert [token.text for token in made] == [token.text for token in parsed]
        return parsed

    nlp.add_pipe("parse_for_atoms_test")
    found = SyntaxPropositionizer(nlp, atomic=True).propositionize(
        split_passages(Document("Anna played in Oslo and Lund."))
    )
    assert found == [["Anna played in Oslo.", "Anna played in Lund."]]
