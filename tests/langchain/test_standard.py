"""LangChain's own suites, unmodified, for every kind of index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import faiss
import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from factoid.testing import ScriptedPropositionizer
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever

GPUS = getattr(faiss, "get_num_gpus", lambda: 0)()
ON_GPU = pytest.mark.skipif(GPUS == 0, reason="needs a GPU and faiss-gpu")

# Valid for the suite's vectors of 6 dimensions. It adds few documents, so that kinds that have to be trained are not yet
# in use: tests/langchain/test_index_kinds.py fills them first.
KINDS = ["auto", "Flat", "HNSW32", "IVF8,Flat", "SQ8", "PQ3", "RaBitQ"]
SETTINGS = [
    pytest.param({"on_disk": False}, id="memory"),
    pytest.param({"similarity": "cosine", "on_disk": True}, id="cosine-disk"),
]
MORE: list[tuple[str, dict[str, Any]]] = [
    *((kind, {"index": kind, "on_disk": place % 2 == 0}) for place, kind in enumerate(KINDS)),
    ("shards", {"shards": 3, "index": "Flat", "on_disk": True}),
    ("mmap-float16", {"mmap": True, "dtype": "float16", "on_disk": True}),
    ("passages-only", {"granularities": ("passage",), "on_disk": True}),
]
# Stores that held so many documents that these kinds were in use, before the documents were deleted.
MORE += [
    (f"{kind}-emptied", {"index": kind, "on_disk": on_disk, "granularities": ("passage",), "former": 400})
    for kind, on_disk in (("HNSW32", True), ("IVF8,Flat", False), ("PQ3", True), ("RaBitQ", False))
]
SETTINGS += [pytest.param(options, id=name, marks=pytest.mark.slow) for name, options in MORE]
SETTINGS += [
    pytest.param({"device": "cuda", "index": kind, "on_disk": True}, id=f"cuda-{kind}", marks=ON_GPU)
    for kind in ("auto", "Flat", "IVF8,Flat", "SQ8")
]


def whole_and_words(passage: Any) -> list[str]:
    return [passage.text, *passage.text.split()]


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture(params=SETTINGS)
    def vectorstore(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
        options = dict(request.param)
        path = tmp_path / "store" if options.pop("on_disk") else None
        former = [f"former document {n}" for n in range(options.pop("former", 0))]
        propositionizer = ScriptedPropositionizer(whole_and_words)
        with MultiGranularFAISS(self.get_embeddings(), propositionizer=propositionizer, path=path, **options) as store:
            if former:
                ids = store.add_texts(former)
                assert len(store.similarity_search("former", k=1)) == 1
                store.delete(ids)
            yield store


class TestRetriever(RetrieversIntegrationTests):
    options: dict[str, Any] = {"parents": "document"}  # noqa: RUF012 - as the suite's own

    @pytest.fixture(autouse=True)
    def _fill(self, embedding: Any, propositionizer: ScriptedPropositionizer, path: Path | None) -> Iterator[None]:
        with MultiGranularFAISS(embedding, propositionizer=propositionizer, path=path) as self.store:
            texts = [
                "The kakapo is a parrot and cannot fly.",
                "The olm lives in caves.",
                "Titan orbits Saturn.",
                "Ice.",
            ]
            self.store.add_documents([Document(page_content=text) for text in texts])
            yield

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MultiGranularRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"store": self.store, **self.options}

    @property
    def retriever_query_example(self) -> str:
        return "Which parrot cannot fly?"


class TestUnitRetriever(TestRetriever):
    options = {"parents": "unit"}  # noqa: RUF012


class TestMixedRetriever(TestRetriever):
    options = {"granularity": "mixed"}  # noqa: RUF012


class TestDiverseRetriever(TestRetriever):
    options = {"search_type": "mmr", "granularity": "sentence"}  # noqa: RUF012
