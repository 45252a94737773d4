"""factoid: the core's store, and the two frameworks' classes over it."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.records import ids_of, texts_of, units_of
from benchmarks.store.corpus import Batch, Corpus, Floats, unit_text
from benchmarks.store.operations import Condition


class Core:
    """`UnitStore`, with one index of propositions."""

    def __init__(self) -> None:
        from factoid import Granularity, Unit, UnitStore

        self.options = _exact(UnitStore)
        self.parameters: dict[str, int] | None = None
        self.Granularity = Granularity
        self.Unit = Unit
        self.UnitStore = UnitStore

    def build(self, folder: Path, corpus: Corpus, batches: Iterator[Batch]) -> None:
        metadata = corpus.metadata()
        with self._store(folder) as store:
            for batch in batches:
                self._put(store, batch, metadata)
            store.search_by_vector(
                np.ones(corpus.dim, np.float32), 1
            )  # makes the index, which closing saves

    def open(self, folder: Path, corpus: Corpus) -> None:
        self.metadata = corpus.metadata()
        self.store = self._store(folder)

    def units(self, query: Floats, k: int, condition: Condition | None = None) -> list[str]:
        options = {"parents": "unit", "filter": _where(condition), "parameters": self.parameters}
        hits = self.store.search_by_vector(query, k, **options)
        return ids_of(hits)

    def units_batch(self, queries: Floats, k: int) -> list[list[str]]:
        return self._batch(queries, k, parents="unit")

    def parents(self, query: Floats, k: int) -> list[str]:
        return ids_of(self.store.search_by_vector(query, k, parameters=self.parameters))

    def parents_batch(self, queries: Floats, k: int) -> list[list[str]]:
        return self._batch(queries, k, parents="passage")

    def add(self, batch: Batch) -> None:
        self._put(self.store, batch, self.metadata)

    def close(self) -> None:
        self.store.close()

    def _store(self, folder: Path) -> Any:
        return self.UnitStore(
            folder / "store", encoder=None, granularities=["proposition"], **self.options
        )

    def _put(self, store: Any, batch: Batch, metadata: list[dict[str, Any]]) -> None:
        kinds = self.Granularity
        units = []
        vectors: list[Floats | None] = []
        new_vectors = iter(batch.vectors)
        for passage, rows in _rows_of_passages(batch):
            texts = list(map(unit_text, rows))
            passage_id = f"p{passage}"
            document_id = f"d{passage}"
            whole = " ".join(texts)
            place = (document_id, document_id, 0, len(whole))
            shared = ("", "", metadata[passage])  # title, section, metadata
            units.append(self.Unit(passage_id, whole, kinds.PASSAGE, *place, *shared))
            vectors.append(None)
            start = 0
            for row, text in zip(rows, texts, strict=True):
                end = start + len(text)
                place = (document_id, passage_id, start, end)
                units.append(self.Unit(f"u{row}", text, kinds.PROPOSITION, *place, *shared))
                vectors.append(next(new_vectors))
                start = end + 1
        store.add(units, vectors=vectors)

    def _batch(self, queries: Floats, k: int, *, parents: str) -> list[list[str]]:
        found = self.store.search_batch_by_vector(
            queries, k, parents=parents, parameters=self.parameters
        )
        return [ids_of(hits) for hits in found]


class Graph(Core):
    """The same with a graph in place of the exact index, to be compared with Chroma's."""

    def __init__(self) -> None:
        super().__init__()
        self.options = {"index": "HNSW32"}
        self.parameters = {"efSearch": 128}  # for a recall like that of Chroma's graph


class Codes(Core):
    """The same with codes of one bit a component, the best of which are scored again."""

    def __init__(self) -> None:
        super().__init__()
        self.options = {"index": "IVF1,RaBitQfs"}


class LangChain:
    """`MultiGranularFAISS` with an index of sentences: each unit is one of its document."""

    def __init__(self) -> None:
        from langchain_core.documents import Document

        from benchmarks.store.community import stored_embeddings
        from langchain_factoid import MultiGranularFAISS

        self.Document = Document
        self.MultiGranularFAISS = MultiGranularFAISS
        self.embeddings = stored_embeddings()

    def build(self, folder: Path, corpus: Corpus, batches: Iterator[Batch]) -> None:
        self.open(folder, corpus)
        for batch in batches:
            self.add(batch)
        self.units(corpus.column("queries")[0], 1)
        self.close()

    def open(self, folder: Path, corpus: Corpus) -> None:
        self.corpus = corpus
        self.metadata = corpus.metadata()
        options = {"granularities": ["sentence"], "index": "Flat"}
        self.store = self.MultiGranularFAISS(self.embeddings, path=folder / "store", **options)

    def units(self, query: Floats, k: int, condition: Condition | None = None) -> list[str]:
        found = self._search(query, k, parents="unit", filter=_where(condition))
        return [document.page_content for document in found]

    def units_batch(self, queries: Floats, k: int) -> list[list[str]]:
        found = self._batch(queries, k, parents="unit")
        return [texts_of(units_of(hits)) for hits in found]

    def parents_batch(self, queries: Floats, k: int) -> list[list[str | None]]:
        return [ids_of(hits) for hits in self._batch(queries, k, parents="document")]

    def _batch(self, queries: Floats, k: int, **options: Any) -> Any:
        return self.store.store.search_batch_by_vector(
            queries, k, granularity="sentence", **options
        )

    def parents(self, query: Floats, k: int) -> list[str | None]:
        return [document.id for document in self._search(query, k, parents="document")]

    def _search(self, query: Floats, k: int, **options: Any) -> Any:
        search = self.store.similarity_search_with_score_by_vector
        found = search(query.tolist(), k, granularity="sentence", **options)
        return [document for document, _ in found]

    def add(self, batch: Batch) -> None:
        self.embeddings.hold(batch.vectors, int(batch.rows[0]))
        documents = []
        for passage, rows in _rows_of_passages(batch):
            text = " ".join(map(unit_text, rows))
            metadata = self.metadata[passage]
            documents.append(self.Document(text, metadata=metadata, id=f"p{passage}"))
        self.store.add_documents(documents)

    def close(self) -> None:
        self.store.close()


class LlamaIndex:
    """`MultiGranularFaissVectorStore` with an index of propositions, under a `VectorStoreIndex`."""

    def __init__(self) -> None:
        from llama_index.core import MockEmbedding, VectorStoreIndex

        from benchmarks.store import community
        from llama_index_factoid import MultiGranularFaissVectorStore

        self.community = community
        self.Store = MultiGranularFaissVectorStore
        self.over = VectorStoreIndex.from_vector_store
        self.embedding = MockEmbedding

    def build(self, folder: Path, corpus: Corpus, batches: Iterator[Batch]) -> None:
        self.open(folder, corpus)
        for batch in batches:
            self.add(batch)
        self.units(corpus.column("queries")[0], 1)
        self.close()

    def open(self, folder: Path, corpus: Corpus) -> None:
        self.metadata = corpus.metadata()
        self.store = self.Store(
            folder / "store", granularities=("proposition",), **_exact(self.Store)
        )
        self.index = self.over(self.store, embed_model=self.embedding(corpus.dim))

    def units(self, query: Floats, k: int, condition: Condition | None = None) -> list[str]:
        return self.community.retrieve(
            self.index, query, k, condition, vector_store_kwargs={"parents": "unit"}
        )

    def parents(self, query: Floats, k: int) -> list[str]:
        return self.community.retrieve(self.index, query, k)

    def units_batch(self, queries: Floats, k: int) -> list[list[str]]:
        return self._batch(queries, k, parents="unit")

    def parents_batch(self, queries: Floats, k: int) -> list[list[str]]:
        return self._batch(queries, k, parents="passage")

    def _batch(self, queries: Floats, k: int, *, parents: str) -> list[list[str]]:
        found = self.store.client.search_batch_by_vector(queries, k, parents=parents)
        return [ids_of(hits) for hits in found]

    def add(self, batch: Batch) -> None:
        self.store.add(self.community.nodes(batch, self.metadata, passages=True))

    def close(self) -> None:
        self.store.close()


def _rows_of_passages(batch: Batch) -> Iterator[tuple[int, list[int]]]:
    """Yield each passage of a batch with the rows of its units."""
    ends = np.flatnonzero(np.diff(batch.parents)) + 1
    for passage, rows in zip(batch.passages.tolist(), np.split(batch.rows, ends), strict=True):
        yield passage, rows.tolist()


def _exact(kind: type) -> dict[str, str]:
    """Return the option for exact search: of many units, a store makes a graph unless told."""
    return {"index": "Flat"} if "index" in signature(kind).parameters else {}


def _where(condition: Condition | None) -> dict[str, Any] | None:
    if condition is None:
        return None
    if condition.operator == "eq":
        return {condition.key: condition.value}
    return {condition.key: {f"${condition.operator}": condition.value}}
