"""What is known of the vector stores of both frameworks: one row of the table for each.

What their scores mean, the form of their filters, how many rows they return at most, whether they
take vectors, and what mends an answer that cannot be exact. Found by the name of their class, so
that nothing is imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from factoid.existing.conditions import (
    BY_TYPE,
    CLAUSES,
    DOLLARS,
    EXPRESSION,
    FUNCTION,
    PGVECTOR,
    QDRANT,
    QUERY,
    STRINGS,
    WEAVIATE,
    Form,
    is_plain,
    is_text,
)

# -- What scores mean --


@dataclass(frozen=True, slots=True)
class Metric:
    """What a store's score means.

    Attributes:
        name: As docs name it.
        is_cosine: Whether vectors count by their direction alone.
        similarity: Returns the inner product, or the cosine, of a query and a unit from the score
            and the lengths of both vectors.
    """

    name: str
    is_cosine: bool
    similarity: Callable[[float, float, float], float]

    def in_exponent(self) -> Metric:
        """Return the metric of a store that returns exp(-distance)."""

        def similarity(score: float, query: float, unit: float) -> float:
            distance = math.inf
            if score > 0:
                distance = -math.log(score)
            return self.similarity(distance, query, unit)

        return Metric(f"exp(-{self.name})", self.is_cosine, similarity)


def _same(score: float, _query: float, _unit: float) -> float:
    return score


def _from_one(score: float, _query: float, _unit: float) -> float:
    return 1 - score


def _negated(score: float, _query: float, _unit: float) -> float:
    return -score


def _of_square(score: float, query: float, unit: float) -> float:
    return (query**2 + unit**2 - score) / 2


def _of_distance(score: float, query: float, unit: float) -> float:
    return (query**2 + unit**2 - score**2) / 2


def _of_squared_part(score: float, query: float, unit: float) -> float:
    return _of_square(1 / score - 1, query, unit)


def _of_inner_part(score: float, _query: float, _unit: float) -> float:
    if score >= 1:
        return score - 1
    return 1 - 1 / score


def _of_half(score: float, _query: float, _unit: float) -> float:
    return 2 * score - 1


COSINE = Metric("cosine", True, _same)
INNER_PRODUCT = Metric("inner product", False, _same)
COSINE_DISTANCE = Metric("1 - cosine", True, _from_one)
INNER_PRODUCT_DISTANCE = Metric("1 - inner product", False, _from_one)
NEGATED_INNER_PRODUCT = Metric("-inner product", False, _negated)
SQUARED_L2 = Metric("squared Euclidean distance", False, _of_square)
L2 = Metric("Euclidean distance", False, _of_distance)
PART_OF_SQUARED_L2 = Metric("1 / (1 + squared Euclidean distance)", False, _of_squared_part)
PART_OF_INNER_PRODUCT = Metric("1 + inner product", False, _of_inner_part)
HALF_COSINE = Metric("(1 + cosine) / 2", True, _of_half)


def _always(metric: Metric) -> Callable[[Any], Metric | None]:
    return lambda _store: metric


def _no_metric(_store: Any) -> Metric | None:
    return None


def _named(value: Any) -> str:
    """Return the name of a setting that may be an enumeration's member."""
    return str(getattr(value, "value", value)).lower()


def _of_chroma(store: Any) -> Metric | None:
    configuration = store._collection.configuration
    # One of them, by where the server runs.
    settings = configuration.get("hnsw") or configuration.get("spann") or {}
    spaces = {"l2": SQUARED_L2, "cosine": COSINE_DISTANCE, "ip": INNER_PRODUCT_DISTANCE}
    return spaces.get(settings.get("space", "l2"))


def _of_chroma_nodes(store: Any) -> Metric | None:
    metric = _of_chroma(store)
    if metric is None:
        return None
    return metric.in_exponent()


def _of_pgvector(store: Any) -> Metric | None:
    strategies = {"l2": L2, "cosine": COSINE_DISTANCE, "inner": NEGATED_INNER_PRODUCT}
    return strategies.get(_named(store._distance_strategy))


def _of_pgvectorstore(store: Any) -> Metric | None:
    functions = {
        "l2_distance": L2,
        "cosine_distance": COSINE_DISTANCE,
        "inner_product": INNER_PRODUCT,
    }
    inner = store._PGVectorStore__vs
    if inner.hybrid_search_config is not None:
        return None  # fused scores
    return functions.get(inner.distance_strategy.search_function)


def _of_qdrant(store: Any) -> Metric | None:
    distances = {"cosine": COSINE, "dot": INNER_PRODUCT, "euclid": L2}
    if _named(getattr(store, "retrieval_mode", "dense")) != "dense":
        return None
    return distances.get(_named(store.distance))


def _of_qdrant_nodes(store: Any) -> Metric | None:
    if store.enable_hybrid:
        return None
    collection = store.client.get_collection(store.collection_name)
    vectors = collection.config.params.vectors
    if isinstance(vectors, dict):
        vectors = vectors[store.dense_vector_name]
    distances = {"cosine": COSINE, "dot": INNER_PRODUCT, "euclid": L2}
    return distances.get(_named(vectors.distance))


def _of_milvus(store: Any) -> Metric | None:
    parameters = store.index_params or {}
    if isinstance(parameters, list):
        return None  # several vectors
    metrics = {"L2": SQUARED_L2, "COSINE": COSINE, "IP": INNER_PRODUCT}
    return metrics.get(parameters.get("metric_type", "L2"))


def _of_milvus_nodes(store: Any) -> Metric | None:
    return {"L2": SQUARED_L2, "COSINE": COSINE, "IP": INNER_PRODUCT}.get(store.similarity_metric)


def _of_faiss(store: Any) -> Metric | None:
    # METRIC_INNER_PRODUCT is 0, METRIC_L2 is 1.
    return {0: INNER_PRODUCT, 1: SQUARED_L2}.get(store.index.metric_type)


def _of_pinecone(store: Any) -> Metric | None:
    names = {
        "cosine": COSINE,
        "max_inner_product": INNER_PRODUCT,
        "dotproduct": INNER_PRODUCT,
    }
    return names.get(_named(getattr(store, "distance_strategy", "cosine")))


def _of_elasticsearch(store: Any) -> Metric | None:
    strategy = getattr(store._store, "retrieval_strategy", None)
    if getattr(strategy, "hybrid", False):
        return None
    if "cosine" in _named(getattr(strategy, "distance", "cosine")):
        return HALF_COSINE
    return None


# By the documentation of OpenSearch; that of the cosine differs by engine and version.
_SPACES = {"l2": PART_OF_SQUARED_L2, "innerproduct": PART_OF_INNER_PRODUCT}


def _of_opensearch(store: Any) -> Metric | None:
    if not store.client.indices.exists(index=store.index_name):
        return PART_OF_SQUARED_L2  # as it will make the index
    [mapping] = store.client.indices.get_mapping(index=store.index_name).values()
    for described in mapping["mappings"]["properties"].values():
        if described.get("type") == "knn_vector":
            method = described.get("method") or {}
            space = described.get("space_type") or method.get("space_type", "l2")
            return _SPACES.get(space)
    return None


def _of_opensearch_nodes(store: Any) -> Metric | None:
    # Where it filters by a script, it compares squared distances whatever the index does.
    if store.client._method.get("space_type", "l2") == "l2":
        return PART_OF_SQUARED_L2
    return None


# -- Whether a short answer is the end --


def _never(_store: Any) -> bool:
    return False


def _is_always(_store: Any) -> bool:
    return True


def _is_flat(store: Any) -> bool:
    return "Flat" in type(store.index).__name__ and "IVF" not in type(store.index).__name__


def _is_local(store: Any) -> bool:
    return type(store.client._client).__name__ == "QdrantLocal"


# -- The table --

_PGVECTOR_REMEDY = (
    "an HNSW index of pgvector returns at most hnsw.ef_search rows, 40 by default, and filters "
    "them afterwards. With pgvector 0.8 or later run: ALTER ROLE CURRENT_USER SET "
    "hnsw.iterative_scan = 'strict_order'; ALTER ROLE CURRENT_USER SET hnsw.ef_search = 200; and "
    "connect again"
)
_OPENSEARCH_REMEDY = (
    "OpenSearch returns at most 10,000 rows, and with the engine nmslib filters them afterwards: "
    "make the index with engine='faiss' or 'lucene'"
)
_SEARCH_WIDTH = "search wider: give the store a larger `ef` or `nprobe` in its search parameters"


@dataclass(frozen=True, slots=True)
class KnownStore:
    """What is known of a store.

    Attributes:
        name: As its users call it.
        classes: Its classes, "top-level package.Class".
        metric: Returns what the scores of one of them mean; None where they cannot be compared
            between two searches.
        form: The form of its filters.
        argument: The name under which a search takes a filter.
        most: The most rows of one search.
        lists: Whether flat metadata may hold lists.
        embeds: "texts" if the store embeds what it is given, "vectors" if it takes vectors.
        awaits: Whether searches can be awaited.
        is_exact: Returns whether fewer rows than asked for are all that there are.
        remedy: What mends an answer that is not complete.
        was_run: Whether the conformance tests run it; the others follow their documentation.
    """

    name: str
    classes: tuple[str, ...]
    metric: Callable[[Any], Metric | None]
    form: Form
    argument: str = "filter"
    most: int = 1_000_000
    lists: bool = False
    embeds: str = "texts"
    awaits: bool = False
    is_exact: Callable[[Any], bool] = _never
    remedy: str = _SEARCH_WIDTH
    was_run: bool = True


# Where a framework's own filters are written by its adapter, only what they understand is said.
def _adapter(_tree: Any) -> Any:
    raise AssertionError("the adapter writes this form")


_NODES = Form("MetadataFilters", _adapter, numbers=False, orders=False)
_PASTED_NODES = Form("MetadataFilters", _adapter, numbers=False, orders=False, admits=is_plain)
# What it excludes it looks for among the words of a text, and not by keyword.
_TEXT_NODES = Form(
    "MetadataFilters", _adapter, numbers=False, orders=False, excludes=False, admits=is_text
)
_FLAT_NODES = Form("MetadataFilters", _adapter, orders=False, joins=False)

LANGCHAIN = (
    KnownStore(
        "InMemoryVectorStore",
        ("langchain_core.InMemoryVectorStore",),
        _always(COSINE),
        FUNCTION,
        lists=True,
        embeds="vectors",
        is_exact=_is_always,
    ),
    KnownStore(
        "FAISS of langchain-community",
        ("langchain_community.FAISS",),
        _of_faiss,
        FUNCTION,
        lists=True,
        embeds="vectors",
        is_exact=_is_flat,
    ),
    KnownStore(
        "Chroma",
        ("langchain_chroma.Chroma",),
        _of_chroma,
        BY_TYPE,
        lists=True,
        embeds="vectors",
    ),
    KnownStore(
        "PGVector",
        ("langchain_postgres.PGVector",),
        _of_pgvector,
        PGVECTOR,
        lists=True,
        embeds="vectors",
        remedy=_PGVECTOR_REMEDY,
    ),
    KnownStore(
        "PGVectorStore",
        ("langchain_postgres.PGVectorStore",),
        _of_pgvectorstore,
        STRINGS,
        lists=True,
        embeds="vectors",
        awaits=True,
        remedy=_PGVECTOR_REMEDY,
    ),
    KnownStore(
        "Qdrant",
        ("langchain_qdrant.QdrantVectorStore",),
        _of_qdrant,
        QDRANT,
        lists=True,
        embeds="vectors",
        is_exact=_is_local,
    ),
    KnownStore(
        "Milvus",
        ("langchain_milvus.Milvus",),
        _of_milvus,
        EXPRESSION,
        argument="expr",
        most=16_384,
        embeds="vectors",
        awaits=True,
        remedy="Milvus returns at most 16,384 rows in one search: ask for fewer, or filter",
    ),
    KnownStore(
        "Pinecone",
        ("langchain_pinecone.PineconeVectorStore",),
        _of_pinecone,
        DOLLARS,
        most=10_000,
        awaits=True,
        remedy="Pinecone returns at most 10,000 rows, or 4 MB, in one search: filter",
        was_run=False,
    ),
    KnownStore(
        "Elasticsearch",
        ("langchain_elasticsearch.ElasticsearchStore",),
        _of_elasticsearch,
        CLAUSES,
        most=10_000,
        lists=True,
        embeds="vectors",
        remedy="Elasticsearch returns at most num_candidates rows, which is 10,000 at most: filter",
        was_run=False,
    ),
    KnownStore(
        "OpenSearch of langchain-community",
        ("langchain_community.OpenSearchVectorSearch",),
        _of_opensearch,
        QUERY,
        most=10_000,
        lists=True,
        embeds="vectors",
        remedy=_OPENSEARCH_REMEDY,
        was_run=False,
    ),
    KnownStore(
        "Weaviate",
        ("langchain_weaviate.WeaviateVectorStore",),
        _no_metric,  # fusion scores are normalised in each search
        WEAVIATE,
        argument="filters",
        most=10_000,
        awaits=True,
        remedy="Weaviate returns at most QUERY_MAXIMUM_RESULTS rows, 10,000 by default: filter",
        was_run=False,
    ),
)

LLAMA_INDEX = (
    KnownStore(
        "SimpleVectorStore",
        ("llama_index.SimpleVectorStore",),
        _always(COSINE),
        _FLAT_NODES,
        lists=True,
        embeds="vectors",
        is_exact=_is_always,
    ),
    KnownStore(
        "Chroma",
        ("llama_index.ChromaVectorStore",),
        _of_chroma_nodes,
        _NODES,
        embeds="vectors",
    ),
    KnownStore(
        "pgvector",
        ("llama_index.PGVectorStore",),
        _always(COSINE),
        _PASTED_NODES,
        lists=True,
        embeds="vectors",
        awaits=True,
        remedy=_PGVECTOR_REMEDY,
    ),
    KnownStore(
        "Qdrant",
        ("llama_index.QdrantVectorStore",),
        _of_qdrant_nodes,
        _NODES,
        lists=True,
        embeds="vectors",
        is_exact=_is_local,
    ),
    KnownStore(
        "Milvus",
        ("llama_index.MilvusVectorStore",),
        _of_milvus_nodes,
        _NODES,
        most=16_384,
        embeds="vectors",
        remedy="Milvus returns at most 16,384 rows in one search: ask for fewer, or filter",
        was_run=False,
    ),
    KnownStore(
        "Pinecone",
        ("llama_index.PineconeVectorStore",),
        _always(COSINE),
        _NODES,
        most=1_000,  # it returns vectors as well: 4 MB are soon full
        embeds="vectors",
        remedy="Pinecone returns at most 4 MB in one search, vectors included: filter",
        was_run=False,
    ),
    KnownStore(
        "OpenSearch",
        ("llama_index.OpensearchVectorStore",),
        _of_opensearch_nodes,
        _TEXT_NODES,
        most=10_000,
        lists=True,
        embeds="vectors",
        remedy=_OPENSEARCH_REMEDY,
        was_run=False,
    ),
    KnownStore(
        "Elasticsearch",
        ("llama_index.ElasticsearchStore",),
        _no_metric,  # scores are brought to 0 to 1 in each search
        CLAUSES,
        argument="es_filter",
        most=1_000,  # it compares ten times as many, which are 10,000 at most
        lists=True,
        embeds="vectors",
        remedy="LlamaIndex's Elasticsearch returns at most 1,000 rows in one search: filter",
        was_run=False,
    ),
    KnownStore(
        "Weaviate",
        ("llama_index.WeaviateVectorStore",),
        _no_metric,
        WEAVIATE,
        argument="filters",
        most=10_000,
        embeds="vectors",
        remedy="Weaviate returns at most QUERY_MAXIMUM_RESULTS rows, 10,000 by default: filter",
        was_run=False,
    ),
)


def known_store(store: object, table: tuple[KnownStore, ...]) -> KnownStore | None:
    """Return what is known of a store, by its class or the classes that it extends."""
    names = []
    for ancestor in type(store).__mro__:
        package = ancestor.__module__.split(".")[0]
        names.append(f"{package}.{ancestor.__name__}")
    for name in names:
        for known in table:
            if name in known.classes:
                return known
    return None
