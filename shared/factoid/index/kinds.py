"""Kinds of index: FAISS factory strings, what each can do, how one is chosen, and its search parameters (docs/store.md).

A kind is identified by the empty index that FAISS builds for it, not by its spelling. Refinement with exact vectors, ids and
normalising are done by this package, so `Refine`, `IDMap` and `L2norm` are rejected; so is `PCA`, which moves the origin and so
changes every inner product.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.errors import InvalidInputError

Parameters = Mapping[str, int]

EXACT = "Flat"
AUTO = "auto"

_POINTS_PER_CENTROID = 39  # FAISS's own threshold, below which it warns that the centroids are poor
_SAMPLED_PER_CENTROID = 50
_USUAL_DIMS = (384, 768, 1024, 1536, 3072, 256, 6, 7, 100)  # a product quantiser's bytes must divide them
_CONSTRUCTION = 200  # candidates when a vector is put into a graph; FAISS's own 40 makes graphs that find less
_SMALLEST_TRAINING = 256
_SMALLEST_SAMPLE = 65_536
_QUERY_BITS = 8

# The time of `Flat` grows with count × dim: with 200 million components a query takes 55 ms on two cores.
_EXACT_COMPONENTS = 200_000_000
_SMALL_COMPONENTS = 20_000_000  # 80 MB: exact whatever the memory
_LINKS = 32
_SMALLEST = "RaBitQ"  # the smallest codes
_SHARE = 0.5  # of the memory; the rest is for the encoder, SQLite's pages and a copy while the index is rebuilt
_MOST_LISTS = 65_536
_FEWEST_IN_LISTS = 1_000  # vectors below which lists are not worth trying
_SEARCHED_LISTS = 16_384  # up to this, comparing a query with all centroids is cheap; above it, a graph finds the lists
_UNKNOWN = 8 << 30  # if the system does not report it
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container

_CLASSES = {
    "flat": ["IndexFlat", "IndexFlatIP"],
    "codes": ["IndexScalarQuantizer", "IndexPQ", "IndexRaBitQ", "IndexPQFastScan", "IndexRaBitQFastScan"],
    "graph": ["IndexHNSWFlat", "IndexHNSWSQ"],
    "lists": [
        *("IndexIVFFlat", "IndexIVFScalarQuantizer", "IndexIVFPQ", "IndexIVFPQFastScan"),
        *("IndexIVFRaBitQ", "IndexIVFRaBitQFastScan"),
    ],
}
NAMES = frozenset({"nprobe", "quantizer_efSearch", "efSearch", "qb"})  # all search parameters of any kind
_EXAMPLES = '"Flat", "HNSW32", "IVF4096,Flat", "IVF4096,SQ8", "SQ8", "RaBitQ", "OPQ48,PQ48" or "auto"'


@dataclass(frozen=True, slots=True)
class Kind:
    """What indexes of one factory string can do."""

    name: str  # the factory string
    dim: int  # number of components of the vectors
    family: str  # "flat", "codes", "graph" or "lists": how it is searched
    exact: bool  # every vector is compared, exactly
    lossy: bool  # it holds codes instead of the vectors, so its scores should be refined with the exact vectors
    filterable: bool  # a search can be restricted to a selection; otherwise it is widened and its results are filtered
    parameters: tuple[str, ...]  # names of its search parameters
    lists: int  # number of inverted lists, 0 if it has none
    min_training: int  # fewest vectors for training; with fewer, the centroids would be poor. 0 if not trained
    max_training: int  # with more vectors, training takes a sample. 0 if not trained
    holds_vectors: bool  # the vectors can be read back as they were added


def make(kind: str, dim: int) -> Any:
    """Build an empty FAISS index of a kind, for the inner product; raise InvalidInputError if this FAISS cannot."""
    faiss = require("faiss", extra="cpu")
    try:
        index = faiss.index_factory(dim, kind, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{kind!r} is not a FAISS factory string for {dim} dimensions. Expected for example {_EXAMPLES}; "
            "a product quantiser's bytes must divide the dimensions"
        ) from error
    _, core = unwrap(index)
    if isinstance(core, faiss.IndexHNSW):
        core.hnsw.efConstruction = _CONSTRUCTION
    return index


@lru_cache(maxsize=256)
def check_kind(kind: str, dim: int) -> Kind:
    """Return what a kind can do; "auto" must be resolved before (`choose_kind`).

    Raises:
        InvalidInputError: FAISS cannot build the kind, or it is not supported.
    """
    faiss = require("faiss", extra="cpu")
    index = make(kind, dim)
    steps, core = unwrap(index)
    name = type(core).__name__  # the exact class: a subclass such as IndexIVFPQR behaves differently
    family = next((family for family, names in _CLASSES.items() if name in names), None)
    # A step that moves the origin, as PCA does, changes inner products.
    linear = all(isinstance(step, faiss.LinearTransform) and not step.have_bias for step in steps)
    if family is None or not linear or core.metric_type != faiss.METRIC_INNER_PRODUCT:
        raise InvalidInputError(
            f"{kind!r} ({name}) is not supported: expected an index of the inner product that ranks by it, without "
            f"Refine, IDMap, L2norm and PCA, for example {_EXAMPLES}"
        )
    holder = faiss.downcast_index(core.storage) if family == "graph" else core  # of the vectors or codes
    unchanged = not steps and type(holder).__name__ in ("IndexFlat", "IndexFlatIP", "IndexIVFFlat")
    lists = int(core.nlist) if family == "lists" else 0
    rotation = 256 if any(isinstance(step, faiss.OPQMatrix) for step in steps) else 0  # centroids of OPQ
    centroids = max(lists, int(holder.pq.ksub) if hasattr(holder, "pq") else 0, rotation)
    trained = not index.is_trained
    least = max(_SMALLEST_TRAINING, _POINTS_PER_CENTROID * centroids, dim if steps else 0)
    parameters = {"lists": ["nprobe"], "graph": ["efSearch"]}.get(family, [])
    if family == "lists" and isinstance(faiss.downcast_index(core.quantizer), faiss.IndexHNSW):
        parameters.append("quantizer_efSearch")
    if name in ("IndexRaBitQ", "IndexIVFRaBitQ"):
        parameters.append("qb")
    return Kind(
        name=kind,
        dim=dim,
        family=family,
        exact=unchanged and family == "flat",
        lossy=not unchanged,
        filterable=name not in ("IndexPQ", "IndexPQFastScan", "IndexRaBitQFastScan"),
        parameters=tuple(parameters),
        lists=lists,
        min_training=least if trained else 0,
        max_training=max(_SMALLEST_SAMPLE, _SAMPLED_PER_CENTROID * centroids, least) if trained else 0,
        holds_vectors=unchanged and family != "lists",
    )


def check_factory(kind: str) -> None:
    """Reject a kind that is invalid for all usual dimensions; the real number is unknown before there are vectors."""
    for dim in _USUAL_DIMS:
        with suppress(InvalidInputError):
            check_kind(kind, dim)
            return
    check_kind(kind, _USUAL_DIMS[0])


def unwrap(index: Any) -> tuple[list[Any], Any]:
    """Return the transforms of vectors before an index, outermost first, and the index behind them."""
    import faiss

    steps = []
    while isinstance(index, faiss.IndexPreTransform):
        steps += [faiss.downcast_VectorTransform(index.chain.at(at)) for at in range(index.chain.size())]
        index = faiss.downcast_index(index.index)
    return steps, index


def choose_kind(count: int, dim: int, memory_bytes: int) -> str:
    """Choose a kind for this many existing or expected vectors, within the memory that the index may use."""
    room = memory_bytes * _SHARE
    exact_bytes = 4 * dim * count
    if count * dim <= _SMALL_COMPONENTS or (count * dim <= _EXACT_COMPONENTS and exact_bytes <= room):
        return EXACT
    if exact_bytes + count * (2 * 4 * _LINKS + 8) <= room:
        return f"HNSW{_LINKS}"
    return f"{_lists(count)},{'SQ8' if count * (dim + 16) <= room else _SMALLEST}"


def kinds_to_try(count: int) -> list[str]:
    """Return kinds worth comparing on `count` vectors: one of each family and size, `Flat` first."""
    codes = [EXACT, "SQ8", _SMALLEST]
    in_lists = [f"{_lists(count)},{code}" for code in codes] if count >= _FEWEST_IN_LISTS else []
    return [*codes, f"HNSW{_LINKS}", *in_lists]


def usable_kind(kind: str, dim: int, count: int, memory_bytes: int) -> str:
    """Return the kind for `count` vectors: "auto" is resolved, and a kind that they are too few to train becomes `Flat`."""
    wanted = choose_kind(count, dim, memory_bytes) if kind == AUTO else kind
    return wanted if count >= check_kind(wanted, dim).min_training else EXACT


@lru_cache(maxsize=1)
def usable_memory() -> int:
    """Return the bytes of memory that this process may use: the machine's, or its container's if less."""
    memory = _UNKNOWN
    with suppress(ValueError, OSError, AttributeError):  # AttributeError: not on Windows
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in _LIMITS:
        with suppress(ValueError, OSError):
            memory = min(memory, int(Path(limit).read_text(encoding="ascii")))
    return memory


def _lists(count: int) -> str:
    """Return the power of two near 4·√count that can be trained."""
    wanted = min(round(math.log2(4 * math.sqrt(count))), int(math.log2(_MOST_LISTS)))
    trainable = int(math.log2(max(count // _POINTS_PER_CENTROID, 1)))
    lists = 2 ** min(wanted, trainable)
    return f"IVF{lists}_HNSW32" if lists > _SEARCHED_LISTS else f"IVF{lists}"


def check_parameters(kind: Kind, parameters: Parameters) -> None:
    """Raise InvalidInputError for a parameter that the kind does not have, or a value out of range."""
    for name, value in parameters.items():
        if name not in kind.parameters:
            known = ", ".join(map(repr, kind.parameters)) or "none"
            raise InvalidInputError(f"the index {kind.name!r} has no search parameter {name!r}: it has {known}")
        allowed = range(_QUERY_BITS + 1) if name == "qb" else range(1, sys.maxsize)
        if isinstance(value, bool) or not isinstance(value, int) or value not in allowed:
            span = f"from 0 to {_QUERY_BITS}" if name == "qb" else "of 1 or more"
            raise InvalidInputError(f"{name} must be a whole number {span}, got {value!r}")


def widths(kind: Kind, parameters: Parameters, *, share: float, k: int, count: int) -> dict[str, int]:
    """Fill in defaults for a search of k among a share, above 0, of `count` vectors.

    Chosen on 100,000 clustered vectors of 384 components. A filter that passes a share divides the defaults of `nprobe` and
    `efSearch` by it, so that as many vectors are compared as without a filter. Values from the caller are kept.
    """
    values = dict(parameters)
    if kind.family == "lists":
        probes = values.setdefault("nprobe", int(max(16, 2 * math.isqrt(kind.lists)) / share))
        values["nprobe"] = min(probes, kind.lists)
        if "quantizer_efSearch" in kind.parameters:
            values.setdefault("quantizer_efSearch", max(64, 2 * values["nprobe"]))
    elif kind.family == "graph":
        values.setdefault("efSearch", int(max(64, k) / share))
        values["efSearch"] = min(max(values["efSearch"], k), max(count, 1))
    if "qb" in kind.parameters:
        values.setdefault("qb", _QUERY_BITS)
    return values


def search_parameters(index: Any, values: Parameters, selector: Any = None) -> Any:
    """Build FAISS's parameter object for one call, nested like the index, or None if there are no parameters."""
    import faiss

    if isinstance(index, faiss.IndexPreTransform):
        inner = search_parameters(faiss.downcast_index(index.index), values, selector)
        return None if inner is None else faiss.SearchParametersPreTransform(index_params=inner)
    options: dict[str, Any] = {} if selector is None else {"sel": selector}
    if isinstance(index, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(**options, efSearch=values["efSearch"])
    rabitq = {"qb": values["qb"]} if "qb" in values else {}
    if isinstance(index, faiss.IndexIVF):
        options["nprobe"] = values["nprobe"]
        if "quantizer_efSearch" in values:
            options["quantizer_params"] = faiss.SearchParametersHNSW(efSearch=values["quantizer_efSearch"])
        return (faiss.IVFRaBitQSearchParameters if rabitq else faiss.SearchParametersIVF)(**options, **rabitq)
    if rabitq:
        return faiss.RaBitQSearchParameters(**options, **rabitq)
    return faiss.SearchParameters(**options) if options else None
