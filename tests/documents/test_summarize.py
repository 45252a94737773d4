"""Summaries of tables: one prompt a table, in order; a failure costs its own table."""

from __future__ import annotations

import asyncio
import json

import pytest

from factoid.documents import asummarize_tables, summarize_tables
from factoid.documents.summarize import PROMPT
from factoid.errors import InvalidInputError
from tests.documents.results import table_of

TABLES = [
    table_of([["Lake", "Depth"], [name, "9"]], caption=f"Table {number}: Depth of {name}")
    for number, name in enumerate("ABC", 1)
]


def number_of(prompt):
    return prompt.partition("Table ")[2][:1]


def test_strings_in_order_and_what_is_asked():
    asked = []

    def model(prompt):
        asked.append(prompt)
        return f"Depths,\n of {number_of(prompt)}. "

    report = summarize_tables(TABLES, model, max_concurrency=2)
    assert report.metadata() == {
        "table_count": 3,
        "table_summaries": [f"Depths, of {n}." for n in "123"],
    }
    assert str(report) == "3 tables → 3 summaries; 0 failed"
    prompt = next(prompt for prompt in asked if "Table 2" in prompt)
    assert prompt.startswith(PROMPT)
    assert "| Lake | Depth |\n| - | - |\n| B | 9 |\n\nTable 2: Depth of B" in prompt
    summarize_tables(TABLES[:1], model, prompt="In one word.")
    assert asked[-1].startswith("In one word.\n\nTable:")


async def test_a_failure_costs_its_own_table(caplog):
    def model(prompt):
        if number_of(prompt) == "2":
            raise ValueError("no")
        return {"1": "Depths of 1.", "3": None}[number_of(prompt)]

    async def amodel(prompt):
        return model(prompt)

    tables = [*TABLES, table_of([["", ""]])]
    report = summarize_tables(tables, model)
    assert report.metadata() == {
        "table_count": 4,
        "table_summaries": ["Depths of 1.", "", "", ""],
        "table_summary_failures": {
            "1": "the model raised ValueError",
            "2": "empty answer",
            "3": "empty answer",
        },
    }
    assert json.loads(json.dumps(report.metadata())) == report.metadata()
    assert (
        str(report)
        == "4 tables → 1 summaries; 3 failed (1 the model raised ValueError, 2 empty answer)"
    )
    assert await asummarize_tables(tables, amodel) == report
    assert caplog.messages == ["a table has no summary"] * 2


async def test_several_at_a_time_and_no_more():
    active = peak = 0

    async def model(prompt):
        nonlocal active, peak
        active += 1
        peak = max(peak, active)
        await asyncio.sleep(0.01)
        active -= 1
        return "x"

    await asummarize_tables(TABLES * 3, model, max_concurrency=4)
    assert peak == 4


def test_an_answer_that_is_no_string():
    with pytest.raises(InvalidInputError, match=r"must return a string, got int"):
        summarize_tables(TABLES, lambda prompt: 5)
