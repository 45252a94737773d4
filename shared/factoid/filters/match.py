"""What a filter tree means, told in Python.

Every comparison is the Python expression on the stored value and the operand, so that LangChain's and LlamaIndex's own
references agree. Where Python raises TypeError (`"a" > 1`, `"a" in 5`) the two do not match. A store's searches are answered
by `sql`, which asks here for what it cannot compare.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from factoid.filters.fields import with_paths
from factoid.filters.tree import All, AnyOf, Comparison, Not, Operator, Tree


def matches(tree: Tree, metadata: Mapping[str, Any]) -> bool:
    """Tell whether the filter lets this metadata pass."""
    match tree:
        case Comparison():
            return _compare(tree, metadata)
        case Not(part):
            return not matches(part, metadata)
        case All(parts):
            return all(matches(part, metadata) for part in parts)
        case AnyOf(parts):
            return any(matches(part, metadata) for part in parts)


def comparable(stored: Any, leaf: Comparison) -> bool:
    """Tell whether Python can compare a stored value with the operand, or would raise TypeError."""
    try:
        _TESTS[leaf.operator](stored, leaf.value)
    except TypeError:
        return False
    return True


def holds(stored: Any, leaf: Comparison) -> bool:
    """Tell whether a comparison holds for a value that is there."""
    if leaf.operator not in (Operator.ANY, Operator.ALL):
        return _try(_TESTS[leaf.operator], stored, leaf.value, default=leaf.operator is Operator.NIN)
    if stored is None or not isinstance(leaf.value, list | str):
        return False
    join = any if leaf.operator is Operator.ANY else all
    return join(_try(operator.contains, stored, element) for element in leaf.value)


def _compare(leaf: Comparison, metadata: Mapping[str, Any]) -> bool:
    if "." in leaf.key:
        metadata = with_paths(metadata)
    if leaf.key in metadata:
        return holds(metadata[leaf.key], leaf)
    return leaf.operator in _WITHOUT_KEY or (leaf.operator is Operator.EXISTS and leaf.value is False)


def _try(test: Callable[[Any, Any], bool], stored: Any, operand: Any, *, default: bool = False) -> bool:
    try:
        return bool(test(stored, operand))
    except TypeError:
        return default


def _in_text(stored: Any, operand: Any, *, fold: Callable[[str], str] = str) -> bool:
    if not (isinstance(stored, str) and isinstance(operand, str)):
        raise TypeError
    return fold(operand) in fold(stored)


_WITHOUT_KEY = (Operator.NE, Operator.NIN, Operator.IS_EMPTY)  # hold for metadata without the key
_TESTS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQ: operator.eq,
    Operator.NE: operator.ne,
    Operator.GT: operator.gt,
    Operator.GTE: operator.ge,
    Operator.LT: operator.lt,
    Operator.LTE: operator.le,
    Operator.IN: lambda stored, operand: stored in operand,
    Operator.NIN: lambda stored, operand: stored not in operand,
    Operator.EXISTS: lambda _, operand: operand is True,
    Operator.CONTAINS: operator.contains,
    Operator.ANY: lambda stored, operand: any(element in stored for element in operand),
    Operator.ALL: lambda stored, operand: all(element in stored for element in operand),
    Operator.TEXT_MATCH: _in_text,
    Operator.TEXT_MATCH_INSENSITIVE: partial(_in_text, fold=str.lower),
    Operator.IS_EMPTY: lambda stored, _: stored is None or stored in ("", []),
}
