"""Row propositions: every value once, with its headers, as it is printed."""

from __future__ import annotations

import re

import pytest

from factoid.documents.table_parsers import markdown_tables
from factoid.documents.table_sentences import row_propositions
from factoid.documents.tables import Cell, Table
from tests.documents.results import table_of
from tests.documents.seeds import printed_paper
from tests.documents.test_tables import HARBOURS


def texts(table):
    return [proposition.text for proposition in row_propositions(table)]


def test_a_value_has_its_headers_and_its_evidence():
    assert texts(HARBOURS) == [
        "In Table 7, Narvik has 2021 of 1,204 for Ships.",
        "In Table 7, Narvik has 2022 of 1,310 for Ships.",
        "In Table 7, Genoa has 2021 of 6,001 for Ships.",
    ]
    first = row_propositions(HARBOURS)[0]
    assert (first.row, first.column, [cell.text for cell in first.cells]) == (
        3,
        1,
        ["1,204", "Narvik"],
    )


def test_averages_totals_and_rows_with_two_names():
    cells = [
        ["Model", "Size", "Recall", "Recall"],
        ["Model", "Size", "Avg.", "Total"],
        ["Owl", "Small", "1", "2"],
        ["Owl", "Large", "3", "4"],
    ]
    flipped = [["Model", "Size", "Avg.", "Total"], ["Model", "Size", "Recall", "Count"], *cells[2:]]
    assert texts(table_of(flipped, header_rows=2))[1:3] == [
        "Owl with Small size has Count of 2 in total.",
        "Owl with Large size has Recall of 3 on average.",
    ]


def test_rows_with_units_of_their_own_are_what_is_measured():
    sheet = [
        ["", "HX-200", "HX-300"],
        ["Output", "8 kW", "12 kW"],
        ["Weight", "59 kg", "64 kg"],
        ["Doors", "1", "2"],
    ]
    assert texts(table_of(sheet))[::2] == [
        "HX-200 has Output of 8 kW.",
        "HX-200 has Weight of 59 kg.",
        "HX-200 has Doors of 1.",
    ]
    turned = [list(column) for column in zip(*sheet, strict=True)]
    assert texts(table_of(turned))[:2] == [
        "HX-200 has Output of 8 kW.",
        "HX-200 has Weight of 59 kg.",
    ]


def test_tables_without_headers_names_or_caption():
    form = table_of([["Name: Ada", "Born: 1815"], ["Town: London", ":selected:"]], header_rows=0)
    assert texts(form) == ["Name: Ada.", "Born: 1815.", "Town: London.", "selected."]
    long = "It has a sentence of more than eight words in it."
    table = table_of(
        [["Question", "Answer"], ["Why does it rain on the coast", long]],
        caption="Weather of the coast.",
    )
    assert texts(table) == [
        f"In the table “Weather of the coast”, Why does it rain on the coast, Answer: {long}"
    ]


def test_a_merged_value_is_said_once_and_an_empty_one_not_at_all():
    cells = (
        *table_of([["a", "b", "c"], ["x", "", ""]]).cells[:3],
        Cell(1, 0, "x"),
        Cell(1, 1, "1", column_span=2),
    )
    assert texts(Table(cells, 2, 3)) == ["x has b of 1."]
    assert texts(Table((), 3, 3)) == texts(Table((), 0, 0)) == []


@pytest.mark.parametrize("mark", ["—", "n/a"])
def test_a_mark_for_an_empty_cell_is_no_value(mark):
    table = [["Gauge", "2022", "2023"], ["P7", "3.1", mark], ["P8", mark, mark]]
    assert texts(table_of(table)) == ["P7 has 2022 of 3.1.", "Gauge: P8."]


def test_a_row_with_a_name_and_no_values_is_a_row():
    (table,) = markdown_tables(
        "| Item | Price | Stock |\n| - | - | - |\n| Lamp | | |\n| Sofa | 400 | 2 |\n"
    )
    assert [record["Item"] for record in table.to_records()] == ["Lamp", "Sofa"]
    assert texts(table) == ["Item: Lamp.", "Sofa has Price of 400.", "Sofa has Stock of 2."]


def test_a_first_column_without_a_header_names_rows():
    groups = "| | Sales |\n| - | - |\n| Germany ||\n| 2020 | 3 |\n| 2021 | 4 |\n| France ||\n| 2020 | 5 |\n"
    (table,) = markdown_tables(groups)
    assert texts(table) == [
        "Under “Germany”, 2020 has Sales of 3.",
        "Under “Germany”, 2021 has Sales of 4.",
        "Under “France”, 2020 has Sales of 5.",
    ]


def test_every_sentence_of_an_invoice_names_its_row():
    lines = (
        "| 1 | Chair | 2 | 20 |\n| 2 | Desk | 1 | 90 |\n| | | Subtotal | 110 |\n| | | VAT | 22 |\n"
    )
    (table,) = markdown_tables(f"| No. | Item | Qty | Amount |\n| - | - | - | - |\n{lines}")
    assert texts(table) == [
        "Chair with 1 No. has Qty of 2.",
        "Chair with 1 No. has Amount of 20.",
        "Desk with 2 No. has Qty of 1.",
        "Desk with 2 No. has Amount of 90.",
        "Subtotal has Amount of 110.",
        "VAT has Amount of 22.",
    ]


# The printed paper


@pytest.mark.parametrize("number", [1, 2, 3])
def test_every_numeric_cell_is_one_sentence(number):
    table = markdown_tables(printed_paper())[number]
    propositions = row_propositions(table)
    grid = table.texts()
    names = 1 if number == 1 else 2
    places = {
        (row, column)
        for row in range(table.header_rows, table.row_count)
        for column in range(names, table.column_count)
    }
    places = {place for place in places if re.fullmatch(r"[\d,.]+", grid[place[0]][place[1]])}
    assert len(places) == {1: 6, 2: 216, 3: 216}[number]
    assert {(proposition.row, proposition.column) for proposition in propositions} == places
    assert len({proposition.text for proposition in propositions}) == len(places)
    for proposition in propositions:
        row, column = proposition.row, proposition.column
        assert f" of {grid[row][column]}" in proposition.text
        assert proposition.text.startswith(f"In Table {number}, {grid[row][0]} ")
        headers = [header.replace("Avg.", "average") for header in table.headers()[column]]
        assert all(header in proposition.text for header in headers)
        assert names == 1 or f" with {grid[row][1]} granularity " in proposition.text


def test_what_sentences_repeat_is_cut():
    header, caption, name, value = ("h " * 5000, "Prices " * 5000, "n " * 5000, "v " * 5000)
    rows = [
        ["Name", header],
        *([name + str(number), str(number)] for number in range(9)),
        ["Last", value],
    ]
    propositions = row_propositions(table_of(rows, caption=caption))
    assert len(propositions) == 10
    assert all(len(proposition.text) < 1000 for proposition in propositions[:-1])
    assert value.strip() in propositions[-1].text


def test_a_text_that_spans_rows_is_whole_once():
    text = "t " * 5000
    cells = (Cell(0, 0, text, row_span=50), *(Cell(row, 1, str(row)) for row in range(50)))
    table = Table(cells, 50, 2)
    assert len(table.to_markdown()) < 2 * len(text) + 50 * 300
    lengths = [len(proposition.text) for proposition in row_propositions(table)]
    assert max(lengths) < 500
