"""What one search is told, passed to FAISS as an object of that call, so that threads do not meet.

Defaults, chosen on 100,000 clustered vectors of 384 components: `nprobe` is 2·√lists and at least 16, `quantizer_efSearch`
twice `nprobe` and at least 64, `efSearch` 64, and `qb` (bits of each component of a query, 0 for as it is) 8. A filter that
lets a share s through divides the default of `nprobe` and `efSearch` by s, so that as many vectors are compared as without
it. What a caller asks for is kept; only where fewer than k are found though there are more, the search goes on.
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

NAMES = frozenset({"nprobe", "quantizer_efSearch", "efSearch", "qb"})  # all that a search of some kind can be told


def check_parameters(kind: Kind, parameters: Parameters) -> None:
    """Raise InvalidInputError for a parameter that the kind does not have, or a value out of its range."""
    for name, value in parameters.items():
        if name not in kind.parameters:
            known = ", ".join(map(repr, kind.parameters)) or "none"
            raise InvalidInputError(f"the index {kind.name!r} has no search parameter {name!r}: it has {known}")
        allowed = range(_QUERY_BITS + 1) if name == "qb" else range(1, sys.maxsize)
        if isinstance(value, bool) or not isinstance(value, int) or value not in allowed:
            span = f"from 0 to {_QUERY_BITS}" if name == "qb" else "of 1 or more"
            raise InvalidInputError(f"{name} must be a whole number {span}, got {value!r}")


def widths(kind: Kind, parameters: Parameters, *, share: float, k: int, count: int) -> dict[str, int]:
    """Fill in defaults for a search of k among a share, above 0, of `count` vectors."""
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
    """Build FAISS's object for one call, nested as the index is, or None where there is nothing to say."""
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
