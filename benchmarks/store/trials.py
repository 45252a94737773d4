"""One kind of index over some vectors: recall@10 against exact search, bytes and latency, with and
without refinement.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import faiss
import numpy as np

from benchmarks.store.corpus import Floats, Integers
from benchmarks.store.operations import K
from factoid.vectors import VectorIndex

_TIMED = 100  # queries, one by one


@dataclass(frozen=True)
class Trial:
    """What came of one kind and refinement.

    Attributes:
        kind: FAISS's name.
        refine: Candidates for each result, scored again with the exact vectors; 1 for the kind's
            own ranking.
        recall: Mean share of the 10 best vectors that are found.
        seconds: Median of single queries, refinement with vectors in memory included.
        bytes: Of the index, without the ids.
        count, dim: Shape of the vectors.
        lists, probes: Inverted lists and how many of them were searched, 0 for other kinds.
    """

    kind: str
    refine: int
    recall: float
    seconds: float
    bytes: int
    count: int
    dim: int
    lists: int = 0
    probes: int = 0


def trials(
    kind: str,
    vectors: Floats,
    queries: Floats,
    *,
    training: Floats,
    refine: Sequence[int],
    probes: int = 0,
) -> list[Trial]:
    """Measure a kind.

    Args:
        kind: A FAISS factory string.
        vectors: What is indexed. Shape: (n, dim).
        queries: Shape: (q, dim).
        training: What it is trained on where `vectors` are too few. Shape: (t, dim).
        refine: Each makes one trial.
        probes: Inverted lists to search.

    Raises:
        InvalidInputError: The kind does not exist, or cannot be trained.
    """
    index = VectorIndex(vectors.shape[1], kind=kind)
    ability = index.ability
    index.train(vectors if len(vectors) >= ability.min_training else training)
    index.add(np.arange(len(vectors)), vectors)
    size = sum(faiss.serialize_index(part.index).nbytes for part in index.parts)
    parameters = {"nprobe": min(probes, ability.lists)} if ability.lists else None
    truth = faiss.knn(queries, vectors, K, metric=faiss.METRIC_INNER_PRODUCT)[1]

    def search(query: Floats, factor: int) -> Integers:
        ids = index.search(query[None], factor * K, parameters=parameters)[1][0]
        if factor == 1:
            return ids
        ids = ids[ids >= 0]
        scores = vectors[ids] @ query
        return ids[np.argsort(-scores)[:K]]

    made = []
    for factor in refine:
        found = [search(query, factor) for query in queries]
        recall = statistics.fmean(map(len, map(np.intersect1d, found, truth))) / K
        took = []
        for query in queries[:_TIMED]:
            began = time.perf_counter()
            search(query, factor)
            took.append(time.perf_counter() - began)
        searched = parameters["nprobe"] if parameters else 0
        made.append(
            Trial(
                kind,
                factor,
                recall,
                statistics.median(took),
                size,
                *vectors.shape,
                ability.lists,
                searched,
            )
        )
    return made
