"""What a propositionizer returned is kept: by splitters and stores with a cache, and by stores on disk."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from langchain_core.documents import Document

from factoid.errors import InvalidInputError, StoreFormatError
from factoid.propositions import NoPropositions, PropositionCache, Report
from langchain_factoid import MultiGranularFAISS, PropositionTextSplitter
from tests.langchain.conftest import HashEmbeddings
from tests.propositions.passages import AwaitingStream, Batching, passages


def documents(count: int) -> list[Document]:
    return [Document(id=unit.id, page_content=unit.text) for unit in passages(count)]


@pytest.mark.parametrize("kind", [Batching, AwaitingStream])
async def test_a_splitter_with_one_more_document_asks_for_one_more(tmp_path: Path, kind: type[Batching]) -> None:
    inner = kind()
    first = PropositionTextSplitter(inner, cache=tmp_path / "cache")
    chunks = first.split_documents(documents(100))
    assert first.last_report == Report(100, 200)
    for cache in (str(tmp_path / "cache"), PropositionCache(tmp_path / "cache")):
        splitter = PropositionTextSplitter(inner, cache=cache)
        assert splitter.split_documents(documents(101))[:200] == chunks
        assert splitter.last_report is not None
        assert splitter.last_report.cached in (100, 101)
        assert (await splitter.atransform_documents(documents(101)))[:200] == chunks
        assert splitter.last_report == Report(101, 202, cached=101)
        assert len(inner.asked) == 101


async def test_what_is_awaited_is_kept_as_well(tmp_path: Path) -> None:
    inner = AwaitingStream()
    splitter = PropositionTextSplitter(inner, cache=tmp_path / "cache")
    await splitter.atransform_documents(documents(3))
    await splitter.atransform_documents(documents(4))
    assert len(inner.asked) == 4


async def test_a_store_on_disk_with_one_more_document_asks_for_one_more(tmp_path: Path) -> None:
    inner = Batching()
    with MultiGranularFAISS(HashEmbeddings(), propositionizer=inner, path=tmp_path / "store") as store:
        store.add_documents(documents(100), batch_size=30)
        assert store.last_report == Report(100, 200)
        store.add_documents(documents(101), batch_size=30)
        assert store.last_report == Report(101, 202, cached=100)
        await store.aadd_documents(documents(102), batch_size=30)
        assert store.last_report == Report(102, 204, cached=101)
        assert store.similarity_search("Town 101 lies on hill 101.", k=1) == [documents(102)[101]]
    assert len(inner.asked) == 102
    with MultiGranularFAISS(HashEmbeddings(), propositionizer=inner, path=tmp_path / "store") as store:
        store.add_documents([Document(page_content=f"{documents(1)[0].page_content}\n\nIt is old.")])
        assert store.last_report is not None
        assert (store.last_report.passages, store.last_report.cached) == (2, 1)  # the new paragraph only


def test_a_cache_may_be_shared_by_stores_and_a_store_in_memory_has_none(tmp_path: Path) -> None:
    inner = Batching()
    for _ in range(2):
        with MultiGranularFAISS(HashEmbeddings(), propositionizer=inner, cache=tmp_path / "cache") as store:
            store.add_documents(documents(10))
    assert len(inner.asked) == 10
    for _ in range(2):
        store = MultiGranularFAISS.from_documents(documents(10), HashEmbeddings(), propositionizer=inner)
        store.close()
    assert len(inner.asked) == 30


def test_what_failed_for_a_time_is_asked_again_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    failing = Batching(lambda _: NoPropositions("timed out", transient=True))
    with MultiGranularFAISS(HashEmbeddings(), propositionizer=failing, path=tmp_path / "store") as store:
        store.add_documents(documents(3))
        assert store.last_report == Report(3, 6, {"timed out": 3}, transient=3)
    assert "3 passages fell back to sentences (3 timed out; another try may mend 3)" in caplog.text
    with (
        caplog.at_level(logging.INFO, "factoid"),
        MultiGranularFAISS(HashEmbeddings(), propositionizer=Batching(), path=tmp_path / "store") as store,
    ):
        store.add_documents(documents(3))
        assert store.last_report == Report(3, 6)
    assert caplog.records[-1].levelname == "INFO"


def test_the_policy_for_unsupported_propositions(tmp_path: Path) -> None:
    inner = Batching(lambda unit: [unit.text, "Napoleon came."])
    found = []
    for policy in ("drop", "keep"):
        with MultiGranularFAISS(HashEmbeddings(), propositionizer=inner, unsupported=policy) as store:
            store.add_documents(documents(1))
            assert store.last_report is not None
            assert store.last_report.unsupported == 1
            found.append("Napoleon came." in str(store.similarity_search_with_matches("Napoleon", k=1)))
    assert found == [False, True]
    with pytest.raises(InvalidInputError, match="one of drop, keep, sentence, got 'remove'"):
        MultiGranularFAISS(HashEmbeddings(), path=tmp_path / "store", unsupported="remove")  # type: ignore[arg-type]
    assert not (tmp_path / "store").exists()


def test_what_is_no_cache_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no cache " * 99)
    inner = Batching()
    splitter = PropositionTextSplitter(inner, cache=tmp_path / "notes.txt")
    with pytest.raises(StoreFormatError, match=r"notes\.txt cannot be read as a cache"):
        splitter.split_documents(documents(1))
    assert inner.asked == []
