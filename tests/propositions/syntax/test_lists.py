from __future__ import annotations

import pytest

from factoid.propositions.syntax.lists import conjuncts
from factoid.propositions.syntax.render import render
from tests.propositions.syntax.test_atoms import facts
from tests.propositions.syntax.trees import tree


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        (
            "Eva NNP 4 nsubj\nis VBZ 4 cop\na DT 4 det\nsinger NN 0 root\nand CC 6 cc\nactor_ NN 4 conj\n. . 4 punct",
            ["Eva is a singer.", "Eva is an actor."],
        ),
        (
            "Eva NNP 2 nsubj\nplays VBZ 0 root\nthe DT 4 det\nflute NN 2 obj\nand CC 6 cc\nharp_ NN 4 conj\n. . 2 punct",
            ["Eva plays the flute.", "Eva plays the harp."],
        ),
        (
            "Eva NNP 2 nsubj\nsold VBD 0 root\nher PRP$ 4 nmod:poss\ncar NN 2 obj\nand CC 6 cc\nboat_ NN 4 conj\n. . 2 punct",
            ["Eva sold her car.", "Eva sold her boat."],
        ),
        (
            "Eva NNP 2 nsubj\nsang VBD 0 root\nin IN 4 case\nLund_ NNP 2 obl\n, , 6 punct\nOslo NNP 4 conj\nand CC 8 cc\n"
            "Rome_ NNP 4 conj\n. . 2 punct",
            ["Eva sang in Lund.", "Eva sang in Oslo.", "Eva sang in Rome."],
        ),
        (
            "Eva NNP 7 nsubj\nis VBZ 7 cop\nan DT 7 det\nIrish JJ 7 amod\nand CC 6 cc\nFrench JJ 4 conj\n"
            "poet_ NN 0 root\n. . 7 punct",
            ["Eva is an Irish poet.", "Eva is a French poet."],
        ),
    ],
)
def test_parts_of_a_list(rows: str, parts: list[str]) -> None:
    parsed = tree(rows)
    found = conjuncts(parsed, list(range(len(parsed.words))))
    assert found is not None
    assert [render(parsed, items, {}) for items in found] == parts


@pytest.mark.parametrize(
    "rows",
    [
        "Eva NNP 2 nsubj\nplays VBZ 0 root\nflute NN 2 obj\nor CC 5 cc\nharp NN 3 conj",
        "It PRP 2 nsubj\nruns VBZ 0 root\nbetween IN 4 case\nLund NNP 2 obl\nand CC 6 cc\nOslo NNP 4 conj",
        "Eva NNP 4 nsubj\nand CC 3 cc\nJan NNP 1 conj\nsang VBD 0 root",
    ],
)
def test_what_is_left_whole(rows: str) -> None:
    parsed = tree(rows)
    assert conjuncts(parsed, list(range(len(parsed.words)))) is None


def test_lists_with_the_shipped_parser() -> None:
    assert facts("Karl Lund worked as a baker, carpenter and engineer.") == [
        "Karl Lund worked as a baker.",
        "Karl Lund worked as a carpenter.",
        "Karl Lund worked as an engineer.",
    ]
