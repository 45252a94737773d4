"""The FAISS stores of langchain-community and of LlamaIndex, used as their pages show, and what
both sides' tests share.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.store.contestant import OneByOne
from benchmarks.store.corpus import Batch, Corpus, Floats, number, unit_text
from benchmarks.store.operations import Condition


class LangChainFaiss(OneByOne):
    """langchain-community's `FAISS` with inner products and defaults otherwise.

    Parents are found as `MultiVectorRetriever` does it: what the k best units belong to.
    """

    everything = False
    store: Any = None

    def __init__(self) -> None:
        with warnings.catch_warnings(action="ignore"):  # the package says that it is being sunset
            from langchain_community.vectorstores import FAISS
            from langchain_community.vectorstores.utils import DistanceStrategy

        self.FAISS = FAISS
        self.embeddings = stored_embeddings()
        self.strategy = DistanceStrategy.MAX_INNER_PRODUCT

    def build(self, folder: Path, corpus: Corpus, batches: Iterator[Batch]) -> None:
        self.folder = folder
        self.metadata = corpus.metadata()
        for batch in batches:
            self._put(batch)
        self.store.save_local(str(folder))

    def open(self, folder: Path, corpus: Corpus) -> None:
        self.folder = folder
        self.metadata = corpus.metadata()
        self.store = self.FAISS.load_local(
            str(folder),
            self.embeddings,
            allow_dangerous_deserialization=True,
            distance_strategy=self.strategy,
        )

    def units(self, query: Floats, k: int, condition: Condition | None = None) -> list[str]:
        options: dict[str, Any] = {}
        if condition is not None:
            options = {"filter": {condition.key: {f"${condition.operator}": condition.value}}}
            if self.everything:
                options["fetch_k"] = self.store.index.ntotal
        found = self.store.similarity_search_with_score_by_vector(query.tolist(), k, **options)
        return [document.page_content for document, _ in found]

    def parents(self, query: Floats, k: int) -> list[str]:
        return self._passages(query, k)

    def add(self, batch: Batch) -> None:
        self._put(batch)
        self.store.save_local(str(self.folder))

    def close(self) -> None:
        self.store = None

    def _passages(self, query: Floats, wide: int) -> list[str]:
        found = self.store.similarity_search_with_score_by_vector(query.tolist(), wide)
        return list(dict.fromkeys(document.metadata["passage"] for document, _ in found))

    def _put(self, batch: Batch) -> None:
        pairs = list(zip(map(unit_text, batch.rows.tolist()), batch.vectors.tolist(), strict=True))
        metadatas = unit_metadata(batch, self.metadata)
        ids = [f"u{row}" for row in batch.rows.tolist()]
        if self.store is None:
            self.store = self.FAISS.from_embeddings(
                pairs, self.embeddings, metadatas, ids, distance_strategy=self.strategy
            )
        else:
            self.store.add_embeddings(pairs, metadatas, ids)


class WidenedLangChainFaiss(LangChainFaiss):
    """The same with `fetch_k` of all units where there is a filter, and a fetch that is widened
    until k parents are met.
    """

    everything = True

    def parents(self, query: Floats, k: int) -> list[str]:
        wide = 4 * k
        while True:
            found = self._passages(query, wide)
            if len(found) >= k or wide >= self.store.index.ntotal:
                return found[:k]
            wide *= 4


class LlamaIndexFaiss(OneByOne):
    """`FaissMapVectorStore` under a `VectorStoreIndex`, its nodes in the default document store."""

    def __init__(self) -> None:
        import faiss
        from llama_index.core import (
            MockEmbedding,
            StorageContext,
            VectorStoreIndex,
            load_index_from_storage,
        )
        from llama_index.vector_stores.faiss import FaissMapVectorStore

        self.faiss = faiss
        self.Store = FaissMapVectorStore
        self.StorageContext = StorageContext
        self.VectorStoreIndex = VectorStoreIndex
        self.load = load_index_from_storage
        self.embedding = MockEmbedding

    def build(self, folder: Path, corpus: Corpus, batches: Iterator[Batch]) -> None:
        self.folder = folder
        self.metadata = corpus.metadata()
        store = self.Store(self.faiss.IndexIDMap2(self.faiss.IndexFlatIP(corpus.dim)))
        context = self.StorageContext.from_defaults(vector_store=store)
        self.index: Any = self.VectorStoreIndex(
            [], storage_context=context, embed_model=self.embedding(corpus.dim)
        )
        for batch in batches:
            self.index.insert_nodes(nodes(batch, self.metadata))
        context.persist(str(folder))

    def open(self, folder: Path, corpus: Corpus) -> None:
        self.folder = folder
        self.metadata = corpus.metadata()
        store = self.Store.from_persist_dir(str(folder))
        context = self.StorageContext.from_defaults(vector_store=store, persist_dir=str(folder))
        self.index = self.load(context, embed_model=self.embedding(corpus.dim))

    def units(self, query: Floats, k: int, condition: Condition | None = None) -> list[str]:
        return retrieve(self.index, query, k, condition)

    def parents(self, query: Floats, k: int) -> list[str]:
        found = self.index.as_retriever(similarity_top_k=k).retrieve(bundle(query))
        return list(dict.fromkeys(scored.node.metadata["passage"] for scored in found))

    def add(self, batch: Batch) -> None:
        self.index.insert_nodes(nodes(batch, self.metadata))
        self.index.storage_context.persist(str(self.folder))

    def close(self) -> None:
        del self.index


def unit_metadata(batch: Batch, metadata: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the metadata of units: their passage's, and which that is."""
    return [{"passage": f"p{passage}", **metadata[passage]} for passage in batch.parents.tolist()]


def stored_embeddings() -> Any:
    """Return LangChain embeddings that look up what they are given: `hold` units' vectors, and set
    `query`.
    """
    from langchain_core.embeddings import Embeddings

    class StoredEmbeddings(Embeddings):
        query: Floats

        def hold(self, vectors: Floats, first: int) -> None:
            self.vectors = vectors
            self.first = first

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            rows = np.array(list(map(number, texts))) - self.first
            vectors: list[list[float]] = self.vectors[rows].tolist()
            return vectors

        def embed_query(self, text: str) -> list[float]:  # noqa: ARG002
            """Return the vector that stands for every text."""
            vector: list[float] = self.query.tolist()
            return vector

    return StoredEmbeddings()


def nodes(batch: Batch, metadata: list[dict[str, Any]], *, passages: bool = False) -> list[Any]:
    """Return units as LlamaIndex nodes with embeddings; with their passages before them, as our
    parser gives them.
    """
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

    made = []
    seen = -1
    own = zip(batch.rows.tolist(), batch.parents.tolist(), batch.vectors, strict=True)
    for position, (row, passage, vector) in enumerate(own):
        source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"d{passage}")}
        fields = {"passage": f"p{passage}", **metadata[passage]}
        if passages:
            fields = {
                **metadata[passage],
                "granularity": "proposition",
                "passage_id": f"p{passage}",
            }
            if passage != seen:
                seen = passage
                count = int(np.searchsorted(batch.parents, passage, side="right")) - position
                text = " ".join(map(unit_text, range(row, row + count)))
                made.append(
                    TextNode(
                        id_=f"p{passage}",
                        text=text,
                        metadata=fields | {"granularity": "passage"},
                        relationships=source,
                        embedding=batch.vectors[position : position + count].mean(axis=0).tolist(),
                    )
                )
            source = source | {NodeRelationship.PARENT: RelatedNodeInfo(node_id=f"p{passage}")}
        made.append(
            TextNode(
                id_=f"u{row}",
                text=unit_text(row),
                metadata=fields,
                relationships=source,
                embedding=vector.tolist(),
            )
        )
    return made


def bundle(query: Floats) -> Any:
    """Return a query that is embedded already, as LlamaIndex's retrievers take it."""
    from llama_index.core.schema import QueryBundle

    return QueryBundle("q", embedding=query.tolist())


def retrieve(
    index: Any, query: Floats, k: int, condition: Condition | None = None, **options: Any
) -> list[str]:
    """Return the ids of the nodes that an index's retriever finds."""
    from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters

    if condition is not None:
        operator = FilterOperator.EQ if condition.operator == "eq" else FilterOperator.LT
        one = MetadataFilter(key=condition.key, value=condition.value, operator=operator)
        options["filters"] = MetadataFilters(filters=[one])
    found = index.as_retriever(similarity_top_k=k, **options).retrieve(bundle(query))
    return list(map(attrgetter("node.node_id"), found))
