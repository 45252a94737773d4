"""Vector store queries in the core's terms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, get_args

import numpy as np
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.search import most_diverse
from factoid.store import UnitStore
from factoid.units import Granularity, Hit
from llama_index_factoid.filters import compile_query

Returns = Literal["parents", "units"]


def find_hits(
    store: UnitStore,
    query: VectorStoreQuery,
    *,
    granularity: str,
    returns: str,
    mmr_threshold: float | None = None,
    mmr_prefetch_k: int | None = None,
    mmr_prefetch_factor: float = 4.0,
) -> list[Hit]:
    """Return the hits of a query, best first. For arguments and errors see `MultiGranularFaissVectorStore.query`."""
    if returns not in get_args(Returns):
        message = f"returns must be one of {', '.join(get_args(Returns))}, got {returns!r}"
        raise InvalidInputError(message)
    if query.query_embedding is None:
        message = "the query has no embedding: give query_embedding, or use a retriever with an embedding model"
        raise InvalidInputError(message)
    vector, k = np.asarray(query.query_embedding, dtype=np.float32), query.similarity_top_k
    find = partial(
        store.search_by_vector,
        vector,
        granularity=granularity,
        parents=returns == "parents",
        filter=compile_query(query),
    )
    if query.mode == VectorStoreQueryMode.DEFAULT:
        hits = find(k)
    elif query.mode == VectorStoreQueryMode.MMR:
        given = (each for each in (mmr_threshold, query.mmr_threshold, 0.5) if each is not None)
        fetched = (
            max(k, mmr_prefetch_k or int(mmr_prefetch_factor * k)) if k > 0 else k
        )  # a bad k is the store's to refuse
        hits = _diverse(store, vector, find(fetched), k, next(given))
    else:
        message = f"mode {query.mode!r} does not search by vectors alone: use mode default or mmr"
        raise InvalidInputError(message)
    if not hits:
        _check_holds(store, granularity)
    return hits


def _diverse(store: UnitStore, query: Vectors, hits: Sequence[Hit], k: int, weight: float) -> list[Hit]:
    """Choose k hits by maximal marginal relevance of their best units."""
    if not 0 <= weight <= 1:
        message = f"mmr_threshold must be from 0 to 1, got {weight}"
        raise InvalidInputError(message)
    best = [(hit.matches or (hit,))[0].unit.id for hit in hits]
    vectors = store.vectors(best)
    here = [position for position, own in enumerate(best) if own in vectors]  # another thread may have deleted some
    if not here:
        return []
    order = most_diverse(query, np.stack([vectors[best[position]] for position in here]), k=k, lambda_mult=weight)
    return [hits[here[position]] for position in order]


def _check_holds(store: UnitStore, granularity: str) -> None:
    """Refuse to say that nothing was found where nothing was to be found."""
    counts = store.counts()
    if counts and Granularity(granularity) not in counts:
        held = " and ".join(f"{kind}s" for kind in counts)
        message = (
            f"this store holds {held}, no {granularity}s: query at another granularity, or add nodes of "
            "MultiGranularNodeParser"
        )
        raise InvalidInputError(message)
