"""Which lines of a text are headings, of which level, and how far they reach."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from factoid import Document
from factoid import sections as sections_of_texts
from factoid.text.plain_headings import Line, find_headings, heading_cuts

FILLER = [
    "The first one is here. It is long enough.",
    "And this is the second. Nothing else follows.",
]


def lines_of(text):
    """Return the blocks of a text between empty lines."""
    return [Line(block) for block in text.strip().split("\n\n")]


def outline(text):
    """Return each heading with its level and the number of blocks under it."""
    lines = lines_of(text)
    return [
        (lines[heading.place].text, heading.level, heading.end - heading.place - 1)
        for heading in find_headings(lines)
    ]


def words(text):
    return [heading for heading, _, _ in outline(text)]


def in_long_text(line):
    """Return a text with headings of several forms, and a line above running text in it."""
    parts = []
    for name in ("Early Years", "Later Years", "Last Years", "Works of Art", "Honours"):
        parts += [name, *FILLER]
    parts[7:7] = [line, *FILLER]
    return "\n\n".join(["Ada Byron", *parts])


@pytest.mark.parametrize(
    "line",
    [
        "Figure 3: The reading room",
        "Table 2 Settings by fabric",
        "Fig. 4",
        "Photo by Lena Brandt",
        "Abbildung 1: Lage der Tonnen",
        "Source: the author",
        "1024 x 768 px",
        "230 V",
        "23 pistols ( repaired mostly for troops in service )",
        "3.5 litres of water",
        "Weight 59 kg",
        "Total 10 2,864 75",
        "2,150",
        "$ 40 each",
        "12 March 2024",
        "Saturday, 14 September 2019",
        "London, 3 May 2021",
        "2024-05-02",
        "Approved by the Board on 3 March 2024",
        '"Who Goes There"',
        "“Nothing at All”",
        "— Nothing at All",
        "> Quoted Words",
        "- An Item",
        "• An Item",
        "(Silence)",
        "Enter BRUNO with a lamp",
        "Exit",
        "He walked into the room",
        "The door was open",
        "One morning I missed a train",
        "Nobody has ever seen the",
        "The Guest agrees to",
        "The Board confirms that",
        "Rules that Guests shall",
        "Der Gast haftet bei",
        "Name  Price",
        "Name | Price",
        "photo_of_ada.jpg",
        "Page 3 of 12",
        "Contact us at ada@example.org",
        "https://example.org",
        "WARNING",
        "By Tom Harding",
        "for lower case",
        "What could go wrong here?",
        "Is it true?",
        "And who could blame them?",
        "Ends with a Comma,",
        "Read This!",
    ],
)
def test_lines_that_are_no_headings(line):
    assert line not in words(in_long_text(line))
    assert "Later Years" in words(in_long_text(line))


@pytest.mark.parametrize(
    "line", ["Rise and Fall", "Correspondence", "The Art of Letters", "Life in Rome, 1840 to 1850"]
)
def test_lines_that_are_headings_beside_others_of_their_form(line):
    assert line in words(in_long_text(line))


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        (
            "Rules\n\n1 Scope\n\nAll.\n\n2 Time\n\n2.1 Core\n\nTen.\n\n2.2 Over\n\nPaid.",
            [("Rules", 1, 7), ("1 Scope", 2, 1), ("2 Time", 2, 4), ("2.1 Core", 3, 1), ("2.2 Over", 3, 1)],
        ),
        (
            "I. Lights\n\nThey burn.\n\nII. Sounds\n\nThey end.\n\nIII. Smells\n\nThey stay.",
            [("I. Lights", 2, 1), ("II. Sounds", 2, 1), ("III. Smells", 2, 1)],
        ),
        (
            "The Keeper\n\nCHAPTER I\n\nA Stranger Lands\n\nHe came.\n\nCHAPTER II\n\nThe Price\n\nIt rose.",
            [
                ("The Keeper", 1, 6),
                ("CHAPTER I", 2, 2),
                ("A Stranger Lands", 3, 1),
                ("CHAPTER II", 2, 2),
                ("The Price", 3, 1),
            ],
        ),
        (
            "PART I\n\nSection 1. Name\n\nA.\n\nSection 2. Words\n\nB.\n\nPART II\n\nSection 3. Lights\n\nC.\n\n"
            "SCHEDULE 1\n\nD.",
            [
                ("PART I", 2, 4),
                ("Section 1. Name", 3, 1),
                ("Section 2. Words", 3, 1),
                ("PART II", 2, 2),
                ("Section 3. Lights", 3, 1),
                ("SCHEDULE 1", 2, 1),
            ],
        ),
        (
            "Handbook\n\nWe greet you.\n\nHOURS\n\nShop staff\n\nYou work.\n\nOffice staff\n\nYou too.\n\nPAY\n\nIt comes.",
            [("Handbook", 1, 8), ("HOURS", 2, 4), ("Shop staff", 3, 1), ("Office staff", 3, 1), ("PAY", 2, 1)],
        ),
        ("A Study\n\nAbstract\n\nWe count.\n\nReferences\n\n[1] A. Berg.", [("A Study", 1, 4), *[
            ("Abstract", 2, 1), ("References", 2, 1)]]),
        ("第一章 光\n\n光很重要。\n\n第二章 声\n\n声也重要。", [("第一章 光", 2, 1), ("第二章 声", 2, 1)]),
        ("Hausordnung\n\n§ 1 Ruhe\n\nEs ist still.\n\n§ 2 Müll\n\nEr wird geholt.", [
            ("Hausordnung", 1, 4), ("§ 1 Ruhe", 2, 1), ("§ 2 Müll", 2, 1)]),
    ],
)  # fmt: skip
def test_levels_and_reach(text, headings):
    assert outline(text) == headings


RESUME = """Ola Lund
Bergen, Norway

WORK
Fjord Ltd., Clerk (2001 - 2004)
- Kept the books

TRAINING
Bergen College, 2000

LANGUAGES
Norwegian, Dutch

OLA LUND
Clerk of the Harbour Trust"""


def plain_sections(text):
    _, paragraphs = sections_of_texts.outline(Document(text, metadata={"source": "notes.txt"}))
    return [(paragraph.section, text[paragraph.start :][:8]) for paragraph in paragraphs]


def test_headings_right_above_a_line():
    sections = [section for section, _ in plain_sections(RESUME)]
    assert sections[:4] == ["", "WORK", "TRAINING", "LANGUAGES"]
    assert "OLA LUND" not in sections


def test_parts_and_their_names_on_two_lines():
    text = """Chapter 1
The Ferry

Ola rowed home. The fjord was calm.

Chapter 2
The Storm

Ola slept. The wind rose."""
    assert plain_sections(text) == [
        ("Chapter 1, The Ferry", "Ola rowe"),
        ("Chapter 2, The Storm", "Ola slep"),
    ]


def test_numbered_points_above_short_sentences():
    text = """Meeting of 3 June

1. Budget
The budget was approved. Ola will send it.

2. Election of a chair
Postponed."""
    assert plain_sections(text) == [
        ("1. Budget", "The budg"),
        ("2. Election of a chair", "Postpone"),
    ]


def test_a_number_alone_in_its_series_is_none():
    assert "7 Samurai" not in words(in_long_text("7 Samurai"))
    assert "7.2 Samurai" in words(in_long_text("7.2 Samurai"))
    assert "Chapter 7" in words(in_long_text("Chapter 7"))


def test_one_line_of_its_form_is_no_heading_of_a_long_text():
    text = "\n\n".join([*FILLER * 10, "Some Words", *FILLER * 10])
    assert words(text) == []
    assert words("\n\n".join([*FILLER, "Some Words", *FILLER])) == ["Some Words"]


def test_lists_of_short_lines_and_tables_of_contents():
    guests = "Party\n\nThey came.\n\nAnn Lee\n\nBen Oak\n\nCid Ash\n\nDan Elm\n\nThey went."
    assert words(guests) == ["Party"]
    contents = "Manual\n\n1 Safety\n\n2 Use\n\n3 Care\n\n1 Safety\n\nIt is safe.\n\n2 Use\n\nUse it.\n\n3 Care\n\nCare for it."
    assert outline(contents)[1:] == [("1 Safety", 2, 1), ("2 Use", 2, 1), ("3 Care", 2, 1)]


def test_bold_lines():
    lines = [
        Line("Use", is_strong=True),
        *map(Line, FILLER),
        Line("Who is it?", is_strong=True),
        Line("Us."),
    ]
    headed = [Line("Pisa", "heading", level=1), *lines]
    assert find_headings(headed, is_plain=False) == [(0, 6, 1), (1, 6, 7), (4, 6, 8)]
    assert find_headings(headed) == [(0, 6, 1), (1, 6, 2), (4, 6, 8)]
    for text in ("Do not enter!", "Table 3: Folding", "Read it, please,"):
        assert find_headings([headed[0], Line(text, is_strong=True), *map(Line, FILLER)]) == [
            (0, 4, 1)
        ]


def test_only_bold_lines_and_questions_stand_beside_marked_headings():
    lines = [
        Line("Pisa", "heading", level=1),
        *map(Line, FILLER),
        Line("Early Years"),
        *map(Line, FILLER),
    ]
    assert find_headings(lines, is_plain=False) == [(0, 6, 1)]


def test_a_title_that_is_marked_stands_above_headings_that_are_not():
    lines = [Line("Pisa", "heading", level=1), *lines_of("1 Scope\n\nAll.\n\n2 Time\n\nTen.")]
    assert find_headings(lines) == [(0, 5, 1), (1, 3, 2), (3, 5, 2)]
    assert find_headings(lines, is_plain=False) == [(0, 5, 1)]


# Heads of pages, letters, plays, logs


def test_heads_of_pages():
    page = "The fox slept for nine hours and\n\nM. Keller et al. {}\n\nJ. Field Zool. 12\n\nwoke up at noon. It ate."
    text = "\n\n".join(
        ["Foxes at Night", *FILLER, *(page.format(number) for number in (117, 118, 119))]
    )
    assert words(text) == ["Foxes at Night"]


def test_lines_with_another_number_are_headings():
    text = (
        "Support chat, ticket 17\n\n[09:02] Ann: Hi.\n\nSupport chat, ticket 18\n\n[10:11] Ben: Hi."
    )
    assert outline(text) == [("Support chat, ticket 17", 2, 1), ("Support chat, ticket 18", 2, 1)]


LETTER = """Anna Lindqvist

14 Cedar Court

Western Housing

Dear Mr Osborne,

Leaking roof

I wrote to you in August. I have had no answer.

Yours sincerely,

Anna Lindqvist

Chair of the Residents

P.S. Two photographs are enclosed. They were taken on Sunday."""
PLAY = """BRUNO

Who stopped them? None is going.

MARTHA

You did, sir. You said so.

BRUNO

Did I? Then I was right.

MARTHA

Yes. You were.

BRUNO

Good. Let us go.

MARTHA

After you. It is late."""
LOG = """2024-05-02 10:00:01 INFO Fetching. It takes long.

Compiling Module Core

2024-05-02 10:00:09 INFO Fetched. Checking now.

Compiling Module Net

2024-05-02 10:00:12 INFO Done. It took a while."""
TALK = """ANN: Good evening. I open the session.

BEN: Thank you. I have a question.

Two Million

ANN: Please. Go on.

BEN: How much is it? We should know.

Three Million

ANN: Nobody knows. Let us vote."""
VERSE = """Collected by the river people in 1902.

Over the water the morning is slow
And grey as the wool on the loom
The ferryman knows where the currents go
And sings in the narrow room.

Pull Brother Pull

The rope is wet and the hands are cold
And the far bank hides in the mist
The ferryman's daughter is nine years old
With a ring of reed at her wrist.

Pull Brother Pull

The bridge is quicker for all who need
But nobody sings there well."""


@pytest.mark.parametrize("text", [LETTER, PLAY, LOG, TALK, VERSE])
def test_texts_without_headings(text):
    assert words(text) == []


def test_a_notice_an_author_and_a_date_beside_a_title():
    press = "FOR IMMEDIATE RELEASE\n\nAcme Opens a Plant\n\nLEEDS, 3 May 2021 – Acme opened it. It is big."
    assert outline(press) == [("Acme Opens a Plant", 1, 1)]
    story = "The Glass Orchard\n\nby Ida Holm\n\n3 May 2021\n\nMy father planted it. It grew."
    assert outline(story) == [("The Glass Orchard", 1, 3)]


# Questions and captions


def test_questions_of_a_series_reach_to_the_next_one():
    faq = (
        "How far?\n\nTen miles.\n\nOr less.\n\nHow long?\n\nTwo hours.\n\nI lost it. What now?\n\n"
        "Call us.\n\nMay I?\n\nYes.\n\nDo.\n\nBye."
    )
    assert outline(faq) == [
        ("How far?", 8, 2),
        ("How long?", 8, 1),
        ("I lost it. What now?", 8, 1),
        ("May I?", 8, 2),  # no farther than the longest answer before
    ]


def test_a_single_question_heads_its_answer_only():
    marked = [Line("Pisa", "heading", level=1), Line("How far?"), *map(Line, FILLER)]
    assert find_headings(marked)[1:] == [(1, 3, 8)]
    text = in_long_text("Is it true?").replace(
        "Is it true?\n\nThe first", "Is it true?\n\nYes. The first"
    )
    assert ("Is it true?", 8, 1) in outline(text)


def test_questions_of_speeches_and_stories():
    speech = ["You know what that would raise?", *FILLER, "Can anybody believe it?", *FILLER * 3]
    assert words("\n\n".join(speech)) == []
    talk = (
        "Does anybody know?\n\nANN LEE: I do.\n\nWho else is there?\n\nBEN OAK: Me.\n\nThey left."
    )
    assert words(talk) == []
    finance = "what was the change in 2013?\n\nThe total was 14. It fell.\n\nin percentage?\n\nThe net was 2. It rose."
    assert words(finance) == []


def test_a_caption_heads_the_rows_below_it():
    rows = [Line("Dots | Steam", "row"), Line("1 | none", "row")]
    lines = [
        Line("Iron", "heading", level=1),
        Line("Table 2: Settings"),
        *rows,
        Line("After the table."),
    ]
    assert find_headings(lines) == [(0, 5, 1), (1, 4, 8)]
    assert find_headings([lines[0], lines[1], lines[4]]) == [(0, 3, 1)]


# Headings without empty lines around them


@pytest.mark.parametrize(
    ("paragraph", "parts"),
    [
        (
            "1 Scope\nThis policy holds for all of us.",
            ["1 Scope\n", "This policy holds for all of us."],
        ),
        (
            "All must agree.\nArticle 2 – Orders\nAn order is binding at once.",
            ["All must agree.\n", "Article 2 – Orders\n", "An order is binding at once."],
        ),
        (
            "Abstract\nWe tracked the sleep of foxes.",
            ["Abstract\n", "We tracked the sleep of foxes."],
        ),
        ("1. Milk\n2. Eggs\n3. Bread and butter", ["1. Milk\n2. Eggs\n3. Bread and butter"]),
        (
            "We bought it in\n2019 Prices were low then, they say.",
            ["We bought it in\n2019 Prices were low then, they say."],
        ),
        ("Anna Berg\nDirector of the Harbour Trust", ["Anna Berg\nDirector of the Harbour Trust"]),
        ("One line. Two sentences.", ["One line. Two sentences."]),
        ("3. Election of a chair\nPostponed.", ["3. Election of a chair\n", "Postponed."]),
        (
            "3. Turn the valve on the left side of the Old Town\nHall.",
            ["3. Turn the valve on the left side of the Old Town\nHall."],
        ),
        ("Chapter 3\nThe Ferry", ["Chapter 3\n", "The Ferry"]),
        (
            "ARTICLE II\nFEES AND TAXES\nThe fee is due in May.",
            ["ARTICLE II\n", "FEES AND TAXES\n", "The fee is due in May."],
        ),
        ("As it says in\nChapter 3\nThe Ferry", ["As it says in\nChapter 3\nThe Ferry"]),
        ("Section 4\nof the law", ["Section 4\nof the law"]),
        ("", [""]),
    ],
)
def test_cuts(paragraph, parts):
    cuts = [0, *heading_cuts(paragraph), len(paragraph)]
    assert [paragraph[start:end] for start, end in pairwise(cuts)] == parts


@pytest.mark.parametrize(
    "blocks",
    [
        ["Same Words"],
        ["1 Scope", "2 Time"],
        ["12"],
        ["What is it?", "How far?"],
        ["What is it?", "This. It is."],
        ["SOME WORDS", "Other Words", "A sentence. And one."],
        ["Table 1: A", "| a |"],
        ["Dear Ann,", "Kind regards"],
        [".)" * 90],
        ["1." * 45 + "1 A"],
    ],
)
def test_the_work_is_linear(blocks):
    lines = [Line(block) for block in blocks * (20_000 // len(blocks))]
    start = time.process_time()
    find_headings(lines)
    assert time.process_time() - start < 10
    start = time.process_time()
    heading_cuts("\n".join(blocks * (20_000 // len(blocks))))
    assert time.process_time() - start < 10
