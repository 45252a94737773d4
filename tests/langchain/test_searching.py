from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.documents import SENTENCES

LONG = Document(id="long", page_content=" ".join(f"Fact number{n} stands in line{n}." for n in range(9)))


def neighbours(document: Document) -> list[str]:
    return [neighbour["text"] for neighbour in document.metadata["neighbours"]]


@pytest.mark.parametrize("granularity", ["sentence", "proposition"])
async def test_neighbours(embedding: Any, granularity: str) -> None:
    lines = [f"Fact number{n} stands in line{n}." for n in range(9)]
    options: dict[str, Any] = {"k": 1, "granularity": granularity}
    with MultiGranularFAISS.from_documents([LONG], embedding, propositionizer=SENTENCES) as store:
        [unit] = store.similarity_search("number1 line1", expand=1, parents="unit", **options)
        assert neighbours(unit) == lines[:3]
        first = unit.metadata["neighbours"][0]
        assert LONG.page_content[first["start_index"] : first["end_index"]] == first["text"] == lines[0]
        [document] = store.similarity_search("number1", expand=1, **options)
        assert set(neighbours(document)) >= set(lines[:3])
        [retrieved] = await MultiGranularRetriever(store=store, expand=1, **options).ainvoke("number1")
        assert neighbours(retrieved) == neighbours(document)
        assert retrieved == document == LONG


@pytest.mark.parametrize("parents", ["document", "unit"])
async def test_diverse_results_are_those_of_the_core(parents: Any) -> None:
    embedding = DeterministicFakeEmbedding(size=5)
    options: dict[str, Any] = {"k": 5, "fetch_k": 12, "granularity": "sentence", "parents": parents}
    with MultiGranularFAISS(embedding, propositionizer=SENTENCES) as store:
        store.add_texts([f"First{n} stands here. Second{n} follows. Third{n} ends." for n in range(40)])
        expected = [hit.unit.id for hit in store.store.search("one", **options, mmr=0.2, lexical=0)]
        options["lambda_mult"] = 0.2
        documents = store.max_marginal_relevance_search("one", **options)
        assert [document.id for document in documents] == expected
        assert store.max_marginal_relevance_search_by_vector(embedding.embed_query("one"), **options) == documents
        retriever = MultiGranularRetriever(store=store, search_type="mmr", **options)
        assert retriever.invoke("one") == await retriever.ainvoke("one") == documents
        assert retriever.invoke("one", lambda_mult=1.0) != documents
        assert store.as_retriever(search_type="mmr", search_kwargs=options).invoke("one") == documents
