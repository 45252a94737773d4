"""Find the rows of `metadata` that a filter lets pass, with the index `fields`.

    SELECT metadata FROM fields WHERE key = ? AND kind = 0 AND value = ?

Every comparison reads one or a few ranges of the index into a mask of the rows of `metadata`, and
the tree joins the masks. Keys and values are bound parameters, and never become SQL text. SQLite
compares the values in `fields`: integers and floats exactly, strings by code points, as in Python.
Python compares opaque values by the JSON of their rows, and so it does the remaining parts of an
`All` once few rows are left.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from factoid.filters.fields import Scalar, ValueKind, is_text, parse_metadata, scalar
from factoid.filters.parse import parse_filter
from factoid.filters.tree import (
    ORDERS,
    PASSAGE,
    All,
    AnyOf,
    Comparison,
    Condition,
    Filter,
    Not,
    Operator,
    Tree,
    as_of_passage,
    holds,
    matches,
)
from factoid.metadata import KIND

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

# Conditions on `kind` and `value` with their parameters, whose rows match; and the kinds whose rows
# are compared in Python.
_Plan = tuple[list[tuple[str, Sequence[Scalar]]], Sequence[ValueKind]]

_FEW = 500  # rows that are compared by their JSON rather than by another read of the index
_BOUNDS = 500  # on a key that one statement joins; SQLite takes expressions of depth 1000
_BOUND = 10_000  # parameters of one statement; SQLite takes 32,766
_SELECTIVE = (Operator.EQ, Operator.IN, Operator.CONTAINS)


def passing_rows(connection: sqlite3.Connection, condition: Filter) -> Rows:
    """Return the rows of `metadata` that a filter lets pass, ascending.

    Rows that do not exist may be among them.

    Raises:
        InvalidInputError: The filter is meaningless.
    """
    if callable(condition):
        rows = connection.execute("SELECT row, json FROM metadata ORDER BY row")
        return np.fromiter(
            (row for row, metadata in rows if condition(_metadata(metadata))), np.int64
        )
    tree = parse_filter(condition)
    [(size,)] = connection.execute("SELECT coalesce(max(row) + 1, 0) FROM metadata")
    return np.flatnonzero(_Index(connection, size).passing(tree))


def excluded_by_kind(connection: sqlite3.Connection, condition: Condition, excluded: Rows) -> Rows:
    """Return the excluded rows of `metadata` that would pass for a passage, ascending.

    They are excluded by the kind of their unit alone:

        {"granularity": "passage"}   excludes {"granularity": "sentence", "tenant": "A"} by its kind
        {"tenant": "B"}              excludes it by its content
    """
    if not callable(condition):
        judged = as_of_passage(condition)
        if judged is condition:
            return excluded[:0]
        return np.intersect1d(excluded, passing_rows(connection, judged))
    rows = connection.execute(
        "SELECT row, json FROM metadata WHERE row IN (SELECT value FROM json_each(?)) ORDER BY row",
        [json.dumps(excluded.tolist())],
    )
    by_kind = []
    for row, text in rows:
        metadata = _metadata(text)
        content = {}
        for key, value in metadata.items():
            if key not in KIND:
                content[key] = value
        if len(content) < len(metadata) and condition(content | PASSAGE):
            by_kind.append(row)
    return np.array(by_kind, np.int64)


def judges_kinds(connection: sqlite3.Connection, condition: Condition) -> bool:
    """Return whether a filter may judge units by what they are.

    Their metadata differ in nothing else.
    """
    if not callable(condition) and as_of_passage(condition) is condition:
        return False
    return says_kinds(connection)


def says_kinds(connection: sqlite3.Connection) -> bool:
    """Return whether any metadata say what a unit is."""
    sql = "SELECT 1 FROM fields WHERE key IN (SELECT value FROM json_each(?)) LIMIT 1"
    return connection.execute(sql, [json.dumps([*KIND])]).fetchone() is not None


class _Index:
    """The index of a database with `size` rows of metadata."""

    def __init__(self, connection: sqlite3.Connection, size: int) -> None:
        self._connection = connection
        self._size = size

    def passing(self, tree: Tree) -> Mask:
        """Return a mask of the rows that a tree lets pass."""
        match tree:
            case Comparison(
                key, Operator.ANY | Operator.ALL as operator, list() | str() as values
            ) if values:
                parts = tuple(Comparison(key, Operator.CONTAINS, value) for value in values)
                if operator is Operator.ANY:
                    return self.passing(AnyOf(parts))
                return self.passing(All(parts))
            case Comparison(key, Operator.NE, value):
                return ~self.passing(Comparison(key, Operator.EQ, value))
            case Comparison(key, Operator.NIN, value):
                return ~self.passing(Comparison(key, Operator.IN, value))
            case Comparison(_, Operator.EXISTS, False) | Comparison(_, Operator.IS_EMPTY):
                return ~self._read([tree])
            case Comparison():
                return self._read([tree])
            case Not(part):
                return ~self.passing(part)
            case AnyOf(parts):
                return reduce(np.logical_or, map(self.passing, parts), np.zeros(self._size, bool))
            case All(parts):
                return self._passing_all(parts)

    def _passing_all(self, parts: Sequence[Tree]) -> Mask:
        """Join parts by AND.

        Those that usually pass few rows first, bounds on the same key as one range.
        """
        groups: dict[Any, list[Any]] = {}
        for place, part in enumerate(parts):
            bounded = None
            if isinstance(part, Comparison) and _is_bound(part):
                bounded = (part.key, isinstance(part.value, str))
            groups.setdefault(bounded or place, []).append(part)
        ordered = sorted(
            groups.values(), key=lambda group: getattr(group[0], "operator", None) not in _SELECTIVE
        )
        mask = np.ones(self._size, bool)
        for place, group in enumerate(ordered):
            if place and np.count_nonzero(mask) <= _FEW:
                rows = json.dumps(np.flatnonzero(mask).tolist())
                return self._by_json(
                    chain.from_iterable(ordered[place:]), "SELECT value FROM json_each(?)", rows
                )
            if len(group) == 1:
                mask &= self.passing(group[0])
                continue
            for start in range(0, len(group), _BOUNDS):
                mask &= self._read(group[start : start + _BOUNDS])
        return mask

    def _read(self, leaves: Sequence[Comparison]) -> Mask:
        """Return the rows that match a comparison, or several bounds on one key.

        For `is_empty` and `exists`, a value.
        """
        key = leaves[0].key
        ranges, compared = _plan(leaves)
        mask = np.zeros(self._size, bool)
        for condition, parameters in ranges:
            rows = self._connection.execute(
                f"SELECT metadata FROM fields WHERE key = ? AND {condition}",  # noqa: S608
                [key, *parameters],
            )
            mask |= self._mask(chain.from_iterable(rows))
        for kind in compared:
            sql = f"FROM fields WHERE key = ? AND kind = {kind}"
            if kind is ValueKind.STRING:
                strings = self._connection.execute(f"SELECT metadata, value {sql}", [key])
                mask |= self._mask(row for row, value in strings if holds(value, leaves[0]))
            else:
                mask |= self._by_json(leaves, f"SELECT metadata {sql}", key)
        return mask

    def _by_json(self, parts: Iterable[Tree], rows: str, parameter: str) -> Mask:
        """Return those of some rows, given by a statement, whose JSON passes all parts."""
        tree = All(tuple(parts))
        sql = f"SELECT row, json FROM metadata WHERE row IN ({rows})"  # noqa: S608
        candidates = self._connection.execute(sql, [parameter])
        return self._mask(row for row, metadata in candidates if matches(tree, _metadata(metadata)))

    def _mask(self, rows: Iterable[int]) -> Mask:
        mask = np.zeros(self._size, bool)
        places = np.fromiter(rows, np.int64)
        mask[places[places < self._size]] = True
        return mask


def _is_bound(leaf: Comparison) -> bool:
    """Return whether a comparison is an order that SQLite decides as Python does."""
    if leaf.operator not in ORDERS or not isinstance(leaf.value, Scalar):
        return False
    if isinstance(leaf.value, str):
        return is_text(leaf.value)
    return scalar(leaf.value) is not None


def _plan(leaves: Sequence[Comparison]) -> _Plan:
    """Return how to read what `_Index._read` returns."""
    leaf = leaves[0]
    value = leaf.value
    match leaf.operator:
        case Operator.EQ:
            return _equal([value])
        case Operator.IN if isinstance(value, list):
            return _equal(value)
        case Operator.EXISTS:
            return [(f"kind < {ValueKind.ELEMENT}", ())], ()
        case Operator.IS_EMPTY:
            texts = f"kind = {ValueKind.STRING} AND value > ''"
            lists = f"kind = {ValueKind.LIST} AND value > 0"
            return [
                (texts, ()),
                (lists, ()),
                *((f"kind = {kind}", ()) for kind in (ValueKind.NUMBER, ValueKind.OPAQUE)),
            ], ()
        case Operator.GT | Operator.GTE | Operator.LT | Operator.LTE if _is_bound(leaf):
            kind = ValueKind.STRING if isinstance(value, str) else ValueKind.NUMBER
            bounds = " AND ".join(f"value {ORDERS[bound.operator]} ?" for bound in leaves)
            return [(f"kind = {kind} AND {bounds}", [bound.value for bound in leaves])], [
                ValueKind.OPAQUE
            ]
        case Operator.CONTAINS if isinstance(value, int | float):
            return _one_of(ValueKind.ELEMENT, _exact(value)), [ValueKind.OPAQUE]
        case Operator.CONTAINS | Operator.TEXT_MATCH if isinstance(value, str) and is_text(value):
            elements = []
            if leaf.operator is Operator.CONTAINS:
                elements = _one_of(ValueKind.ELEMENT, [value])
            return [(f"kind = {ValueKind.STRING} AND instr(value, ?)", [value]), *elements], [
                ValueKind.OPAQUE
            ]
    return [], [ValueKind.NUMBER, ValueKind.STRING, ValueKind.LIST, ValueKind.OPAQUE]


def _equal(values: Sequence[Any]) -> _Plan:
    """Return how to read the rows equal to one of some values."""
    numbers: list[Scalar] = []
    strings: list[Scalar] = []
    ranges: list[tuple[str, Sequence[Scalar]]] = []
    compared: set[ValueKind] = set()
    for value in values:
        if value is None:
            ranges.append((f"kind = {ValueKind.NULL}", ()))
        elif isinstance(value, str) and scalar(value) is not None:
            strings.append(value)
        elif isinstance(value, int | float):
            numbers += _exact(value)
            if not abs(value) < 1 << 63:
                compared.add(ValueKind.OPAQUE)
        else:
            if isinstance(value, list):
                compared.add(ValueKind.LIST)
            compared.add(ValueKind.OPAQUE)
    return [
        *ranges,
        *_one_of(ValueKind.NUMBER, numbers),
        *_one_of(ValueKind.STRING, strings),
    ], sorted(compared)


def _exact(value: Any) -> list[Scalar]:
    """Return a number as SQLite stores it, or nothing if it cannot."""
    if isinstance(value, int) and (stored := scalar(value)) is not None:
        return [stored]
    try:
        # NaN equals nothing
        if float(value) == value:
            return [float(value)]
        return []
    except OverflowError:
        return []


def _one_of(kind: ValueKind, values: Sequence[Scalar]) -> list[tuple[str, Sequence[Scalar]]]:
    parts = [values[start : start + _BOUND] for start in range(0, len(values), _BOUND)]
    return [(f"kind = {kind} AND value IN ({', '.join('?' * len(part))})", part) for part in parts]


def _metadata(text: Any) -> dict[str, Any]:
    """Parse metadata from JSON.

    Raise sqlite3.DatabaseError if the database holds something else.
    """
    metadata = parse_metadata(text)
    if metadata is None:
        raise sqlite3.DatabaseError(f"metadata {text!r:.60} is not a JSON object")
    return metadata
