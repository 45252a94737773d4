"""A filter tree as one SELECT of the metadata rows that it lets pass, answered from the index `fields`.

    SELECT metadata FROM fields WHERE key = ? AND kind IN (0) AND value = ?

Every comparison is one or a few ranges of the index; the tree joins them as sets. Keys and values are bound parameters,
and never become SQL text: it is put together from constants and the kinds' numbers alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from factoid.filters.match import comparisons
from factoid.filters.rows import EVERYTHING, Query, Rows, Statement
from factoid.filters.terms import Term, matching, mismatching
from factoid.filters.tree import All, AnyOf, Comparison, Not, Operator, Tree, cache_key

_MOST = 1000  # comparisons in one statement, each with a few of SQLite's 32,766 parameters
_WIDEST = 12  # parts of an AND that are joined as sets; more are asked of the JSON of what these let pass
_DEEPEST = 60  # levels of a tree; a parsed filter has fewer

_ORDERS = (Operator.GT, Operator.GTE, Operator.LT, Operator.LTE)
_POSITIVE = {Operator.NE: Operator.EQ, Operator.NIN: Operator.IN}


def select_metadata(tree: Tree, connection: sqlite3.Connection | None = None) -> Query:
    """Return a SELECT, and its parameters, of the rows of `metadata` that the filter lets pass: each once, in any order.

    Args:
        tree: The filter.
        connection: To count with which part of an AND passes the fewest; without one the SELECT gives the same rows, but
            may read more. Every part costs at most a millisecond.
    """
    merged = _merged(tree)
    statement = Statement(None if isinstance(merged, Comparison) else connection)
    if len(comparisons(merged)) > _MOST or _depth(merged) > _DEEPEST:
        return statement.query(statement.by_json(tree))
    return statement.query(_rows(statement, merged))


def select_mismatches(tree: Tree) -> Query:
    """Return a SELECT of the rows of `metadata` with which some comparison cannot be made (`factoid.filters.mismatch`)."""
    leaves = dict.fromkeys(comparisons(tree))
    if len(leaves) > _MOST:
        return f"{EVERYTHING} WHERE factoid_mismatches(json, ?)", [cache_key(tree)]
    statement = Statement()
    found = [statement.terms(leaf, leaf.key, mismatching(leaf), "factoid_mismatches") for leaf in leaves]
    return statement.query(statement.union(found))


def _rows(statement: Statement, tree: Tree) -> Rows:
    match tree:
        case Comparison(key, operator, value):
            terms, positive = matching(tree)
            rows = statement.terms(
                Comparison(key, _POSITIVE.get(operator, operator), value), key, terms, "factoid_matches"
            )
            return rows if positive else rows.inverted()
        case Not(part):
            return _rows(statement, part).inverted()
        case All(parts):
            return _all(statement, parts)
        case AnyOf(parts):
            found = [_rows(statement, part) for part in parts]
            # By De Morgan: one of these holds where not all their opposites do.
            return statement.intersection([rows.inverted() for rows in found]).inverted()


def _all(statement: Statement, parts: Sequence[Tree]) -> Rows:
    bounds, others = _bounds(parts)
    found = [
        statement.terms(All(tuple(leaves)), leaves[0].key, terms, "factoid_matches")
        for leaves, terms in bounds[:_WIDEST]
    ]
    rest: list[Tree] = [leaf for leaves, _ in bounds[_WIDEST:] for leaf in leaves]
    left = _WIDEST - len(found)
    found += [_rows(statement, part) for part in others[:left]]
    rest += others[left:]
    if rest:
        found.append(statement.by_json(All(tuple(rest))))
    return statement.intersection(found)


def _bounds(parts: Sequence[Tree]) -> tuple[list[tuple[list[Comparison], list[Term]]], list[Tree]]:
    """Join the bounds on each key to one range; return them and the other parts."""
    ranges: dict[tuple[Any, ...], tuple[list[Comparison], list[Term]]] = {}
    rest: list[Tree] = []
    for part in parts:
        if not (isinstance(part, Comparison) and part.operator in _ORDERS):
            rest.append(part)
            continue
        terms, _ = matching(part)
        shape = (part.key, *((term.kinds, term.by_json) for term in terms))
        if shape in ranges:
            leaves, joined = ranges[shape]
            ranges[shape] = [*leaves, part], [one.narrowed(two) for one, two in zip(joined, terms, strict=True)]
        else:
            ranges[shape] = [part], terms
    return list(ranges.values()), rest


def _merged(tree: Tree) -> Tree:
    """Return the same filter with equalities on one key joined to one `in`, and `any` and `all` taken apart."""
    match tree:
        case Comparison(key, Operator.ANY | Operator.ALL as operator, list() | str() as values) if values:
            parts = tuple(Comparison(key, Operator.CONTAINS, value) for value in values)
            return AnyOf(parts) if operator is Operator.ANY else All(parts)
        case Not(part):
            return Not(_merged(part))
        case All(parts):
            return All(tuple(map(_merged, parts)))
        case AnyOf(parts):
            return AnyOf(tuple(_joined([_merged(part) for part in parts])))
    return tree


def _joined(parts: Sequence[Tree]) -> list[Tree]:
    values: dict[str, list[Any]] = {}
    rest = []
    for part in parts:
        if isinstance(part, Comparison) and part.operator is Operator.EQ:
            values.setdefault(part.key, []).append(part.value)
        elif isinstance(part, Comparison) and part.operator is Operator.IN and isinstance(part.value, list):
            values.setdefault(part.key, []).extend(part.value)
        else:
            rest.append(part)
    return [*(Comparison(key, Operator.IN, found) for key, found in values.items()), *rest]


def _depth(tree: Tree) -> int:
    match tree:
        case Not(part):
            return 1 + _depth(part)
        case All(parts) | AnyOf(parts):
            return 1 + max(map(_depth, parts), default=0)
    return 0
