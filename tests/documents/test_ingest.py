"""Clean documents in a store: rows as propositions, summaries that lead to their table, pages of
loaders.
"""

from __future__ import annotations

import pytest

from factoid import UnitStore
from factoid.documents import (
    Region,
    SummaryReport,
    aadd_layout,
    add_layout,
    clean,
    read_markdown,
    regions,
    summarize_tables,
)
from factoid.documents.read import read_loaded
from factoid.errors import InvalidInputError
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder, ScriptedPropositionizer
from factoid.units import Granularity

TEXT = """\
# Wells of Norr

The wells lie east of the town.

| Well | Depth (m) | Dug |
| - | - | - |
| Old well | 31 | 1870 |
| New well | 54 | 1988 |

Table 1: Depth of the wells, measured from the avg. level of the square.

A third well is planned.
"""
SUMMARY = "Of two wells the deepest goes far below the square."
REPORT = SummaryReport((SUMMARY,))


@pytest.fixture
def document():
    return clean(read_markdown(TEXT))


@pytest.fixture
def store():
    with UnitStore(encoder=HashEncoder(), granularities=GRANULARITIES) as made:
        yield made


def test_rows_are_propositions_and_no_model_sees_tables_or_summaries(store, document):
    script = ScriptedPropositionizer(lambda passage: [passage.text])
    added = add_layout(
        store, document, summaries=REPORT, propositionizer=script, metadata={"source": "wells.pdf"}
    )
    asked = [passage for call in script.calls for passage in call]
    assert not any("31" in passage.text or "deepest" in passage.text for passage in asked)
    assert asked
    hits = store.search(
        "In Table 1, New well has Depth (m) of 54", k=1, parents="unit", granularity="proposition"
    )
    assert hits[0].unit.text == "In Table 1, New well has Depth (m) of 54."
    assert hits[0].unit.metadata["kind"] == "table"
    assert hits[0].unit.metadata["source"] == "wells.pdf"
    rows = store.search(
        "well", k=50, parents="unit", granularity="proposition", filter={"kind": "table"}
    )
    assert len(rows) == 5
    assert added.units[Granularity.PROPOSITION] == len(
        store.search("x", k=50, parents="unit", granularity="proposition")
    )
    assert added.decomposition.failures == {}


@pytest.mark.parametrize("parents", ["passage", "document"])
def test_a_summary_leads_to_its_table(store, document, parents):
    add_layout(store, document, summaries=REPORT, words=40, min_words=0)
    (hit,) = store.search(SUMMARY, k=1, parents=parents, granularity="proposition")
    assert "Table 1: Depth of the wells" in hit.unit.text
    assert SUMMARY not in hit.unit.text
    assert hit.unit.metadata["kind"] == "table"
    assert (parents == "document") == ("In Table 1, New well has Dug of 1988." in hit.unit.text)
    (match,) = (part.unit for part in hit.matches if part.unit.text == SUMMARY)
    assert match.metadata["kind"] == "table summary"
    assert store.verify() == []


async def test_adding_again_changes_nothing_and_a_deleted_table_takes_its_summary(store, document):
    add_layout(store, document, summaries=REPORT)
    count = len(store)
    again = await aadd_layout(store, document, summaries=REPORT)
    assert (again.documents, len(store)) == (0, count)
    (table,) = document.documents(["table"])
    store.delete([table.id])
    hits = store.search(SUMMARY, k=50, parents="unit", granularity="proposition")
    assert hits
    assert all(hit.unit.text != SUMMARY for hit in hits)


def test_summaries_as_documents(document):
    parts = document.documents(summaries=REPORT, metadata={"source": "a"})
    assert [part.metadata["kind"] for part in parts] == ["text", "table", "table summary"]
    table, summary = parts[1:]
    assert (summary.text, summary.section, summary.metadata["table_id"]) == (
        SUMMARY,
        table.section,
        table.id,
    )
    assert summary.metadata["source"] == "a"
    failed = summarize_tables(document.tables, lambda prompt: "")
    assert len(document.documents(summaries=failed)) == 2
    with pytest.raises(InvalidInputError, match=r"got 0 summaries for 1 tables"):
        document.documents(summaries=SummaryReport(()))


# What loaders give


@pytest.mark.parametrize("first", [0, 1])
def test_pages_of_loaders_become_one_document(store, first):
    pages = [
        ("The mill was built by the", {"page": first, "source": "a"}),
        ("town in 1802. It turns.", {"page": first + 1, "source": "a"}),
        ("Other.", {"page": first + 1, "source": "b"}),
        ("Bare *text*.", {"x": 1}),
        ("Third.", {"page": 3}),
    ]
    loaded = read_loaded(pages)
    assert [(part.metadata, part.position) for part in loaded] == [
        ({"source": "a"}, 0),
        ({"source": "b"}, 2),
        ({"x": 1}, 3),
        ({}, 4),
    ]
    assert "The mill was built by the town in 1802." in loaded[0].document.text
    store.add_documents(loaded[0].document.documents())
    for text, expected in (("built by the", [1, 2]), ("It turns", [2])):
        (hit,) = store.search(text, k=1, granularity="sentence", parents="unit")
        assert regions(hit.unit) == [Region(page, ()) for page in expected]
    assert read_loaded([]) == []
