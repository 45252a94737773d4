"""Texts, ids and metadatas that differ in number are one clear error, and nothing is added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document

from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from langchain_factoid import EncoderEmbeddings, MultiGranularFAISS
from langchain_factoid.text_splitter import PassageTextSplitter

TEXTS = ["Oslo is a city.", "Bergen is a city."]
DOCUMENTS = [Document(page_content=text) for text in TEXTS]
PAIRS = [(text, [1.0, 0.0]) for text in TEXTS]
Store = MultiGranularFAISS


@pytest.fixture
def store() -> Store:
    return MultiGranularFAISS(EncoderEmbeddings(HashEncoder()))


@pytest.mark.parametrize(
    "add",
    [
        lambda store: store.add_texts(TEXTS, ids=["1"]),
        lambda store: store.add_texts(iter(TEXTS), ids=["1"]),
        lambda store: store.add_texts(TEXTS, ids=["1", "2", "3"]),
        lambda store: store.add_texts(TEXTS, ids=[]),
        lambda store: store.add_texts(TEXTS, [{"n": 1}]),
        lambda store: store.add_texts(TEXTS, iter([{"n": 1}])),
        lambda store: store.add_documents(DOCUMENTS, ids=["1"]),
        lambda store: store.add_documents(iter(DOCUMENTS), ids=iter(["1", "2", "3"])),
        lambda store: store.add_embeddings(PAIRS, ids=["1"]),
        lambda store: store.add_embeddings(PAIRS, [{"n": 1}]),
        lambda store: Store.from_texts(TEXTS, store.embeddings, ids=["1"]),
        lambda store: Store.from_texts(TEXTS, store.embeddings, [{"n": 1}]),
        lambda store: Store.from_documents(DOCUMENTS, store.embeddings, ids=["1"]),
        lambda store: Store.from_embeddings(PAIRS, store.embeddings, ids=["1"]),
    ],
)
def test_numbers_differ(store: Store, add: Callable[[Store], Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"got \d (ids|metadatas) for 2 texts"):
        add(store)
    assert len(store.store) == 0


async def test_numbers_differ_async(store: Store) -> None:
    for call in (
        store.aadd_texts(TEXTS, ids=["1"]),
        store.aadd_documents(DOCUMENTS, ids=["1"]),
        Store.afrom_texts(TEXTS, store.embeddings, ids=["1"]),
        Store.afrom_texts(TEXTS, store.embeddings, [{"n": 1}]),
    ):
        with pytest.raises(InvalidInputError, match=r"got 1 (ids|metadatas) for 2 texts"):
            await call
    assert len(store.store) == 0


def test_as_many_are_added(store: Store) -> None:
    assert store.add_texts(iter(TEXTS), iter([{"n": 1}, {"n": 2}]), ids=["a", "b"]) == ["a", "b"]
    assert [document.metadata["n"] for document in store.get_by_ids(["b", "a"])] == [2, 1]
    assert len(store.add_texts(TEXTS, [])) == 2


async def test_as_many_are_added_async(store: Store) -> None:
    assert await store.aadd_texts(TEXTS, [{"n": 1}, {"n": 2}], ids=["a", "b"]) == ["a", "b"]


def test_metadatas_of_a_splitter() -> None:
    with pytest.raises(InvalidInputError, match="got 1 metadatas for 2 texts"):
        PassageTextSplitter().create_documents(TEXTS, [{"n": 1}])
