"""Tables that a page break cuts, tables in cells, ticked boxes in cells, and pictures within a
text.
"""

from __future__ import annotations

import pytest

from factoid.documents import LayoutDocument, clean, markdown_tables, read_markdown

pytest.importorskip("lxml")

BREAK = '\n\n<!-- PageFooter="Mills 2024" -->\n<!-- PageNumber="7" -->\n<!-- PageBreak -->\n\n'
HEAD = "<table><tr><th>Mill</th><th>Height</th></tr><tr><td>Old</td><td>12</td></tr></table>"
PIPES = "| Mill | Height |\n| - | - |\n| Old | 12 |"


def cleaned(content: str) -> LayoutDocument:
    return clean(read_markdown(content))


def facts(content: str) -> list[str]:
    texts = [document.text for document in cleaned(content).documents(["table"])]
    return "\n".join(texts).replace("\n\n", "\n").split("\n")


@pytest.mark.parametrize(
    "part",
    [
        "<table><tr><td>New</td><td>30</td></tr></table>",
        "<table><tr><th>Mill</th><th>Height</th></tr><tr><td>New</td><td>30</td></tr></table>",
        "| New | 30 |\n| - | - |",
        "| Mill | Height |\n| - | - |\n| New | 30 |",
    ],
)
@pytest.mark.parametrize("head", [HEAD, PIPES])
def test_a_table_goes_on_after_a_page_break(head, part):
    document = cleaned(head + BREAK + part)
    assert facts(head + BREAK + part) == ["Old has Height of 12.", "New has Height of 30."]
    (table,) = document.tables
    assert (table.pages, table.row_count, document.changes["continued_tables"]) == ((1, 2), 3, 2)


def test_a_table_goes_on_over_several_pages():
    part = "<table><tr><td>{}</td><td>{}</td></tr></table>"
    content = BREAK.join([HEAD, part.format("New", 30), part.format("Red", 9)])
    assert facts(content)[-1] == "Red has Height of 9."


@pytest.mark.parametrize(
    ("between", "part"),
    [
        (f"{BREAK}Another chapter.\n\n", "<table><tr><td>New</td><td>30</td></tr></table>"),
        ("\n\n", "<table><tr><td>New</td><td>30</td></tr></table>"),
        (BREAK, "<table><tr><td>New</td><td>30</td><td>A</td></tr></table>"),
        (
            BREAK,
            "<table><tr><th>Mill</th><th>Depth</th></tr><tr><td>New</td><td>30</td></tr></table>",
        ),
        (BREAK, "<table><caption>Table 3: Wells</caption><tr><td>New</td><td>30</td></tr></table>"),
    ],
)
def test_other_tables_stay_apart(between, part):
    assert len(cleaned(HEAD + between + part).tables) == 2


def test_a_table_in_a_cell_is_text_of_the_cell():
    inner = "<table><tr><td>red</td><td>blue</td></tr><tr><td>green</td></tr></table>"
    rows = f"<tr><th>Mill</th><th>Paint</th></tr><tr><td>Old</td><td>{inner}</td></tr><tr><td>New</td><td>none</td></tr>"
    (table,) = markdown_tables(f"<table>{rows}</table>\n\nText after it.")
    assert table.texts()[1:] == [["Old", "red blue green"], ["New", "none"]]
    assert cleaned(f"<table>{rows}</table>\n\nText after it.").text == "Text after it."


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("a<p>b</p>c", "a b c"),
        ("<ul><li>a</li><li>b</li></ul>", "a b"),
        ("a<br>b", "a b"),
        ("x<sup>2</sup>", "x²"),
        ("<script>a()</script>b", "b"),
        ('<img src="data:image/png;base64,AAAA" alt="a mill">', "a mill"),
        ('<input type="checkbox" checked> Yes <input type="checkbox"> No', "☒ Yes ☐ No"),
    ],
)
def test_texts_of_cells_in_html(cell, text):
    (table,) = markdown_tables(f"<table><tr><td>{cell}</td></tr></table>")
    assert table.texts() == [[text]]


@pytest.mark.parametrize(
    ("cell", "answer"),
    [
        ("☒ Yes ☐ No", "Yes"),
        (":unselected: Yes :selected: No", "No"),
        ("☒ Wind ☒ Water ☐ Steam", "Wind, Water"),
        ("☐ Yes ☐ No", "not selected"),
        ("☐ Open", "Open: not selected"),
        ("☑ Open", "Open"),
        ("☑", "selected"),
        (":unselected:", "not selected"),
        ("12 :selected:", "12"),
        (
            "The wheel turns :unselected: all day and all night",
            "The wheel turns all day and all night",
        ),
    ],
)
def test_boxes_in_cells_are_answers(cell, answer):
    content = f"| Mill | Drive |\n| - | - |\n| Old | {cell} |\n| New | Wind |"
    (table,) = cleaned(content).tables
    assert table.texts()[1][1] == answer


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("A ![mill](data:image/png;base64,iVBORw0KGgo=) B.", "A mill B."),
        ('A ![mill](<data:image/svg+xml;utf8,AAA> "t") B.', "A mill B."),
        ("A ![mill](data:image/png;base64,iVBORw0", "A mill"),
        ('A <img alt="mill" src="data:image/png;base64,iVBOR"/> B.', "A mill B."),
        ("A [mill][m] B.\n\n[m]: <data:image/png;base64,iVBORw0KGgo=>", "A [mill][m] B."),
        ("A ![mill](mill.png) B.", "A ![mill](mill.png) B."),
        (
            "Write `![a](data:image/png;base64,AA)` in it.",
            "Write `![a](data:image/png;base64,AA)` in it.",
        ),
    ],
)
def test_data_of_pictures_is_no_text(source, text):
    assert cleaned(source).text == text
