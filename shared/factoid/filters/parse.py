"""Filters as dicts of conditions, in the dialect that LangChain's stores share with MongoDB.

    {"year": 1990}                                  equal
    {"year": {"$gte": 1990, "$lt": 2000}}           all of several operators
    {"year": {"$not": {"$gte": 1990}}}              a missing year passes, too
    {"year": [1990, 1991]}                          one of them, or exactly this list
    {"tags": {"$contains": "rare"}}                 a list that holds it, or a string
    {"author.name": "Ann"}                          a key of a dict in the metadata
    {"author": {"name": "Ann"}}                     the whole dict
    {"tags": {"$any": ["rare", "blind"]}}           a list that holds one of them; $all: all of them
    {"$or": [{"lang": "en"}, {"lang": {"$exists": False}}]}

Operators: `$eq $ne $gt $gte $lt $lte $in $nin $contains $any $all $exists $not` on a key, and `$and
$or $not` over whole filters; `$neq` is `$ne`. An empty `$and` lets everything pass, an empty `$or`,
`$in` or `$any` nothing. A missing key equals only None, so `$ne` and `$nin` match it unless they
name None; `$gt` and the other orders take a string or a number, and match only values of the same
kind. Dates and the like are compared as the strings that metadata stores for them. Equality is
Python's: `True == 1 == 1.0`, lists and dicts by their content. Conditions are nested at most 100
levels deep, and a filter has at most 20,000 of them, those in `$any` and `$all` included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from factoid.errors import InvalidInputError, shown
from factoid.filters.tree import (
    CONDITIONS,
    All,
    AnyOf,
    Comparison,
    Condition,
    Filter,
    Not,
    Operator,
    Tree,
    check_tree,
    too_deep,
    too_many,
)
from factoid.units import DEPTH

_ON_KEYS = {
    f"${name}": Operator(name)
    for name in "eq ne gt gte lt lte in nin exists contains any all".split()
}
_ON_KEYS["$neq"] = Operator.NE  # as LangChain's FAISS spells it
_ON_LISTS = (Operator.IN, Operator.NIN, Operator.ANY, Operator.ALL)


def parse_filter(conditions: Mapping[str, Any] | Tree) -> Tree:
    """Return the tree of a filter, given as a dict or already as a tree.

    An empty dict lets everything pass.

    Raises:
        InvalidInputError: An operator is unknown, or does not take an operand, or metadata cannot
            hold it; or conditions are nested too deep or too many (`DEPTH` and `CONDITIONS` of
            `factoid.filters`).
    """
    tree = _Parser().filter(conditions, depth=0)
    check_tree(tree)
    return tree


def to_condition(condition: Filter) -> Condition:
    """Return a filter as a tree, or as the function that it is.

    Errors are those of `parse_filter`.
    """
    if callable(condition):
        return condition
    return parse_filter(condition)


class _Parser:
    """Reads a filter, and counts its conditions."""

    def __init__(self) -> None:
        self._count = 0

    def filter(self, conditions: Any, *, depth: int) -> Tree:
        """Return the tree of a filter in others at this depth."""
        if isinstance(conditions, Comparison | All | AnyOf | Not):
            return conditions
        if not isinstance(conditions, Mapping):
            kind = type(conditions).__name__
            raise InvalidInputError(
                f"a filter must be a dict of conditions or a callable, got {kind}"
            )
        if depth > DEPTH:
            raise InvalidInputError(too_deep())
        return _all([self._clause(key, value, depth) for key, value in conditions.items()])

    def _clause(self, key: Any, value: Any, depth: int) -> Tree:
        self._count += 1
        if self._count > CONDITIONS:
            raise InvalidInputError(too_many())
        if key in ("$and", "$or"):
            if not isinstance(value, list | tuple):
                raise InvalidInputError(f"{key} takes a list of filters, got {shown(value)}")
            parts = [self.filter(part, depth=depth + 1) for part in value]
            if key == "$and":
                return _all(parts)
            return AnyOf(tuple(parts))
        if key == "$not":
            return Not(self.filter(value, depth=depth + 1))
        if not isinstance(key, str) or key.startswith("$"):
            raise InvalidInputError(
                f"unknown operator {shown(key)} at the top of a filter: expected a metadata key, "
                "$and, $or or $not"
            )
        return self._on_key(key, value, depth)

    def _on_key(self, key: str, value: Any, depth: int) -> Tree:
        if depth > DEPTH:
            raise InvalidInputError(too_deep())
        if isinstance(value, Mapping) and any(str(name).startswith("$") for name in value):
            return _all(
                [self._operator(key, name, operand, depth) for name, operand in value.items()]
            )
        equal = Comparison(key, Operator.EQ, value)
        if isinstance(value, list | tuple):
            return AnyOf((_with_missing(Comparison(key, Operator.IN, value)), equal))
        return _with_missing(equal)

    def _operator(self, key: str, name: Any, operand: Any, depth: int) -> Tree:
        if name == "$not":
            return Not(self._on_key(key, operand, depth + 1))
        if name not in _ON_KEYS:
            raise InvalidInputError(
                f"unknown operator {shown(name)}: expected {' '.join(_ON_KEYS)} or $not"
            )
        comparison = Comparison(key, _ON_KEYS[name], operand)
        if comparison.operator in _ON_LISTS and not isinstance(comparison.value, list):
            raise InvalidInputError(f"{name} takes a list, got {shown(operand)}")
        if comparison.operator is Operator.EXISTS and operand is None:
            raise InvalidInputError(f"{name} takes True or False, got None")
        return _with_missing(comparison)


def _with_missing(comparison: Comparison) -> Tree:
    """Return a comparison in which a missing key is equal to None."""
    key = comparison.key
    operator = comparison.operator
    value = comparison.value
    if (operator is Operator.EQ and value is None) or (operator is Operator.IN and None in value):
        return AnyOf((comparison, Comparison(key, Operator.EXISTS, False)))
    if (operator is Operator.NE and value is None) or (operator is Operator.NIN and None in value):
        return All((comparison, Comparison(key, Operator.EXISTS, True)))
    return comparison


def _all(parts: list[Tree]) -> Tree:
    if len(parts) == 1:
        return parts[0]
    return All(tuple(parts))
