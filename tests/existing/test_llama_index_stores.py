"""The conformance suite over LlamaIndex's vector stores: the bases of a class are what its store can do."""

from __future__ import annotations

from uuid import uuid4

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import SimpleVectorStore

from factoid.existing import ExistingStore
from llama_index_factoid import EncoderEmbedding
from llama_index_factoid.embeddings import LlamaIndexEncoder
from llama_index_factoid.existing import collection_of
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
from tests.existing.corpus import DIM, ENCODER, PROPOSITIONIZER, exact_hnsw

# Of the stores' own code.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

OWN = "6f3f2c1e-0000-4000-8000-000000000001"


class LlamaIndex(Ability):
    """Opens a store of LlamaIndex's."""

    def vectorstore(self):
        raise NotImplementedError

    def open(self) -> ExistingStore:
        encoder = LlamaIndexEncoder(EncoderEmbedding(ENCODER))
        return ExistingStore(
            collection_of(self.vectorstore()),
            encoder,
            propositionizer=PROPOSITIONIZER,
            unsupported="keep",
        )

    def put_own(self, store) -> None:
        text = "The old ferry crossed the strait. It sank in 1931."
        [vector] = ENCODER.encode_units([text]).tolist()
        store.collection.store.add(
            [TextNode(id_=OWN, text=text, metadata={"tenant": "a"}, embedding=vector)]
        )


class TestSimple(LlamaIndex, ExactParents, Filters, Deletes, Upserts, Unicode, Scores, Restart):
    """It keeps no texts of the user's own, so there is nothing to add facts of."""

    @pytest.fixture(autouse=True)
    def place(self):
        self.kept = SimpleVectorStore()

    def vectorstore(self):
        return self.kept

    def test_it_comes_back_from_its_file(self, filled, tmp_path):
        expected = filled.search("weather of place7", 5)
        self.kept.persist(str(tmp_path / "store.json"))
        self.kept = SimpleVectorStore.from_persist_path(str(tmp_path / "store.json"))
        assert self.open().search("weather of place7", 5).hits == expected.hits


class TestChroma(
    LlamaIndex, ExactParents, Filters, Deletes, Upserts, Unicode, Listing, Scores, Restart
):
    @pytest.fixture(scope="class")
    def client(self, tmp_path_factory):
        pytest.importorskip("llama_index.vector_stores.chroma", reason="needs the group `stores`")
        import chromadb

        return chromadb.PersistentClient(str(tmp_path_factory.mktemp("chroma")))

    @pytest.fixture(autouse=True)
    def place(self, client):
        self.collection = client.create_collection(
            f"facts-{uuid4()}", configuration=exact_hnsw("l2")
        )

    def vectorstore(self):
        from llama_index.vector_stores.chroma import ChromaVectorStore

        return ChromaVectorStore(chroma_collection=self.collection)


class TestPostgres(
    LlamaIndex,
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
    def place(self, postgres):
        pytest.importorskip("llama_index.vector_stores.postgres", reason="needs the group `stores`")
        self.address = postgres
        self.name = f"facts_{uuid4().hex}"
        self.opened = []
        yield
        for store in self.opened:
            store._engine.dispose()

    def vectorstore(self):
        from llama_index.vector_stores.postgres import PGVectorStore

        store = PGVectorStore(
            connection_string=self.address.replace("postgresql://", "postgresql+psycopg2://"),
            async_connection_string=self.address.replace("postgresql://", "postgresql+asyncpg://"),
            table_name=self.name,
            schema_name="public",
            embed_dim=DIM,
        )
        store._initialize()
        self.opened.append(store)
        return store


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")
class TestQdrant(
    LlamaIndex, ExactParents, Filters, Deletes, Upserts, Unicode, Listing, Scores, Restart
):
    @pytest.fixture(autouse=True)
    def place(self):
        pytest.importorskip("llama_index.vector_stores.qdrant", reason="needs the group `stores`")
        from qdrant_client import QdrantClient

        self.client = QdrantClient(":memory:")

    def vectorstore(self):
        from llama_index.vector_stores.qdrant import QdrantVectorStore

        return QdrantVectorStore("facts", client=self.client)


class OfNobody(SimpleVectorStore):
    """A store that nobody has heard of: it returns nodes in an order, and scores of its own."""

    stores_text: bool = True

    def get_nodes(self, node_ids=None, filters=None):
        return [
            self._node(name)
            for name in node_ids or self.data.embedding_dict
            if name in self.data.embedding_dict
        ]

    def _node(self, name):
        return TextNode(
            id_=name,
            text=self.data.metadata_dict[name]["factoid_text"],
            metadata=self.data.metadata_dict[name],
        )

    def query(self, query, **options):
        assert query.filters is None
        result = super().query(query, **options)
        result.nodes = [self._node(name) for name in result.ids]
        result.similarities = [-1e9] * len(result.ids)
        return result


class TestUnknown(LlamaIndex, UnknownScores):
    @pytest.fixture(autouse=True)
    def place(self, monkeypatch):
        monkeypatch.setattr("llama_index_factoid.existing.known_store", lambda *_: None)
        self.kept = OfNobody()

    def vectorstore(self):
        return self.kept
