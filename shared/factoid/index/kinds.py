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

from contextlib import suppress
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

_CLASSES = {
    "flat": ["IndexFlat", "IndexFlatIP"],
    "codes": ["IndexScalarQuantizer", "IndexPQ", "IndexRaBitQ", "IndexPQFastScan", "IndexRaBitQFastScan"],
    "graph": ["IndexHNSWFlat", "IndexHNSWSQ"],
    "lists": [
        *("IndexIVFFlat", "IndexIVFScalarQuantizer", "IndexIVFPQ", "IndexIVFPQFastScan"),
        *("IndexIVFRaBitQ", "IndexIVFRaBitQFastScan"),
    ],
}
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
        holds_vectors: The vectors can be read back as they were added.
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
    holds_vectors: bool


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
    holder = _holder(core)
    unchanged = not transformed and _is_a(holder, "IndexFlat", "IndexFlatIP", "IndexIVFFlat")
    lists = int(core.nlist) if family == "lists" else 0
    trained = not index.is_trained
    centroids = max(lists, _centroids(index, holder))
    least = max(_SMALLEST_TRAINING, _POINTS_PER_CENTROID * centroids, dim if transformed else 0)
    return Kind(
        name=kind,
        dim=dim,
        family=family,
        exact=unchanged and family == "flat",
        lossy=not unchanged,
        trained=trained,
        removable=family != "graph",
        filterable=not _is_a(core, "IndexPQ", "IndexPQFastScan", "IndexRaBitQFastScan"),
        parameters=_parameters(core, family),
        lists=lists,
        min_training=least if trained else 0,
        max_training=max(_SMALLEST_SAMPLE, _SAMPLED_PER_CENTROID * centroids, least) if trained else 0,
        code_bytes=int(holder.code_size),
        holds_vectors=unchanged and family != "lists",
    )


def check_factory(kind: str) -> None:
    """Refuse what is no kind, whatever the dimensions, which are not known before there are vectors.

    Raises:
        InvalidInputError: FAISS cannot build it for any usual number of dimensions.
    """
    for dim in _USUAL_DIMS:
        with suppress(InvalidInputError):
            check_kind(kind, dim)
            return
    check_kind(kind, _USUAL_DIMS[0])


def innermost(index: Any) -> tuple[Any, bool]:
    """Return the index behind linear transforms, and whether there are any."""
    import faiss

    transformed = False
    while isinstance(index, faiss.IndexPreTransform):
        chain = [faiss.downcast_VectorTransform(index.chain.at(i)) for i in range(index.chain.size())]
        # One that moves the origin, as PCA does, changes inner products.
        if not all(isinstance(step, faiss.LinearTransform) and not step.have_bias for step in chain):
            return index, True
        index, transformed = faiss.downcast_index(index.index), True
    return index, transformed


def _holder(core: Any) -> Any:
    """Return the index that holds the vectors or codes: of a graph, what it links."""
    import faiss

    return faiss.downcast_index(core.storage) if isinstance(core, faiss.IndexHNSW) else core


def _is_a(index: Any, *names: str) -> bool:
    """Tell whether an index is of one of these classes of FAISS exactly: a subclass such as IndexIVFPQR behaves otherwise."""
    return type(index).__name__ in names


def _family(core: Any) -> str | None:
    import faiss

    if core.metric_type != faiss.METRIC_INNER_PRODUCT:
        return None
    return next((family for family, names in _CLASSES.items() if _is_a(core, *names)), None)


def _centroids(index: Any, holder: Any) -> int:
    """Return how many centroids each product quantiser has, that of an optimised rotation (OPQ) too; 0 where there is none."""
    import faiss

    of_codes = int(holder.pq.ksub) if hasattr(holder, "pq") else 0
    if not isinstance(index, faiss.IndexPreTransform):
        return of_codes
    steps = [faiss.downcast_VectorTransform(index.chain.at(step)) for step in range(index.chain.size())]
    return max(of_codes, 256 if any(isinstance(step, faiss.OPQMatrix) for step in steps) else 0)


def _parameters(core: Any, family: str) -> tuple[str, ...]:
    import faiss

    names = {"lists": ["nprobe"], "graph": ["efSearch"]}.get(family, [])
    if family == "lists" and isinstance(faiss.downcast_index(core.quantizer), faiss.IndexHNSW):
        names = [*names, "quantizer_efSearch"]
    if _is_a(core, "IndexRaBitQ", "IndexIVFRaBitQ"):
        names = [*names, "qb"]
    return tuple(names)
