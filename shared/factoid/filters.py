"""Metadata filters: a dict of conditions, compiled to SQL over the units' JSON metadata, or a callable.

    {"year": 1990}                                  equal
    {"year": {"$gte": 1990, "$lt": 2000}}           all of several operators
    {"$or": [{"lang": "en"}, {"lang": {"$exists": False}}]}

Operators: `$eq $ne $gt $gte $lt $lte $in $nin $exists`, and `$and $or $not` over whole filters. `$ne` and `$nin` match a
missing key; `$gt` and its like match only values of the same kind (numbers with numbers, strings with strings).
User values and keys are bound as parameters and never become SQL text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from factoid.errors import InvalidInputError

Filter = Mapping[str, Any] | Callable[[dict[str, Any]], bool]
Condition = tuple[str, list[Any]]

_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_KEY = "EXISTS (SELECT 1 FROM json_each(units.metadata) AS field WHERE field.key = ? AND {})"


def compile_filter(conditions: Mapping[str, Any]) -> Condition:
    """Return a WHERE condition over table `units`, and its parameters.

    Raises:
        InvalidInputError: An unknown operator, or a value that its operator does not take.
    """
    if not isinstance(conditions, Mapping):
        message = f"a filter must be a dict of conditions or a callable, got {type(conditions).__name__}"
        raise InvalidInputError(message)
    return _join("AND", [_clause(key, value) for key, value in conditions.items()])


def _clause(key: str, value: Any) -> Condition:
    if key in ("$and", "$or"):
        if not isinstance(value, list | tuple) or not value:
            message = f"{key} takes a non-empty list of filters, got {value!r}"
            raise InvalidInputError(message)
        return _join(key[1:].upper(), [compile_filter(part) for part in value])
    if key == "$not":
        sql, parameters = compile_filter(value)
        return f"NOT ({sql})", parameters
    if not isinstance(key, str) or key.startswith("$"):
        message = f"unknown operator {key!r} at the top of a filter: expected a metadata key, $and, $or or $not"
        raise InvalidInputError(message)
    if isinstance(value, Mapping) and any(str(name).startswith("$") for name in value):
        return _join("AND", [_operator(key, name, operand) for name, operand in value.items()])
    return _operator(key, "$eq", value)


def _operator(key: str, name: str, operand: Any) -> Condition:
    if name == "$eq":
        return _equal(key, operand)
    if name == "$ne":
        sql, parameters = _equal(key, operand)
        return f"NOT {sql}", parameters
    if name in ("$in", "$nin"):
        if not isinstance(operand, list | tuple | set | frozenset):
            message = f"{name} takes a list, got {operand!r}"
            raise InvalidInputError(message)
        sql, parameters = _join("OR", [_equal(key, each) for each in operand], empty="0")
        return (sql if name == "$in" else f"NOT {sql}"), parameters
    if name == "$exists":
        if not isinstance(operand, bool):
            message = f"$exists takes True or False, got {operand!r}"
            raise InvalidInputError(message)
        return ("" if operand else "NOT ") + _KEY.format("1"), [key]
    if name in _COMPARISONS:
        if isinstance(operand, str):
            kinds = "('text')"
        elif isinstance(operand, int | float):
            kinds = "('integer', 'real', 'true', 'false')"
        else:
            message = f"{name} takes a number or a string, got {operand!r}"
            raise InvalidInputError(message)
        return _KEY.format(f"field.type IN {kinds} AND field.value {_COMPARISONS[name]} ?"), [key, operand]
    message = f"unknown operator {name!r}: expected $eq $ne $gt $gte $lt $lte $in $nin or $exists"
    raise InvalidInputError(message)


def _equal(key: str, value: Any) -> Condition:
    if value is None:
        return _KEY.format("field.type = 'null'"), [key]
    if isinstance(value, list | tuple | Mapping):
        return _KEY.format("field.value = ?"), [key, json.dumps(value, separators=(",", ":"))]
    if not isinstance(value, str | int | float):
        message = f"cannot compare metadata with a {type(value).__name__}: metadata holds what JSON can hold"
        raise InvalidInputError(message)
    return _KEY.format("field.value = ?"), [key, value]


def _join(word: str, parts: list[Condition], empty: str = "1") -> Condition:
    if not parts:
        return empty, []
    return f"({f' {word} '.join(sql for sql, _ in parts)})", [value for _, values in parts for value in values]
