"""What a propositionizer returned is kept: by splitters and stores with a cache, and by stores on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.documents import Document

from factoid.errors import InvalidInputError
from factoid.propositions import PropositionCache, Report
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


async def test_a_store_on_disk_with_one_more_document_asks_for_one_more(tmp_path: Path) -> None:
    inner = Batching()
    with MultiGranularFAISS(HashEmbeddings(), propositionizer=inner, path=tmp_path / "store") as store:
        store.add_documents(documents(100))
        assert store.last_report is not None
        assert store.last_report.decomposition == Report(100, 200)
        store.add_documents(documents(101))
        assert (store.last_report.unchanged, store.last_report.decomposition) == (100, Report(1, 2))
        await store.aadd_documents(documents(102))
        assert (store.last_report.unchanged, store.last_report.decomposition) == (101, Report(1, 2))
        assert store.similarity_search("Town 101 lies on hill 101.", k=1) == [documents(102)[101]]
    assert len(inner.asked) == 102
    with MultiGranularFAISS(HashEmbeddings(), propositionizer=inner, path=tmp_path / "store") as store:
        store.add_documents([Document(page_content=f"{documents(1)[0].page_content}\n\nIt is old.")])
        assert store.last_report is not None
        assert (store.last_report.decomposition.passages, store.last_report.decomposition.cached) == (
            2,
            1,
        )  # the new paragraph only


def test_options_are_refused_before_a_store_is_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="one of drop, keep, sentence, got 'remove'"):
        MultiGranularFAISS(HashEmbeddings(), path=tmp_path / "store", unsupported="remove")  # type: ignore[arg-type]
    assert not (tmp_path / "store").exists()
