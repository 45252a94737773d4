"""Items of lists and rows of tables, with the text that they need beside their own."""

from __future__ import annotations

import pytest

from factoid import Document, SyntaxPropositionizer, split_passages
from factoid.propositions import decompose
from factoid.testing import ScriptedPropositionizer


def facts(text, propositionizer=None):
    """The propositions of a text, with the text at their spans."""
    units = decompose(
        split_passages(Document(text)), propositionizer or SyntaxPropositionizer()
    ).units
    return [(unit.text, text[unit.start : unit.end]) for unit in units]


def said(text, name="notes.md"):
    """The propositions of a file."""
    document = Document(text, metadata={"source": name})
    units = decompose(split_passages(document), SyntaxPropositionizer()).units
    return [unit.text for unit in units]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_items_carry_the_lead_in_above_them(newline):
    text = """It is forbidden to:

- smoke in hall 2
- use *lifts*
+ open the windows

The doors stay open.""".replace("\n", newline)
    assert facts(text) == [
        ("It is forbidden to: smoke in hall 2", "smoke in hall 2"),
        ("It is forbidden to: use lifts", "use *lifts*"),
        ("It is forbidden to: open the windows", "open the windows"),
        ("The doors stay open.", "The doors stay open."),
    ]


def test_items_and_rows_with_the_words_of_another_one():
    text = """- Adults
  - 10 euros
  - Free on Sundays.
- Children
  - 10 euros
  - Free on Sundays.

| Day | Price |
|---|---|
| Monday | 10 |

| Weekday | Fare |
|---|---|
| Monday | 10 |
"""
    assert [fact for fact, _ in facts(text)] == [
        "Adults: 10 euros",
        "Adults: Free on Sundays.",
        "Children: 10 euros",
        "Children: Free on Sundays.",
        "Day: Monday; Price: 10",
        "Weekday: Monday; Fare: 10",
    ]


def test_lists_in_lists():
    text = """The warranty does not cover:
* damage by frost
* tyres:
    1. winter tyres
    2. summer tyres
* Batteries. They wear out."""
    assert [fact for fact, _ in facts(text)] == [
        "The warranty does not cover: damage by frost",
        "The warranty does not cover: tyres: winter tyres",
        "The warranty does not cover: tyres: summer tyres",
        "The warranty does not cover: Batteries.",
        "They wear out.",
    ]


def test_lead_ins_within_paragraphs_and_items_of_several_lines():
    text = """Rules are strict. You must not:
- smoke. It is
dangerous. It smells.
- run

  It is slippery.
- shout"""
    assert [fact for fact, _ in facts(text)] == [
        "Rules are strict.",
        "You must not: smoke.",
        "It is dangerous.",
        "It smells.",
        "You must not: run",
        "It is slippery.",
        "You must not: shout",
    ]


def test_sentences_and_fragments_of_a_list():
    text = """Leave if:

- you have asked before and the hall is empty
- Anna Berg was born in Oslo in 1900 and moved to Berlin in 1925."""
    assert [fact for fact, _ in facts(text)] == [
        "Leave if: you have asked before and the hall is empty",
        "Leave if: Anna Berg was born in Oslo in 1900.",
        "Anna Berg moved to Berlin in 1925.",  # written out: not literally what the item says
    ]


def test_items_without_a_lead_in_stay_as_they_are():
    text = "- one pump\n- two valves\n\nNote: it leaks.\n\n1. Press the button: it opens.\n2. Wait."
    assert "Note: it leaks." in [fact for fact, _ in facts(text)]
    assert [fact for fact, _ in facts(text)][:2] == ["one pump", "two valves"]
    assert [fact for fact, _ in facts(text)][-1] == "2. Wait."


@pytest.mark.parametrize("name", ["notes.md", "notes.txt"])
@pytest.mark.parametrize("between", ["\n", "\n\n"])
@pytest.mark.parametrize(
    ("line", "items"),
    [
        ("The insurance does not pay for", ["flood", "Storm damage"]),
        ("Members may not", ["park here", "Feed the geese"]),
        ("The Seller warrants that", ["the goods are new", "the price is net"]),
        ("The deposit is", ["refundable", "due in May"]),
        ("The fee includes", ["Lunch", "A towel"]),
        ("The following documents are needed", ["Passport", "Visa"]),
        ("We sell", ["honey", "wax"]),
        ("The price depends on", ["the season", "the room"]),
        ("The Board shall—", ["meet twice a year", "keep minutes"]),
        ("If the alarm rings,", ["leave the hall", "call the guard"]),
        ("Der Mieter haftet nicht für", ["Frost", "Sturm"]),
        ("Vor dem Start ist Folgendes zu prüfen", ["Öl", "Wasser"]),
        ("La garantie ne couvre pas les dégâts dus à", ["la foudre", "Des chocs"]),
        ("El seguro no responde de los daños por", ["incendio", "Agua"]),
    ],
)
def test_items_carry_a_line_that_their_list_completes(name, between, line, items):
    text = f"{line}{between}- {items[0]}\n- {items[1]}\n"
    lead = line.rstrip("—,")
    assert said(text, name) == [f"{lead}: {item}" for item in items]


def test_numbered_items_carry_a_line_that_they_complete():
    text = "Each party shall\n(a) keep records,\n(b) share them, and\n(c) not sell them."
    assert said(text, "notes.txt") == [
        "Each party shall: keep records,",
        "Each party shall: share them, and",
        "Each party shall: not sell them.",
    ]
    assert said("We met. The visitor agrees to\n\n1. wear a badge\n2. leave at six") == [
        "We met.",
        "The visitor agrees to: wear a badge",
        "The visitor agrees to: leave at six",
    ]
    html = "<p>The insurance does not pay for</p><ul><li>flood</li><li>storm</li></ul>"
    assert said(html) == [
        "The insurance does not pay for: flood",
        "The insurance does not pay for: storm",
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("We left. It rained.\n\n- one pump\n- two valves", "notes.txt"),
        ("The clock was late. The guests were\n\nM. Berg and A. Lund.", "notes.txt"),
        ("He said what he would\n\n1990. the year was dry", "notes.txt"),
        ("She turned away\n— Who is it?\n— Nobody", "notes.txt"),
        ("Queue times\n🎮 Games\n🔍 Search", "notes.txt"),
        ("or\n\n- Ask at the desk\n- Ask the guard", "notes.md"),
        ("Write to ann@harbour.com\n\n- The pump\n- The valve", "notes.md"),
        ("Dear Ann,\n\n- The pump is here\n- The valve is not", "notes.md"),
        ("The pump was late\n\n- The valve is here\n- The hose is not", "notes.md"),
    ],
)
def test_items_do_not_carry_a_line_that_is_whole(text, name):
    assert not any(": " in fact for fact in said(text, name))


@pytest.mark.parametrize("name", ["notes.md", "notes.txt"])
def test_items_carry_the_label_right_above_them(name):
    text = "North hall\n- Monday: 9 to 5\n- Sunday: 10 to 4\n\nSouth hall\n- Monday: closed\n"
    assert said(text, name) == [
        "North hall: Monday: 9 to 5",
        "North hall: Sunday: 10 to 4",
        "South hall: Monday: closed",
    ]


@pytest.mark.parametrize("indent", ["\t", "  ", "    "])
def test_lines_of_an_outline_carry_the_lines_that_they_are_indented_below(indent):
    lines = ["Fares", "|Adults", "||Bus 2 euros", "||Boat 5 euros", "|Children", "||Bus 1 euro"]
    text = "\n".join(lines).replace("|", indent)
    assert said(text, "notes.txt") == [
        "Fares: Adults: Bus 2 euros",
        "Fares: Adults: Boat 5 euros",
        "Fares: Children: Bus 1 euro",
    ]
    assert said(f"{text}\n{text.replace('Fares', 'Prices')}", "notes.txt")[3:] == [
        "Prices: Adults: Bus 2 euros",
        "Prices: Adults: Boat 5 euros",
        "Prices: Children: Bus 1 euro",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Lund, A. The bells of\n    Malmö and Lund\n    Second edition",
        "The night is long,\n  The road is white\n    And far away\n  The bells\n    are heard",
        "if open\n  then\n    wait=1\n  else\n    wait=2",
    ],
)
def test_other_indented_lines_are_one_paragraph(text):
    assert not any(": " in fact for fact in said(text, "notes.txt"))


def test_bullets_below_a_number_carry_its_label():
    text = "1. Roof\n- repaired\n- painted\n2. Cellar\n- dry\n3. We met Ola there\n- and left"
    assert said(text, "notes.txt") == [
        "Roof: repaired",
        "Roof: painted",
        "Cellar: dry",
        "3. We met Ola there",
        "and left",
    ]


def test_lines_below_a_label_with_a_colon_carry_it_each():
    text = "TOOLS:\nHammer of 2 kg.\nSaw.\nPARTS:\nSix bolts, 8 mm.\nOne hinge."
    assert said(text, "notes.txt") == [
        "TOOLS: Hammer of 2 kg.",
        "TOOLS: Saw.",
        "PARTS: Six bolts, 8 mm.",
        "PARTS: One hinge.",
    ]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Note:\nThe hinge squeaks.\nIt was never oiled.", "Note:"),
        ("Note:\nSet the clock by turning the small wheel on its left side.\nThen wait.", "Note:"),
        ("Note:\nThe hinge has rust in the\nHarbour shed.", "Note:"),
        ("We have seen what the guests have left here:\nHats.\nCoats.", "here:"),
    ],
)
def test_sentences_below_a_label_stay_together(text, label):
    assert sum(label in fact for fact in said(text, "notes.txt")) == 1


def test_items_carry_the_label_between_a_heading_and_them():
    text = """Ola Lund, Bergen. He wrote this.

WORK
Fjord Ltd., Clerk (2001 - 2004)
- Kept the books
- Counted fish
"""
    assert said(text, "notes.txt")[-2:] == [
        "Fjord Ltd., Clerk (2001 - 2004): Kept the books",
        "Fjord Ltd., Clerk (2001 - 2004): Counted fish",
    ]
    text = "The hall was built by the men of\nBergen\n- Ola Lund\n- Kari Dahl"
    assert "Bergen: Ola Lund" not in said(text, "notes.txt")


def test_headings_above_lists_stay_headings():
    text = "# Fares\n\n- bus: 2 euros\n- boat: 5 euros\n"
    assert said(text) == ["bus: 2 euros", "boat: 5 euros"]
    text = "Ingredients\n\n- flour\n- milk\n\nPreparation\n\nMix it. Bake it.\n"
    assert said(text, "notes.txt")[:2] == ["flour", "milk"]


@pytest.mark.parametrize(
    ("name", "text", "last"),
    [
        (
            "a.md",
            "# Mills\n\n1. Varn\n2. Holm\n3. Lund\n\n   We build two more.",
            "We build two more.",
        ),
        ("a.txt", "Guests\n- Ola\n- Kari\n- Per\n\n  They dine at six.\n", "They dine at six."),
        ("a.mdx", "# Mill\n\n- Old\n- Tall\n\n<Note>\n\n  It is shut.\n\n</Note>\n", "It is shut."),
        ("a.rst", "Mill\n====\n\n- Old\n- Tall\n\n.. note::\n\n   It is shut.\n", "It is shut."),
        ("a.rst", "* Old\n\n.. topic:: Hours\n\n   It is shut.\n", "It is shut."),
    ],
)
def test_a_paragraph_below_the_last_of_bare_items_is_said_alone(name, text, last):
    assert said(text, name)[-1] == last


def test_code_between_items_does_not_end_their_list():
    text = (
        "To wind the clock:\n\n1. Open it.\n\n.. code-block:: text\n\n   open\n\n2. Turn the key.\n"
    )
    assert said(text, "a.rst")[-1] == "To wind the clock: Turn the key."


@pytest.mark.parametrize(
    "line",
    [
        "That is what old mills are for",
        "Nobody knew where the sails were",
        "The following winter was hard for us all",
        "Photo by Ola Lund",
    ],
)
def test_lines_that_introduce_no_list(line):
    assert said(f"{line}\n\n- The sails broke.\n- The wheel turns.\n")[1:] == [
        "The sails broke.",
        "The wheel turns.",
    ]


@pytest.mark.parametrize(
    "line", ["Dear Kari Dahl,", "Hei all,", "Mit besten Grüßen,", "Querida Ana,"]
)
def test_greetings_introduce_no_list(line):
    assert said(f"{line}\n\n- the sails broke.\n- the wheel turns.\n")[1:] == [
        "the sails broke.",
        "the wheel turns.",
    ]


def test_verse_and_addresses_are_no_outlines():
    verse = (
        "The wind blows\n  in the old sails\n    and turns them\n  on the long hill\n    all night"
    )
    address = "Mill Trust\n  7 Quay Road\n    Varn\n      Norway"
    for text in (verse, address):
        assert not any(":" in fact for fact in said(text, "notes.txt"))


def test_what_stands_below_the_code_of_an_item_is_said_alone():
    text = "- Wind the clock up:\n\n  ```sh\n  wind --all\n  ```\n\n  It strikes twelve.\n"
    assert said(text) == ["Wind the clock up:", "wind --all", "It strikes twelve."]


@pytest.mark.parametrize("name", ["notes.md", "notes.txt"])
def test_paragraphs_below_an_item_carry_it_if_it_is_a_label(name):
    text = """- North hall

    Monday: 9 to 5

- South hall

    Monday: closed

- We went home

    It was late.
"""
    assert said(text, name) == [
        "North hall: Monday: 9 to 5",
        "South hall: Monday: closed",
        "We went home",
        "It was late.",
    ]


def test_lists_below_a_paragraph_of_an_item_carry_both():
    text = "- Pump P2\n\n  It is red.\n\n  Never use it with\n\n  - acid\n  - petrol\n"
    assert said(text)[-2:] == [
        "Pump P2: Never use it with: acid",
        "Pump P2: Never use it with: petrol",
    ]
    html = "<ul><li><p>North hall</p><p>Monday: 9 to 5</p></li></ul>"
    assert said(html) == ["North hall: Monday: 9 to 5"]


def test_rows_carry_the_names_of_their_columns():
    text = r"""| Region | Q1 (EUR) | **Q2** |
|---|:--:|---:|
| Singapore | 3.02 | **3.10** |
| | 3 | 4 |
| Oslo. Norway. | 1 \| 2 | |

A | b"""
    assert facts(text) == [
        ("Region: Singapore; Q1 (EUR): 3.02; Q2: 3.10", "Singapore | 3.02 | **3.10**"),
        ("Q1 (EUR): 3; Q2: 4", "3 | 4"),
        (r"Region: Oslo. Norway.; Q1 (EUR): 1 \| 2".replace("\\", ""), r"Oslo. Norway. | 1 \| 2"),
        ("A | b", "A | b"),
    ]


def test_names_and_lead_ins_that_nothing_repeats_are_kept():
    table = "| a | b |\n|---|---|\n| 1 | 2 | 3 |\n\nText."
    assert [fact for fact, _ in facts(table)] == ["a: 1; b: 2; 3", "Text."]
    assert [fact for fact, _ in facts("| Region | Fee |\n|---|---|")] == ["Region; Fee"]
    text = "# Anna Berg\n\nKnown for this:\n\n- She moved to Oslo in 1900."
    assert [fact for fact, _ in facts(text)] == [
        "Known for this:",
        "Anna Berg moved to Oslo in 1900.",
    ]


def test_propositions_in_other_words_are_not_changed():
    text = "It is forbidden to:\n\n- smoke\n- use lifts"
    script = ScriptedPropositionizer(
        lambda _: ["Smoke is forbidden.", "Use of lifts is forbidden."]
    )
    assert [fact for fact, _ in facts(text, script)] == [
        "Smoke is forbidden.",
        "Use of lifts is forbidden.",
    ]


def test_the_parts_of_a_long_row_name_their_columns_and_the_row():
    reviewed = (
        "Work is reviewed by somebody else, with a good deal of back and forth, before it is merged. "
        * 6
    )
    trusted = (
        "Reviews what others wrote, and is asked for advice by the people of all the other teams. "
        * 6
    )
    source = (
        "| Area | Junior | Senior |\n|---|---|---|\n"
        f"| Trust | {reviewed.strip()} | {trusted.strip()} |"
    )
    written = facts(source)
    assert len(written) > 2
    for fact, at_span in written:
        assert fact.startswith("Area: Trust; ")
        assert " | " not in fact
        assert ("Junior: Work is reviewed" in fact) == ("Work is reviewed" in at_span)
        assert ("Senior: Reviews what" in fact) == ("Reviews what" in at_span)


def test_the_span_of_a_row_with_an_empty_cell_reaches_to_its_end():
    html = "<table><tr><td><b>Terms</b></td><td></td><td>Read them first.</td></tr></table>"
    pipes = "|  |  |  |\n|---|---|---|\n| Terms |  | Read them first. |"
    assert facts(html) == [
        ("Terms; Read them first.", "Terms</b></td><td></td><td>Read them first.")
    ]
    assert facts(pipes) == [("Terms; Read them first.", "Terms |  | Read them first.")]


def test_the_span_of_a_row_that_is_said_as_it_stands_has_its_words_alone():
    text = "| | files |\n|---|---|\n| Jest | 38 |\n| *not looked at before* | |\n"
    assert facts(text)[1] == ("not looked at before", "not looked at before")


def test_a_header_without_rows_below_it_has_no_bars():
    source = "| Equation | Description |\n|---|---|\n| ![](a.png) | ![](b.png) |"
    assert [fact for fact, _ in facts(source)] == ["Equation; Description"]


@pytest.mark.parametrize(
    ("rows", "written"),
    [
        # two header rows
        (
            "<tr><th rowspan=2>Mill<th colspan=2>Flour, bran<tr><th>1998<th>1999"
            "<tr><td>Old<td>5<td>6<tr><td>New<td>7<td>8",
            [
                "Mill: Old; Flour, bran 1998: 5; Flour, bran 1999: 6",
                "Mill: New; Flour, bran 1998: 7; Flour, bran 1999: 8",
            ],
        ),
        # a row with fewer cells than the header
        ("<tr><th>Mill<th>Flour<th>Bran<tr><td>Old<td colspan=2>5", ["Mill: Old; Flour, Bran: 5"]),
        # names of columns that no row says
        (
            "<tr><th>Mill<th>Flour<th>Bran<tr><td>Old<td>5",
            ["Mill; Flour; Bran", "Mill: Old; Flour: 5"],
        ),
        # another header below
        (
            "<tr><th>Mill<th>Flour<tr><td>Old<td>5<tr><th>Town<th>Bran<tr><td>Varn<td>6",
            ["Mill: Old; Flour: 5", "Town: Varn; Bran: 6"],
        ),
    ],
)
def test_headers_that_rows_say_are_no_facts(rows, written):
    assert [fact for fact, _ in facts(f"<table>{rows}</table>")] == written
