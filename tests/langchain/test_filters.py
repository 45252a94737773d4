"""Filters under LangChain; what they mean is in tests/filters."""

from __future__ import annotations

import pytest

from factoid.errors import InvalidInputError
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.conftest import HashEmbeddings
from tests.langchain.documents import SENTENCES


def test_deleting_by_filter(embedding: HashEmbeddings) -> None:
    with MultiGranularFAISS(embedding, propositionizer=SENTENCES) as store:
        store.add_texts(["a one", "b two", "c three"], [{"n": 1}, {"n": 2}, {}], ids=["a", "b", "c"])
        store.delete()
        store.delete([])
        assert store.similarity_search("one", document_ids=[]) == store.get_by_ids([]) == []
        assert MultiGranularRetriever(store=store, search_kwargs={"document_ids": []}).invoke("one") == []
        with pytest.raises(InvalidInputError, match="clear"):
            store.delete(filter={})
        with pytest.raises(InvalidInputError):
            store.delete(["a"], filter={"n": 1})
        assert len(store.similarity_search("one")) == 3
        store.delete(filter=lambda metadata: metadata.get("n") == 1)
        store.delete(filter={"n": {"$gt": 1}})
        assert [document.id for document in store.similarity_search("one")] == ["c"]
