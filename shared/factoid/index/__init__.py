"""Vectors under row ids, searched with FAISS, and their caches on disk."""

from __future__ import annotations

from factoid.index.atomic import sweep
from factoid.index.choose import choose_kind, kinds_to_try, usable_kind
from factoid.index.files import Loaded, load, save
from factoid.index.ids import RowIds
from factoid.index.kinds import AUTO, Kind, check_factory, check_kind, min_training
from factoid.index.memory import usable_memory
from factoid.index.parameters import Parameters
from factoid.index.similarity import Similarity, prepare
from factoid.index.vector_index import VectorIndex

__all__ = [
    "AUTO",
    "Kind",
    "Loaded",
    "Parameters",
    "RowIds",
    "Similarity",
    "VectorIndex",
    "check_factory",
    "check_kind",
    "choose_kind",
    "kinds_to_try",
    "load",
    "min_training",
    "prepare",
    "save",
    "sweep",
    "usable_kind",
    "usable_memory",
]
