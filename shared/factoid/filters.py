"""Metadata filters: a dict of conditions, compiled to SQL over the units' JSON metadata, or a callable.

    {"year": 1990}                                  equal
    {"year": {"$gte": 1990, "$lt": 2000}}           all of several operators
    {"$or": [{"lang": "en"}, {"lang": {"$exists": False}}]}

Operators: `$eq $ne $gt $gte $lt $lte $in $nin $exists`, and `$and $or $not` over whole filters. `$ne` and `$nin` match a
missing key; `$gt` and its like match only values of the same kind (numbers with numbers, strings with strings).
Equality is Python's: `True == 1 == 1.0`, lists and dicts by what they hold. Of a stored string only what stands before a
NUL byte is compared. User values and keys are bound as parameters and never become SQL text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from factoid.errors import InvalidInputError

Filter = Mapping[str, Any] | Callable[[dict[str, Any]], bool]
Condition = tuple[str, list[Any]]

_SURROGATE = re.compile("[\ud800-\udfff]")
_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_SCALAR_AMONG = "field.type NOT IN ('null', 'array', 'object') AND field.value IN (SELECT value FROM json_each(?))"
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
        sql, parameters = _among(key, operand)
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
            operand = operand if _binds(operand) else _float(operand)
        else:
            message = f"{name} takes a number or a string, got {operand!r}"
            raise InvalidInputError(message)
        return _KEY.format(f"field.type IN {kinds} AND field.value {_COMPARISONS[name]} ?"), [key, operand]
    message = f"unknown operator {name!r}: expected $eq $ne $gt $gte $lt $lte $in $nin or $exists"
    raise InvalidInputError(message)


def _equal(key: str, value: Any) -> Condition:
    if value is None:
        return _KEY.format("field.type = 'null'"), [key]
    if not isinstance(value, str | int | float | list | tuple | Mapping):
        message = f"cannot compare metadata with a {type(value).__name__}: metadata holds what JSON can hold"
        raise InvalidInputError(message)
    if not (_binds(key) and _binds(value)):
        return "metadata_equals(units.metadata, ?)", [_dumps([key, value])]
    # Lists and dicts have their JSON as value, which some string may equal.
    kinds = "= 'text'" if isinstance(value, str) else "<> 'text'"
    return _KEY.format(f"field.type {kinds} AND field.value = ?"), [key, value]


def metadata_equals(metadata: str, condition: str) -> bool:
    """Compare metadata with `[key, value]`, both as JSON: an SQL function for what SQLite cannot compare."""
    key, value = json.loads(condition)
    held = json.loads(metadata)
    return key in held and bool(held[key] == value)


def _among(key: str, values: Iterable[Any]) -> Condition:
    """Compare with any number of values: those of them that JSON carries to SQLite unchanged in one parameter."""
    plain, parts = [], []
    for value in values:
        if isinstance(value, str | int) and _binds(key) and _binds(value):
            plain.append(value)
        else:
            parts.append(_equal(key, value))
    if plain:
        parts.append((_KEY.format(_SCALAR_AMONG), [key, json.dumps(plain)]))
    return _join("OR", parts, empty="0")


def _binds(value: Any) -> bool:
    """Tell whether a value is the same in SQLite: its integers have 64 bits, and it reads JSON strings up to a NUL."""
    if isinstance(value, str):
        return "\0" not in value and not _SURROGATE.search(value)
    return isinstance(value, float) or (isinstance(value, int) and -(1 << 63) <= value < 1 << 63)


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _dumps(value: Any) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError) as error:
        message = f"cannot compare metadata with {value[1]!r}: metadata holds what JSON can hold"
        raise InvalidInputError(message) from error


def _join(word: str, parts: list[Condition], empty: str = "1") -> Condition:
    """Join conditions as a balanced tree: SQLite refuses expressions more than a thousand levels deep."""
    if len(parts) < 2:
        return parts[0] if parts else (empty, [])
    half = len(parts) // 2
    (left, before), (right, after) = _join(word, parts[:half]), _join(word, parts[half:])
    return f"({left} {word} {right})", [*before, *after]
