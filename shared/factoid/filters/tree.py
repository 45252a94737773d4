"""A metadata filter as a small tree of frozen records, and its semantics.

It may be written for any framework. Every comparison is the Python expression on the stored value
and the operand, as in LangChain's and LlamaIndex's own references. Where Python raises TypeError
(`"a" > 1`, `"a" in 5`) the two do not match. A missing key fails every operator except `ne`, `nin`,
`is_empty` and `exists` with False. Searches of a store use `sql`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any

from factoid.errors import InvalidInputError
from factoid.filters.fields import with_paths
from factoid.metadata import KIND, plain_metadata
from factoid.units import DEPTH, check_size, check_text

CONDITIONS = 20_000  # of one filter, at most


class Operator(StrEnum):
    """How a stored value is compared with the operand."""

    EQ = "eq"  # stored == operand
    NE = "ne"  # not eq
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IN = "in"  # stored in operand: an element of a list, a substring of a string
    NIN = "nin"  # not in
    EXISTS = "exists"  # the key is present, or with False is not
    # operand in stored: an element of a list, a substring of a string, a key of a dict
    CONTAINS = "contains"
    ANY = "any"  # stored contains any of the operand's elements
    ALL = "all"  # stored contains all of the operand's elements
    TEXT_MATCH = "text_match"  # both are strings, and the operand is a substring
    TEXT_MATCH_INSENSITIVE = "text_match_insensitive"  # the same in lower case
    IS_EMPTY = "is_empty"  # missing, None, "" or []; takes no operand


_ORDERED = (str | int | float, "a string, a number, or a date or time")
_LISTED = (list | str, "a list or a string")
_TEXT = (str, "a string")
_OPERANDS: dict[Operator, tuple[Any, str]] = {
    **dict.fromkeys((Operator.GT, Operator.GTE, Operator.LT, Operator.LTE), _ORDERED),
    **dict.fromkeys((Operator.IN, Operator.NIN, Operator.ANY, Operator.ALL), _LISTED),
    **dict.fromkeys((Operator.TEXT_MATCH, Operator.TEXT_MATCH_INSENSITIVE), _TEXT),
    Operator.EXISTS: (bool | None, "True or False"),
}

ORDERS = {Operator.GT: ">", Operator.GTE: ">=", Operator.LT: "<", Operator.LTE: "<="}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One operator on one metadata key.

    The operand becomes what metadata stores for it; tuples and sets become lists. Orders take a
    string or a number; `in`, `nin`, `any` and `all` a list or a string; `text_match` and
    `text_match_insensitive` a string; `exists` True or False, with True for None; all others take
    anything.

    Raises:
        InvalidInputError: The key is not a string that can be stored, or metadata cannot hold the
            operand, or the operator does not take it.
    """

    key: str
    operator: Operator
    value: Any = field(default=None, hash=False)

    def __post_init__(self) -> None:
        check_text(self.key, "key")
        check_size(self.value, f"the operand on {self.key!r:.80}")
        object.__setattr__(self, "value", _stored(self.key, self.value))
        object.__setattr__(self, "operator", Operator(self.operator))
        taken, expected = _OPERANDS.get(self.operator, (object, "anything"))
        if not isinstance(self.value, taken):
            raise InvalidInputError(
                f"{self.operator} on {self.key!r:.80} takes {expected}, got {self.value!r:.80}"
            )


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; without parts, always true."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Some part holds; without parts, never true."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Tree


Tree = Comparison | All | AnyOf | Not
Condition = Tree | Callable[[dict[str, Any]], bool]
Filter = Mapping[str, Any] | Condition

PASSAGE = {"granularity": "passage"}  # what a passage's metadata say of its kind


def check_tree(tree: Tree) -> None:
    """Reject a filter that is too large to be evaluated.

    Raises:
        InvalidInputError: Conditions are nested more than `DEPTH` levels deep, or there are more
            than `CONDITIONS`.
    """
    count = 0
    parts: list[tuple[Tree, int]] = [(tree, 0)]
    while parts:
        part, depth = parts.pop()
        several = isinstance(part, Comparison) and part.operator in (Operator.ANY, Operator.ALL)
        if several:
            count += len(part.value)  # type: ignore[union-attr]
        else:
            count += 1
        if count > CONDITIONS:
            raise InvalidInputError(too_many())
        if depth > DEPTH:
            raise InvalidInputError(too_deep())
        if isinstance(part, Not):
            parts.append((part.part, depth + 1))
        elif isinstance(part, All | AnyOf):
            parts += [(inner, depth + 1) for inner in part.parts]


def too_deep() -> str:
    """Return what is wrong with a filter whose conditions are nested too deep."""
    return (
        f"a filter nests conditions at most {DEPTH} levels deep: join those that are joined by the "
        "same operator in one list"
    )


def too_many() -> str:
    """Return what is wrong with a filter of too many conditions."""
    return (
        f"a filter has at most {CONDITIONS:,} conditions, where each element of $any and $all is "
        "one: name values in a list of $in, which may have any length"
    )


def matches(tree: Tree, metadata: Mapping[str, Any]) -> bool:
    """Return whether the filter lets this metadata pass."""
    match tree:
        case Comparison(key, operation, value):
            if "." in key:
                metadata = with_paths(metadata)
            if key in metadata:
                return holds(metadata[key], tree)
            return operation in _WITHOUT_KEY or (operation is Operator.EXISTS and value is False)
        case Not(part):
            return not matches(part, metadata)
        case All(parts):
            return all(matches(part, metadata) for part in parts)
        case AnyOf(parts):
            return any(matches(part, metadata) for part in parts)


def as_of_passage(tree: Tree) -> Tree:
    """Return a filter that judges a unit as its passage by the keys that say what a unit is.

    Itself if it names none of them.
    """
    match tree:
        case Comparison(key):
            if key not in KIND:
                return tree
            if matches(tree, PASSAGE):
                return All(())
            return AnyOf(())
        case Not(part):
            judged = as_of_passage(part)
            if judged is part:
                return tree
            return Not(judged)
        case All(parts) | AnyOf(parts):
            changed = tuple(map(as_of_passage, parts))
            if all(map(operator.is_, changed, parts)):
                return tree
            return type(tree)(changed)


def holds(stored: Any, leaf: Comparison) -> bool:
    """Return whether a comparison holds for a stored value."""
    if leaf.operator not in (Operator.ANY, Operator.ALL):
        return _try(
            _TESTS[leaf.operator], stored, leaf.value, default=leaf.operator is Operator.NIN
        )
    if stored is None or not isinstance(leaf.value, list | str):
        return False
    join = any if leaf.operator is Operator.ANY else all
    return join(_try(operator.contains, stored, element) for element in leaf.value)


def _try(
    test: Callable[[Any, Any], bool], stored: Any, operand: Any, *, default: bool = False
) -> bool:
    try:
        return bool(test(stored, operand))
    except TypeError:
        return default


def _in_text(stored: Any, operand: Any, *, fold: Callable[[str], str] = str) -> bool:
    return isinstance(stored, str) and isinstance(operand, str) and fold(operand) in fold(stored)


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
    Operator.EXISTS: lambda _, operand: operand is not False,
    Operator.CONTAINS: operator.contains,
    Operator.TEXT_MATCH: _in_text,
    Operator.TEXT_MATCH_INSENSITIVE: partial(_in_text, fold=str.lower),
    Operator.IS_EMPTY: lambda stored, _: stored is None or stored in ("", []),
}


def _stored(key: str, value: Any) -> Any:
    """Return a value as metadata stores it under a key, besides NaN and infinities."""
    if isinstance(value, list | tuple | set | frozenset):
        return [_stored(key, element) for element in value]
    if isinstance(value, float):
        return float(value)
    return plain_metadata({key: value})[key]
