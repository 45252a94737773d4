"""The conformance suite over LangChain's vector stores: the bases of a class are what its store can do."""

from __future__ import annotations

from uuid import uuid4

import pytest

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from factoid.existing import ExistingStore
from langchain_factoid import EncoderEmbeddings
from langchain_factoid.embeddings import LangChainEncoder
from langchain_factoid.existing import collection_of
from tests.existing.abilities import (
    Ability,
    Concurrency,
    Deletes,
    ExactParents,
    Filters,
    Listing,
    Restart,
    Scores,
    Unicode,
    UnknownScores,
    Upserts,
)
from tests.existing.corpus import DIM, ENCODER, PROPOSITIONIZER, documents, exact_hnsw

# Of the stores' own code.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

EMBEDDINGS = EncoderEmbeddings(ENCODER)


class LangChain(Ability):
    """Opens a store of LangChain's."""

    def vectorstore(self):
        raise NotImplementedError

    def open(self) -> ExistingStore:
        collection = collection_of(self.vectorstore())
        return ExistingStore(
            collection,
            LangChainEncoder(EMBEDDINGS),
            propositionizer=PROPOSITIONIZER,
            unsupported="keep",
        )

    def put_own(self, store) -> None:
        text = "The old ferry crossed the strait. It sank in 1931."
        own = "6f3f2c1e-0000-4000-8000-000000000001"
        store.collection.store.add_documents(
            [Document(page_content=text, metadata={"tenant": "a"}, id=own)], ids=[own]
        )
        PROPOSITIONIZER._script = _with_ferry

    @pytest.fixture(autouse=True)
    def script(self):
        script = PROPOSITIONIZER._script
        yield
        PROPOSITIONIZER._script = script


def _with_ferry(passage):
    return ["The old ferry crossed the strait.", "The old ferry sank in 1931."]


class TestInMemory(
    LangChain,
    ExactParents,
    Filters,
    Deletes,
    Upserts,
    Unicode,
    Concurrency,
    Listing,
    Scores,
    Restart,
):
    @pytest.fixture(autouse=True)
    def place(self):
        self.kept = InMemoryVectorStore(EMBEDDINGS)

    def vectorstore(self):
        return self.kept


class TestFAISS(
    LangChain, ExactParents, Filters, Deletes, Upserts, Unicode, Listing, Scores, Restart
):
    @pytest.fixture(autouse=True)
    def place(self):
        pytest.importorskip("langchain_community", reason="needs langchain-community")
        faiss = pytest.importorskip("faiss")
        with _deprecations():
            from langchain_community.docstore.in_memory import InMemoryDocstore
            from langchain_community.vectorstores import FAISS

        self.kept = FAISS(EMBEDDINGS, faiss.IndexFlatL2(DIM), InMemoryDocstore(), {})

    def vectorstore(self):
        return self.kept


def _deprecations():
    import warnings

    context = warnings.catch_warnings()
    warnings.simplefilter("ignore")
    return context


class TestChroma(
    LangChain,
    ExactParents,
    Filters,
    Deletes,
    Upserts,
    Unicode,
    Concurrency,
    Listing,
    Scores,
    Restart,
):
    space = "l2"

    @pytest.fixture(autouse=True)
    def place(self, tmp_path):
        pytest.importorskip(
            "langchain_chroma", reason="needs langchain-chroma, of the group `stores`"
        )
        self.path = tmp_path

    def vectorstore(self):
        from langchain_chroma import Chroma

        return Chroma(
            "facts",
            EMBEDDINGS,
            persist_directory=str(self.path / "chroma"),
            collection_configuration=exact_hnsw(self.space),
        )


class TestChromaByCosine(LangChain, Scores):
    space = "cosine"
    place = TestChroma.place
    vectorstore = TestChroma.vectorstore


class TestChromaByInnerProduct(LangChain, Scores):
    space = "ip"
    place = TestChroma.place
    vectorstore = TestChroma.vectorstore


class TestChromaServer(TestChroma):
    """The same over `chroma run`."""

    @pytest.fixture(scope="class")
    def client(self, chroma_server):
        pytest.importorskip(
            "langchain_chroma", reason="needs langchain-chroma, of the group `stores`"
        )
        import chromadb

        return chromadb.HttpClient("127.0.0.1", chroma_server)

    @pytest.fixture(autouse=True)
    def place(self, client):
        self.client = client
        self.name = f"facts-{uuid4()}"

    def vectorstore(self):
        from langchain_chroma import Chroma

        return Chroma(
            self.name, EMBEDDINGS, client=self.client, collection_configuration=exact_hnsw("l2")
        )


class TestQdrant(
    LangChain, ExactParents, Filters, Deletes, Upserts, Unicode, Listing, Scores, Restart
):
    """In the client's own process, where every search compares all vectors."""

    @pytest.fixture(autouse=True)
    def place(self):
        pytest.importorskip(
            "langchain_qdrant", reason="needs langchain-qdrant, of the group `stores`"
        )
        from qdrant_client import QdrantClient
        from qdrant_client.models import Distance, VectorParams

        self.client = QdrantClient(":memory:")
        self.client.create_collection("facts", VectorParams(size=DIM, distance=Distance.COSINE))

    def vectorstore(self):
        from langchain_qdrant import QdrantVectorStore

        return QdrantVectorStore(self.client, "facts", EMBEDDINGS)


class TestMilvus(
    LangChain, ExactParents, Filters, Deletes, Upserts, Unicode, Listing, Scores, Restart
):
    """milvus-lite."""

    metric = "COSINE"

    @pytest.fixture(scope="class")
    def folder(self, tmp_path_factory):
        pytest.importorskip(
            "langchain_milvus", reason="needs langchain-milvus, of the group `stores`"
        )
        pytest.importorskip("milvus_lite", reason="milvus-lite has no wheel here")
        return tmp_path_factory.mktemp("milvus") / "facts.db"

    @pytest.fixture(autouse=True)
    def place(self, folder):
        self.address = str(folder)
        self.name = f"facts_{uuid4().hex}"

    def vectorstore(self):
        from langchain_milvus import Milvus

        return Milvus(
            EMBEDDINGS,
            self.name,
            connection_args={"uri": self.address},
            index_params={"index_type": "FLAT", "metric_type": self.metric, "params": {}},
            enable_dynamic_field=True,
            consistency_level="Strong",
        )


class TestMilvusByDistance(LangChain, Scores):
    metric = "L2"
    folder = TestMilvus.folder
    place = TestMilvus.place
    vectorstore = TestMilvus.vectorstore


class TestPGVector(
    LangChain,
    ExactParents,
    Filters,
    Deletes,
    Upserts,
    Unicode,
    Concurrency,
    Listing,
    Scores,
    Restart,
):
    strategy = "cosine"

    @pytest.fixture(scope="class")
    def engine(self, postgres):
        pytest.importorskip(
            "langchain_postgres", reason="needs langchain-postgres, of the group `stores`"
        )
        import sqlalchemy

        engine = sqlalchemy.create_engine(
            postgres.replace("postgresql://", "postgresql+psycopg://")
        )
        yield engine
        engine.dispose()

    @pytest.fixture(autouse=True)
    def place(self, engine):
        self.engine = engine
        self.name = f"facts {uuid4()}"

    def vectorstore(self):
        from langchain_postgres import PGVector

        return PGVector(
            EMBEDDINGS,
            connection=self.engine,
            collection_name=self.name,
            embedding_length=DIM,
            distance_strategy=self.strategy,
        )

    def test_two_collections_keep_their_own(self, filled):
        self.name = f"others {uuid4()}"
        others = self.open()
        others.add_documents(documents()[:3])
        assert len(others.search("Ledger page", 9).hits) == 3
        others.delete(["d0"])
        assert filled.verify() == others.verify() == []
        assert len(filled.search("Ledger page", 30).hits) == 25


class TestPGVectorByDistance(LangChain, Scores):
    strategy = "l2"
    engine = TestPGVector.engine
    place = TestPGVector.place
    vectorstore = TestPGVector.vectorstore


class TestPGVectorByInnerProduct(TestPGVectorByDistance):
    strategy = "inner"


class TestPGVectorStore(
    LangChain, ExactParents, Filters, Deletes, Upserts, Unicode, Listing, Scores, Restart
):
    strategy = "COSINE_DISTANCE"

    @pytest.fixture(scope="class")
    def engine(self, postgres):
        pytest.importorskip(
            "langchain_postgres", reason="needs langchain-postgres, of the group `stores`"
        )
        from langchain_postgres import PGEngine

        return PGEngine.from_connection_string(
            postgres.replace("postgresql://", "postgresql+psycopg://")
        )

    @pytest.fixture(autouse=True)
    def place(self, engine):
        self.engine = engine
        self.name = f"facts_{uuid4().hex}"
        self.engine.init_vectorstore_table(self.name, DIM)

    def vectorstore(self):
        from langchain_postgres import PGVectorStore
        from langchain_postgres.v2.indexes import DistanceStrategy

        return PGVectorStore.create_sync(
            self.engine, EMBEDDINGS, self.name, distance_strategy=DistanceStrategy[self.strategy]
        )


class TestPGVectorStoreByDistance(LangChain, Scores):
    strategy = "EUCLIDEAN"
    engine = TestPGVectorStore.engine
    place = TestPGVectorStore.place
    vectorstore = TestPGVectorStore.vectorstore


class TestPGVectorStoreByInnerProduct(TestPGVectorStoreByDistance):
    strategy = "INNER_PRODUCT"


class OfNobody(InMemoryVectorStore):
    """A store that nobody has heard of, without filters or scores."""


class TestUnknown(LangChain, UnknownScores):
    @pytest.fixture(autouse=True)
    def place(self, monkeypatch):
        monkeypatch.setattr("langchain_factoid.existing.known_store", lambda *_: None)
        self.kept = OfNobody(EMBEDDINGS)

    def vectorstore(self):
        return self.kept
