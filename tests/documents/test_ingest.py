"""Clean documents in a store: rows as propositions, summaries that lead to their table, boxes of what was found."""

from __future__ import annotations

import pytest

from factoid import UnitStore
from factoid.documents import clean, read_markdown
from factoid.documents.ingest import aadd_layout, add_layout, summary_documents
from factoid.documents.read import read_loaded
from factoid.documents.summarize import TableSummarizer
from factoid.errors import InvalidInputError
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


def summarize(prompt):
    assert "| Old well | 31 | 1870 |" in prompt
    return SUMMARY


@pytest.fixture
def document():
    return clean(read_markdown(TEXT))


@pytest.fixture
def store():
    with UnitStore(encoder=HashEncoder()) as made:
        yield made


def test_rows_are_propositions_and_no_model_sees_tables_or_summaries(store, document):
    script = ScriptedPropositionizer(lambda passage: [passage.text])
    report = TableSummarizer(summarize).summarize(document.tables)
    added = add_layout(store, document, summaries=report, propositionizer=script, metadata={"source": "wells.pdf"})
    asked = [passage for call in script.calls for passage in call]
    assert not any("31" in passage.text or "deepest" in passage.text for passage in asked)
    assert asked
    hits = store.search("In Table 1, New well has Depth (m) of 54", k=1, parents="unit", granularity="proposition")
    assert hits[0].unit.text == "In Table 1, New well has Depth (m) of 54."
    assert hits[0].unit.metadata["kind"] == "table"
    assert hits[0].unit.metadata["source"] == "wells.pdf"
    rows = store.search("well", k=50, parents="unit", granularity="proposition", filter={"kind": "table"})
    assert len(rows) == 5
    assert added.units[Granularity.PROPOSITION] == len(
        store.search("x", k=50, parents="unit", granularity="proposition")
    )
    assert added.decomposition.failures == {}


async def test_references_are_left_out_by_default(store):
    document = clean(read_markdown(TEXT + "\n## References\n\nBerg, K. Wells of Norr. Oslo, 1998.\n"))
    add_layout(store, document)
    await aadd_layout(store, document)
    assert store.search("Berg", k=9, filter={"kind": "reference"}) == []
    add_layout(store, document, kinds=["reference"])
    assert len(store.search("Berg", k=9, filter={"kind": "reference"})) == 1


@pytest.mark.parametrize("parents", ["passage", "document"])
def test_a_summary_leads_to_its_table(store, document, parents):
    add_layout(store, document, summaries=TableSummarizer(summarize).summarize(document.tables))
    (hit,) = store.search(SUMMARY, k=1, parents=parents, granularity="proposition")
    assert "Table 1: Depth of the wells" in hit.unit.text
    assert SUMMARY not in hit.unit.text
    assert hit.unit.metadata["kind"] == "table"
    assert (parents == "document") == ("In Table 1, New well has Dug of 1988." in hit.unit.text)
    (match,) = (part.unit for part in hit.matches if part.unit.text == SUMMARY)
    assert match.metadata["generated_by"].startswith("summarize@")
    assert match.metadata["kind"] == "table summary"
    assert store.verify() == []


def test_adding_again_changes_nothing_and_a_deleted_table_takes_its_summary(store, document):
    report = TableSummarizer(summarize).summarize(document.tables)
    add_layout(store, document, summaries=report)
    count = len(store)
    again = add_layout(store, document, summaries=report)
    assert (again.documents, len(store)) == (0, count)
    (table,) = document.documents(["table"])
    assert store.delete([table.id]) == len(table.text.splitlines()) - 2 + 3 + 5 + 1
    hits = store.search(SUMMARY, k=50, parents="unit", granularity="proposition")
    assert all(hit.unit.text != SUMMARY for hit in hits)


async def test_async(store, document):
    report = await TableSummarizer(summarize).asummarize(document.tables)
    added = await aadd_layout(store, document, summaries=report)
    with UnitStore(encoder=HashEncoder()) as other:
        assert added == add_layout(other, document, summaries=report)
        assert store.counts() == other.counts()


def test_summaries_as_documents(document):
    (table,) = document.documents(["table"])
    report = TableSummarizer(summarize).summarize(document.tables)
    (summary,) = summary_documents(document, report, [table])
    assert (summary.text, summary.metadata["table_id"], summary.section) == (SUMMARY, table.id, table.section)
    failed = TableSummarizer(lambda prompt: "").summarize(document.tables)
    assert summary_documents(document, failed, [table]) == []
    with pytest.raises(InvalidInputError, match=r"got 0 summaries for 1 tables"):
        summary_documents(document, TableSummarizer(summarize).summarize([]), [table])


# What loaders give


def test_pages_of_loaders_become_one_document():
    pages = [("The mill was built by the", {"page": n, "source": "a"}) for n in (0,)]
    pages += [("town in 1802.", {"page": 1, "source": "a"}), ("Other.", {"page": 1, "source": "b"})]
    pages += [("Bare *text*.", {"x": 1}), ("Third.", {"page_label": "3"}), ("Fourth.", {"page_label": "4"})]
    loaded = read_loaded(pages)
    assert [(part.metadata, part.position) for part in loaded] == [
        ({"source": "a"}, 0),
        ({"source": "b"}, 2),
        ({"x": 1}, 3),
        ({}, 4),
    ]
    assert [[page.number for page in part.document.layout.pages] for part in loaded] == [[1, 2], [1], [], [3, 4]]
    first = loaded[0].document
    assert "The mill was built by the town in 1802." in first.text
    assert [region.page for region in first.locate(0, len(first.text))] == [1, 2]
    assert read_loaded([]) == []
