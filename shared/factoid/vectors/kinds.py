"""Kinds of index, which are FAISS factory strings.

What each can do, how one is chosen, and its search parameters (docs/store.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from factoid._optional import require
from factoid.errors import InvalidInputError

Parameters = Mapping[str, int]

EXACT = "Flat"
AUTO = "auto"
NAMES = ("nprobe", "efSearch")  # search parameters of the kinds

_KNOWN = re.compile(
    r"(?:IVF\d+(?:_HNSW\d+)?,)?(?:Flat|RaBitQ|SQ\w+)|IVF\d+(?:_HNSW\d+)?,RaBitQfs"
    r"|HNSW\d+(?:,SQ\w+)?"
)
_EXAMPLES = '"Flat", "HNSW32", "IVF4096,Flat", "IVF4096,SQ8", "SQ8", "IVF1,RaBitQfs" or "auto"'
# A product quantiser's bytes must divide them.
_USUAL_DIMS = (384, 768, 1024, 1536, 3072, 256, 6, 7, 100)

_POINTS_PER_CENTROID = 39  # FAISS's own threshold, below which it warns that the centroids are poor
_SAMPLED_PER_CENTROID = 50
_CODE_CENTROIDS = 256  # of each byte of a product quantiser
_SMALLEST_TRAINING = 256
_SMALLEST_SAMPLE = 65_536
# Candidates when a vector is put into a graph; FAISS's own 40 makes graphs that find less.
_CONSTRUCTION = 200
_WIDTH = 64  # candidates of a walk through a graph
_FEWEST_PROBES = 16
_QUERY_BITS = 8  # of RaBitQ

# One bit a component, in the layout that FAISS compares fastest. Only lists of them can be
# filtered, so that the kind that compares all codes has one list.
CODES = "RaBitQfs"
_FEWEST_CANDIDATES = 500
_CANDIDATES_EACH = 10

_EXACT_COMPONENTS = (
    # Above, comparing the codes and scoring the best again is faster than comparing all vectors.
    40_000_000
)
_MOST_IN_ONE_LIST = 10_000_000  # comparing as many codes takes about 50 ms on one core
_LINKS = 32
_MOST_LISTS = 65_536
_FEWEST_IN_LISTS = 1_000  # vectors below which lists are not worth trying
# Up to this, comparing a query with all centroids is cheap; above it, a graph finds the lists.
_SEARCHED_LISTS = 16_384
# The largest number in a factory string: a store from a stranger must not ask for 10 billion lists.
_LARGEST_NUMBER = 1 << 20
_LONGEST = 200  # characters of a factory string


@dataclass(frozen=True, slots=True)
class Ability:
    """The abilities of indexes of one factory string.

    The family is "flat", "codes", "graph", "lists", or "other" for what this package does not know:
    FAISS searches that with its own settings, filters are applied to its results, and vectors that
    are removed stay hidden in it.
    """

    name: str  # the factory string
    family: str
    lossy: bool  # it holds codes instead of the vectors, or what it holds is unknown
    lists: int  # number of inverted lists, 0 if it has none
    holds_vectors: bool  # the vectors can be read back as they were added
    # Fewest vectors for training; with fewer, the centroids would be poor. 0 if not trained.
    min_training: int
    max_training: int  # with more vectors, training takes a sample. 0 if not trained

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its search parameters."""
        return {"lists": ("nprobe",), "graph": ("efSearch",)}.get(self.family, ())


def make(kind: str, dim: int) -> Any:
    """Build an empty FAISS index of a kind, for the inner product.

    Raises:
        InvalidInputError: This FAISS cannot build it.
    """
    faiss = require("faiss", extra="cpu")
    if not isinstance(kind, str):
        raise InvalidInputError(
            f"a kind of index is a string, got {kind!r}. Expected for example {_EXAMPLES}"
        )
    # Without zeros in front: Python refuses to read a number of thousands of digits.
    numbers = [number.lstrip("0") for number in re.findall(r"\d+", kind)]
    is_too_large = any(len(number) > 7 or int(number or 0) > _LARGEST_NUMBER for number in numbers)
    if len(kind) > _LONGEST or is_too_large:
        raise InvalidInputError(
            f"{kind!r:.60} is too large for an index: numbers up to {_LARGEST_NUMBER:,} are taken"
        )
    try:
        index = faiss.index_factory(dim, kind, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{kind!r} is not a FAISS factory string for {dim} dimensions. Expected for example "
            f"{_EXAMPLES}; a product quantiser's bytes must divide the dimensions"
        ) from error
    if isinstance(index, faiss.IndexHNSW):
        index.hnsw.efConstruction = _CONSTRUCTION
        index.hnsw.efSearch = _WIDTH
    lists = faiss.try_extract_index_ivf(index)
    if lists:
        lists.nprobe = _probes(lists.nlist)
        finder = faiss.downcast_index(lists.quantizer)
        if isinstance(finder, faiss.IndexHNSW):
            finder.hnsw.efSearch = _WIDTH  # on a GPU, `search_parameters` do not reach it
    return index


@lru_cache(maxsize=256)
def check_kind(kind: str, dim: int) -> Ability:
    """Return what a kind can do; "auto" must be resolved before (`choose_kind`).

    Raises:
        InvalidInputError: FAISS cannot build the kind.
    """
    index = make(kind, dim)
    lists = 0
    count = re.search(r"IVF(\d+)", kind)
    if count:
        lists = int(count[1])
    family = _family(kind, lists)
    min_training = 0
    max_training = 0
    if not index.is_trained:
        centroids = lists
        if family == "other":  # perhaps a product quantiser
            centroids = max(lists, _CODE_CENTROIDS)
        min_training = max(_SMALLEST_TRAINING, _POINTS_PER_CENTROID * centroids)
        max_training = max(_SMALLEST_SAMPLE, _SAMPLED_PER_CENTROID * lists, min_training)
    lossy = family == "other" or "SQ" in kind or "RaBitQ" in kind
    return Ability(
        name=kind,
        family=family,
        lossy=lossy,
        lists=lists,
        holds_vectors=family in ("flat", "graph") and not lossy,
        min_training=min_training,
        max_training=max_training,
    )


def _family(kind: str, lists: int) -> str:
    """Return the family of a kind with this many lists."""
    if not _KNOWN.fullmatch(kind):
        return "other"
    if kind.startswith("HNSW"):
        return "graph"
    if lists:
        return "lists"
    if kind == EXACT:
        return "flat"
    return "codes"


def check_factory(kind: str) -> None:
    """Reject a kind that is invalid for all usual dimensions.

    The real number is unknown before there are vectors.
    """
    for dim in _USUAL_DIMS:
        with suppress(InvalidInputError):
            check_kind(kind, dim)
            return
    check_kind(kind, _USUAL_DIMS[0])


def choose_kind(count: int, dim: int) -> str:
    """Choose a kind for this many existing or expected vectors.

    Below some size comparing all vectors takes a few milliseconds. Above it, codes of one bit a
    component are compared: they are ready as soon as all vectors were read once, and the best of
    them are scored again with the exact vectors.
    """
    if count * dim <= _EXACT_COMPONENTS:
        return EXACT
    if count <= _MOST_IN_ONE_LIST:
        return f"IVF1,{CODES}"
    return f"{lists(count)},{CODES}"


def candidates(k: int) -> int:
    """Return how many results of codes are scored again with the exact vectors, to find the k best.

    Among a million real vectors they hold .999 of the 10 best, and .99 of the 100 best
    (`benchmarks/store/codes.py`).
    """
    return _FEWEST_CANDIDATES + _CANDIDATES_EACH * k


def kinds_to_try(count: int) -> list[str]:
    """Return kinds worth comparing on `count` vectors.

    There is one of each family and size, `Flat` first.
    """
    kinds = [EXACT, "SQ8", f"IVF1,{CODES}", f"HNSW{_LINKS}"]
    if count >= _FEWEST_IN_LISTS:
        kinds += [f"{lists(count)},{code}" for code in (EXACT, "SQ8", CODES)]
    return kinds


def usable_kind(kind: str, dim: int, count: int) -> str:
    """Return the kind for `count` vectors.

    "auto" is resolved, and a kind that they are too few to train becomes `Flat`.
    """
    if kind == AUTO:
        kind = choose_kind(count, dim)
    if count < check_kind(kind, dim).min_training:
        return EXACT
    return kind


def search_width(kind: Ability, parameters: Parameters, *, k: int, share: float, count: int) -> int:
    """Return `nprobe` or `efSearch` for a search of k among a share of `count` vectors.

    The share is above 0. The result is 0 if the kind has neither parameter. The defaults were
    chosen on 100,000 clustered vectors of 384 components. They are divided by the share, so that as
    many vectors are compared as without a filter. Values from the caller are kept.
    """
    if kind.family == "lists":
        probes = parameters.get("nprobe") or int(_probes(kind.lists) / share)
        return min(probes, kind.lists)
    if kind.family == "graph":
        width = parameters.get("efSearch") or int(max(_WIDTH, k) / share)
        return min(max(width, k), max(count, 1))
    return 0


def search_parameters(kind: Ability, width: int, selector: Any = None) -> Any:
    """Build FAISS's parameter object for one call; None for a kind of which nothing is known."""
    import faiss

    options: dict[str, Any] = {}
    if selector is not None:
        options["sel"] = selector
    if kind.family == "graph":
        return faiss.SearchParametersHNSW(efSearch=width, **options)
    has_bits = kind.name.endswith(("RaBitQ", CODES))
    if has_bits:
        options["qb"] = _QUERY_BITS
    if kind.family == "lists":
        options["nprobe"] = width
        if "HNSW" in kind.name:  # the lists themselves are found by a graph
            candidates_of_lists = max(_WIDTH, 2 * width)
            options["quantizer_params"] = faiss.SearchParametersHNSW(efSearch=candidates_of_lists)
        if has_bits:
            return faiss.IVFRaBitQSearchParameters(**options)
        return faiss.SearchParametersIVF(**options)
    if has_bits:
        return faiss.RaBitQSearchParameters(**options)
    if kind.family == "other":
        return None
    return faiss.SearchParameters(**options)


def lists(count: int) -> str:
    """Return the beginning of a kind with lists.

    The power of two near 4·√count that can be trained.
    """
    wanted = min(round(math.log2(4 * math.sqrt(count))), int(math.log2(_MOST_LISTS)))
    trainable = int(math.log2(max(count // _POINTS_PER_CENTROID, 1)))
    number = 2 ** min(wanted, trainable)
    if number > _SEARCHED_LISTS:
        return f"IVF{number}_HNSW32"
    return f"IVF{number}"


def _probes(lists: int) -> int:
    """Return the number of lists to search among all."""
    return max(_FEWEST_PROBES, 2 * math.isqrt(lists))
