"""Kinds of index: FAISS factory strings, and what each can do (docs/store.md has a table of them).

A kind is known by the empty index that FAISS builds for it, not by its spelling. Refinement with exact vectors, ids and
normalising are this package's own, so `Refine`, `IDMap` and `L2norm` are refused; so is `PCA`, which moves the origin and
with it every inner product.
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

POINTS_PER_CENTROID = 39  # FAISS's own threshold, below which it warns that the centroids are poor
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
    """What indexes of one factory string can do."""

    name: str  # the factory string
    dim: int  # number of components of the vectors
    family: str  # "flat", "codes", "graph" or "lists": how it is searched
    exact: bool  # every vector is compared, and as it is
    lossy: bool  # it holds codes that are not the vectors, so its scores should be refined with the exact ones
    trained: bool  # it must see a sample of the vectors before it can hold any
    removable: bool  # vectors can be taken out; where not, they are hidden
    filterable: bool  # a search can be restricted to a selection; where not, it is widened and its results are filtered
    parameters: tuple[str, ...]  # names of what a search can be told
    lists: int  # number of inverted lists, 0 if it has none
    min_training: int  # vectors below which training is refused, because its centroids would be poor. 0 if not trained
    max_training: int  # vectors above which training takes a sample. 0 if not trained
    code_bytes: int  # bytes for each vector, without links and ids
    holds_vectors: bool  # the vectors can be read back as they were added


def make(kind: str, dim: int) -> Any:
    """Build an empty FAISS index of a kind, for the inner product; raise InvalidInputError where this FAISS cannot."""
    faiss = require("faiss", extra="cpu")
    try:
        if "\0" in kind:  # where FAISS would stop to read
            raise ValueError
        index = faiss.index_factory(dim, kind, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, TypeError, ValueError) as error:
        hint = ""
        if "rabitq" in kind.lower() and not hasattr(faiss, "IndexRaBitQ"):
            hint = f" RaBitQ came with FAISS 1.11, this is {faiss.__version__}: pip install -U faiss-cpu."
        raise InvalidInputError(
            f"{kind!r} is no FAISS factory string for {dim} dimensions.{hint} Expected for example {_EXAMPLES}; "
            "a product quantiser's bytes must divide the dimensions"
        ) from error
    core = innermost(index)
    if isinstance(core, faiss.IndexHNSW):
        core.hnsw.efConstruction = _CONSTRUCTION
    return index


@lru_cache(maxsize=256)
def check_kind(kind: str, dim: int) -> Kind:
    """Look up what a kind can do; "auto" has to be chosen before (`choose_kind`).

    Raises:
        InvalidInputError: FAISS cannot build it, or it is one that is not supported.
    """
    faiss = require("faiss", extra="cpu")
    index = make(kind, dim)
    core, steps = innermost(index), transforms(index)
    name = type(core).__name__  # exactly: a subclass such as IndexIVFPQR behaves otherwise
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
    least = max(_SMALLEST_TRAINING, POINTS_PER_CENTROID * centroids, dim if steps else 0)
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
        trained=trained,
        removable=family != "graph",
        filterable=name not in ("IndexPQ", "IndexPQFastScan", "IndexRaBitQFastScan"),
        parameters=tuple(parameters),
        lists=lists,
        min_training=least if trained else 0,
        max_training=max(_SMALLEST_SAMPLE, _SAMPLED_PER_CENTROID * centroids, least) if trained else 0,
        code_bytes=int(holder.code_size),
        holds_vectors=unchanged and family != "lists",
    )


def check_factory(kind: str) -> None:
    """Refuse what is no kind for any usual number of dimensions, which are not known before there are vectors."""
    for dim in _USUAL_DIMS:
        with suppress(InvalidInputError):
            check_kind(kind, dim)
            return
    check_kind(kind, _USUAL_DIMS[0])


def innermost(index: Any) -> Any:
    """Return the index behind transforms."""
    import faiss

    while isinstance(index, faiss.IndexPreTransform):
        index = faiss.downcast_index(index.index)
    return index


def transforms(index: Any) -> list[Any]:
    """Return the transforms of vectors before an index, outermost first."""
    import faiss

    steps = []
    while isinstance(index, faiss.IndexPreTransform):
        steps += [faiss.downcast_VectorTransform(index.chain.at(at)) for at in range(index.chain.size())]
        index = faiss.downcast_index(index.index)
    return steps
