"""What a filter tree means, told in Python.

Every comparison is the Python expression on the stored value and the operand, so that LangChain's and LlamaIndex's own
references agree. Where Python raises TypeError (`"a" > 1`, `"a" in 5`) the two do not match, and `mismatch` says so to a
framework that makes an error of it. A stored None is never such a mismatch.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

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


def comparisons(tree: Tree) -> list[Comparison]:
    """Return the leaves of a tree, in order."""
    match tree:
        case Comparison():
            return [tree]
        case Not(part):
            return comparisons(part)
        case All(parts) | AnyOf(parts):
            return [leaf for part in parts for leaf in comparisons(part)]


def mismatch(tree: Tree, metadata: Mapping[str, Any]) -> Comparison | None:
    """Return the first comparison that Python cannot make with this metadata, where it would raise TypeError.

    Like LlamaIndex's reference, this looks at every comparison, whatever the others gave.
    """
    for leaf in comparisons(tree):
        stored = metadata.get(leaf.key)
        test = _RAISING.get(leaf.operator)
        if stored is None or test is None:
            continue
        try:
            test(stored, leaf.value)
        except TypeError:
            return leaf
    return None


def _compare(leaf: Comparison, metadata: Mapping[str, Any]) -> bool:
    there, operand = leaf.key in metadata, leaf.value
    stored = metadata.get(leaf.key)
    match leaf.operator:
        case Operator.EXISTS:
            return there is operand
        case Operator.IS_EMPTY:
            return stored is None or stored == "" or stored == []
        case Operator.EQ | Operator.NE:
            return (there and bool(stored == operand)) is (leaf.operator is Operator.EQ)
        case Operator.IN | Operator.NIN:
            return (there and _holds(_in, stored, operand)) is (leaf.operator is Operator.IN)
        case Operator.ANY:
            return any(_holds(operator.contains, stored, each) for each in _elements(operand))
        case Operator.ALL:
            iterable = isinstance(operand, list | str)
            held = all(_holds(operator.contains, stored, each) for each in _elements(operand))
            return iterable and stored is not None and held
    return stored is not None and _holds(_RAISING[leaf.operator], stored, operand)


def _holds(test: Callable[[Any, Any], bool], stored: Any, operand: Any) -> bool:
    try:
        return test(stored, operand)
    except TypeError:
        return False


def _elements(operand: Any) -> list[Any]:
    return list(operand) if isinstance(operand, list | str) else []


def _in(stored: Any, operand: Any) -> bool:
    return stored in operand


def _text_match(stored: Any, operand: Any) -> bool:
    if not (isinstance(stored, str) and isinstance(operand, str)):
        raise TypeError
    return operand in stored


def text_match_insensitive(stored: Any, operand: Any) -> bool:
    """Tell whether the operand is a substring, both in lower case by Unicode's rules.

    Raises:
        TypeError: One of them is no string.
    """
    if not (isinstance(stored, str) and isinstance(operand, str)):
        raise TypeError
    return operand.lower() in stored.lower()


_RAISING: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.GT: operator.gt,
    Operator.GTE: operator.ge,
    Operator.LT: operator.lt,
    Operator.LTE: operator.le,
    Operator.IN: _in,
    Operator.NIN: _in,
    Operator.CONTAINS: operator.contains,
    Operator.ANY: lambda stored, operand: any(each in stored for each in operand),
    Operator.ALL: lambda stored, operand: all(each in stored for each in operand),
    Operator.TEXT_MATCH: _text_match,
    Operator.TEXT_MATCH_INSENSITIVE: text_match_insensitive,
}
