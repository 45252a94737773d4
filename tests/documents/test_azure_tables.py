"""Cell grids of all versions of the services, against the results' own JSON."""

from __future__ import annotations

import pytest

from factoid.documents import clean, read_layout
from factoid.errors import InvalidInputError
from tests.documents.seeds import samples


def raw_tables(node):
    """Yield every object with cells, and the grid of texts that they spell out."""
    if isinstance(node, dict):
        if "cells" in node:
            grid = {}
            for cell in node["cells"]:
                row, column = (
                    cell.get(f"{name}Index", cell.get(f"{name}_index"))
                    for name in ("row", "column")
                )
                for down in range(cell.get("rowSpan") or cell.get("row_span") or 1):
                    for right in range(cell.get("columnSpan") or cell.get("column_span") or 1):
                        grid[row + down, column + right] = cell.get("content", cell.get("text"))
            yield grid
        for value in node.values():
            yield from raw_tables(value)
    elif isinstance(node, list):
        for value in node:
            yield from raw_tables(value)


def test_the_samples_of_all_versions():
    sizes = {}
    for name, result in samples().items():
        tables = read_layout(result).tables
        sizes[name] = [(table.row_count, table.column_count, table.pages) for table in tables]
        grids = list(raw_tables(result))
        assert len(tables) == len(grids)
        for table, grid in zip(tables, grids, strict=True):
            texts = table.texts()
            assert {(row, column): texts[row][column] for row, column in grid} == grid
            assert all(len(cell.regions[0].rectangle) == 4 for cell in table.cells)
    assert sizes == {
        "azure_sample_pdf_1.json": [(5, 4, (1,))],
        "form_sample_1.pdf.ocr.json": [(7, 2, (1,)), (9, 12, (2,)), (3, 13, (2,)), (9, 3, (2,))],
        "policy_driver_1.pdf.result.json": [(7, 4, (1,))],
        "sample-layout-output.json": [(5, 3, (1,))],
    }


CELL = {"rowIndex": 0, "columnIndex": 0, "content": "x", "kind": "columnHeader"}
TABLE = {"rowCount": 1, "columnCount": 1, "cells": [CELL]}


def read_tables(*tables):
    return read_layout(
        {
            "content": "😀😀 Table 1",
            "stringIndexType": "utf16CodeUnit",
            "pages": [],
            "tables": tables,
        }
    ).tables


def test_captions_footnotes_and_kinds():
    notes = {
        "caption": {"content": "Table 1", "spans": [{"offset": 5, "length": 7}]},
        "footnotes": [{"content": "a"}],
    }
    (table,) = read_tables(TABLE | notes)
    assert (table.caption, table.caption_span, table.footnotes) == ("Table 1", (3, 10), ("a",))
    document = clean(
        read_layout(
            {"content": "", "pages": [], "tables": [TABLE | {"footnotes": [{"content": "A ﬁg."}]}]}
        )
    )
    assert document.documents()[0].text == "A fig."
    assert table.cells[0].kind == "columnHeader"


def test_a_grid_that_is_too_small_grows_and_one_without_cells_is_empty():
    (table,) = read_tables({**TABLE, "cells": [{**CELL, "rowIndex": 4, "columnSpan": 2}]})
    assert (table.row_count, table.column_count) == (5, 2)
    assert read_tables({"rowCount": 2, "columnCount": 3})[0].texts() == [[""] * 3] * 2
    assert read_tables() == read_layout({"content": "", "pages": [], "tables": None}).tables == ()


@pytest.mark.parametrize(
    "damage",
    [
        {"rowCount": None},
        {"cells": [None]},
        {"cells": [{**CELL, "content": 5}]},
        {"cells": [{**CELL, "rowSpan": -1}]},
        {"spans": [{"length": 1}]},
        {"boundingRegions": [{"polygon": [1] * 8}]},
        {"spans": [{"offset": 9, "length": -9}]},
    ],
)
def test_damaged_tables(damage):
    with pytest.raises(InvalidInputError, match="the layout is damaged"):
        read_tables(TABLE, TABLE | damage)


@pytest.mark.parametrize(
    "damage",
    [
        {"rowCount": 10**9, "columnCount": 10**9},
        {"rowCount": 10_000, "columnCount": 1},
        {"cells": [{**CELL, "rowSpan": 10**4}]},
        {"cells": [{**CELL, "rowSpan": 100, "columnSpan": 10}] * 20},
    ],
)
def test_grids_that_are_nearly_empty(damage):
    with pytest.raises(InvalidInputError, match=r"at most 5,.*MOST_UNFILLED"):
        read_tables(TABLE | damage)


def test_paragraphs_that_overlap_without_end():
    spans = [{"offset": 0, "length": 10}]
    result = {"content": "Olms sing.", "pages": [], "paragraphs": [{"spans": spans}] * 20}
    with pytest.raises(
        InvalidInputError, match=r"the layout is damaged.*hold 200 characters of a content of 10"
    ):
        read_layout(result)
    assert read_layout(result | {"paragraphs": [{"spans": spans}] * 3}).elements
