"""What one search is told: checked against the kind, and passed as an object of that call, so that threads do not meet.

| parameter | kinds | meaning | default |
|---|---|---|---|
| `nprobe` | lists | how many of the nearest lists are searched | 2·√lists, at least 16 |
| `quantizer_efSearch` | lists found by a graph (`IVF65536_HNSW32`) | how wide the graph is walked | twice `nprobe`, at least 64 |
| `efSearch` | graph | how many candidates the walk keeps | 64 |
| `qb` | RaBitQ | bits of each component of the query, 1 to 8; 0 leaves it as it is | 8 |

Measured on 100,000 clustered vectors of 384 components, on two cores: `IVF1024,Flat` finds 93 % of the ten best with 32 probes,
97 % with 64 (0.7 ms) and 99 % with 128; `HNSW32` all of them from 64 on (0.3 ms); `RaBitQ` as many with 8 bits as with 0,
in a thirtieth of the time.

A filter that lets a share s through divides the default of `nprobe` and `efSearch` by s, so that as many vectors are
compared as without it. What a caller asks for is kept; only where fewer than k are found though there are more, the search
goes on.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

from factoid.errors import InvalidInputError
from factoid.index.kinds import Kind

Parameters = Mapping[str, int]

_QUERY_BITS = 8

# All that a search of some kind can be told.
NAMES = frozenset({"nprobe", "quantizer_efSearch", "efSearch", "qb"})


def check_parameters(kind: Kind, parameters: Parameters) -> dict[str, int]:
    """Return the parameters as a dict.

    Raises:
        InvalidInputError: The kind has no such parameter, or the value is out of its range.
    """
    checked = {}
    for name, value in parameters.items():
        if name not in kind.parameters:
            known = ", ".join(map(repr, kind.parameters)) or "none"
            message = f"the index {kind.name!r} has no search parameter {name!r}: it has {known}"
            raise InvalidInputError(message)
        allowed = range(_QUERY_BITS + 1) if name == "qb" else range(1, sys.maxsize)
        if isinstance(value, bool) or not isinstance(value, int) or value not in allowed:
            span = f"from 0 to {_QUERY_BITS}" if name == "qb" else "of 1 or more"
            message = f"{name} must be a whole number {span}, got {value!r}"
            raise InvalidInputError(message)
        checked[name] = value
    return checked


def widths(kind: Kind, parameters: Mapping[str, int], *, share: float, k: int, count: int) -> dict[str, int]:
    """Fill in defaults.

    Args:
        kind: The kind of the index.
        parameters: What the caller asked for.
        share: How much of the index may be found, above 0.
        k: How many are wanted.
        count: Vectors in the index, hidden ones too.
    """
    filled = dict(parameters)
    if kind.family == "lists":
        probes = filled.setdefault("nprobe", int(max(16, 2 * math.isqrt(kind.lists)) / share))
        filled["nprobe"] = min(probes, kind.lists)
        if "quantizer_efSearch" in kind.parameters:
            filled.setdefault("quantizer_efSearch", max(64, 2 * filled["nprobe"]))
    elif kind.family == "graph":
        filled.setdefault("efSearch", int(max(64, k) / share))
        filled["efSearch"] = min(max(filled["efSearch"], k), max(count, 1))
    if "qb" in kind.parameters:
        filled.setdefault("qb", _QUERY_BITS)
    return filled


def search_parameters(index: Any, values: Mapping[str, int], selector: Any = None) -> Any:
    """Build FAISS's object for one call, nested as the index is, or None where there is nothing to say."""
    import faiss

    if isinstance(index, faiss.IndexPreTransform):
        inner = search_parameters(faiss.downcast_index(index.index), values, selector)
        return None if inner is None else faiss.SearchParametersPreTransform(index_params=inner)
    options: dict[str, Any] = {} if selector is None else {"sel": selector}
    if isinstance(index, faiss.IndexIVF):
        options["nprobe"] = values["nprobe"]
        if "quantizer_efSearch" in values:
            options["quantizer_params"] = faiss.SearchParametersHNSW(efSearch=values["quantizer_efSearch"])
        if "qb" in values:
            return faiss.IVFRaBitQSearchParameters(**options, qb=values["qb"])
        return faiss.SearchParametersIVF(**options)
    if isinstance(index, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(**options, efSearch=values["efSearch"])
    if "qb" in values:
        return faiss.RaBitQSearchParameters(**options, qb=values["qb"])
    return faiss.SearchParameters(**options) if options else None
