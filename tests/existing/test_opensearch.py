"""The conformance suite over OpenSearch's classes of both frameworks, with a stand-in for the server."""

from __future__ import annotations

from uuid import uuid4

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("opensearchpy", reason="needs opensearch-py, of the group `stores`")

from factoid import Document
from tests.existing.abilities import (
    Deletes,
    ExactParents,
    Filters,
    Listing,
    Restart,
    Scores,
    Unicode,
    Upserts,
    ids,
)
from tests.existing.corpus import DIM, QUESTION
from tests.existing.opensearch import Server
from tests.existing.test_langchain_stores import EMBEDDINGS, LangChain
from tests.existing.test_llama_index_stores import LlamaIndex

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:nmslib engine is deprecated:FutureWarning"),
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]


@pytest.fixture(scope="module")
def server():
    started = Server()
    yield started
    started.shutdown()
    started.server_close()


class OpenSearch(LangChain):
    engine = "lucene"
    space = "l2"

    @pytest.fixture(autouse=True)
    def place(self, server):
        pytest.importorskip("langchain_community", reason="needs langchain-community")
        self.address = server.address
        self.name = f"facts-{uuid4()}"

    def vectorstore(self):
        from langchain_community.vectorstores import OpenSearchVectorSearch

        store = OpenSearchVectorSearch(self.address, self.name, EMBEDDINGS, engine=self.engine)
        if self.space != "l2":
            store.create_index(DIM, self.name, space_type=self.space, engine=self.engine)
        return store


class TestLangChain(
    OpenSearch, ExactParents, Filters, Deletes, Upserts, Unicode, Listing, Scores, Restart
):
    def test_strings_that_are_too_long_for_a_keyword_are_compared_here(self, store):
        long = "x" * 300
        store.add_documents([Document("One boat.", id=long, metadata={"key": long})])
        assert ids(store.search("boat", 3, filter={"key": long})) == [long]
        assert ids(store.search("boat", 3, document_ids=[long])) == [long]
        assert store.search("boat", 3, filter={"key": long + "x"}).hits == []


class TestNmslib(OpenSearch, Scores):
    """It filters what it has found: searches grow until enough remains."""

    engine = "nmslib"

    def test_all_that_a_filter_leaves(self, read_only):
        assert len(read_only.search(QUESTION, 30, filter={"tenant": "b"}).hits) == 12


class TestInnerProduct(OpenSearch, Scores):
    space = "innerproduct"


class TestLlamaIndex(
    LlamaIndex, ExactParents, Filters, Deletes, Upserts, Unicode, Listing, Scores, Restart
):
    engine = "lucene"

    @pytest.fixture(autouse=True)
    def place(self, server):
        pytest.importorskip(
            "llama_index.vector_stores.opensearch", reason="needs the group `stores`"
        )
        self.address = server.address
        self.name = f"facts-{uuid4()}"

    def vectorstore(self):
        from llama_index.vector_stores.opensearch import (
            OpensearchVectorClient,
            OpensearchVectorStore,
        )

        client = OpensearchVectorClient(self.address, self.name, DIM, engine=self.engine)
        return OpensearchVectorStore(client)


class TestLlamaIndexByScript(LlamaIndex, Scores):
    """With nmslib it compares all vectors that pass by a script."""

    engine = "nmslib"
    place = TestLlamaIndex.place
    vectorstore = TestLlamaIndex.vectorstore
