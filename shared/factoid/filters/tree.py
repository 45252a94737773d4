"""A metadata filter as a small tree of frozen records, whatever framework it was written for.

A comparison holds for metadata as its Python expression does (`factoid.filters.match`); a missing key fails every
operator but `ne`, `nin`, `is_empty` and `exists` with False.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from factoid.errors import InvalidInputError


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
    EXISTS = "exists"  # the key is there, or with False is not
    CONTAINS = "contains"  # operand in stored: an element of a list, a substring of a string, a key of a dict
    ANY = "any"  # stored contains any of the operand's elements
    ALL = "all"  # stored contains all of the operand's elements
    TEXT_MATCH = "text_match"  # both are strings, and the operand is a substring
    TEXT_MATCH_INSENSITIVE = "text_match_insensitive"  # the same in lower case
    IS_EMPTY = "is_empty"  # missing, None, "" or []; takes no operand


LIST_OPERATORS = (Operator.IN, Operator.NIN, Operator.ANY, Operator.ALL)
ORDERS = {Operator.GT: ">", Operator.GTE: ">=", Operator.LT: "<", Operator.LTE: "<="}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One operator on one metadata key. The operand is what JSON can hold; tuples and sets become lists.

    Raises:
        InvalidInputError: The key is not a string, or the operand is of a type that metadata cannot hold.
    """

    key: str
    operator: Operator
    value: Any = field(default=None, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.key, str):
            raise InvalidInputError(f"a metadata key is a str, got {self.key!r}")
        try:
            value = _plain(self.value)
        except RecursionError as error:
            message = f"cannot compare metadata with the value for {self.key!r}: it nests too deeply"
            raise InvalidInputError(message) from error
        if isinstance(value, dict) and self.operator in LIST_OPERATORS:
            raise InvalidInputError(f"{self.operator} takes a list or a string, got {value!r}")
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "operator", Operator(self.operator))


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; without parts, true of everything."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Some part holds; without parts, true of nothing."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Tree


Tree = Comparison | All | AnyOf | Not
Filter = Mapping[str, Any] | Callable[[dict[str, Any]], bool] | Tree


def cache_key(tree: Tree) -> str:
    """Return a string that only trees of one meaning share."""
    return repr(tree)


def _plain(value: Any) -> Any:
    """Return a copy that nobody else can change, of JSON's own types."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # of an enumeration, its value
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(element) for element in value]
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _plain(element) for name, element in value.items()}
    kind = "dict with keys that are no strings" if isinstance(value, Mapping) else type(value).__name__
    raise InvalidInputError(f"cannot compare metadata with a {kind}: metadata holds what JSON can hold")
