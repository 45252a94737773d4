"""What was opened by a relative path works after the working folder has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from factoid import Document, UnitStore
from factoid.entities.articles.own_documents import add_own_articles, build_own_articles
from factoid.entities.retriever import EntityRetriever
from factoid.propositions.cache import PropositionCache
from factoid.store.token_cache import TokenVectorCache
from factoid.testing import HashEncoder
from langchain_factoid import EntityRetriever as LangChainRetriever
from llama_index_factoid import MultiGranularFaissVectorStore

SURTSEY = Document("Surtsey is an island.", title="Surtsey", id="s")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to go to, beside the working folder."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "there"


def test_store(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with UnitStore("store", encoder=HashEncoder()) as store:
        store.add_documents([Document("One fact is here.", id="a")])
        monkeypatch.chdir(elsewhere)
        store.add_documents([Document("Another fact is there.", id="b")])
        store.refresh()
        assert [hit.unit.document_id for hit in store.search("Another fact is there.", 1)] == ["b"]
        assert not store.verify()
        assert store.path == elsewhere.parent / "here" / "store"
    assert not any(elsewhere.iterdir())


def test_read_only_store(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with UnitStore(Path("store"), encoder=HashEncoder()) as store:
        store.add_documents([Document("One fact is here.", id="a")])
    with UnitStore("store", encoder=HashEncoder(), read_only=True) as store:
        monkeypatch.chdir(elsewhere)
        assert [hit.unit.document_id for hit in store.search("One fact", 1)] == ["a"]


def test_store_of_llama_index(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MultiGranularFaissVectorStore("store")
    saved = store.to_dict()
    monkeypatch.chdir(elsewhere)
    assert MultiGranularFaissVectorStore.from_dict(saved).client.path == store.client.path
    store.close()
    assert not any(elsewhere.iterdir())


def test_articles(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    articles = build_own_articles([SURTSEY], path="articles.sqlite")
    retriever = EntityRetriever("articles.sqlite")
    native = LangChainRetriever(articles="articles.sqlite")
    monkeypatch.chdir(elsewhere)
    add_own_articles(articles, [Document("Heimaey is an island.", title="Heimaey", id="h")])
    articles.reload()
    assert len(articles) == 2
    assert [hit.unit.document_id for hit in retriever.retrieve("Where is Surtsey?")] == ["s"]
    native.words = 5  # the core's retriever is made again
    assert [document.id for document in native.invoke("Where is Surtsey?")] == ["s"]
    assert not any(elsewhere.iterdir())


def test_caches(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    propositions = PropositionCache("cache.sqlite")
    tokens = TokenVectorCache("tokens")
    monkeypatch.chdir(elsewhere)
    assert propositions.count() == 0
    assert not tokens.verify()
    assert not any(elsewhere.iterdir())
