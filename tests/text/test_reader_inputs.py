"""Inputs as users have them: marks that are text, lists of many kinds, data in the text, marks around sentences."""

from __future__ import annotations

import pytest

from factoid import Document, SyntaxPropositionizer, split_passages
from factoid.propositions import decompose
from factoid.sentences import read_sentences
from factoid.text.inline import inline
from factoid.text.markup import markup_of
from factoid.text.reading import read, sentences_of

DATA = "iVBORw0KGgo" * 30


def facts(text: str, source: str | None = None) -> list[str]:
    metadata = {"source": source} if source else {}
    passages = split_passages(Document(text, metadata=metadata))
    return [unit.text for unit in decompose(passages, SyntaxPropositionizer(), log=False).units]


def seen(source: str) -> str:
    return inline(source, range(len(source))).text


def sentences(text: str) -> list[str]:
    return [text[sentence.start : sentence.end] for sentence in read_sentences(text)]


# Marks that are text


@pytest.mark.parametrize(
    "text",
    [
        "Use src/**/*.py and tests/*_test.py to match files. It is recursive.",
        "The pattern ^[a-z]*$ matches words, and .*? is lazy. Use (a|b)* for a loop.",
        'Nice :-) and *_* and ^_^ and <3. Send {"key": "*value*"} then.',
        "In C, *p = *q copies. Declare int *p, *q; and char **argv. Or int* a.",
        "Call f(*args, **kwargs) with **options. It returns *args.",
        "The list is [1][2] and a[i][j] and x[0](y). It is indexed.",
        "The price* is low. *Without VAT.",
        "_private and _other are names. MY_VAR_ is _ok_ and __init__ is not.",
        "The score a == b and c == d. Look at ~/path and ~user.",
        "*** WARNING *** The value is 2**3 = 8 and 4**2 = 16.",
        "The tests gave p*<0.05 and q**<0.01.",
    ],
)
def test_plain_text_keeps_marks(text):
    assert markup_of(text) == "plain"
    assert "".join(facts(text)).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "Ann wrote on 3 May:\n> Does the lamp\n> glow? It is new.\nIt does.",
            ["Ann wrote on 3 May:", "Does the lamp glow?", "It is new.", "It does."],
        ),
        (
            "Bo wrote:\r\n> > Is the mill red?\r\n> No.\r\n>\r\n> Cheers,\r\n> Bo",
            ["Bo wrote:", "Is the mill red?", "No.", "Cheers, Bo"],
        ),
        ("> The mill is red.\n\nNo.", ["The mill is red.", "No."]),
        ("The width is\n> 5 mm today.", ["The width is > 5 mm today."]),
        (">>> mill = Mill()\n>>> mill.turn()", [">>> mill = Mill() >>> mill.turn()"]),
        ("> cd mill\n> ls", ["> cd mill > ls"]),
        (">Mill1\nACGT", [">Mill1 ACGT"]),
    ],
)
def test_lines_that_an_e_mail_quotes(text, parts):
    found = sentences_of(read(text, "plain"))
    assert [" ".join(sentence.visible.text.split()) for sentence in found] == parts
    for sentence in found:
        for character, place in zip(*sentence.visible[:2], strict=True):
            assert text[place] == character or character.isspace()


@pytest.mark.parametrize(
    "text",
    [
        "~~It was late. He left.~~ Then it rained.",
        "***It was late. He left.*** Then it rained.",
        "__It was late. He left.__ Then it rained.",
        "_It was late. He left._ Then it rained.",
        "==It was late. He left.== Then it rained.",
        "**It was late.\nHe left.** Then it rained.",
        "(*It was late. He left.*) Then it rained.",
    ],
)
def test_marks_around_sentences_are_markdown(text):
    assert markup_of(text) == "markdown"
    shown = facts(text)
    assert not any(mark in fact for fact in shown for mark in ("*", "_", "~", "="))
    assert shown[-1] == "Then it rained."


@pytest.mark.parametrize(
    "text",
    [
        "See <https://example.com/a>. It is up.",
        "Write to <ann@example.com>. She answers.",
        "<Note>\nDo not open the lid.\n</Note>",
        '=== "Linux"\n\n    Use the first.',
        "- [ ] Repair the pump\n- [x] Clean it",
        "Apple\n:   The fruit of a tree.",
        "[TOC]\n\nText here.",
        "---\ntitle: Pumps\n---\n\nText here.",
        f'<img src="data:image/png;base64,{DATA}" alt="A chart"> shows sales.',
        f"The image is data:image/png;base64,{DATA}.",
    ],
)
def test_evidence_of_markdown(text):
    assert markup_of(text) == "markdown"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Use src/**/*.py and tests/*_test.py", None),
        ("The pattern ^[a-z]*$ and .*? is lazy", None),
        ("Open C:\\Users\\_data\\*.csv and C:\\Program Files\\_x_\\*.dll", None),
        (
            "Open **C:\\Users\\_data** or \\\\server\\share\\#new",
            "Open C:\\Users\\_data or \\\\server\\share\\#new",
        ),
        ("See https://example.com/a_b/*x*?q=1", None),
        ("*See https://example.com/a*.", "See https://example.com/a."),
        ("The **.env** file and *.env* and **/x", "The .env file and .env and **/x"),
        ("It\\[1\\] is \\[edit\\] and a\\_b", "It[1] is [edit] and a_b"),
        ("\\[E = 1\\] and \\[ y \\] and \\[\\alpha\\]", None),
        ("It runs.^[A *note*. It is here.] It stops.", "It runs. A note. It is here. It stops."),
        ("x^[1] and ^[a-z] stay", None),
        ("See :ref:`the manual <man>` and :code:`x`", "See the manual and x"),
        ("**句子一。句子二。**句子三。", "句子一。句子二。句子三。"),
        ("**「引用」**很好。", "「引用」很好。"),
        ("<select><option>One</option><option>Two</option></select>", "One  Two"),
        ("<img src=a alt=Map> of it", "Map of it"),
    ],
)
def test_inline(source, text):
    assert seen(source).split() == (text or source).split()


# Data


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            '!!! note "Before you start"\n    The tank is empty.\n',
            ["Before you start: The tank is empty."],
        ),
        (
            ":::tip Use the small key\nIt opens the box.\n\nMore.\n:::",
            ["Use the small key: It opens the box.", "More."],
        ),
        ("> [!WARNING] Hot surface\n> The lid is hot.", ["Hot surface: The lid is hot."]),
        ("/// note | Mind the lid\nThe lid falls.\n///", ["Mind the lid: The lid falls."]),
        ('=== "macOS"\n\n    Run `brew`.\n', ["macOS: Run `brew`."]),
        (
            '!!! tip "Steps"\n\n    - Open it\n    - Close it\n',
            ["Steps: Open it", "Steps: Close it"],
        ),
        (
            '!!! note "Fares"\n\n    | To | Fare |\n    |---|---|\n    | Oslo | 40 |\n',
            ["Fares: To: Oslo; Fare: 40"],
        ),
        ("Pump\nFan\n: It turns.", ["Pump, Fan: It turns."]),
        ('!!! note "Alone"\n\nThe pump is new.', ["Alone", "The pump is new."]),
        ("```{admonition} Hot\nThe lid is hot.\n```", ["Hot: The lid is hot."]),
        (
            "```{note} The pump is loud.\nIt is new.\n```",
            ["The pump is loud.", "The pump is new."],
        ),  # one paragraph
    ],
)
def test_titles_stand_before_what_is_below_them(text, shown):
    assert facts(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"See ![chart](data:image/png;base64,{DATA}", ["See chart"]),
        (f"See ![chart](data:image/png;base64,\n{DATA}\n{DATA}\n) here.", ["See chart here."]),
        (
            f"It is data:image/png;base64,{DATA}. It is blue.",
            ["It is data:image/png.", "It is blue."],
        ),
        (
            "- ![chart](data:image/svg+xml;utf8,<svg xmlns='http://www.w3.org/2000/svg'><path d='M 0 0'/></svg>)\n- Text",
            ["chart", "Text"],
        ),
        (
            f"url(data:font/woff2;charset=utf-8;base64,{DATA}) is used.",
            ["url(data:font/woff2) is used."],
        ),
    ],
)
def test_data_is_not_text(text, shown):
    assert facts(text, "x.md") == shown


# Lists


@pytest.mark.parametrize(
    "marks",
    [
        ("✅", "❌", "🔧"),
        ("→", "→", "→"),
        ("①", "②", "③"),
        ("★", "☆", "★"),
        ("[1]", "[2]", "[3]"),
        ("§ 1", "§ 2", "§ 3"),
        ("1.1", "1.2", "1.3"),
        ("1.9.", "1.10.", "1.11."),
        ("[ ]", "[x]", "[ ]"),
        ("—", "—", "—"),
    ],
)
def test_marks_that_are_kept(marks):
    lines = [
        f"{mark} {word}" for mark, word in zip(marks, ("Repair", "Cleaning", "Tools"), strict=True)
    ]
    assert sentences("\n".join(["Services", *lines])) == ["Services", *lines]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("Steps\n1.Open it\n2.Wait\n3.Close it", ["Steps", "1.Open it", "2.Wait", "3.Close it"]),
        ("一、开门\n二、等待\n三、关门", ["一、开门", "二、等待", "三、关门"]),
        ("九、甲\n十、乙\n十一、丙", ["九、甲", "十、乙", "十一、丙"]),
        ("•\nRepair\n•\nCleaning", ["Repair", "Cleaning"]),
        ("Services: • Repair • Cleaning • Tools", ["Services:", "Repair", "Cleaning", "Tools"]),
        ("• Adults\n   o Monday\n   o Sunday", ["Adults", "Monday", "Sunday"]),
        ("It weighs\n1.5 tons and\n2.5 more.", ["It weighs\n1.5 tons and\n2.5 more."]),
        ("He wrote it\n[3] and left.", ["He wrote it\n[3] and left."]),
        ("It was o\no is a letter.", ["It was o\no is a letter."]),
        ("He came\n✅ once.", ["He came\n✅ once."]),
    ],
)
def test_units_of_lists(text, units):
    assert sentences(text) == units


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "- Adults pay the full price. They need a ticket.\n  - Monday: 12 euros\n- Children pay half.\n  - Monday: 6 euros",
            [
                "Adults pay the full price: Monday: 12 euros",
                "Children pay half: Monday: 6 euros",
                "Children pay half.",
            ],
        ),
        (
            "* Adults\n\n    They pay more on weekends.\n\n    * Monday: 12 euros\n* Children\n\n    * Monday: 6 euros",
            ["Adults: Monday: 12 euros", "Children: Monday: 6 euros"],
        ),
        (
            "- Install\n\n  ```bash\n  pip install x\n  ```\n\n  - Then run it\n- End",
            ["Install: Then run it"],
        ),
        (
            "- Dogs?\n  - Monday: free\n- Cats —\n  - Monday: 1 euro",
            ["Dogs? Monday: free", "Cats: Monday: 1 euro"],
        ),
        (
            "A. Adults\n   1. Monday: 12 euros\n   2. Sunday: 15 euros\nB. Children\n   1. Monday: 6 euros",
            ["Adults: Monday: 12 euros", "Adults: Sunday: 15 euros", "Children: Monday: 6 euros"],
        ),
        (
            "Choose:\n\nA. Red\n   - Dries fast\n   - Costs 20\nB. Blue\n   - Costs 10",
            ["Choose: Red: Dries fast", "Choose: Red: Costs 20", "Choose: Blue: Costs 10"],
        ),
        (
            "1) Adults:\n- 10 euros\n- free on Sundays\n2) Children:\n- 10 euros",
            ["Adults: 10 euros", "Children: 10 euros"],
        ),
        (
            "• Adults\n   o Monday: 12 euros\n• Children\n   o Monday: 6 euros",
            ["Children: Monday: 6 euros"],
        ),
        (
            "<dl>\n<dt><b>Lamp</b></dt>\n<dd>\n\nFor *light*.\n\n</dd>\n<dt>Rug</dt>\n<dd>\n\nFor feet.\n\n</dd>\n</dl>",
            ["Lamp: For light.", "Rug: For feet."],
        ),
        (
            "<dl>\n<dt>Lamp</dt>\n<dd>\n\n- It is red.\n- It is new.\n\n</dd>\n</dl>",
            ["Lamp", "It is red.", "It is new."],
        ),
        (
            "<dl><dt>Pump</dt><dd>For water.</dd><dt>Fan</dt><dd>Air.</dd></dl>",
            ["Pump: For water.", "Fan: Air."],
        ),
    ],
)
def test_items_name_their_parents(text, shown):
    result = facts(text)
    assert set(shown) <= set(result)
    assert not any(fact.startswith("Monday") for fact in result)


def test_bullets_of_one_line_are_beside_each_other():
    assert facts("• One **bold** • Two • Three") == ["One bold", "Two", "Three"]


def test_names_above_indented_values_are_units():
    text = "Adults\n    Monday: 12 euros\n    Sunday: 15 euros\nChildren\n    Monday: 6 euros"
    assert facts(text) == [
        "Adults",
        "Monday: 12 euros",
        "Sunday: 15 euros",
        "Children",
        "Monday: 6 euros",
    ]


def test_bold_parents_are_said_once():
    assert facts("- **Adults**\n  - Monday: 12 euros") == ["Adults: Monday: 12 euros"]


# Tables


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "+------+-----+\n| Name | Age |\n+======+=====+\n| Ann  | 30  |\n+------+-----+\n| Bob  | old |\n+------+-----+\n",
            ["Name: Ann; Age: 30", "Name: Bob; Age: old"],
        ),
        (
            "+------+------+\n| name | town |\n+------+------+\n| Ann  | Oslo |\n| Bob  | Rome |\n+------+------+\n",
            ["name: Ann; town: Oslo", "name: Bob; town: Rome"],
        ),
        (
            "+---+---+\n| x | y |\n+---+---+\n| z | w |\n+---+---+\n| v | u |\n+---+---+\n",
            ["x; y", "z; w", "v; u"],
        ),
        ("+--+--+\n", []),
        (
            "| Name | Type | Notes |\n|---|---|---|\n| b | `x|y` | has `a\\|b` code |",
            ["Name: b; Type: `x|y`; Notes: has `a|b` code"],
        ),
        (
            "| Option | Default |\n|---|---|\n| x | 1 |\nText right after.",
            ["Option: x; Default: 1", "Text right after."],
        ),
        ("| Header |\n|---|\n| one |\n| two |", ["Header: one", "Header: two"]),
        (
            "<table><tr><td>Name</td><td>Age</td></tr><tr><td>Ann</td><td>30</td></tr></table>",
            ["Name: Ann; Age: 30"],
        ),
        (
            "<table><tr><td>Ann</td><td>Bob</td></tr><tr><td>x</td><td>y</td></tr></table>",
            ["Ann; Bob", "x; y"],
        ),
        (
            "<table><tr><th></th><th>Jan</th></tr><tr><th>Oslo</th><td>5</td></tr></table>",
            ["Oslo; Jan: 5"],
        ),
        (
            "<table>\n<tr><th>A</th><th>B</th></tr>\n<tr><td>a</td><td>\n\n**bold** and [l](u)\n\n</td></tr>\n</table>",
            ["A: a; B: bold and l"],
        ),
        ("Name: **Ann**\nAge: 30\nCity: *Oslo*", ["Name: Ann; Age: 30; City: Oslo"]),
    ],
)
def test_rows(text, shown):
    assert facts(text) == shown


def test_parts_of_a_long_row_name_their_column_and_their_row():
    cell = " ".join(
        f"Sentence number {number} is about a thing that matters." for number in range(1, 40)
    )
    text = f"| City | Text | Price |\n|---|---|---|\n| Oslo | {cell} | 5 |\n| Rome | x | 6 |"
    shown = [fact for fact in facts(text) if fact != "City; Text; Price"]
    assert shown[-2:] == ["City: Oslo; Price: 5", "City: Rome; Text: x; Price: 6"]
    assert all(
        fact.startswith("City: Oslo; Text: Sentence number") and fact.endswith("matters.")
        for fact in shown[:-2]
    )
    assert " ".join(fact.removeprefix("City: Oslo; Text: ") for fact in shown[:-2]) == cell


def test_facts_of_rows_with_empty_cells_come_from_their_cells():
    words = " ".join(["word"] * 40)
    text = f"| A | B | C |\n|---|---|---|\n| x |  | {words} here |\n"
    passages = split_passages(Document(text))
    units = decompose(passages, SyntaxPropositionizer(), log=False).units
    assert [unit.text for unit in units] == [f"A: x; C: {words} here"]
    assert text[units[0].start : units[0].end].startswith("x |")


def test_sentences_in_lower_case_end_behind_pronouns():
    text = "the cat sat on the mat. the dog barked at it. they left the house."
    assert len(sentences(text)) == 3


def test_paragraphs_on_one_line_do_not_overlap():
    long = "A word is here. " * 60
    text = f"Lee | long | {long} |\n**A. B.** C.\n==m k==<br>Term\n: Its meaning\n"
    passages = split_passages(Document(text, metadata={"source": "x.md"}))
    ends = [0, *(passage.end for passage in passages)]
    assert all(end <= passage.start for end, passage in zip(ends, passages, strict=False))
