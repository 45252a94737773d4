"""factoid: the core's store, and the two frameworks' classes over it."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

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
        return [hit.unit.id for hit in hits]

    def units_batch(self, queries: Floats, k: int) -> list[list[str]]:
        return self._batch(queries, k, parents="unit")

    def parents(self, query: Floats, k: int) -> list[str]:
        return [
            hit.unit.id for hit in self.store.search_by_vector(query, k, parameters=self.parameters)
        ]

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
        rows_of = np.split(batch.rows, np.flatnonzero(np.diff(batch.parents)) + 1)
        position = 0
        for passage, rows in zip(batch.passages.tolist(), rows_of, strict=True):
            texts = [unit_text(row) for row in rows.tolist()]
            own = f"p{passage}"
            shared = metadata[passage]
            whole = " ".join(texts)
            start = 0
            units.append(
                self.Unit(
                    own,
                    whole,
                    kinds.PASSAGE,
                    f"d{passage}",
                    f"d{passage}",
                    0,
                    len(whole),
                    "",
                    "",
                    shared,
                )
            )
            vectors.append(None)
            for row, text in zip(rows.tolist(), texts, strict=True):
                end = start + len(text)
                units.append(
                    self.Unit(
                        f"u{row}",
                        text,
                        kinds.PROPOSITION,
                        f"d{passage}",
                        own,
                        start,
                        end,
                        "",
                        "",
                        shared,
                    )
                )
                vectors.append(batch.vectors[position])
                start = end + 1
                position = position + 1
        store.add(units, vectors=vectors)

    def _batch(self, queries: Floats, k: int, *, parents: str) -> list[list[str]]:
        found = self.store.search_batch_by_vector(
            queries, k, parents=parents, parameters=self.parameters
        )
        return [[hit.unit.id for hit in hits] for hits in found]


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
        return [[hit.unit.text for hit in hits] for hits in self._batch(queries, k, parents="unit")]

    def parents_batch(self, queries: Floats, k: int) -> list[list[str | None]]:
        return [
            [hit.unit.id for hit in hits] for hits in self._batch(queries, k, parents="document")
        ]

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
        rows_of = np.split(batch.rows, np.flatnonzero(np.diff(batch.parents)) + 1)
        documents = [
            self.Document(
                " ".join(map(unit_text, rows.tolist())),
                metadata=self.metadata[passage],
                id=f"p{passage}",
            )
            for passage, rows in zip(batch.passages.tolist(), rows_of, strict=True)
        ]
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
        return [[hit.unit.id for hit in hits] for hits in found]

    def add(self, batch: Batch) -> None:
        self.store.add(self.community.nodes(batch, self.metadata, passages=True))

    def close(self) -> None:
        self.store.close()


def _exact(kind: type) -> dict[str, str]:
    """Return the option for exact search: of many units, a store makes a graph unless told."""
    return {"index": "Flat"} if "index" in signature(kind).parameters else {}


def _where(condition: Condition | None) -> dict[str, Any] | None:
    if condition is None:
        return None
    return {
        condition.key: condition.value
        if condition.operator == "eq"
        else {f"${condition.operator}": condition.value}
    }
