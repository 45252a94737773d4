"""Find the rows of `metadata` that a filter lets pass, with the index `fields`.

    SELECT metadata FROM fields WHERE key = ? AND kind = 0 AND value = ?

Every comparison is one or a few ranges of the index, and the tree joins their rows as sets. Keys and values are bound parameters,
and never become SQL text. SQLite compares the values in `fields`: integers and floats exactly, strings by code points, as in
Python. Python compares opaque values by the JSON of their rows, and so it does the remaining parts of an `All` once few rows are
left.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from factoid.filters.fields import FieldKind, is_integer, is_short, is_text, parse_metadata
from factoid.filters.parse import parse_filter
from factoid.filters.tree import ORDERS, All, AnyOf, Comparison, Filter, Not, Operator, Tree, holds, matches

Rows = NDArray[np.int64]

_FEW = 500  # rows that are compared by their JSON rather than by another read of the index
_BOUND = 10_000  # parameters of one statement; SQLite takes 32,766

_COMPLEMENTS = {Operator.NE: Operator.EQ, Operator.NIN: Operator.IN}
_SELECTIVE = (Operator.EQ, Operator.IN, Operator.CONTAINS)
_IN_TEXT = (Operator.CONTAINS, Operator.TEXT_MATCH)  # the usual searches, for which `holds` is slow

_NUMBER, _STRING, _OPAQUE = FieldKind.NUMBER, FieldKind.STRING, FieldKind.OPAQUE
_LIST, _DICT, _NULL = FieldKind.LIST, FieldKind.DICT, FieldKind.NULL
_NOT_NULL = (_NUMBER, _STRING, _LIST, _DICT, _OPAQUE)


class _Range(NamedTuple):
    """Rows of `fields` under one key whose `value` meets a condition; `compared` ones must still be compared in Python."""

    kind: FieldKind
    condition: str = "TRUE"
    parameters: tuple[Any, ...] = ()
    compared: bool = False


class _Selection(NamedTuple):
    """Rows of metadata, ascending, or with `inverted` all others."""

    rows: Rows
    inverted: bool = False

    def __invert__(self) -> _Selection:
        return _Selection(self.rows, not self.inverted)

    def __and__(self, other: _Selection) -> _Selection:
        if self.inverted and other.inverted:
            return _Selection(np.union1d(self.rows, other.rows), inverted=True)
        if self.inverted:
            return other & self
        join = np.setdiff1d if other.inverted else np.intersect1d
        return _Selection(join(self.rows, other.rows, assume_unique=True))


_NOTHING = _Selection(np.empty(0, np.int64))


def passing_rows(connection: sqlite3.Connection, condition: Filter) -> Rows:
    """Return the rows of `metadata` that a filter lets pass, ascending; raise InvalidInputError for a meaningless filter."""
    if callable(condition):
        rows = connection.execute("SELECT row, json FROM metadata ORDER BY row")
        return np.fromiter((row for row, metadata in rows if condition(_metadata(metadata))), np.int64)
    selection = _select(connection, parse_filter(condition))
    if not selection.inverted:
        return selection.rows
    every = np.fromiter(chain.from_iterable(connection.execute("SELECT row FROM metadata ORDER BY row")), np.int64)
    return np.setdiff1d(every, selection.rows, assume_unique=True)


def _select(connection: sqlite3.Connection, tree: Tree) -> _Selection:
    match tree:
        case Comparison(key, Operator.ANY | Operator.ALL as operator, list() | str() as values) if values:
            parts = tuple(Comparison(key, Operator.CONTAINS, value) for value in values)
            return _select(connection, AnyOf(parts) if operator is Operator.ANY else All(parts))
        case Comparison(key, Operator.NE | Operator.NIN as operator, value):
            return ~_select(connection, Comparison(key, _COMPLEMENTS[operator], value))
        case Comparison(_, Operator.EXISTS, False) | Comparison(_, Operator.IS_EMPTY):
            return ~_read(connection, (tree,), _ranges(tree))
        case Comparison():
            return _read(connection, (tree,), _ranges(tree))
        case Not(part):
            return ~_select(connection, part)
        case AnyOf(parts):
            # By De Morgan: one of these holds if not all their opposites do.
            selection = ~_NOTHING
            for part in parts:
                selection &= ~_select(connection, part)
            return ~selection
        case All(parts):
            return _select_all(connection, parts)


def _select_all(connection: sqlite3.Connection, parts: Sequence[Tree]) -> _Selection:
    """Join parts by AND: those that pass few rows first, bounds on the same key as one range."""
    bounds: dict[tuple[str, type], list[Comparison]] = {}
    others: list[Tree] = []
    for part in parts:
        if isinstance(part, Comparison) and part.operator in ORDERS and _is_bound(part.value):
            bounds.setdefault((part.key, str if isinstance(part.value, str) else float), []).append(part)
        else:
            others.append(part)
    groups: list[tuple[Tree, ...]] = [*((part,) for part in others), *map(tuple, bounds.values())]
    groups.sort(key=_cost)
    selection = ~_NOTHING
    for place, group in enumerate(groups):
        if not selection.inverted and len(selection.rows) <= _FEW:
            rest = All(tuple(part for group in groups[place:] for part in group))
            return _Selection(_passing_json(connection, selection.rows.tolist(), rest))
        if len(group) > 1:
            selection &= _read(connection, group, _joined_bounds(group))
        else:
            selection &= _select(connection, group[0])
    return selection


def _cost(group: tuple[Tree, ...]) -> int:
    part = group[0]
    if isinstance(part, Comparison):
        return 0 if part.operator in _SELECTIVE else 1
    return 3 if isinstance(part, Not) else 2


def _is_bound(value: Any) -> bool:
    """Return whether SQLite orders a value among those in `fields` as Python does."""
    if isinstance(value, str):
        return is_text(value)
    return isinstance(value, float) or (isinstance(value, int) and is_integer(value))


def _joined_bounds(bounds: Sequence[Any]) -> list[_Range]:
    condition = " AND ".join(f"value {ORDERS[bound.operator]} ?" for bound in bounds)
    kind = _STRING if isinstance(bounds[0].value, str) else _NUMBER
    return [_Range(kind, condition, tuple(bound.value for bound in bounds)), _Range(_OPAQUE, compared=True)]


def _read(connection: sqlite3.Connection, leaves: Sequence[Any], ranges: Iterable[_Range]) -> _Selection:
    """Return the rows in any of the ranges; opaque ones are compared by their JSON."""
    passing: list[Any] = []
    by_json: list[int] = []
    for span in ranges:
        by_value = span.compared and span.kind in (_NUMBER, _STRING)
        columns = "metadata, value" if by_value else "metadata"
        sql = f"SELECT {columns} FROM fields WHERE key = ? AND kind = {span.kind.value} AND {span.condition}"  # noqa: S608
        rows = connection.execute(sql, [leaves[0].key, *span.parameters])
        if by_value:
            leaf = leaves[0]
            in_text = span.kind is _STRING and leaf.operator in _IN_TEXT and isinstance(leaf.value, str)
            matching = [row for row, value in rows if (leaf.value in value if in_text else holds(value, leaf))]
            passing.append(np.array(matching, np.int64))
        elif span.compared:
            by_json += chain.from_iterable(rows)
        else:
            passing.append(np.fromiter(chain.from_iterable(rows), np.int64))
    if by_json:
        passing.append(_passing_json(connection, by_json, All(tuple(leaves))))
    return _Selection(np.unique(np.concatenate(passing))) if passing else _NOTHING


def _passing_json(connection: sqlite3.Connection, rows: Sequence[int], tree: Tree) -> Rows:
    """Return those of the rows whose JSON passes, ascending."""
    sql = "SELECT row, json FROM metadata WHERE row IN (SELECT value FROM json_each(?)) ORDER BY row"
    candidates = connection.execute(sql, [json.dumps(rows)])
    return np.fromiter((row for row, metadata in candidates if matches(tree, _metadata(metadata))), np.int64)


def _metadata(text: Any) -> dict[str, Any]:
    """Parse metadata from JSON; raise sqlite3.DatabaseError if the database holds something else."""
    metadata = parse_metadata(text)
    if metadata is None:
        raise sqlite3.DatabaseError(f"metadata {text!r:.60} is not a JSON object")
    return metadata


def _ranges(leaf: Comparison) -> list[_Range]:
    """Return ranges whose rows together match; for `is_empty` and `exists` with False, those that do not."""
    value = leaf.value
    match leaf.operator:
        case Operator.EQ:
            return _equal([value])
        case Operator.IN if isinstance(value, list):
            return _equal(value)
        case Operator.EXISTS:
            return [_Range(kind) for kind in (*_NOT_NULL, _NULL)]
        case Operator.IS_EMPTY:
            return [_Range(_STRING, "value > ''"), _Range(_LIST, "value > 0"), *map(_Range, (_NUMBER, _DICT, _OPAQUE))]
        case Operator.GT | Operator.GTE | Operator.LT | Operator.LTE if _is_bound(value):
            return _joined_bounds([leaf])
        case Operator.CONTAINS if isinstance(value, int | float):
            return [*_one_of(FieldKind.NUMBER_IN_LIST, _exact(value)), _Range(_OPAQUE, compared=True)]
        case Operator.CONTAINS if isinstance(value, str):
            elements = list(_one_of(FieldKind.STRING_IN_LIST, [value])) if is_short(value) else []
            return [*elements, *(_Range(kind, compared=True) for kind in (_STRING, _DICT, _OPAQUE))]
    return [_Range(kind, compared=True) for kind in _NOT_NULL]


def _equal(values: Sequence[Any]) -> list[_Range]:
    """Return ranges for the rows equal to one of some values."""
    numbers: list[Any] = []
    strings: list[str] = []
    rest: set[FieldKind] = set()
    for value in values:
        if isinstance(value, str):
            if is_short(value):
                strings.append(value)
            else:
                rest.add(_OPAQUE)
        elif isinstance(value, int | float):
            numbers += _exact(value)
            if not abs(value) < 1 << 63:
                rest.add(_OPAQUE)
        elif value is None:
            rest.add(_NULL)
        else:
            rest |= {_LIST, _OPAQUE} if isinstance(value, list) else {_DICT}
    ranges = [_Range(kind, compared=kind is not _NULL) for kind in sorted(rest)]
    return [*_one_of(_NUMBER, numbers), *_one_of(_STRING, strings), *ranges]


def _exact(value: float) -> list[float]:
    """Return the number as SQLite stores it, or nothing if it cannot."""
    if isinstance(value, int) and is_integer(value):
        return [int(value)]
    try:
        return [float(value)] if float(value) == value else []  # NaN equals nothing
    except OverflowError:
        return []


def _one_of(kind: FieldKind, values: Sequence[Any]) -> Iterable[_Range]:
    for start in range(0, len(values), _BOUND):
        some = tuple(values[start : start + _BOUND])
        condition = "value = ?" if len(some) == 1 else f"value IN ({', '.join('?' * len(some))})"
        yield _Range(kind, condition, some)
