"""Input that nobody wants, from text to search: a correct result or one clear error, in little
time.
"""

from __future__ import annotations

import pytest

from factoid import Document, Granularity, UnitStore
from factoid.testing import HashEncoder, ScriptedPropositionizer

pytest.importorskip("faiss")

PASSAGE, PROPOSITION = Granularity.PASSAGE, Granularity.PROPOSITION
PROPOSITIONIZER = ScriptedPropositionizer(lambda passage: [passage.text])


@pytest.fixture
def store(tmp_path):
    with UnitStore(tmp_path / "store", encoder=HashEncoder()) as store:
        yield store


def add(store, *texts, **fields):
    return store.add_documents(
        [Document(text, **fields) for text in texts], propositionizer=PROPOSITIONIZER
    )


def units(store):
    return store.get(store.ids())


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\r\n", "\u00a0\u2003"])
def test_a_text_without_words_is_a_document_without_units(store, text):
    report = add(store, text, id="empty")
    assert (report.documents, sum(report.units.values()), report.decomposition.failed) == (1, 0, 0)
    assert store.documents(["empty"])[0].text == text
    assert store.search("anything", k=3) == []
    assert add(store, text, id="empty").unchanged == 1
    assert add(store, "Now it has words.", id="empty").documents == 1
    assert store.search("words", k=3)[0].unit.text == "Now it has words."


def test_a_document_without_paragraphs_keeps_its_words(store):
    add(store, "---\ntitle: Olm\n---\n", id="olm")
    assert [hit.unit.document_id for hit in store.search("olm", k=3)] == ["olm"]
    add(store, "# One\n\n## Two\n\n## Three\n", id="headings")
    (*_, last) = [unit.text for unit in units(store) if unit.granularity is PASSAGE]
    assert last == "## Two\n\n## Three"


def test_facts_without_letters_are_kept(store):
    text = "😀😀\n\n—\n\n..."
    add(store, text)
    assert all(
        unit.granularity is PROPOSITION or unit.text == text[unit.start : unit.end]
        for unit in units(store)
    )
    assert {"😀😀", "—", "..."} <= {
        unit.text for unit in units(store) if unit.granularity is PROPOSITION
    }


def test_queries_of_all_kinds(store):
    add(store, "The tower leans.")
    for query in ("", " \n", "\0", "😀", "the of", "x" * 100_000, "; DROP TABLE units", "我"):
        assert [hit.unit.text for hit in store.search(query)] == ["The tower leans."]
