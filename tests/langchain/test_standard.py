"""LangChain's own suites, unmodified, for every kind of index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import faiss
import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

from factoid.store import GRANULARITIES
from factoid.testing import ScriptedPropositionizer
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever

GPUS = getattr(faiss, "get_num_gpus", lambda: 0)()
ON_GPU = pytest.mark.skipif(GPUS == 0, reason="needs a GPU and faiss-gpu")

# Valid for the suite's vectors of 6 dimensions. It adds few documents: kinds that have to be
# trained are not yet in use.
SETTINGS = [
    pytest.param({"on_disk": False}, id="memory"),
    pytest.param({"similarity": "cosine", "on_disk": True}, id="cosine-disk"),
]
MORE: list[dict[str, Any]] = [
    {"index": kind} for kind in ("HNSW32", "IVF8,Flat", "SQ8", "PQ3", "RaBitQ")
]
MORE += [{"index": "Flat"}, {"mmap": True, "dtype": "float16"}, {"granularities": ("passage",)}]
SETTINGS += [
    pytest.param(options | {"on_disk": True}, id=str(options), marks=pytest.mark.slow)
    for options in MORE
]
SETTINGS += [
    pytest.param(
        {"device": "cuda", "index": kind, "on_disk": True}, id=f"cuda-{kind}", marks=ON_GPU
    )
    for kind in ("auto", "Flat", "IVF8,Flat", "SQ8")
]


def whole_and_words(passage: Any) -> list[str]:
    return [passage.text, *passage.text.split()]


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture(params=SETTINGS)
    def vectorstore(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
        options = dict(request.param)
        path = tmp_path / "store" if options.pop("on_disk") else None
        propositionizer = ScriptedPropositionizer(whole_and_words)
        with MultiGranularFAISS(
            self.get_embeddings(),
            propositionizer=propositionizer,
            path=path,
            **({"granularities": GRANULARITIES} | options),
        ) as store:
            yield store


class TestRetriever(RetrieversIntegrationTests):
    options: dict[str, Any] = {"parents": "document"}  # noqa: RUF012 - as the suite's own

    @pytest.fixture(autouse=True)
    def _fill(self, filled: MultiGranularFAISS) -> None:
        self.store = filled
        self.store.add_texts(["Ice."])

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MultiGranularRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"store": self.store, **self.options}

    @property
    def retriever_query_example(self) -> str:
        return "Which parrot cannot fly?"


class TestDiverseRetriever(TestRetriever):
    options = {"search_type": "mmr", "granularity": "sentence"}  # noqa: RUF012
