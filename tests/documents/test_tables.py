"""Tables as grids, as records, as data frames and as Markdown."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.documents.table_parsers import markdown_tables
from factoid.documents.tables import Cell, Table
from factoid.errors import MissingDependencyError
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
    assert (HARBOURS.header_rows, HARBOURS.row_header_columns(), HARBOURS.label) == (
        2,
        1,
        "Table 7",
    )


def test_records_carry_the_row_that_describes_them():
    assert HARBOURS.to_records() == [
        {
            "description": "North",
            "Harbour": "Narvik",
            "Ships / 2021": "1,204",
            "Ships / 2022": "1,310",
        },
        {"description": "South", "Harbour": "Genoa", "Ships / 2021": "6,001", "Ships / 2022": ""},
    ]


def test_a_data_frame_holds_numbers_as_numbers():
    pandas = pytest.importorskip("pandas")
    frame = HARBOURS.to_pandas()
    assert frame.columns.tolist() == ["description", "Harbour", "Ships / 2021", "Ships / 2022"]
    assert frame["Ships / 2021"].tolist() == [1204, 6001]
    assert frame["Ships / 2022"][0] == 1310
    assert pandas.isna(frame["Ships / 2022"][1])
    mixed = table_of([["A", "A", ""], ["x", "12¹", ""], ["y", "13", ""]]).to_pandas()
    assert mixed.to_dict("list") == {"A": ["x", "y"], "A (2)": ["12¹", "13"], "column 3": ["", ""]}
    assert table_of([], header_rows=0).to_pandas().empty


def test_a_data_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"factoid\[documents\]"):
        HARBOURS.to_pandas()


def test_overlapping_cells_and_a_table_without_cells():
    table = Table((Cell(0, 0, "a", column_span=2), Cell(0, 1, "b")), 1, 2)
    assert table.texts() == [["a", "a"]]
    empty = Table((), 2, 2)
    assert (empty.texts(), empty.to_records(), empty.headers()) == (
        [["", ""], ["", ""]],
        [],
        [(), ()],
    )
    assert (empty.row_header_columns(), list(empty.rows())) == (0, [])


words = st.text("abc xyz|\\*_<>&1.5", max_size=12).map(lambda text: " ".join(text.split()))
grids = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(words, min_size=width, max_size=width), min_size=2, max_size=5)
)


@given(
    grids.map(
        lambda rows: [
            [cell.translate({ord(c): "" for c in "\\*_<>&"}).strip() for cell in row]
            for row in rows
        ]
    )
)
def test_markdown_is_read_back(rows):
    rows = [[" ".join(cell.split()) for cell in row] for row in rows]
    rows[0] = [f"h{number} {cell}".strip() for number, cell in enumerate(rows[0])]
    (again,) = markdown_tables(table_of(rows).to_markdown())
    assert again.texts() == rows
