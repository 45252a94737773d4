"""Kinds of index: FAISS factory strings, what each can do, how one is chosen, and its search parameters (docs/store.md)."""

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

_KNOWN = re.compile(r"(?:IVF\d+(?:_HNSW\d+)?,)?(?:Flat|RaBitQ|SQ\w+)|IVF\d+(?:_HNSW\d+)?,RaBitQfs|HNSW\d+(?:,SQ\w+)?")
_EXAMPLES = '"Flat", "HNSW32", "IVF4096,Flat", "IVF4096,SQ8", "SQ8", "IVF1,RaBitQfs" or "auto"'
_USUAL_DIMS = (384, 768, 1024, 1536, 3072, 256, 6, 7, 100)  # a product quantiser's bytes must divide them

_POINTS_PER_CENTROID = 39  # FAISS's own threshold, below which it warns that the centroids are poor
_SAMPLED_PER_CENTROID = 50
_CODE_CENTROIDS = 256  # of each byte of a product quantiser
_SMALLEST_TRAINING = 256
_SMALLEST_SAMPLE = 65_536
_CONSTRUCTION = 200  # candidates when a vector is put into a graph; FAISS's own 40 makes graphs that find less
_WIDTH = 64  # candidates of a walk through a graph
_FEWEST_PROBES = 16
_QUERY_BITS = 8  # of RaBitQ

# One bit a component, in the layout that FAISS compares fastest. Only lists of them can be filtered, so that the kind that
# compares all codes has one list.
CODES = "RaBitQfs"
_FEWEST_CANDIDATES = 500
_CANDIDATES_EACH = 10

_EXACT_COMPONENTS = (
    40_000_000  # above, comparing the codes and scoring the best again is faster than comparing all vectors
)
_MOST_IN_ONE_LIST = 10_000_000  # comparing as many codes takes about 50 ms on one core
_LINKS = 32
_MOST_LISTS = 65_536
_FEWEST_IN_LISTS = 1_000  # vectors below which lists are not worth trying
_SEARCHED_LISTS = 16_384  # up to this, comparing a query with all centroids is cheap; above it, a graph finds the lists
_LARGEST_NUMBER = 1 << 20  # in a factory string: a store from a stranger must not ask for 10 billion lists
_LONGEST = 200  # characters of a factory string


@dataclass(frozen=True, slots=True)
class Kind:
    """What indexes of one factory string can do.

    The family is "flat", "codes", "graph", "lists", or "other" for what this package does not know: FAISS searches that with its
    own settings, filters are applied to its results, and vectors that are removed stay hidden in it.
    """

    name: str  # the factory string
    family: str
    lossy: bool  # it holds codes instead of the vectors, or what it holds is unknown
    lists: int  # number of inverted lists, 0 if it has none
    holds_vectors: bool  # the vectors can be read back as they were added
    min_training: int  # fewest vectors for training; with fewer, the centroids would be poor. 0 if not trained
    max_training: int  # with more vectors, training takes a sample. 0 if not trained

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its search parameters."""
        return {"lists": ("nprobe",), "graph": ("efSearch",)}.get(self.family, ())


def make(kind: str, dim: int) -> Any:
    """Build an empty FAISS index of a kind, for the inner product; raise InvalidInputError if this FAISS cannot."""
    faiss = require("faiss", extra="cpu")
    if not isinstance(kind, str):
        raise InvalidInputError(f"a kind of index is a string, got {kind!r}. Expected for example {_EXAMPLES}")
    numbers = [number.lstrip("0") or "0" for number in re.findall(r"\d+", kind)]
    if len(kind) > _LONGEST or any(len(number) > 7 or int(number) > _LARGEST_NUMBER for number in numbers):
        raise InvalidInputError(f"{kind!r:.60} is too large for an index: numbers up to {_LARGEST_NUMBER:,} are taken")
    try:
        index = faiss.index_factory(dim, kind, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{kind!r} is not a FAISS factory string for {dim} dimensions. Expected for example {_EXAMPLES}; "
            "a product quantiser's bytes must divide the dimensions"
        ) from error
    if isinstance(index, faiss.IndexHNSW):
        index.hnsw.efConstruction, index.hnsw.efSearch = _CONSTRUCTION, _WIDTH
    if lists := faiss.try_extract_index_ivf(index):
        lists.nprobe = _probes(lists.nlist)
        if isinstance(finder := faiss.downcast_index(lists.quantizer), faiss.IndexHNSW):
            finder.hnsw.efSearch = _WIDTH  # on a GPU, `search_parameters` do not reach it
    return index


@lru_cache(maxsize=256)
def check_kind(kind: str, dim: int) -> Kind:
    """Return what a kind can do; "auto" must be resolved before (`choose_kind`).

    Raises:
        InvalidInputError: FAISS cannot build the kind.
    """
    index, family = make(kind, dim), "other"
    numbers = re.search(r"IVF(\d+)", kind)
    lists = int(numbers[1]) if numbers else 0
    if _KNOWN.fullmatch(kind):
        family = "graph" if kind.startswith("HNSW") else "lists" if lists else "flat" if kind == EXACT else "codes"
    least = max(_SMALLEST_TRAINING, _POINTS_PER_CENTROID * max(lists, _CODE_CENTROIDS * (family == "other")))
    trained = not index.is_trained
    lossy = family == "other" or "SQ" in kind or "RaBitQ" in kind
    return Kind(
        name=kind,
        family=family,
        lossy=lossy,
        lists=lists,
        holds_vectors=family in ("flat", "graph") and not lossy,
        min_training=least if trained else 0,
        max_training=max(_SMALLEST_SAMPLE, _SAMPLED_PER_CENTROID * lists, least) if trained else 0,
    )


def check_factory(kind: str) -> None:
    """Reject a kind that is invalid for all usual dimensions; the real number is unknown before there are vectors."""
    for dim in _USUAL_DIMS:
        with suppress(InvalidInputError):
            check_kind(kind, dim)
            return
    check_kind(kind, _USUAL_DIMS[0])


def choose_kind(count: int, dim: int) -> str:
    """Choose a kind for this many existing or expected vectors.

    Below some size comparing all vectors takes a few milliseconds. Above it, codes of one bit a component are compared: they
    are ready as soon as all vectors were read once, and the best of them are scored again with the exact vectors.
    """
    if count * dim <= _EXACT_COMPONENTS:
        return EXACT
    if count <= _MOST_IN_ONE_LIST:
        return f"IVF1,{CODES}"
    return f"{lists(count)},{CODES}"


def candidates(k: int) -> int:
    """Return how many results of codes are scored again with the exact vectors, to find the k best.

    Among a million real vectors they hold .999 of the 10 best, and .99 of the 100 best (`benchmarks/store/codes.py`).
    """
    return _FEWEST_CANDIDATES + _CANDIDATES_EACH * k


def kinds_to_try(count: int) -> list[str]:
    """Return kinds worth comparing on `count` vectors: one of each family and size, `Flat` first."""
    codes = [EXACT, "SQ8", f"IVF1,{CODES}"]
    in_lists = [f"{lists(count)},{code}" for code in (EXACT, "SQ8", CODES)] if count >= _FEWEST_IN_LISTS else []
    return [*codes, f"HNSW{_LINKS}", *in_lists]


def usable_kind(kind: str, dim: int, count: int) -> str:
    """Return the kind for `count` vectors: "auto" is resolved, and a kind that they are too few to train becomes `Flat`."""
    wanted = choose_kind(count, dim) if kind == AUTO else kind
    return wanted if count >= check_kind(wanted, dim).min_training else EXACT


def search_width(kind: Kind, given: Parameters, *, k: int, share: float, count: int) -> int:
    """Return `nprobe` or `efSearch` for a search of k among a share, above 0, of `count` vectors; 0 if the kind has neither.

    The defaults were chosen on 100,000 clustered vectors of 384 components. They are divided by the share, so that as many
    vectors are compared as without a filter. Values from the caller are kept.
    """
    if kind.family == "lists":
        return min(given.get("nprobe") or int(_probes(kind.lists) / share), kind.lists)
    if kind.family == "graph":
        return min(max(given.get("efSearch") or int(max(_WIDTH, k) / share), k), max(count, 1))
    return 0


def search_parameters(kind: Kind, width: int, selector: Any = None) -> Any:
    """Build FAISS's parameter object for one call; None for a kind of which nothing is known."""
    import faiss

    options: dict[str, Any] = {} if selector is None else {"sel": selector}
    if kind.family == "graph":
        return faiss.SearchParametersHNSW(efSearch=width, **options)
    bits = {"qb": _QUERY_BITS} if kind.name.endswith(("RaBitQ", CODES)) else {}
    if kind.family == "lists":
        options["nprobe"] = width
        if "HNSW" in kind.name:  # the lists themselves are found by a graph
            options["quantizer_params"] = faiss.SearchParametersHNSW(efSearch=max(_WIDTH, 2 * width))
        return (faiss.IVFRaBitQSearchParameters if bits else faiss.SearchParametersIVF)(**bits, **options)
    if bits:
        return faiss.RaBitQSearchParameters(**bits, **options)
    return faiss.SearchParameters(**options) if kind.family != "other" else None


def lists(count: int) -> str:
    """Return the beginning of a kind with lists: the power of two near 4·√count that can be trained."""
    wanted = min(round(math.log2(4 * math.sqrt(count))), int(math.log2(_MOST_LISTS)))
    trainable = int(math.log2(max(count // _POINTS_PER_CENTROID, 1)))
    number = 2 ** min(wanted, trainable)
    return f"IVF{number}_HNSW32" if number > _SEARCHED_LISTS else f"IVF{number}"


def _probes(lists: int) -> int:
    """Return the number of lists to search among all."""
    return max(_FEWEST_PROBES, 2 * math.isqrt(lists))
