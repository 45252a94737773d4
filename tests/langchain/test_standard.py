"""LangChain's own suites, unmodified."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from factoid.testing import ScriptedPropositionizer
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever


def whole_and_words(passage: Any) -> list[str]:
    return [passage.text, *passage.text.split()]


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture(params=["memory", "disk"])
    def vectorstore(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
        path = None if request.param == "memory" else tmp_path / "store"
        propositionizer = ScriptedPropositionizer(whole_and_words)
        with MultiGranularFAISS(self.get_embeddings(), propositionizer=propositionizer, path=path) as store:
            yield store


class TestRetriever(RetrieversIntegrationTests):
    returns = "parents"

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
        return {"store": self.store, "returns": self.returns}

    @property
    def retriever_query_example(self) -> str:
        return "Which parrot cannot fly?"


class TestUnitRetriever(TestRetriever):
    returns = "units"
