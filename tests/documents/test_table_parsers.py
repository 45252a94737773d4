"""Tables of Markdown and HTML in every dialect, and those of the printed paper against the
print.
"""

from __future__ import annotations

import re

import pytest

from factoid.documents.table_parsers import markdown_tables
from factoid.errors import InvalidInputError
from tests.documents.seeds import printed_paper
from tests.hostile_texts import seconds

pytest.importorskip("lxml")


def test_a_plain_pipe_table():
    text = "Lakes.\n\n| Lake | *Depth* (m) |\n|:--|--:|\n| Baikal | 1\\|642 |\n| `a` | [b](c) |\n\nAfter.\n"
    (table,) = markdown_tables(text)
    assert table.texts() == [["Lake", "Depth (m)"], ["Baikal", "1|642"], ["`a`", "b"]]
    assert text[slice(*table.span)] == text[text.index("|") : text.index("\n\nAfter")]


def test_rows_of_another_length_and_without_outer_pipes():
    (table,) = markdown_tables("a | b | c\n-- | -- | --\n1 | 2\n")
    assert table.texts() == [["a", "b", "c"], ["1", "2", ""]]


def test_what_is_no_table():
    assert (
        markdown_tables(
            "```\n| a | b |\n| - | - |\n```\n\na | b\n\n<!-- <table><tr><td>x</td></tr></table> -->"
        )
        == []
    )


def test_merged_cells_of_pipes():
    text = """\
| Wood || Density ||
||| dry | wet |
| - | - | - | - |
| Conifers ||||
| Larch | heart | 0.55 | 0.60 |
|| sap | 0.50 | 0.58 |
| Ash || 0.65 | 0.72 |
"""
    (table,) = markdown_tables(text)
    assert table.headers() == [("Wood",), ("Wood",), ("Density", "dry"), ("Density", "wet")]
    assert [row.description for row in table.rows()] == ["Conifers"] * 3
    assert [[cell.text for cell in row.cells] for row in table.rows()] == [
        ["Larch", "heart", "0.55", "0.60"],
        ["Larch", "sap", "0.50", "0.58"],
        ["Ash", "Ash", "0.65", "0.72"],
    ]


def test_an_empty_cell_of_a_tight_table_is_empty():
    (table,) = markdown_tables("|Name|Phone|Fax|\n|-|-|-|\n|Ann|123||\n|Bob||456|\n||789||\n")
    assert table.texts()[1:] == [["Ann", "123", ""], ["Bob", "", "456"], ["", "789", ""]]
    assert markdown_tables("| a | b |\n| --- | --- |\n| 1 ||\n")[0].texts()[1] == ["1", ""]


def test_headers_of_a_group_in_one_cell():
    text = "| Model | A || B ||\n||| F1@1 F1@5  || F1@1 F1@5  |\n| - | - | - | - | - |\n"
    text += "| x | 1 | 2 | 3 | 4 |\n|| 5 | 6 | 7 | 8 |\n"
    (table,) = markdown_tables(text)
    assert table.headers()[1:] == [("A", "F1@1"), ("A", "F1@5"), ("B", "F1@1"), ("B", "F1@5")]
    kept = text.replace("F1@1 F1@5", "Exact Match")  # two words of one header
    assert markdown_tables(kept)[0].headers()[2] == ("A", "Exact Match")


def test_wrapped_rows():
    text = """\
| Bird | Habit |
| - | - |
| Swift | It sleeps on the wing and comes to the |
|| ground only to nest. |
| Wren | It sings. |
|| Thrice |
"""
    (table,) = markdown_tables(text)
    assert table.texts() == [
        ["Bird", "Habit"],
        ["Swift", "It sleeps on the wing and comes to the ground only to nest."],
        ["Wren", "It sings."],
        ["Wren", "Thrice"],
    ]


HTML = """\
<p>Before</p>
<table class="x" data-y='<b>'>
<caption>Table 3: <b>Fees</b></caption>
<thead><tr><th rowspan="2">Kind</th><th colspan=2>Fee&nbsp;&amp; tax</th></tr>
<tr><th>new</th><th>old</th></tr></thead>
<tr><td>Boat<br>large</td><td><p>10</p><p>20</p></td><td></td></tr>
<tr><th scope="row">Raft</th><td colspan="0">7<!-- no --></td><td rowspan="99">5</td></tr>
</table>
After
"""


def test_html_with_attributes_spans_and_nested_markup():
    (table,) = markdown_tables(HTML)
    assert table.texts() == [
        ["Kind", "Fee & tax", "Fee & tax"],
        ["Kind", "new", "old"],
        ["Boat large", "10 20", ""],
        ["Raft", "7", "5"],
    ]
    assert (table.caption, table.header_rows, table.row_header_columns()) == ("Table 3: Fees", 2, 1)
    assert HTML[slice(*table.span)].startswith("<table class")
    assert HTML[slice(*table.span)].endswith("</table>")


@pytest.mark.parametrize(
    "source", ["<table><tr><td>a b</td><td>c</table>", "<table><tr><td>a b<td>c"]
)
def test_html_that_is_cut_off(source):
    (table,) = markdown_tables(source)
    assert table.texts() == [["a b", "c"]]


def test_raised_numbers():
    cells = ["5 × 10<sup>6</sup>", "12<sup>1</sup>", "s<sup>−1</sup>", "21<sup>st</sup>"]
    seen = ["5 × 10⁶", "12¹", "s⁻¹", "21st"]
    (table,) = markdown_tables(
        "\n".join(["| Value |", "| - |", *(f"| {text} |" for text in cells)])
    )
    assert [row[0] for row in table.texts()[1:]] == seen
    (table,) = markdown_tables(
        "<table>" + "".join(f"<tr><td>{text}</td></tr>" for text in cells) + "</table>"
    )
    assert [row[0] for row in table.texts()] == seen
    (table,) = markdown_tables("| Depth |\n| - |\n| 12 |\n\nTable 1: In 10<sup>3</sup> m.")
    assert table.caption == "Table 1: In 10³ m."


def test_the_name_of_a_tag_in_prose_begins_no_table():
    table = "<table>\n<!-- no --><tr><td>a</td></tr></table>"
    text = f"Write `<table>` or <table> before its rows.\n\n{table}\n\nAfter."
    (read,) = markdown_tables(text)
    assert read.texts() == [["a"]]
    assert text[slice(*read.span)] == table


def test_captions_after_and_before():
    grid = "| a | b |\n| - | - |\n| 1 | 2 |\n"
    text = (
        f"Table 1: First.\n\n{grid}\nProse between.\n\n{grid}\n**Table 2.** Second\nline\n\n"
        f"{grid}\nNo caption."
    )
    tables = markdown_tables(text)
    assert [table.caption for table in tables] == ["Table 1: First.", "Table 2. Second line", ""]
    assert text[slice(*tables[1].caption_span)] == "**Table 2.** Second\nline"


# The printed paper


def test_the_tables_of_the_printed_paper():
    tables = markdown_tables(printed_paper())
    assert [(table.row_count, table.column_count) for table in tables] == [
        (4, 2),
        (4, 3),
        (22, 14),
        (23, 14),
        (9, 3),
    ]
    assert [table.label for table in tables] == ["", "Table 1", "Table 2", "Table 3", "Table 4"]
    assert [table.header_rows for table in tables] == [0, 1, 2, 3, 1]
    assert [sum(1 for _ in table.rows()) for table in tables] == [3, 3, 18, 18, 4]
    wrapped = [cell.text for cell in tables[4].cells if cell.row == 6]
    assert wrapped[0].endswith("infection and blunt trauma, and lubricates the heart's movements.")
    assert wrapped[2].endswith("lubri- cates the heart.")


@pytest.mark.parametrize(
    ("number", "first_line"), [(2, "| SimCSE | Passage | 28.8"), (3, "| SimCSE | Passage | 8.1")]
)
def test_every_number_of_the_large_tables(number, first_line):
    text = printed_paper()
    table = markdown_tables(text)[number]
    lines = text[text.index(first_line) :].splitlines()
    printed = [numbers for line in lines if len(numbers := re.findall(r"\d+\.\d", line)) == 12][:18]
    assert [[cell.text for cell in row.cells[2:]] for row in table.rows()] == printed
    retrievers = ["SimCSE", "Contriever", "DPR", "ANCE", "TAS-B", "GTR"]
    kinds = ["Passage", "Sentence", "Proposition"]
    names = [tuple(cell.text for cell in row.cells[:2]) for row in table.rows()]
    assert names == [(retriever, kind) for retriever in retrievers for kind in kinds]
    groups = [row.description for row in table.rows()]
    assert groups == ["Unsupervised Dense Retrievers"] * 6 + ["Supervised Dense Retrievers"] * 12
    measures = ["R@5", "R@20"] if number == 2 else ["@100", "@500"]
    assert [levels[-1] for levels in table.headers()[2:]] == measures * 6


# Tables that would fill the memory


def test_spans_end_with_the_table():
    rows = "<tr><td rowspan=1000 colspan=1000>a" * 60
    (table,) = markdown_tables(f"<table>{rows}")
    assert (table.row_count, table.column_count) == (60, 60)
    assert [
        (cell.row, cell.column, cell.row_span, cell.column_span) for cell in table.cells[:2]
    ] == [
        (0, 0, 60, 1),
        (1, 1, 59, 1),
    ]
    (table,) = markdown_tables(
        "<table><thead><tr><th rowspan=9 colspan=9>a<th>b</thead><tr><td>1<td>2</table>"
    )
    assert table.texts() == [["a", "a", "b"], ["1", "2", ""]]


@pytest.mark.parametrize(
    "text",
    [
        "<table>" + "<tr><td rowspan=1000 colspan=1000>a" * 120,
        "<table><tr>" + "<td rowspan=1000>a" * 200 + "<tr>" * 900,
        "<table>" + "<tr><td rowspan=1000>a" * 5000,
        "|a" * 3000 + "\n" + "|-" * 3000 + "\n" + "|1\n" * 3000,
        "|a|b|\n| - | - |\n" + "|1\n" * 3000 + "|1" * 3000,
    ],
    ids=["both spans", "rows", "stairs", "short rows", "a long row"],
)
def test_grids_that_are_nearly_empty(text):
    def read(text):
        with pytest.raises(
            InvalidInputError, match="MOST_UNFILLED and MOST_UNFILLED_PER_CELL in factoid"
        ):
            markdown_tables(text)

    assert seconds(read, text) < 2


def test_a_long_row_in_a_short_table():
    (table,) = markdown_tables("|a|b|\n|-|-|\n|1|2|" + "3|" * 2000 + "\n")
    assert (table.row_count, table.column_count) == (2, 2002)


def test_html_that_is_nested_too_deep():
    for tag in ("<div>", "<b>", "<table><tr><td>"):
        with pytest.raises(
            InvalidInputError,
            match="the table in HTML at character 3 cannot be parsed: Excessive depth",
        ):
            markdown_tables(f"a\n\n<table><tr><td>{tag * 100_000}")


def test_characters_that_xml_cannot_hold():
    (table,) = markdown_tables("<table><tr><td>a\x00\x0c<sup>2\x01</sup>\ufffe</table>")
    assert table.texts() == [["a ²"]]


def test_numbers_of_spans_that_are_none():
    for span in ("9" * 5000, "-1", "", "x", "²", "0"):
        (table,) = markdown_tables(
            f"<table><tr><td colspan='{span}' rowspan='{span}'>a<td>b</table>"
        )
        assert table.texts() == [["a", "b"]]
