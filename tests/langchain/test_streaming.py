"""What is added comes from any iterable, is read once, and is not held."""

from __future__ import annotations

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


async def test_no_more_than_a_batch_is_held(store: MultiGranularFAISS) -> None:
    gc.collect()
    for add in (store.add_documents, store.aadd_documents):
        source = Source(200)
        added = add(source, batch_size=10)
        assert (added if isinstance(added, list) else await added) == [str(n) for n in range(200)]
        assert source.most <= 20
        assert store.get_by_ids(["123"]) == [Document(id="123", page_content="Row 123 is here.", metadata={"n": 123})]
        assert len(store.similarity_search("row", k=999)) == 200


async def test_every_kind_of_iterable(embedding: Any) -> None:
    documents = [KAKAPO, OLM, TITAN]
    texts, metadatas = [each.page_content for each in documents], [each.metadata for each in documents]
    ids = ["a", "b", "c"]
    made = [
        MultiGranularFAISS.from_documents(documents, embedding, ids=ids, propositionizer=SENTENCES),
        MultiGranularFAISS.from_documents(iter(documents), embedding, ids=iter(ids), propositionizer=SENTENCES),
        MultiGranularFAISS.from_texts(iter(texts), embedding, iter(metadatas), ids=ids, propositionizer=SENTENCES),
        MultiGranularFAISS.from_texts(texts, embedding, metadatas, ids=ids, propositionizer=SENTENCES, batch_size=1),
        await MultiGranularFAISS.afrom_texts(iter(texts), embedding, metadatas, ids=ids, propositionizer=SENTENCES),
        await MultiGranularFAISS.afrom_documents(
            dict.fromkeys(range(3)).keys() and iter(documents), embedding, ids=ids, propositionizer=SENTENCES
        ),
    ]
    expected = made[0].similarity_search_units_with_score("eyes", k=99)
    for store in made:
        assert store.similarity_search_units_with_score("eyes", k=99) == expected
        assert [document.id for document in store.get_by_ids(ids)] == ids
        assert store.add_documents(iter([])) == store.add_documents([]) == store.add_texts(()) == []
        assert await store.aadd_documents(iter([])) == []
        store.close()


def test_of_equal_ids_the_last_counts_across_batches(store: MultiGranularFAISS) -> None:
    texts = [f"Version {n} is here." for n in range(5)]
    assert store.add_texts(iter(texts), ids=["a"] * 5, batch_size=2) == ["a"] * 5
    assert [document.page_content for document in store.similarity_search("version", k=9)] == [texts[-1]]
    assert len(store.similarity_search_units("version", k=9, granularity="sentence")) == 1


async def test_whole_batches_stay_when_a_source_fails(store: MultiGranularFAISS) -> None:
    def failing() -> Iterator[Document]:
        yield from (Document(id=str(n), page_content=f"Row {n}.") for n in range(5))
        raise OSError

    for add in (store.add_documents, store.aadd_documents):
        with pytest.raises(OSError):
            await add(failing(), batch_size=2) if add == store.aadd_documents else add(failing(), batch_size=2)
        assert {document.id for document in store.similarity_search("row", k=9)} == {"0", "1", "2", "3"}
        store.clear()


def test_other_numbers_of_ids_are_told(store: MultiGranularFAISS) -> None:
    rows = [Document(page_content=f"Row {n}.") for n in range(3)]
    for documents, ids in ((rows, ["a"]), (iter(rows), ["a"]), (iter(rows), iter("abcd")), (rows, iter("ab"))):
        with pytest.raises(InvalidInputError, match="number of ids must match"):
            store.add_documents(documents, ids)
    for texts, metadatas in ((iter("abc"), [{}]), (["a"], iter([{}, {}])), (iter("ab"), [{}, {}, {}])):
        with pytest.raises(InvalidInputError, match="number of metadatas must match"):
            store.add_texts(texts, metadatas)
    for given in ({"ids": "abc"}, {"metadatas": "abc"}):
        with pytest.raises(InvalidInputError):
            store.add_texts(iter(["x", "y", "z"]), **given)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="got the string"):
        store.add_texts("abc")
    with pytest.raises(InvalidInputError, match="got int"):
        store.add_documents(iter([1]))  # type: ignore[list-item]


def test_a_progress_bar_over_documents(
    store: MultiGranularFAISS, capsys: pytest.CaptureFixture[str], embedding: Any
) -> None:
    store.add_documents([KAKAPO, OLM, TITAN], show_progress=True)
    assert "3/3" in capsys.readouterr().err
    store.add_documents(iter([KAKAPO, OLM]), show_progress=True)
    assert "2 documents" in capsys.readouterr().err
    MultiGranularFAISS.from_documents([OLM], embedding, propositionizer=SENTENCES, show_progress=True).close()
    assert "1/1" in capsys.readouterr().err
    store.add_documents([OLM])
    assert capsys.readouterr().err == ""


def test_a_store_that_could_not_be_filled_is_closed(embedding: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    close = MultiGranularFAISS.close
    monkeypatch.setattr(MultiGranularFAISS, "close", lambda self: (closed.append(self), close(self))[1])
    with pytest.raises(InvalidInputError):
        MultiGranularFAISS.from_documents(["text"], embedding)  # type: ignore[list-item]
    assert len(closed) == 1
