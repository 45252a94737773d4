"""Vectors by row id, searched with FAISS, and their caches on disk."""

from __future__ import annotations

from factoid.vectors.files import load, save, sweep
from factoid.vectors.kinds import (
    AUTO,
    check_factory,
    check_kind,
    choose_kind,
    kinds_to_try,
    usable_kind,
)
from factoid.vectors.vector_index import RowIds, Similarity, VectorIndex, normalized

__all__ = [
    "AUTO",
    "RowIds",
    "Similarity",
    "VectorIndex",
    "check_factory",
    "check_kind",
    "choose_kind",
    "kinds_to_try",
    "load",
    "normalized",
    "save",
    "sweep",
    "usable_kind",
]
