"""Kinds of index: FAISS factory strings, what each can do, and which one "auto" stands for.

A kind is known by the empty index that FAISS builds for it, not by its spelling. Supported are, alone or behind a
rotation (`OPQ`, `RR`):

| kind | examples | search | holds |
|---|---|---|---|
| exact | `Flat` | all vectors | the vectors |
| scalar quantiser | `SQ8`, `SQfp16` | all vectors | 1 or 2 bytes a component |
| product quantiser | `PQ48`, `OPQ48,PQ48`, `PQ96x4fs` | all vectors | the bytes named |
| RaBitQ | `RaBitQ`, `RaBitQfs` | all vectors | dim/8 + 8 bytes (needs a new FAISS) |
| graph | `HNSW32`, `HNSW32,SQ8` | a walk, as wide as `efSearch` | vectors or codes, and 8 bytes for each of M links |
| lists | `IVF4096,Flat`, `IVF65536_HNSW32,SQ8` | the `nprobe` nearest lists | vectors or codes, and 8 bytes for the id |

Refinement with exact vectors, ids and normalising are this package's own, so `Refine`, `IDMap` and `L2norm` are refused; so is
`PCA`, which moves the origin and with it every inner product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from factoid._optional import require
from factoid.errors import InvalidInputError

EXACT = "Flat"
AUTO = "auto"

# FAISS's own threshold, below which it warns that the centroids are poor, and a sample that is ample.
_POINTS_PER_CENTROID = 39
_SAMPLED_PER_CENTROID = 50
_USUAL_DIMS = (384, 768, 1024, 1536, 3072, 256, 6, 7, 100)  # a product quantiser's bytes must divide them
_CONSTRUCTION = 200  # candidates when a vector is put into a graph; FAISS's own 40 makes graphs that find less
_SMALLEST_TRAINING = 256
_SMALLEST_SAMPLE = 65_536

_EXAMPLES = '"Flat", "HNSW32", "IVF4096,Flat", "IVF4096,SQ8", "SQ8", "RaBitQ", "OPQ48,PQ48" or "auto"'


@dataclass(frozen=True, slots=True)
class Kind:
    """What indexes of one factory string can do.

    Args:
        name: The factory string.
        dim: Number of components of the vectors.
        family: "flat", "codes", "graph" or "lists": how it is searched.
        exact: Every vector is compared, and as it is.
        lossy: It holds codes that are not the vectors, so its scores should be refined with the exact ones.
        trained: It must see a sample of the vectors before it can hold any.
        removable: Vectors can be taken out; where not, they are hidden.
        filterable: A search can be restricted to a selection; where not, it is widened and its results are filtered.
        parameters: Names of what a search can be told.
        lists: Number of inverted lists, 0 if it has none.
        min_training: Vectors below which training is refused, because its centroids would be poor. 0 if not trained.
        max_training: Vectors above which training takes a sample. 0 if not trained.
        code_bytes: Bytes for each vector, without links and ids.
    """

    name: str
    dim: int
    family: str
    exact: bool
    lossy: bool
    trained: bool
    removable: bool
    filterable: bool
    parameters: tuple[str, ...]
    lists: int
    min_training: int
    max_training: int
    code_bytes: int


def make(kind: str, dim: int) -> Any:
    """Build an empty FAISS index of a kind, for the inner product.

    Raises:
        InvalidInputError: This FAISS cannot build it.
    """
    faiss = require("faiss", extra="cpu")
    try:
        if "\0" in kind:  # where FAISS would stop to read
            raise ValueError
        index = faiss.index_factory(dim, kind, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, TypeError, ValueError) as error:
        hint = ""
        if "rabitq" in kind.lower() and not hasattr(faiss, "IndexRaBitQ"):
            hint = f" RaBitQ came with FAISS 1.11, this is {faiss.__version__}: pip install -U faiss-cpu."
        message = (
            f"{kind!r} is no FAISS factory string for {dim} dimensions.{hint} Expected for example {_EXAMPLES}; "
            "a product quantiser's bytes must divide the dimensions"
        )
        raise InvalidInputError(message) from error
    graph = innermost(index)[0]
    if isinstance(graph, faiss.IndexHNSW):
        graph.hnsw.efConstruction = _CONSTRUCTION
    return index


@lru_cache(maxsize=256)
def check_kind(kind: str, dim: int) -> Kind:
    """Look up what a kind can do.

    Args:
        kind: A FAISS factory string; "auto" has to be chosen before (`choose_kind`).
        dim: Number of components of the vectors.

    Raises:
        InvalidInputError: FAISS cannot build it, or it is one that is not supported.
    """
    index = make(kind, dim)
    core, transformed = innermost(index)
    family = _family(core)
    if family is None:
        message = (
            f"{kind!r} ({type(core).__name__}) is not supported: expected an index of the inner product that ranks by it, "
            f"without Refine, IDMap, L2norm and PCA, for example {_EXAMPLES}"
        )
        raise InvalidInputError(message)
    faiss = require("faiss", extra="cpu")
    holder = faiss.downcast_index(core.storage) if family == "graph" else core
    unchanged = not transformed and isinstance(holder, faiss.IndexFlat | faiss.IndexIVFFlat)
    lists = int(core.nlist) if family == "lists" else 0
    trained = not index.is_trained
    centroids = max(lists, _codewords(holder), _rotation_codewords(index))
    least = max(_SMALLEST_TRAINING, _POINTS_PER_CENTROID * centroids, dim if transformed else 0)
    return Kind(
        name=kind,
        dim=dim,
        family=family,
        exact=unchanged and family == "flat",
        lossy=not unchanged,
        trained=trained,
        removable=family != "graph",
        filterable=not isinstance(core, _without_selector()),
        parameters=_parameters(core, family),
        lists=lists,
        min_training=least if trained else 0,
        max_training=max(_SMALLEST_SAMPLE, _SAMPLED_PER_CENTROID * centroids, least) if trained else 0,
        code_bytes=int(holder.code_size),
    )


def check_factory(kind: str) -> None:
    """Refuse what is no kind, whatever the dimensions, which are not known before there are vectors.

    Raises:
        InvalidInputError: FAISS cannot build it for any usual number of dimensions.
    """
    refused = []
    for dim in _USUAL_DIMS:
        try:
            check_kind(kind, dim)
        except InvalidInputError as error:
            refused.append(error)
        else:
            return
    raise refused[0]


def min_training(kind: str, dim: int) -> int:
    """Return how many vectors a kind must have seen before it can hold any; 0 for kinds that are not trained."""
    return check_kind(kind, dim).min_training


def matches(index: Any, kind: Kind) -> bool:
    """Whether a FAISS index that was read is of a kind."""
    faiss = require("faiss", extra="cpu")
    expected = make(kind.name, kind.dim)
    if index.d != kind.dim or index.metric_type != expected.metric_type:
        return False
    if isinstance(expected, faiss.IndexPreTransform) != isinstance(index, faiss.IndexPreTransform):
        return False
    core, _ = innermost(index)
    if _family(core) != kind.family:
        return False
    holder = faiss.downcast_index(core.storage) if kind.family == "graph" else core
    return int(holder.code_size) == kind.code_bytes and (kind.family != "lists" or int(core.nlist) == kind.lists)


def innermost(index: Any) -> tuple[Any, bool]:
    """Return the index behind linear transforms, and whether there are any."""
    faiss = require("faiss", extra="cpu")
    transformed = False
    while isinstance(index, faiss.IndexPreTransform):
        chain = [faiss.downcast_VectorTransform(index.chain.at(i)) for i in range(index.chain.size())]
        # One that moves the origin, as PCA does, changes inner products.
        if not all(isinstance(step, faiss.LinearTransform) and not step.have_bias for step in chain):
            return index, True
        index, transformed = faiss.downcast_index(index.index), True
    return index, transformed


def _classes(*names: str) -> tuple[type, ...]:
    """Classes of FAISS, as far as this version has them."""
    faiss = require("faiss", extra="cpu")
    return tuple(getattr(faiss, name) for name in names if hasattr(faiss, name))


def _without_selector() -> tuple[type, ...]:
    return _classes("IndexPQ", "IndexPQFastScan", "IndexRaBitQFastScan")


def _family(core: Any) -> str | None:
    faiss = require("faiss", extra="cpu")
    if core.metric_type != faiss.METRIC_INNER_PRODUCT:
        return None
    lists = "IndexIVFFlat IndexIVFScalarQuantizer IndexIVFPQ IndexIVFPQFastScan IndexIVFRaBitQ IndexIVFRaBitQFastScan".split()
    codes = ("IndexScalarQuantizer", "IndexPQ", "IndexRaBitQ", "IndexPQFastScan", "IndexRaBitQFastScan")
    known = {
        "flat": _classes("IndexFlat", "IndexFlatIP"),
        "codes": _classes(*codes),
        "graph": _classes("IndexHNSWFlat", "IndexHNSWSQ"),
        "lists": _classes(*lists),
    }
    # Exact types: a subclass such as IndexIVFPQR or IndexIVFFlatDedup behaves otherwise.
    return next((family for family, types in known.items() if type(core) in types), None)


def _codewords(holder: Any) -> int:
    """Centroids of each product quantiser, 0 where there is none."""
    return int(holder.pq.ksub) if hasattr(holder, "pq") else 0


def _rotation_codewords(index: Any) -> int:
    """Centroids of each product quantiser that an optimised rotation (OPQ) is learnt with, 0 where there is none."""
    faiss = require("faiss", extra="cpu")
    if not isinstance(index, faiss.IndexPreTransform):
        return 0
    steps = [faiss.downcast_VectorTransform(index.chain.at(step)) for step in range(index.chain.size())]
    return 256 if any(isinstance(step, faiss.OPQMatrix) for step in steps) else 0


def _parameters(core: Any, family: str) -> tuple[str, ...]:
    faiss = require("faiss", extra="cpu")
    names = {"lists": ["nprobe"], "graph": ["efSearch"]}.get(family, [])
    if family == "lists" and isinstance(faiss.downcast_index(core.quantizer), faiss.IndexHNSW):
        names = [*names, "quantizer_efSearch"]
    if isinstance(core, _classes("IndexRaBitQ", "IndexIVFRaBitQ")):
        names = [*names, "qb"]
    return tuple(names)
