"""Documents added from any iterable, sync and async, through the core's ingestion."""

from __future__ import annotations

import datetime
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.documents import Document

from factoid.errors import InvalidInputError
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import KAKAPO, OLM, SENTENCES, TITAN


class Source:
    """Yields documents, and watches how many of them are alive."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._alive: set[int] = set()
        self.most = 0

    def __iter__(self) -> Iterator[Document]:
        for n in range(self._count):
            document = Document(id=str(n), page_content=f"Row {n} is here.", metadata={"n": n})
            self._alive.add(n)
            weakref.finalize(document, self._alive.discard, n)
            self.most = max(self.most, len(self._alive))
            yield document


async def test_documents_are_read_as_they_are_needed(embedding: Any) -> None:
    gc.collect()
    with MultiGranularFAISS(embedding, granularities=["passage"]) as store:
        for add in (store.add_documents, store.aadd_documents):
            source = Source(300)
            ids = add(source)
            assert (ids if isinstance(ids, list) else await ids) == [str(n) for n in range(300)]
            assert source.most <= 10  # usually 3: other threads may hold frames for a moment
        assert store.get_by_ids(["123"]) == [Document(id="123", page_content="Row 123 is here.", metadata={"n": 123})]
        assert len(store.similarity_search("row", k=999)) == 300


@pytest.mark.parametrize("kind", [list, iter])
def test_other_numbers_of_ids_are_told(store: MultiGranularFAISS, kind: Any) -> None:
    rows = [Document(page_content=f"Row {n}.") for n in range(3)]
    for count in (2, 4):
        with pytest.raises(InvalidInputError, match="number of ids must match"):
            store.add_documents(kind(rows), kind("abcd"[:count]))
        with pytest.raises(InvalidInputError, match="number of metadatas must match"):
            store.add_texts(kind("abc"), kind([{}] * count))
    assert store.similarity_search("row") == []
    for arguments in ({"texts": "abc"}, {"texts": ["x"], "ids": "a"}, {"texts": ["x"], "metadatas": "a"}):
        with pytest.raises(InvalidInputError, match="got a single str"):
            store.add_texts(**arguments)


def test_metadata_that_json_cannot_hold(embedding: Any) -> None:
    metadata = {"published": datetime.date(2020, 1, 2), "pair": (1, "a"), "plain": ["x", None]}
    with MultiGranularFAISS(embedding, propositionizer=SENTENCES) as store:
        store.add_texts(["Ice floats."], [metadata])
        [document] = store.similarity_search("ice", filter={"published": {"$gte": "2020-01-01"}})
        assert document.metadata == {"published": "2020-01-02", "pair": [1, "a"], "plain": ["x", None]}


async def test_every_kind_of_iterable(embedding: Any) -> None:
    documents = [KAKAPO, OLM, TITAN]
    texts, metadatas = [document.page_content for document in documents], [document.metadata for document in documents]
    options: dict[str, Any] = {"ids": ["a", "b", "c"], "propositionizer": SENTENCES}
    stores = [
        MultiGranularFAISS.from_documents(documents, embedding, **options),
        MultiGranularFAISS.from_documents(iter(documents), embedding, **options | {"ids": iter("abc")}),
        MultiGranularFAISS.from_texts(iter(texts), embedding, iter(metadatas), **options),
        await MultiGranularFAISS.afrom_texts(iter(texts), embedding, metadatas, **options),
        await MultiGranularFAISS.afrom_documents(iter(documents), embedding, **options),
    ]
    expected = stores[0].similarity_search_with_score("eyes", k=99, parents="unit")
    for store in stores:
        assert store.similarity_search_with_score("eyes", k=99, parents="unit") == expected
        assert [document.id for document in store.get_by_ids(["a", "b", "c"])] == ["a", "b", "c"]
        assert store.add_documents(iter([])) == store.add_texts(()) == await store.aadd_documents([]) == []
        store.close()


async def test_a_progress_bar_over_documents(embedding: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with MultiGranularFAISS(embedding, propositionizer=SENTENCES, show_progress=True) as store:
        store.add_documents([KAKAPO, OLM, TITAN])
        assert "3 documents" in capsys.readouterr().err
        await store.aadd_documents([OLM])
        assert "1 documents" in capsys.readouterr().err
