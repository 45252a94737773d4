from __future__ import annotations

import pytest

from factoid.propositions.syntax.clauses import split_clauses
from factoid.propositions.syntax.render import render
from tests.propositions.syntax.trees import CLEARNLP, CURIE, PISA, VASA, tree


def statements(rows: str) -> list[str]:
    parsed = tree(rows)
    return [render(parsed, items, {}) for items in split_clauses(parsed)]


def test_coordinated_clauses_with_subjects_of_their_own() -> None:
    assert statements(PISA) == [
        "Prior to 1990, the tower leaned at 5.5 degrees.",
        "It now leans at 3.99 degrees.",
    ]


def test_apposition_relative_clause_and_shared_passive() -> None:
    assert statements(CURIE) == [
        "Marie Curie later had been buried in Sceaux.",
        "Marie Curie was a physicist who won two prizes.",
        "Marie Curie had been moved to the Panthéon.",
    ]


def test_indefinite_predicate_hands_its_relative_clause_to_the_subject() -> None:
    assert statements(VASA) == [
        "The Vasa was a large Swedish warship.",
        "The Vasa was built 1628.",
        "The Vasa sank in Stockholm.",
    ]


def test_clearnlp_labels_give_the_same_kinds_of_facts() -> None:
    assert statements(CLEARNLP) == [
        "Oslo now is the capital of Norway.",
        "Oslo was founded in 1048.",
        "Oslo has a port.",
    ]


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        (
            "He PRP 2 nsubj\nwon VBD 0 root\nor CC 4 cc\nlost_ VBD 2 conj\n. . 2 punct",
            "He won or lost.",
        ),
        (
            "She PRP 4 nsubj\ndid VBD 4 aux\nnot RB 4 advmod\neat VB 0 root\nand CC 6 cc\nsleep_ VB 4 conj\n. . 4 punct",
            "She did not eat and sleep.",
        ),
        (
            "If IN 3 mark\nit PRP 3 nsubj\nrains_ VBZ 6 advcl\n, , 3 punct\nshe PRP 6 nsubj\nstays_ VBZ 0 root\n. . 6 punct",
            "If it rains, she stays.",
        ),
        (
            "He PRP 2 nsubj\nsaid VBD 0 root\nthat IN 5 mark\nit PRP 5 nsubj\nrained VBD 2 ccomp\nand CC 7 cc\n"
            "snowed_ VBD 5 conj\n. . 2 punct",
            "He said that it rained and snowed.",
        ),
        (
            "The DT 2 det\nman NN 6 nsubj\nwho WP 4 nsubj\nshot VBD 2 acl:relcl\nhim PRP 4 obj\nfled_ VBD 0 root\n. . 6 punct",
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


def test_nominal_predicates_take_over_copula_and_article() -> None:
    rows = """
        He PRP 4 nsubj
        was VBD 4 cop
        a DT 4 det
        singer NN 0 root
        and CC 6 cc
        actor_ NN 4 conj
        . . 4 punct
    """
    assert statements(rows) == ["He was a singer.", "He was an actor."]


def test_fronted_time_holds_for_both_verb_phrases() -> None:
    rows = """
        In IN 2 case
        1990 CD 4 obl
        she PRP 4 nsubj
        left VBD 0 root
        and CC 6 cc
        married VBD 4 conj
        Bob_ NNP 6 obj
        . . 4 punct
    """
    assert statements(rows) == ["In 1990 she left.", "In 1990 she married Bob."]


def test_a_noun_and_its_name() -> None:
    rows = """
        His PRP$ 2 nmod:poss
        wife_ NN 6 nsubj
        , , 4 punct
        Anna_ NNP 2 appos
        , , 2 punct
        sang_ VBD 0 root
        . . 6 punct
    """
    assert statements(rows) == ["His wife, Anna, sang.", "Anna was his wife."]


def test_place_names_describe_nothing() -> None:
    rows = """
        Paris_ NNP 5 nsubj
        , , 3 punct
        Texas_ NNP 1 appos
        , , 1 punct
        grew_ VBD 0 root
        . . 5 punct
    """
    assert statements(rows) == ["Paris, Texas, grew."]


def test_concession_is_asserted_by_itself() -> None:
    rows = """
        Although IN 4 mark
        it PRP 4 nsubj
        was VBD 4 cop
        armed_ JJ 9 advcl
        , , 4 punct
        the DT 7 det
        ship NN 9 nsubj
        was VBD 9 cop
        unstable_ JJ 0 root
        . . 9 punct
    """
    assert statements(rows) == ["The ship was unstable.", "It was armed."]


def test_which_of_two_nouns_is_not_guessed() -> None:
    nested = """
        He PRP 2 nsubj
        planned VBD 0 root
        the DT 4 det
        flight NN 2 obj
        to IN 7 case
        the DT 7 det
        Moon_ NNP 4 nmod
        , , 10 punct
        which WDT 10 nsubj
        failed_ VBD 4 acl:relcl
        . . 2 punct
    """
    assert statements(nested) == ["He planned the flight to the Moon, which failed."]


def test_where_and_whose() -> None:
    rows = """
        He PRP 2 nsubj
        met VBD 0 root
        Anna_ NNP 2 obj
        , , 7 punct
        whose WP$ 6 nmod:poss
        father NN 7 nsubj
        painted_ VBD 3 acl:relcl
        . . 2 punct
    """
    assert statements(rows) == ["He met Anna.", "Anna's father painted."]
