"""Chroma, LanceDB and Qdrant in this process, on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from benchmarks.store.community import unit_metadata
from benchmarks.store.contestant import OneByOne
from benchmarks.store.corpus import Batch, Corpus, Floats, unit_text
from benchmarks.store.operations import Condition

_NAME = "units"


class Chroma:
    """A persistent client; the collection's HNSW graph as it is by default, for inner products."""

    def __init__(self) -> None:
        import chromadb
        from chromadb.config import Settings

        self.client_of = chromadb.PersistentClient
        self.settings = Settings(anonymized_telemetry=False)

    def build(self, folder: Path, corpus: Corpus, batches: Iterator[Batch]) -> None:
        self._connect(folder, corpus)
        self.collection = self.client.create_collection(
            _NAME, configuration={"hnsw": {"space": "ip"}}, embedding_function=None
        )
        for batch in batches:
            self.add(batch)
        self.units(corpus.column("queries")[0], 1)
        self.close()

    def open(self, folder: Path, corpus: Corpus) -> None:
        self._connect(folder, corpus)
        self.collection = self.client.get_collection(_NAME, embedding_function=None)

    def units(self, query: Floats, k: int, condition: Condition | None = None) -> list[str]:
        where = condition and {condition.key: {f"${condition.operator}": condition.value}}
        ids: list[str] = self.collection.query(query_embeddings=[query], n_results=k, where=where)[
            "ids"
        ][0]
        return ids

    def units_batch(self, queries: Floats, k: int) -> list[list[str]]:
        ids: list[list[str]] = self.collection.query(query_embeddings=list(queries), n_results=k)[
            "ids"
        ]
        return ids

    def parents(self, query: Floats, k: int) -> list[str]:
        found = self.collection.query(query_embeddings=[query], n_results=4 * k)["metadatas"][0]
        return _passages(found, k)

    def parents_batch(self, queries: Floats, k: int) -> list[list[str]]:
        found = self.collection.query(query_embeddings=list(queries), n_results=4 * k)["metadatas"]
        return [_passages(metadata, k) for metadata in found]

    def add(self, batch: Batch) -> None:
        metadatas = unit_metadata(batch, self.metadata)
        step = self.client.get_max_batch_size()
        for start in range(0, len(batch.rows), step):
            rows = batch.rows[start : start + step].tolist()
            self.collection.add(
                ids=[f"u{row}" for row in rows],
                embeddings=batch.vectors[start : start + step],
                documents=list(map(unit_text, rows)),
                metadatas=metadatas[start : start + step],
            )

    def close(self) -> None:
        self.client.close()

    def _connect(self, folder: Path, corpus: Corpus) -> None:
        self.metadata = corpus.metadata()
        self.client: Any = self.client_of(str(folder / "chroma"), settings=self.settings)


def _passages(metadata: Iterable[Mapping[str, Any]], k: int) -> list[str]:
    """Return the first k distinct passages of the units that were found."""
    return list(dict.fromkeys(map(itemgetter("passage"), metadata)))[:k]


class LanceDB(OneByOne):
    """An embedded table without an index of vectors, which it scans exactly; filters come first."""

    def __init__(self) -> None:
        import lancedb
        import pyarrow as pa

        self.connect = lancedb.connect
        self.pa = pa

    def build(self, folder: Path, corpus: Corpus, batches: Iterator[Batch]) -> None:
        self._connect(folder, corpus)
        self.table = self.database.create_table(
            _NAME, map(self._rows, batches), self._schema(corpus)
        )

    def open(self, folder: Path, corpus: Corpus) -> None:
        self._connect(folder, corpus)
        self.table = self.database.open_table(_NAME)

    def units(self, query: Floats, k: int, condition: Condition | None = None) -> list[int]:
        found = self._search(query, k, condition)
        ids: list[int] = found.select(["id", "_distance"]).to_arrow()["id"].to_pylist()
        return ids

    def parents(self, query: Floats, k: int) -> list[str]:
        found = self._search(query, 4 * k)
        passages = found.select(["passage", "_distance"]).to_arrow()["passage"].to_pylist()
        return list(dict.fromkeys(passages))[:k]

    def add(self, batch: Batch) -> None:
        self.table.add(self._rows(batch))

    def close(self) -> None:
        del self.table, self.database

    def _connect(self, folder: Path, corpus: Corpus) -> None:
        self.metadata = corpus.metadata()
        self.database: Any = self.connect(str(folder / "lancedb"))

    def _search(self, query: Floats, k: int, condition: Condition | None = None) -> Any:
        search = self.table.search(query).distance_type("dot").limit(k)
        if condition is None:
            return search
        operator = {"eq": "=", "lt": "<"}[condition.operator]
        return search.where(f"{condition.key} {operator} {condition.value!r}", prefilter=True)

    def _schema(self, corpus: Corpus) -> Any:
        vector = self.pa.list_(self.pa.float32(), corpus.dim)
        fields = [("id", self.pa.int64()), ("text", self.pa.string()), ("vector", vector)]
        columns = self.pa.Table.from_pylist(self.metadata[:1]).schema
        return self.pa.schema([("passage", self.pa.string()), *columns, *fields])

    def _rows(self, batch: Batch) -> Any:
        rows = self.pa.Table.from_pylist(unit_metadata(batch, self.metadata))
        ids = batch.rows.tolist()
        values = self.pa.array(batch.vectors.reshape(-1))
        vectors = self.pa.FixedSizeListArray.from_arrays(values, batch.vectors.shape[1])
        texts = list(map(unit_text, ids))
        rows = rows.append_column("id", self.pa.array(ids, self.pa.int64()))
        rows = rows.append_column("text", self.pa.array(texts))
        return rows.append_column("vector", vectors)


class Qdrant(OneByOne):
    """The client's local mode, which scans all vectors; it has no index of payloads.

    Parents are its own groups.
    """

    def __init__(self) -> None:
        import qdrant_client

        self.client_of = qdrant_client.QdrantClient
        self.models = qdrant_client.models

    def build(self, folder: Path, corpus: Corpus, batches: Iterator[Batch]) -> None:
        self.open(folder, corpus)
        parameters = self.models.VectorParams(size=corpus.dim, distance=self.models.Distance.DOT)
        self.client.create_collection(_NAME, vectors_config=parameters)
        for batch in batches:
            self.add(batch)
        self.close()

    def open(self, folder: Path, corpus: Corpus) -> None:
        self.metadata = corpus.metadata()
        self.client: Any = self.client_of(path=str(folder / "qdrant"))

    def units(self, query: Floats, k: int, condition: Condition | None = None) -> list[int]:
        found = self.client.query_points(
            _NAME, query, query_filter=self._filter(condition), limit=k
        )
        return list(map(attrgetter("id"), found.points))

    def units_batch(self, queries: Floats, k: int) -> list[list[int]]:
        requests = []
        for query in queries.tolist():
            requests.append(self.models.QueryRequest(query=query, limit=k, with_payload=True))
        answers = []
        for found in self.client.query_batch_points(_NAME, requests):
            answers.append(list(map(attrgetter("id"), found.points)))
        return answers

    def parents(self, query: Floats, k: int) -> list[str]:
        found = self.client.query_points_groups(_NAME, "passage", query, limit=k, group_size=1)
        return list(map(attrgetter("id"), found.groups))

    def add(self, batch: Batch) -> None:
        payloads = unit_metadata(batch, self.metadata)
        for row, payload in zip(batch.rows.tolist(), payloads, strict=True):
            payload["text"] = unit_text(row)
        points = self.models.Batch(
            ids=batch.rows.tolist(), vectors=batch.vectors.tolist(), payloads=payloads
        )
        self.client.upsert(_NAME, points)

    def close(self) -> None:
        self.client.close()

    def _filter(self, condition: Condition | None) -> Any:
        if condition is None:
            return None
        if condition.operator == "eq":
            field = self.models.FieldCondition(
                key=condition.key, match=self.models.MatchValue(value=condition.value)
            )
        else:
            field = self.models.FieldCondition(
                key=condition.key, range=self.models.Range(lt=condition.value)
            )
        return self.models.Filter(must=[field])
