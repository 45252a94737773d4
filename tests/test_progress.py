"""Progress: a bar where a person looks, a line in the log elsewhere, and nothing for what takes no
time.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from types import SimpleNamespace

import pytest

from factoid import Document, UnitStore
from factoid.progress import Progress, is_watched, progress_bar, tracked
from factoid.testing import HashEncoder

LONG = Document(
    "\n\n".join(f"# Part {n}\n\nRow {n} is here. It has {n} cells." for n in range(300)), id="long"
)
DOCUMENTS = [Document(f"Row {n} is here.", id=str(n)) for n in range(5)]


@pytest.fixture
def clock(monkeypatch):
    """A clock on which ten seconds pass between two looks."""
    seconds = iter(range(0, 10**6, 10))
    monkeypatch.setattr("factoid.progress.time", SimpleNamespace(monotonic=lambda: next(seconds)))


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr("factoid.progress.is_watched", lambda: True)


def work(show, **options):
    with progress_bar(show=show, unit=" things", total=20, desc="doing", **options) as bar:
        for _ in range(20):
            bar.update()


def test_elsewhere_a_line_every_half_a_minute(clock, caplog, capsys):
    with caplog.at_level(logging.INFO, "factoid"):
        work(None)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 20 * 10 // 30
    assert lines[0] == "doing: 3 of 20 things, 0:00:30 so far, about 0:02:50 left"
    assert {record.levelname for record in caplog.records} == {"INFO"}
    assert capsys.readouterr().err == ""


def test_a_bar_where_a_person_looks(clock, terminal, caplog, capsys):
    with caplog.at_level(logging.INFO, "factoid"):
        work(None)
    assert "20/20" in capsys.readouterr().err
    assert caplog.records == []


def test_nothing_for_what_takes_no_time_or_is_not_to_be_seen(terminal, capsys, caplog):
    work(None)
    assert sys.modules["factoid.progress"].PATIENCE > 0
    with caplog.at_level(logging.INFO, "factoid"):
        work(False)
    assert capsys.readouterr().err == ""
    assert caplog.records == []


def test_a_bar_that_was_asked_for_is_there_at_once(capsys):
    work(True, initial=0)
    assert "20/20" in capsys.readouterr().err
    assert list(tracked(iter("abc"), show=True, unit=" letters")) == ["a", "b", "c"]
    assert "3/3" in capsys.readouterr().err


def test_a_notebook_is_watched(monkeypatch):
    assert not is_watched()
    for config, expected in (({"IPKernelApp": {}}, True), ({}, False)):
        shell = SimpleNamespace(config=config)
        monkeypatch.setitem(
            sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell)
        )
        assert is_watched() is expected


@pytest.mark.parametrize(
    "documents", [DOCUMENTS, iter(DOCUMENTS), [LONG]], ids=["list", "lazy", "one long"]
)
def test_adding_says_how_far_it_is(clock, caplog, documents):
    with (
        caplog.at_level(logging.INFO, "factoid.progress"),
        UnitStore(encoder=HashEncoder()) as store,
    ):
        store.add_documents(documents)
    lines = [record.getMessage() for record in caplog.records]
    if documents == [LONG]:
        assert any(line.startswith("adding: 0 of 1 documents, 300 passages, ") for line in lines)
    assert all(line.startswith("adding: ") for line in lines)


async def test_the_option_of_a_store_is_that_of_all_its_work(terminal, clock, capsys):
    with UnitStore(encoder=HashEncoder(), progress=False) as store:
        store.add_documents(DOCUMENTS)
        await store.aadd_documents([LONG])
        store.search("row")
        assert capsys.readouterr().err == ""
        store.add_documents([Document("Another row.")], progress=True)
        assert "1/1" in capsys.readouterr().err


def test_building_an_index_for_the_first_search_says_so(terminal, clock, capsys):
    with UnitStore(encoder=HashEncoder()) as store:
        store.add_documents(DOCUMENTS, progress=False)
        store.search("row")
    assert "propositions indexed" in capsys.readouterr().err


def test_both_frameworks_take_it(capsys):
    langchain = pytest.importorskip("langchain_factoid")
    llama_index = pytest.importorskip("llama_index_factoid")
    from langchain_core.documents import Document as LangChainDocument
    from llama_index.core.schema import Document as LlamaIndexDocument

    embeddings = langchain.EncoderEmbeddings(HashEncoder())
    with langchain.MultiGranularFAISS(embeddings, progress=True) as store:
        store.add_documents([LangChainDocument("Ice floats."), LangChainDocument("Lead sinks.")])
        assert "2/2" in capsys.readouterr().err
        assert store.store.progress is True
    with langchain.MultiGranularFAISS(embeddings) as store:
        store.add_documents([LangChainDocument("Ice floats.")])
    documents = [LlamaIndexDocument(text="Ice floats.")]
    llama_index.MultiGranularNodeParser()(documents)
    assert capsys.readouterr().err == ""
    llama_index.MultiGranularNodeParser()(documents, show_progress=True)
    llama_index.MultiGranularNodeParser(progress=True)(documents)
    assert capsys.readouterr().err.count("splitting: 100%") == 2
    texts = [f"Text {n}." for n in range(250)]
    model = llama_index.EncoderEmbedding(HashEncoder())
    embeddings = model.get_text_embedding_batch(texts)
    assert capsys.readouterr().err == ""
    assert model.get_text_embedding_batch(texts, show_progress=True) == embeddings
    assert "embedding: 100%" in capsys.readouterr().err
    shown = llama_index.EncoderEmbedding(HashEncoder(), progress=True)
    assert asyncio.run(shown.aget_text_embedding_batch(texts)) == embeddings
    assert "250/250" in capsys.readouterr().err
    assert llama_index.MultiGranularFaissVectorStore(progress=False).client.progress is False


def test_progress_is_made_by_its_function():
    assert isinstance(progress_bar(show=False, unit=" things"), Progress)


def test_the_bars_of_indexes_end_at_all_of_them(capsys):
    with UnitStore(encoder=HashEncoder(), progress=True) as store:
        store.add_documents(DOCUMENTS)
        capsys.readouterr()
        store.search("Which row is here?")
    last = [line.rpartition("\r")[2] for line in capsys.readouterr().err.splitlines() if line]
    words = [line for line in last if "indexed by words" in line]
    assert words
    assert "5/5" in words[-1]
