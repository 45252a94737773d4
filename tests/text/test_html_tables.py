"""Tables of HTML as rows with the names of their columns."""

from __future__ import annotations

import pytest

from factoid.text.html import html_blocks

AZURE = """<table>
<caption>Table 2: Fees</caption>
<tr>
<th rowspan="2">Region</th>
<th colspan="2">Fee</th>
</tr>
<tr>
<th>2023</th>
<th>2024</th>
</tr>
<tr>
<td rowspan="2">North</td>
<td>10 &euro;</td>
<td>:selected: 12 &euro;</td>
</tr>
<tr>
<td>20 €</td>
<td></td>
</tr>
<!-- PageBreak -->
<tr>
<td>South</td>
<td colspan="2">none</td>
</tr>
<tr>
<td colspan="3">Fees are due in May.</td>
</tr>
</table>"""


def read(source):
    return html_blocks(source, 0, len(source))


def texts(source):
    return [block.visible.text for block in read(source)]


def rows(source):
    """Return each row as its cells by the names of their columns."""
    found = []
    for block in read(source):
        assert block.kind == "row"
        cells = [block.visible.text[start:end] for start, end in block.cells]
        assert block.visible.text == " | ".join(cells).strip()
        found.append(dict(zip(block.names, cells, strict=True)) if block.names else cells)
    return found


def test_a_table_of_document_intelligence():
    caption, *table = read(AZURE)
    assert (caption.kind, caption.visible.text) == ("paragraph", "Table 2: Fees")
    assert [row.is_header for row in table] == [True, True, False, False, False, False]
    assert all([lead.text for lead in row.leads] == ["Table 2: Fees"] for row in table)
    assert [(row.visible.text, row.names) for row in table] == [
        ("Region | Fee", ()),
        ("2023 | 2024", ()),
        ("North | 10 € | :selected: 12 €", ("Region", "Fee 2023", "Fee 2024")),
        ("North | 20 € |", ("Region", "Fee 2023", "Fee 2024")),
        ("South | none", ("Region", "Fee 2023, Fee 2024")),
        ("Fees are due in May.", ()),
    ]
    north = table[3]
    assert AZURE[north.start : north.end] == "20 €"
    assert set(north.visible.offsets[:8]) == {north.start}  # what is repeated stands at the start


def test_names_of_columns():
    assert rows("<table><tr><th>Name<th>Age<tr><td>Bo<td>5<tr><td>Al<td>6</table>")[1:] == [
        {"Name": "Bo", "Age": "5"},
        {"Name": "Al", "Age": "6"},
    ]
    assert rows("<table><thead><tr><td>Name<td>Age</thead><tbody><tr><td>Bo<td>5</table>")[1] == {
        "Name": "Bo",
        "Age": "5",
    }
    assert rows("<table><tr><td><b>Name</b><td><strong>Age</strong><tr><td>Bo<td>5</table>")[1] == {
        "Name": "Bo",
        "Age": "5",
    }


def test_names_of_rows_are_cells():
    source = "<table><tr><td><th>May<th>June<tr><th scope=row>Rent<td>1<td>2<tr><th>Heat<td>3<td></table>"
    _, rent, heat = read(source)
    assert (rent.visible.text, rent.names) == ("Rent | 1 | 2", ("", "May", "June"))
    assert (heat.visible.text, heat.names, heat.is_header) == (
        "Heat | 3 |",
        ("", "May", "June"),
        False,
    )


def test_a_table_without_a_header():
    assert rows("<table><tr><th>Rent<td>1<tr><th>Heat<td>2</table>") == [
        ["Rent", "1"],
        ["Heat", "2"],
    ]
    assert rows("<table><tr><td>a<td>b<tr><td>c<td>d</table>") == [["a", "b"], ["c", "d"]]
    assert rows("<table><tr><td><b>a</b><td><b>b</b><tr><td><b>c</b><td><b>d</b></table>") == [
        ["a", "b"],
        ["c", "d"],
    ]
    assert not any(block.is_header for block in read("<table><tr><td><b>a</b><td><b>b</b></table>"))


def test_a_title_and_labels_lead_to_the_rows_below():
    source = (
        "<table><tr><th colspan=2>Fees</th><tr><th>What<th>Price<tr><td>Rent<td>1"
        "<tr><th colspan=2>Later<tr><td>Heat<td>2<tr><th>Sum<th>3</table>"
    )
    found = [
        (block.visible.text, block.names, [lead.text for lead in block.leads])
        for block in read(source)
    ]
    names = ("What", "Price")
    assert found == [
        ("Fees", (), []),
        ("What | Price", (), ["Fees"]),
        ("Rent | 1", names, ["Fees"]),
        ("Later", (), []),
        ("Heat | 2", names, ["Later"]),
        ("Sum | 3", names, ["Later"]),
    ]


def test_a_second_header():
    source = "<table><tr><th>A<th>B<tr><td>1<td>2<tr><th>C<th>D<tr><td>3<td>4</table>"
    assert rows(source)[1::2] == [{"A": "1", "B": "2"}, {"C": "3", "D": "4"}]


def test_cells_across_columns_and_rows():
    source = "<table><tr><th>A<th>B<th>C<tr><td rowspan=3>a<td colspan=2>b<tr><td>c<td rowspan=0>d<tr><td>e</table>"
    assert rows(source)[1:] == [
        {"A": "a", "B, C": "b"},
        {"A": "a", "B": "c", "C": "d"},
        {"A": "a", "B": "e", "C": "d"},
    ]
    long = "word " * 60
    source = f"<table><tr><th>A<th>B<tr><td rowspan=2>{long}<td>b<tr><td>c</table>"
    assert rows(source)[2] == {"B": "c"}  # a long text is not said again


@pytest.mark.parametrize(
    "source",
    [
        "<table role=presentation><tr><td>one<td>two</table>",
        "<table><tr><td>one<tr><td>two</table>",
        "<table><tr><td><p>one<p>two</table>",
        "<div><td>one<p>two</div>",
    ],
)
def test_a_table_for_the_layout(source):
    assert [(block.kind, block.visible.text) for block in read(source)] == [
        ("paragraph", "one"),
        ("paragraph", "two"),
    ]


def test_a_layout_with_headings_and_a_table_in_it():
    source = "<table><tr><td><h2>Fees</h2><td><table><tr><th>A<th>B<tr><td>1<td>2</table></table>"
    assert [(block.kind, block.visible.text) for block in read(source)] == [
        ("heading", "Fees"),
        ("row", "A | B"),
        ("row", "1 | 2"),
    ]


def test_what_is_in_cells():
    source = (
        "<table><tr><th>A<th>B<tr><td><ul><li>x<li>y</ul><td>one<p>two <code>f(). G</code>"
        "<tr><td><table><tr><td>n<td>m</table><td><input type=checkbox checked>"
        "<tr><td><b>open<td>closed</table>"
    )
    _, first, second, third = read(source)
    assert first.visible.text == "x\ny | one\ntwo f(). G"
    assert [first.visible.text[start:end] for start, end in first.visible.protected] == ["f(). G"]
    assert second.visible.text == "n | m | ☒"
    assert [second.visible.text[start:end] for start, end in second.cells] == ["n | m", "☒"]
    assert (third.visible.text, third.visible.is_strong) == ("open | closed", False)


def test_empty_rows_and_cells():
    assert rows("<table><tr><th>A<th>B<tr><td><td>b<tr><td><td><tr></tr><tr><td>a<td></table>")[
        1:
    ] == [
        {"A": "", "B": "b"},
        {"A": "a", "B": ""},
    ]
    (block,) = read("<table><tr><td><td> b</table>")
    assert block.cells == ((0, 0), (2, 3))
    assert texts("<table></table><table><tr><td></td></tr></table>") == []


def test_text_between_rows_is_kept():
    assert texts("<table>x<tr><td>a<td>b</tr>y<tr><td>c</td>z<td>d</table>") == [
        "x",
        "a | b",
        "y",
        "c\nz | d",
    ]
    assert texts("<tr><td>a<td>b</tr>\nafter <b>it</b>") == ["a | b", "after it"]


def test_wide_cells_of_a_hostile_table_stay_cheap():
    row = "<tr>" + "<td rowspan=1000 colspan=1000>a" * 20
    source = f"<table><tr><th>A<th>B{row * 60}</table>"
    found = read(source)
    assert sum(len(block.visible.text) for block in found) < 20 * len(source)
    assert len(found) == 61


def test_hidden_cells_and_rows():
    assert rows(
        "<table><tr><td>a<td hidden>no<td>b<tr hidden><td>no<tr><td>c<td><button>no<td>d</table>"
    ) == [
        ["a", "b"],
        ["c", "", "d"],
    ]
