"""Vectors with clusters, as texts have them, and the answer by brute force."""

from __future__ import annotations

import os

import numpy as np

DIM = 16
COUNT = 4000
MOST = 10_000  # kinds that this package does not know want 9,984 vectors

# Threads that wait for each other cost more than these small indexes need.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Kind, and the least recall of the ten best that it must reach unrefined.
KINDS = {
    "Flat": 1.0,
    "SQ8": 0.95,
    "SQfp16": 0.98,
    "RaBitQ": 0.15,
    "HNSW16": 0.9,
    "HNSW16,SQ8": 0.9,
    "IVF32,Flat": 0.9,
    "IVF32_HNSW8,Flat": 0.9,
    "IVF32,SQ8": 0.9,
    "IVF32,RaBitQ": 0.15,
    "IVF1,RaBitQfs": 0.14,
    "IVF32,RaBitQfs": 0.14,
    "PQ16x4fs": 0.5,
    "RR,SQ8": 0.9,
    "IVF32,PQ16x4fs": 0.5,
}


def clustered(count=COUNT, dim=DIM, *, seed=0):
    """Vectors around the same 60 centres for every seed, of lengths that differ, and ids that are
    not positions.
    """
    centres = np.random.default_rng(100).normal(size=(60, dim))
    rng = np.random.default_rng(seed)
    vectors = centres[rng.integers(0, 60, count)] + rng.normal(0, 0.5, (count, dim))
    ids = rng.permutation(3 * count)[:count].astype(np.int64)
    return ids, vectors.astype(np.float32)


def make_index(kind, similarity="inner_product", dim=DIM):
    """Return an index that had all vectors in two steps and lost some of both, and the ids and
    vectors that are left.
    """
    from factoid.vectors import VectorIndex

    index = VectorIndex(dim, kind=kind, similarity=similarity)
    ids, vectors = clustered(MOST if index.ability.family == "other" else COUNT, dim)
    gone = np.random.default_rng(1).choice(ids, len(ids) // 5, replace=False)
    keep = ~np.isin(ids, gone)
    index.train(vectors)
    index.add(ids[:2500], vectors[:2500])
    index.add(ids[2500:], vectors[2500:])
    index.remove(gone)
    return index, ids[keep], vectors[keep]


def search(index, queries, k, allowed=None, **parameters):
    marks = None if allowed is None else index.marks(index.ids, np.isin(index.ids, allowed))
    return index.search(index.normalized_queries(queries), k, allowed=marks, parameters=parameters)


def brute_force(queries, ids, vectors, k, allowed=None, similarity="inner_product"):
    """Similarities in double precision, best first, equal ones by id."""
    keep = np.ones(len(ids), bool) if allowed is None else np.isin(ids, allowed)
    queries, vectors = queries.astype(np.float64), vectors[keep].astype(np.float64)
    if similarity == "cosine":
        queries, vectors = (
            each / np.linalg.norm(each, axis=1, keepdims=True) for each in (queries, vectors)
        )
    scores = queries @ vectors.T
    own = np.broadcast_to(ids[keep], scores.shape)
    order = np.lexsort((own, -scores))[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(own, order, axis=1)


def recall(found, expected):
    return float(
        np.mean([np.isin(own, best).mean() for own, best in zip(expected, found, strict=True)])
    )
