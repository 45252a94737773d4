from __future__ import annotations

import pytest

from factoid.propositions.syntax.clauses import split_clauses
from factoid.propositions.syntax.render import render
from tests.propositions.syntax.trees import CURIE, PISA, VASA, tree

# A parse, and the statements of its sentence.
SENTENCES = {
    "a pronoun stays with what it means": (
        PISA,
        ["Prior to 1990, the tower leaned at 5.5 degrees, but it now leans at 3.99 degrees."],
    ),
    "apposition and passive": (
        CURIE,
        [
            "Marie Curie later had been buried in Sceaux.",
            "Marie Curie was a physicist who won two prizes.",
            "Marie Curie had been moved to the Panthéon.",
        ],
    ),
    "indefinite predicate": (
        VASA,
        [
            "The Vasa was a large Swedish warship.",
            "The Vasa was built 1628.",
            "The Vasa sank in Stockholm.",
        ],
    ),
    "adjectives take over the copula, nouns do not": (
        "Bob NNP 3 nsubj | was VBD 3 cop | old JJ 0 root | and CC 5 cc | tall_ JJ 3 conj | . . 3 punct",
        ["Bob was old.", "Bob was tall."],
    ),
    "nothing begins with a pronoun": (
        "He PRP 3 nsubj | was VBD 3 cop | old JJ 0 root | and CC 5 cc | tall_ JJ 3 conj | . . 3 punct",
        ["He was old and tall."],
    ),
    "enumeration of nouns": (
        "He PRP 4 nsubj | was VBD 4 cop | a DT 4 det | singer NN 0 root | and CC 6 cc | actor_ NN 4 conj | . . 4 punct",
        ["He was a singer and actor."],
    ),
    "fronted time holds for both verb phrases": (
        "In IN 2 case | 1990 CD 4 obl | Anna NNP 4 nsubj | left VBD 0 root | Rome NNP 4 obj | and CC 7 cc | married VBD 4 conj | "
        "Bob_ NNP 7 obj | . . 4 punct",
        ["In 1990 Anna left Rome.", "In 1990 Anna married Bob."],
    ),
    "a noun and its name": (
        "My PRP$ 2 nmod:poss | wife_ NN 6 nsubj | , , 4 punct | Anna_ NNP 2 appos | , , 2 punct | sang_ VBD 0 root | "
        ". . 6 punct",
        ["My wife, Anna, sang.", "Anna was my wife."],
    ),
    "a noun of somebody who is not named and its name": (
        "His PRP$ 2 nmod:poss | wife_ NN 6 nsubj | , , 4 punct | Anna_ NNP 2 appos | , , 2 punct | sang_ VBD 0 root | "
        ". . 6 punct",
        ["His wife, Anna, sang."],
    ),
    "concession is asserted by itself": (
        "Although IN 4 mark | Oslo NNP 4 nsubj | was VBD 4 cop | armed_ JJ 9 advcl | , , 4 punct | the DT 7 det | "
        "Tern NNP 9 nsubj | was VBD 9 cop | unstable_ JJ 0 root | . . 9 punct",
        ["The Tern was unstable.", "Oslo was armed."],
    ),
    "concession that names nothing": (
        "Although IN 4 mark | it PRP 4 nsubj | was VBD 4 cop | armed_ JJ 9 advcl | , , 4 punct | the DT 7 det | "
        "ship NN 9 nsubj | was VBD 9 cop | unstable_ JJ 0 root | . . 9 punct",
        ["Although it was armed, the ship was unstable."],
    ),
    "which of two nouns is not guessed": (
        "He PRP 2 nsubj | planned VBD 0 root | the DT 4 det | flight NN 2 obj | to IN 7 case | the DT 7 det | "
        "Moon_ NNP 4 nmod | , , 10 punct | which WDT 10 nsubj | failed_ VBD 4 acl:relcl | . . 2 punct",
        ["He planned the flight to the Moon, which failed."],
    ),
    "whose": (
        "Bob NNP 2 nsubj | met VBD 0 root | Anna_ NNP 2 obj | , , 7 punct | whose WP$ 6 nmod:poss | father NN 7 nsubj | "
        "painted_ VBD 3 acl:relcl | . . 2 punct",
        ["Bob met Anna.", "Anna's father painted."],
    ),
    "alternative": (
        "He PRP 2 nsubj | won VBD 0 root | or CC 4 cc | lost_ VBD 2 conj | . . 2 punct",
        ["He won or lost."],
    ),
    "scope of a negation": (
        "She PRP 4 nsubj | did VBD 4 aux | not RB 4 advmod | eat VB 0 root | and CC 6 cc | sleep_ VB 4 conj | . . 4 punct",
        ["She did not eat and sleep."],
    ),
    "restrictive clause": (
        "The DT 2 det | man NN 6 nsubj | who WP 4 nsubj | shot VBD 2 acl:relcl | him PRP 4 obj | fled_ VBD 0 root | . . 6 punct",
        ["The man who shot him fled."],
    ),
    "quotation": (
        'He PRP 4 nsubj | had VBD 4 aux | "_ `` 4 punct | eaten VBN 0 root | and CC 6 cc | drunk_ VBN 4 conj | '
        "\"_ '' 6 punct | . . 4 punct",
        ['He had "eaten and drunk".'],
    ),
}


@pytest.mark.parametrize(("rows", "expected"), SENTENCES.values(), ids=SENTENCES)
def test_statements_of_a_sentence(rows: str, expected: list[str]) -> None:
    parsed = tree(rows)
    assert [render(parsed, items, {}) for items in split_clauses(parsed)] == expected
