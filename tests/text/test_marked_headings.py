"""Headings that a wiki, AsciiDoc, reStructuredText and underlines mark."""

from __future__ import annotations

import time

import pytest

from factoid.text.marked_headings import marked_headings


def found(text):
    """Return level and words of each heading."""
    return [
        (heading.level, text[heading.title_start : heading.title_end])
        for heading in marked_headings(text)
    ]


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        # wikis
        (
            "= Alder =\nA river.\n\n== Course ==\nLong.\n=== Upper ===\nSlow.",
            [(1, "Alder"), (2, "Course"), (3, "Upper")],
        ),
        (
            " = Valkyria III = \n It sold . \n = = Plot = = \n Long . \n",
            [(1, "Valkyria III"), (2, "Plot")],
        ),
        (
            "= Puffball =\nA.\n== Use ==\nB.\n= Sundew =\nC.",
            [(2, "Puffball"), (3, "Use"), (2, "Sundew")],
        ),
        ("==Use==\nB.", [(2, "Use")]),
        ("== Use =\nB.", []),
        ("h1. Alder\nA river.\n\nh3.  How long?\nLong.", [(1, "Alder"), (3, "How long?")]),
        ("h2. is above h3. of it\nh7. Use\nh1.Use\nSee h1. Use\nh2. Use it.\nh2. 3", []),
        ("== 3 ==\nB.", []),
        ("x = 4 =\n= = =\n====", []),
        # AsciiDoc
        ("= Guide\nJane Doe\n\nText.\n\n== Use\n\nText.", [(1, "Guide"), (2, "Use")]),
        ("== A\n\nText.\n\n[[ports]]\n=== B\n\nText.", [(2, "A"), (3, "B")]),
        ("Text.\n\n= x + 1\n\nText.", []),
        ("Text\n= not one\n\n----\n= nor this\n\n= nor that\n----", []),
        # reStructuredText, underlines
        ("Tidy\n====\n\nText.\n\nRules\n-----\n\nText.", [(1, "Tidy"), (2, "Rules")]),
        (
            "====\nTidy\n====\n\nUse\n====\n\nText.\n\nRules\n~~~~~\n\nText.",
            [(1, "Tidy"), (2, "Use"), (3, "Rules")],
        ),
        ("Pisa\n====\r\nText.\r\n\r\nUse\r\n---\r\nText.", [(1, "Pisa"), (2, "Use")]),
        ("What Is It?\n^^^^^^^^^^^\n\nText.", [(1, "What Is It?")]),
        (
            "Minutes of the Meeting\n=====================================\n\nText.",
            [(1, "Minutes of the Meeting")],
        ),
        # neither
        ("Name       Price\n----------------\nTea        2.00", []),
        ("Name\n--------\nTea    2.00", []),
        ("| a | b |\n---------\n| 1 | 2 |", []),
        ("This is a sentence.\n-------------------\n", []),
        ("One line\nand another\n-----------\nText.", []),
        ("- an item\n---------\n", []),
        ("> quoted\n--------\n", []),
        ("Text.\n\n----------\n\nText.", []),
        ("Anna\n--\nDirector", []),
        ("a\n* * *\nb", []),
        ("", []),
    ],
)
def test_marked_headings(text, headings):
    assert found(text) == headings


def test_spans_hold_the_marks():
    text = "A.\n\n=====\nTidy \n=====\n\n  == Use ==  \nB."
    tidy, use = marked_headings(text)
    assert text[tidy.start : tidy.end] == "=====\nTidy \n====="
    assert text[use.start : use.end] == "== Use =="
    assert [heading.title_start for heading in marked_headings(text, tidy.end)] == [use.title_start]


@pytest.mark.parametrize(
    "part",
    [
        "=",
        "= ",
        "= a ",
        "= a =\n",
        "a\n=\n",
        "===\n",
        "a\n===\n",
        "[",
        "[]\n= a\n",
        "----\na\n",
        "```\n",
        " ",
        "\n",
    ],
)
def test_the_work_is_linear(part):
    start = time.process_time()
    marked_headings(part * 50_000)
    assert time.process_time() - start < 10


def test_what_stands_above_blocks_of_asciidoc_is_no_heading():
    text = (
        "= Pumps\n\n[NOTE]\n====\nKeep it dry\n====\n\n.An example\n----\nmake all\n----\n\n"
        "[source,sh]\n----\nmake\n----\n\n== Setup\n\nText.\n"
    )
    assert [text[found.title_start : found.title_end] for found in marked_headings(text)] == [
        "Pumps",
        "Setup",
    ]
