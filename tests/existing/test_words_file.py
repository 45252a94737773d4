"""Words are kept in a file: a start reads ids, and of passages those alone that are new."""

from __future__ import annotations

from uuid import uuid4

import pytest

pytest.importorskip("langchain_core")

from langchain_core.vectorstores import InMemoryVectorStore

from factoid import Document
from factoid.existing import ExistingStore
from langchain_factoid import EncoderEmbeddings, MultiGranularRetriever
from tests.existing.corpus import DIM, ENCODER, PROPOSITIONIZER, documents, exact_hnsw

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]
EMBEDDINGS = EncoderEmbeddings(ENCODER)
NEW = Document("A zeppelin over the marsh was seen twice.", id="new", metadata={"tenant": "b"})


def in_memory(_tmp_path, _request):
    return InMemoryVectorStore(EMBEDDINGS)


def chroma(tmp_path, _request):
    module = pytest.importorskip("langchain_chroma", reason="needs the group `stores`")
    return module.Chroma(
        "words",
        EMBEDDINGS,
        persist_directory=str(tmp_path / "chroma"),
        collection_configuration=exact_hnsw("l2"),
    )


def pgvector(_tmp_path, request):
    module = pytest.importorskip("langchain_postgres", reason="needs the group `stores`")
    import sqlalchemy

    address = request.getfixturevalue("postgres")
    engine = sqlalchemy.create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    request.addfinalizer(engine.dispose)
    return module.PGVector(
        EMBEDDINGS,
        connection=engine,
        collection_name=f"words {uuid4()}",
        embedding_length=DIM,
    )


def qdrant(_tmp_path, _request):
    module = pytest.importorskip("langchain_qdrant", reason="needs the group `stores`")
    from qdrant_client import QdrantClient
    from qdrant_client.models import Distance, VectorParams

    client = QdrantClient(":memory:")
    client.create_collection("words", VectorParams(size=DIM, distance=Distance.COSINE))
    return module.QdrantVectorStore(client, "words", EMBEDDINGS)


def milvus(tmp_path, _request):
    module = pytest.importorskip("langchain_milvus", reason="needs the group `stores`")
    pytest.importorskip("milvus_lite", reason="milvus-lite has no wheel here")
    return module.Milvus(
        EMBEDDINGS,
        "words",
        connection_args={"uri": str(tmp_path / "words.db")},
        index_params={"index_type": "FLAT", "metric_type": "COSINE", "params": {}},
        enable_dynamic_field=True,
        consistency_level="Strong",
    )


@pytest.fixture(
    params=[in_memory, chroma, pgvector, qdrant, milvus], ids=lambda make: make.__name__
)
def vectorstore(request, tmp_path):
    return request.param(tmp_path, request)


def opened(vectorstore, path) -> ExistingStore:
    indexing = {"propositionizer": PROPOSITIONIZER, "unsupported": "keep", "words_path": path}
    return MultiGranularRetriever(vectorstore=vectorstore, indexing=indexing).existing


def best(store, question, **options):
    return [
        (hit.unit.document_id, round(hit.score, 4))
        for hit in store.search(question, 3, lexical=1, **options).hits
    ]


def test_a_start_reads_what_is_new(vectorstore, tmp_path, monkeypatch):
    path = tmp_path / "words"
    store = opened(vectorstore, path)
    store.add_documents(documents())
    expected = best(store, "weather of place7")
    assert expected[0][0] == "d7"
    other = opened(vectorstore, None)  # another program, which knows nothing of the file
    other.add_documents([NEW])
    other.delete(["d3"])

    again = opened(vectorstore, path)
    got = []
    get = again.collection.get
    monkeypatch.setattr(again.collection, "get", lambda ids: got.append(len(ids)) or get(ids))
    scans = []
    scan = again.collection.scan
    monkeypatch.setattr(again.collection, "scan", lambda asked: scans.append(1) or scan(asked))
    assert best(again, "the zeppelin over the marsh")[0][0] == "new"
    assert "d3" not in [name for name, _ in best(again, "weather of place3")]
    if not isinstance(vectorstore, InMemoryVectorStore):
        assert scans == []
        assert max(got[:1]) == 1
    fresh = opened(vectorstore, None)
    for question in ("weather of place7", "the zeppelin", "ledger page 5"):
        assert best(again, question) == best(fresh, question)


def test_writes_keep_the_file_in_step(vectorstore, tmp_path):
    path = tmp_path / "words"
    store = opened(vectorstore, path)
    store.add_documents(documents())
    best(store, "ledger")
    [old] = [document for document in documents() if document.id == "d7"]
    writer = opened(vectorstore, path)
    writer.add_documents([Document(old.text, old.title, id="d7", metadata={"tenant": "z"})])
    writer.delete(["d8"])
    again = opened(vectorstore, path)
    assert best(again, "weather of place7", filter={"tenant": "z"})[0][0] == "d7"
    assert "d8" not in [name for name, _ in best(again, "weather of place8")]


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "language", "collection"])
def test_a_file_that_cannot_be_used_is_made_anew(damage, tmp_path, caplog):
    vectorstore = InMemoryVectorStore(EMBEDDINGS)
    path = tmp_path / "words"
    store = opened(vectorstore, path)
    store.add_documents(documents())
    expected = best(store, "weather of place7")
    content = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        content[-40] ^= 0xFF
        path.write_bytes(content)
    elif damage == "foreign":
        path.write_text("not ours", encoding="utf-8")
    elif damage == "language":
        indexing = {"words_path": path, "language": "de"}
        other = MultiGranularRetriever(vectorstore=vectorstore, indexing=indexing)
        other.existing.search("Wetter", 1)
    elif damage == "collection":
        other = opened(InMemoryVectorStore(EMBEDDINGS), path)
        other.add_documents([NEW])
        assert best(other, "zeppelin")[0][0] == "new"
    assert best(opened(vectorstore, path), "weather of place7") == expected
    if damage != "collection":
        assert "cannot be used and are read again" in caplog.text
    caplog.clear()
    assert best(opened(vectorstore, path), "weather of place7") == expected
    assert "cannot be used" not in caplog.text
