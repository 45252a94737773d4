"""Vector store queries in the core's terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, get_args

import numpy as np
from llama_index.core.vector_stores.types import MetadataFilters, VectorStoreQuery, VectorStoreQueryMode

from factoid.errors import InvalidInputError
from factoid.filters import Tree
from factoid.search import Fusion
from factoid.store import UnitStore
from factoid.units import Granularity
from llama_index_factoid.filters import compile_filters
from llama_index_factoid.results import MultiGranularQueryResult, to_results

Returns = Literal["parents", "units"]

_MIXED = "mixed"
_LEARNERS = (
    VectorStoreQueryMode.SVM,
    VectorStoreQueryMode.LOGISTIC_REGRESSION,
    VectorStoreQueryMode.LINEAR_REGRESSION,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """The options of `MultiGranularFaissVectorStore.query`, which see."""

    granularity: str | Sequence[str]
    returns: str = "parents"
    fusion: Fusion = "rrf"
    min_score: float | None = None
    expand: int = 0
    parameters: Mapping[str, Any] | None = None
    refine: int | None = None
    mmr_threshold: float | None = None
    mmr_prefetch_k: int | None = None
    mmr_prefetch_factor: float = 4.0

    @classmethod
    def of(cls, given: Mapping[str, Any], *, granularity: str | Sequence[str], returns: str) -> Self:
        """Return options that a caller gave, with a store's own where there are none, or None.

        Raises:
            InvalidInputError: An unknown option, or `returns` is neither "parents" nor "units".
        """
        names = [each.name for each in fields(cls)]
        if unknown := sorted(set(given) - set(names)):
            message = f"unknown options {unknown}: expected some of {', '.join(names)}"
            raise InvalidInputError(message)
        own = {"granularity": granularity, "returns": returns}
        options = cls(**{**own, **{name: value for name, value in given.items() if value is not None}})
        if options.returns not in get_args(Returns):
            message = f"returns must be one of {', '.join(get_args(Returns))}, got {options.returns!r}"
            raise InvalidInputError(message)
        return options

    def kinds(self, searched: Sequence[Granularity]) -> list[Granularity]:
        """Return the granularities that are compared with queries."""
        if self.granularity == _MIXED:
            return list(searched)
        names = [self.granularity] if isinstance(self.granularity, str) else self.granularity
        return [Granularity(name) for name in names]


def run(store: UnitStore, queries: Sequence[VectorStoreQuery], options: QueryOptions) -> list[MultiGranularQueryResult]:
    """Return the result of each query; those that differ in nothing but their embedding are searched in one call.

    For arguments and errors see `MultiGranularFaissVectorStore.query`.
    """
    kinds = options.kinds(store.granularities)
    groups: dict[Any, list[int]] = {}
    asked: dict[Any, dict[str, Any]] = {}
    trees: dict[str, Tree | None] = {}
    for position, query in enumerate(queries):
        filters = query.filters.model_dump_json() if isinstance(query.filters, MetadataFilters) else ""
        if filters not in trees or not filters:  # whatever is no filter is refused there
            trees[filters] = compile_filters(store, query.filters)
        search = _search(query, trees[filters], options, kinds)
        key = (len(query.query_embedding or ()), filters, repr(search | {"filter": None}))
        groups.setdefault(key, []).append(position)
        asked[key] = search
    hits: dict[int, Any] = {}
    for key, positions in groups.items():
        vectors = np.array([queries[position].query_embedding for position in positions], dtype=np.float32)
        hits |= zip(positions, store.search_batch_by_vector(vectors, **asked[key]), strict=True)
    found = [hits[position] for position in range(len(queries))]
    if not all(found):
        _check_holds(store, kinds)
    wanted = [query.similarity_top_k for query in queries]
    return to_results(store, found, wanted, parents=options.returns == "parents")


def _search(
    query: VectorStoreQuery, tree: Tree | None, options: QueryOptions, kinds: Sequence[Granularity]
) -> dict[str, Any]:
    """Return what the core's search is called with, apart from the vectors."""
    if query.query_embedding is None:
        message = "the query has no embedding: give query_embedding, or use a retriever with an embedding model"
        raise InvalidInputError(message)
    # Of several granularities, units may be one node's several stand-ins; a bad k is the core's to refuse.
    copies = len(set(kinds)) if options.returns == "units" else 1
    search: dict[str, Any] = {
        "k": query.similarity_top_k * copies,
        "granularity": options.granularity,
        "parents": options.returns == "parents",
        "filter": tree,
        # A VectorStoreIndex gives its retriever an empty list of node ids where the store keeps the nodes.
        "document_ids": query.doc_ids or None,
        "unit_ids": query.node_ids or None,
        "min_score": options.min_score,
        "fusion": options.fusion,
        "expand": options.expand,
        "parameters": options.parameters,
        "refine": options.refine,
    }
    if query.mode == VectorStoreQueryMode.MMR:
        weights = (options.mmr_threshold, query.mmr_threshold, 0.5)
        weight = next(each for each in weights if each is not None)
        if not 0 <= weight <= 1:
            message = f"mmr_threshold must be from 0 to 1, the weight of the nearness to the query, got {weight}"
            raise InvalidInputError(message)
        fetched = options.mmr_prefetch_k or int(options.mmr_prefetch_factor * query.similarity_top_k)
        search |= {"mmr": weight, "fetch_k": max(1, query.similarity_top_k, fetched) * copies}
    else:
        check_mode(query.mode)
    return search


def check_mode(mode: VectorStoreQueryMode) -> None:
    """Refuse modes that no search by vectors can answer.

    Raises:
        InvalidInputError: Says what to use in its place.
    """
    if mode in (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR):
        return
    name = str(getattr(mode, "value", mode))
    if mode in _LEARNERS:
        advice = "it would train a model on all vectors for each query: use mode default or mmr"
    else:
        advice = (
            "it needs more than vectors: use mode default or mmr, and fuse the results with those of a keyword retriever "
            "in llama_index.core.retrievers.QueryFusionRetriever"
        )
    message = f"this store does not answer mode {name!r}, {advice}"
    raise InvalidInputError(message)


def _check_holds(store: UnitStore, kinds: Sequence[Granularity]) -> None:
    """Refuse to say that nothing was found where nothing was to be found."""
    counts = store.counts()
    if counts and not set(kinds) & set(counts):
        held = " and ".join(f"{kind}s" for kind in counts)
        wanted = " or ".join(f"{kind}s" for kind in kinds)
        message = f"this store holds {held}, no {wanted}: query at another granularity, or add nodes of MultiGranularNodeParser"
        raise InvalidInputError(message)
