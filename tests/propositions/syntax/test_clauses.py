from __future__ import annotations

import pytest

from factoid.propositions.syntax.clauses import split_clauses
from factoid.propositions.syntax.render import render
from tests.propositions.syntax.trees import CLEARNLP, CURIE, PISA, VASA, tree


def statements(rows: str) -> list[str]:
    parsed = tree(rows)
    return [render(parsed, items, {}) for items in split_clauses(parsed)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (PISA, ["Prior to 1990, the tower leaned at 5.5 degrees.", "It now leans at 3.99 degrees."]),
        (
            CURIE,
            [
                "Marie Curie later had been buried in Sceaux.",
                "Marie Curie was a physicist who won two prizes.",
                "Marie Curie had been moved to the Panthéon.",
            ],
        ),
        (VASA, ["The Vasa was a large Swedish warship.", "The Vasa was built 1628.", "The Vasa sank in Stockholm."]),
        (CLEARNLP, ["Oslo now is the capital of Norway.", "Oslo was founded in 1048.", "Oslo has a port."]),
        (
            "He PRP 4 nsubj\nwas VBD 4 cop\na DT 4 det\nsinger NN 0 root\nand CC 6 cc\nactor_ NN 4 conj\n. . 4 punct",
            ["He was a singer.", "He was an actor."],
        ),
        (
            "In IN 2 case\n1990 CD 4 obl\nshe PRP 4 nsubj\nleft VBD 0 root\nand CC 6 cc\nmarried VBD 4 conj\n"
            "Bob_ NNP 6 obj\n. . 4 punct",
            ["In 1990 she left.", "In 1990 she married Bob."],
        ),
        (
            "His PRP$ 2 nmod:poss\nwife_ NN 6 nsubj\n, , 4 punct\nAnna_ NNP 2 appos\n, , 2 punct\n"
            "sang_ VBD 0 root\n. . 6 punct",
            ["His wife, Anna, sang.", "Anna was his wife."],
        ),
        (
            "Paris_ NNP 5 nsubj\n, , 3 punct\nTexas_ NNP 1 appos\n, , 1 punct\ngrew_ VBD 0 root\n. . 5 punct",
            ["Paris, Texas, grew."],
        ),
        (
            "Although IN 4 mark\nit PRP 4 nsubj\nwas VBD 4 cop\narmed_ JJ 9 advcl\n, , 4 punct\nthe DT 7 det\n"
            "ship NN 9 nsubj\nwas VBD 9 cop\nunstable_ JJ 0 root\n. . 9 punct",
            ["The ship was unstable.", "It was armed."],
        ),
        (
            "He PRP 2 nsubj\nplanned VBD 0 root\nthe DT 4 det\nflight NN 2 obj\nto IN 7 case\nthe DT 7 det\n"
            "Moon_ NNP 4 nmod\n, , 10 punct\nwhich WDT 10 nsubj\nfailed_ VBD 4 acl:relcl\n. . 2 punct",
            ["He planned the flight to the Moon, which failed."],
        ),
        (
            "He PRP 2 nsubj\nmet VBD 0 root\nAnna_ NNP 2 obj\n, , 7 punct\nwhose WP$ 6 nmod:poss\n"
            "father NN 7 nsubj\npainted_ VBD 3 acl:relcl\n. . 2 punct",
            ["He met Anna.", "Anna's father painted."],
        ),
    ],
    ids=[
        "own subjects",
        "apposition and passive",
        "indefinite predicate",
        "ClearNLP labels",
        "nominal predicates take over copula and article",
        "fronted time holds for both verb phrases",
        "a noun and its name",
        "place names describe nothing",
        "concession is asserted by itself",
        "which of two nouns is not guessed",
        "where and whose",
    ],
)
def test_statements_of_a_sentence(rows: str, expected: list[str]) -> None:
    assert statements(rows) == expected


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ("He PRP 2 nsubj\nwon VBD 0 root\nor CC 4 cc\nlost_ VBD 2 conj\n. . 2 punct", "He won or lost."),
        (
            "She PRP 4 nsubj\ndid VBD 4 aux\nnot RB 4 advmod\neat VB 0 root\nand CC 6 cc\nsleep_ VB 4 conj\n"
            ". . 4 punct",
            "She did not eat and sleep.",
        ),
        (
            "If IN 3 mark\nit PRP 3 nsubj\nrains_ VBZ 6 advcl\n, , 3 punct\nshe PRP 6 nsubj\nstays_ VBZ 0 root\n"
            ". . 6 punct",
            "If it rains, she stays.",
        ),
        (
            "He PRP 2 nsubj\nsaid VBD 0 root\nthat IN 5 mark\nit PRP 5 nsubj\nrained VBD 2 ccomp\nand CC 7 cc\n"
            "snowed_ VBD 5 conj\n. . 2 punct",
            "He said that it rained and snowed.",
        ),
        (
            "The DT 2 det\nman NN 6 nsubj\nwho WP 4 nsubj\nshot VBD 2 acl:relcl\nhim PRP 4 obj\n"
            "fled_ VBD 0 root\n. . 6 punct",
            "The man who shot him fled.",
        ),
        (
            'He PRP 4 nsubj\nhad VBD 4 aux\n"_ `` 4 punct\neaten VBN 0 root\n'
            "and CC 6 cc\ndrunk_ VBN 4 conj\n\"_ '' 6 punct\n. . 4 punct",
            'He had "eaten and drunk".',
        ),
    ],
    ids=["alternative", "scope of a negation", "condition", "reported speech", "restrictive clause", "quotation"],
)
def test_what_is_not_asserted_by_itself_stays(rows: str, kept: str) -> None:
    assert statements(rows) == [kept]
