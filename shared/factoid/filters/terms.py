"""A comparison as the ranges of `fields` that answer it.

What `fields` holds is compared by SQLite: its integers and floats compare exactly, and its strings by code points, as in
Python. What it only marks is compared by Python on the JSON of those rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from factoid.filters.fields import Kind, digest, is_integer, is_short, is_text
from factoid.filters.tree import Comparison, Operator

_ORDERS = {Operator.GT: ">", Operator.GTE: ">=", Operator.LT: "<", Operator.LTE: "<="}
_OF_KEY = tuple(kind for kind in Kind if kind not in (Kind.NUMBER_IN_LIST, Kind.STRING_IN_LIST))
_THERE = tuple(kind for kind in _OF_KEY if kind != Kind.NULL)


@dataclass(frozen=True, slots=True)
class Term:
    """Rows of `fields` with the comparison's key, of some kinds, that meet a condition on `value`.

    `by_json` says that the comparison itself is still to be made, on the JSON of those rows.
    """

    kinds: tuple[Kind, ...]
    condition: str = ""
    parameters: tuple[Any, ...] = ()
    by_json: bool = False

    @property
    def range(self) -> str:
        """A condition on `fields` that its index serves, with the key and, if `ranged`, the parameters."""
        kinds = f"key = ? AND kind IN ({', '.join(str(kind.value) for kind in self.kinds)})"
        return f"{kinds} AND {self.condition}" if self.ranged else kinds

    @property
    def ranged(self) -> bool:
        """Whether the condition is on the value itself, and not on a function of it."""
        return self.condition.startswith("value")

    @property
    def where(self) -> str:
        """The condition on `fields`, with the key and the parameters."""
        return f"{self.range} AND {self.condition}" if self.condition and not self.ranged else self.range

    def narrowed(self, other: Term) -> Term:
        """Return the rows of this and of another term of the same kinds."""
        conditions = [each for each in (self.condition, other.condition) if each]
        return replace(self, condition=" AND ".join(conditions), parameters=self.parameters + other.parameters)


def matching(leaf: Comparison) -> tuple[list[Term], bool]:
    """Return terms whose rows together are those that match, or with False those that do not."""
    value = leaf.value
    match leaf.operator:
        case Operator.EQ | Operator.NE:
            return _among([value]), leaf.operator is Operator.EQ
        case Operator.IN | Operator.NIN:
            return _in(value), leaf.operator is Operator.IN
        case Operator.EXISTS:
            return [Term(_OF_KEY)], value is True
        case Operator.IS_EMPTY:
            full = [Term((Kind.STRING,), "value > ''"), Term((Kind.LIST,), "value > 0")]
            return [*full, Term((Kind.NUMBER, Kind.DICT, Kind.LONG, Kind.OPAQUE))], False
        case Operator.CONTAINS:
            return _contains(value), True
        case Operator.TEXT_MATCH | Operator.TEXT_MATCH_INSENSITIVE:
            return _text_match(leaf.operator, value), True
        case Operator.ANY | Operator.ALL:
            # Without elements; with some, they are compared one by one.
            return ([Term(_THERE)] if value in ([], "") and leaf.operator is Operator.ALL else []), True
    return _ordered(_ORDERS[leaf.operator], value), True


def mismatching(leaf: Comparison) -> list[Term]:
    """Return terms whose rows together are those on which Python would raise TypeError."""
    value = leaf.value
    strings = (Kind.STRING, Kind.LONG)
    match leaf.operator:
        case Operator.EQ | Operator.NE | Operator.EXISTS | Operator.IS_EMPTY:
            return []
        case Operator.GT | Operator.GTE | Operator.LT | Operator.LTE:
            if isinstance(value, list):
                return _raising(by_json=(Kind.LIST,), never=())
            if isinstance(value, str | int | float):
                return _raising(never=strings if isinstance(value, str) else (Kind.NUMBER,))
        case Operator.IN | Operator.NIN:
            if isinstance(value, list | str):
                return [] if isinstance(value, list) else _raising(never=strings)
        case Operator.CONTAINS:
            dicts = () if isinstance(value, list | dict) else (Kind.DICT,)
            return _raising(never=(Kind.LIST, *dicts, *(strings if isinstance(value, str) else ())))
        case Operator.ANY | Operator.ALL:
            if isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value)):
                return _raising(never=(Kind.LIST, Kind.DICT, *strings)) if value else []
            if isinstance(value, list):
                return _raising(by_json=(*strings, Kind.DICT), never=(Kind.LIST,))
        case _:
            if isinstance(value, str):
                return _raising(never=strings)
    return [Term(_THERE)]


def _raising(*, never: tuple[Kind, ...], by_json: tuple[Kind, ...] = ()) -> list[Term]:
    unsure = (*by_json, Kind.OPAQUE)
    always = tuple(kind for kind in _THERE if kind not in never and kind not in unsure)
    return [Term(always), Term(unsure, by_json=True)]


def _in(value: Any) -> list[Term]:
    if isinstance(value, list):
        return _among(value)
    if not isinstance(value, str):
        return []
    if not is_text(value):
        return [_by_json(Kind.STRING, Kind.LONG, Kind.OPAQUE)]
    return [Term((Kind.STRING,), "instr(?, value)", (value,)), _by_json(Kind.LONG, Kind.OPAQUE)]


def _among(values: list[Any]) -> list[Term]:
    """Return terms for what equals one of any number of values."""
    numbers: list[Any] = []
    strings: list[Any] = []
    digests: list[Any] = []
    rest: set[Kind] = set()
    for value in values:
        if value is None:
            rest.add(Kind.NULL)
        elif isinstance(value, str):
            if is_text(value):
                (strings if is_short(value) else digests).append(value if is_short(value) else digest(value))
            else:
                rest.add(Kind.OPAQUE)
        elif isinstance(value, int | float):
            numbers += _exact(value)
            rest |= set() if abs(value) < 1 << 63 else {Kind.OPAQUE}
        else:
            rest |= {Kind.LIST, Kind.OPAQUE} if isinstance(value, list) else {Kind.DICT}
    terms = [_one_of(kind, found) for kind, found in ((Kind.NUMBER, numbers), (Kind.STRING, strings)) if found]
    if digests:
        found = _one_of(Kind.LONG, digests)
        terms.append(Term(found.kinds, found.condition, found.parameters, by_json=True))
    if rest == {Kind.NULL}:
        return [*terms, Term((Kind.NULL,))]
    return [*terms, _by_json(*sorted(rest))] if rest else terms


def _exact(value: float) -> list[float]:
    """Return the number as SQLite holds it, if it can."""
    if isinstance(value, float):
        return [] if math.isnan(value) else [value]
    if is_integer(value):
        return [int(value)]
    try:
        return [float(value)] if float(value) == value else []
    except OverflowError:
        return []


def _one_of(kind: Kind, values: list[Any]) -> Term:
    if len(values) == 1:
        return Term((kind,), "value = ?", (values[0],))
    # JSON within JSON, because SQLite's own reading of numbers and of NUL characters is not exact.
    listed = json.dumps([json.dumps(value) for value in values])
    return Term((kind,), "value IN (SELECT factoid_value(value) FROM json_each(?))", (listed,))


def _ordered(sign: str, value: Any) -> list[Term]:
    if isinstance(value, str):
        exact = [Term((Kind.STRING,), f"value {sign} ?", (value,))] if is_text(value) else [_by_json(Kind.STRING)]
        return [*exact, _by_json(Kind.LONG, Kind.OPAQUE)]
    if isinstance(value, float) or (isinstance(value, int) and is_integer(value)):
        return [Term((Kind.NUMBER,), f"value {sign} ?", (value,)), _by_json(Kind.OPAQUE)]
    if isinstance(value, int):
        return [_by_json(Kind.NUMBER, Kind.OPAQUE)]
    return [_by_json(Kind.LIST, Kind.OPAQUE)] if isinstance(value, list) else []


def _contains(value: Any) -> list[Term]:
    listed = [
        Term((Kind(kind + Kind.NUMBER_IN_LIST),), term.condition, term.parameters)
        for term in (_among([value]) if isinstance(value, str | int | float) else [])
        for kind in term.kinds
        if kind in (Kind.NUMBER, Kind.STRING)
    ]
    if value is None or isinstance(value, list | dict):
        listed = [_by_json(Kind.LIST)]
    rest: Iterable[Kind] = (Kind.DICT, Kind.OPAQUE)
    if isinstance(value, str):
        return [*listed, *_text_match(Operator.CONTAINS, value), _by_json(Kind.DICT)]
    return [*listed, _by_json(*rest)]


def _text_match(operator: Operator, value: Any) -> list[Term]:
    if not isinstance(value, str):
        return []
    if not is_text(value):
        return [_by_json(Kind.STRING, Kind.LONG, Kind.OPAQUE)]
    test = "factoid_text_match(value, ?)" if operator is Operator.TEXT_MATCH_INSENSITIVE else "instr(value, ?)"
    return [Term((Kind.STRING,), test, (value,)), _by_json(Kind.LONG, Kind.OPAQUE)]


def _by_json(*kinds: Kind) -> Term:
    return Term(kinds, by_json=True)
