"""Tables as grids, as records, as data frames, as Markdown and HTML."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.documents.table_parsers import html_table, markdown_tables
from factoid.documents.tables import Cell, Table
from factoid.errors import InvalidInputError, MissingDependencyError
from tests.documents.results import table_of

HARBOURS = Table(
    (
        Cell(0, 0, "Harbour", row_span=2, kind="columnHeader"),
        Cell(0, 1, "Ships", column_span=2, kind="columnHeader"),
        Cell(1, 1, "2021", kind="columnHeader"),
        Cell(1, 2, "2022", kind="columnHeader"),
        Cell(2, 0, "North", column_span=3),
        Cell(3, 0, "Narvik"),
        Cell(3, 1, "1,204"),
        Cell(3, 2, "1,310"),
        Cell(4, 0, "South", column_span=3),
        Cell(5, 0, "Genoa"),
        Cell(5, 1, "6,001"),
    ),
    6,
    3,
    "Table 7. Ships that called",
)


def test_merged_cells_stand_at_every_position():
    assert HARBOURS.texts()[:2] == [["Harbour", "Ships", "Ships"], ["Harbour", "2021", "2022"]]
    assert HARBOURS.headers() == [("Harbour",), ("Ships", "2021"), ("Ships", "2022")]
    assert (HARBOURS.header_rows, HARBOURS.row_header_columns(), HARBOURS.label) == (2, 1, "Table 7")


def test_records_carry_the_row_that_describes_them():
    assert HARBOURS.to_records() == [
        {"description": "North", "Harbour": "Narvik", "Ships / 2021": "1,204", "Ships / 2022": "1,310"},
        {"description": "South", "Harbour": "Genoa", "Ships / 2021": "6,001", "Ships / 2022": ""},
    ]


def test_a_data_frame_has_levels_of_columns_and_numbers():
    pandas = pytest.importorskip("pandas")
    frame = HARBOURS.to_pandas()
    assert frame.columns.tolist() == [("description", ""), ("Harbour", ""), ("Ships", "2021"), ("Ships", "2022")]
    assert frame["Ships", "2021"].tolist() == [1204, 6001]
    assert frame["Ships", "2022"][0] == 1310
    assert pandas.isna(frame["Ships", "2022"][1])
    flat = table_of([["A", "A", ""], ["x", "1", "y"]]).to_pandas()
    assert flat.columns.tolist() == ["A", "A (2)", "column 3"]
    assert flat.iloc[0].tolist() == ["x", 1, "y"]
    assert table_of([], header_rows=0).to_pandas().empty


def test_a_data_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"factoid\[documents\]"):
        HARBOURS.to_pandas()


@pytest.mark.parametrize(
    "cell", [Cell(0, 2, "x"), Cell(1, 0, "x"), Cell(0, 0, "x", column_span=3), Cell(-1, 0, "x"), Cell(0, 0, "x", 0)]
)
def test_a_cell_out_of_the_grid(cell):
    with pytest.raises(InvalidInputError, match=r"row and column|extends beyond"):
        Table((cell,), 1, 2)


def test_overlapping_cells_and_a_table_without_cells():
    table = Table((Cell(0, 0, "a", column_span=2), Cell(0, 1, "b")), 1, 2)
    assert table.texts() == [["a", "a"]]
    empty = Table((), 2, 2)
    assert (empty.texts(), empty.to_records(), empty.headers()) == ([["", ""], ["", ""]], [], [(), ()])
    assert (empty.row_header_columns(), list(empty.rows())) == (0, [])


def test_html_is_escaped():
    table = table_of([["<script>alert(1)</script>", 'a"b']], header_rows=0, caption="<img src=x onerror=y>")
    assert "<script" not in table.to_html()
    assert "<img" not in table.to_html()
    assert html_table(table.to_html()).texts() == table.texts()


words = st.text("abc xyz|\\*_<>&1.5", max_size=12).map(lambda text: " ".join(text.split()))
grids = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(words, min_size=width, max_size=width), min_size=2, max_size=5)
)


@given(grids)
def test_html_holds_every_text_and_merged_cell(rows):
    table = table_of(rows)
    again = html_table(table.to_html())
    assert again.texts() == table.texts()
    assert html_table(HARBOURS.to_html()).texts() == HARBOURS.texts()


@given(
    grids.map(lambda rows: [[cell.translate({ord(c): "" for c in "\\*_<>&"}).strip() for cell in row] for row in rows])
)
def test_markdown_is_read_back(rows):
    rows = [[" ".join(cell.split()) for cell in row] for row in rows]
    rows[0] = [f"h{number} {cell}".strip() for number, cell in enumerate(rows[0])]
    (again,) = markdown_tables(table_of(rows).to_markdown())
    assert again.texts() == rows
