"""Filters in the forms of vector stores.

What a store is asked lets through at least what our filter does: a condition whose meaning the
store does not share is left out. Rows are then judged here by `factoid.filters`, so that a filter
means the same over every store, and is a wall in each. What the store understands makes the search
fast; what it does not only makes it fetch more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from factoid._optional import require
from factoid.existing.contract import KEYS
from factoid.filters import All, AnyOf, Comparison, Operator, Tree, matches
from factoid.filters.tree import ORDERS

_LONGEST_KEYWORD = 256  # characters: `ignore_above` of a field that is mapped by its first value
_PLAIN = re.compile(r"[\w .,@/+-]+")
_EQUALITY = frozenset({Operator.EQ, Operator.IN})
# On our own keys, which no row of ours lacks, and whose values are strings and integers.
_ON_KEYS = frozenset({Operator.EQ, Operator.IN, Operator.NIN})


def _always(_value: object) -> bool:
    return True


def is_plain(value: object) -> bool:
    """Return whether a value is a string that no quoting can mistake."""
    return isinstance(value, str) and _PLAIN.fullmatch(value) is not None


def is_keyword(value: object) -> bool:
    """Return whether Elasticsearch and OpenSearch index a value whole, as they map it by default.

    Of longer strings they keep no keyword.
    """
    return not isinstance(value, str) or len(value) <= _LONGEST_KEYWORD


def is_text(value: object) -> bool:
    """Return whether a value is such a string, and none that LlamaIndex takes for a date."""
    if not isinstance(value, str) or not is_keyword(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return True
    return False


@dataclass(frozen=True, slots=True)
class Form:
    """The form that a store's filters have, and what it means as `factoid.filters` does.

    Attributes:
        name: As users know it.
        write: Returns a filter in this form.
        numbers: Whether numbers and booleans can be compared.
        orders: Whether numbers can be ordered.
        joins: Whether conditions can be joined by "or".
        excludes: Whether values can be excluded: "not in".
        any_key: Whether keys may hold any characters; else they are identifiers.
        admits: Whether a value is compared as it is: some stores paste strings into a statement, or
            index no long ones. The others are not passed on.
    """

    name: str
    write: Callable[[Tree], Any]
    numbers: bool = True
    orders: bool = True
    joins: bool = True
    excludes: bool = True
    any_key: bool = True
    admits: Callable[[object], bool] = _always

    def filter(self, tree: Tree) -> Any:
        """Return a filter that lets through at least what a tree does; None for everything."""
        part = self._pushable(tree)
        if part is None:
            return None
        return self.write(part)

    def understands(self, tree: Tree) -> bool:
        """Return whether the store understands all of a filter."""
        return self._pushable(tree) == _joined([tree])

    def _pushable(self, tree: Tree) -> Tree | None:
        """Return the part of a tree that the store understands; None if there is none."""
        match tree:
            case All(parts):
                pushed = []
                for part in parts:
                    inner = self._pushable(part)
                    if inner is not None:
                        pushed.append(inner)
                return _joined(pushed)
            case AnyOf(parts):
                if not self.joins or not parts:
                    return None
                alternatives = []
                for part in parts:
                    inner = self._pushable(part)
                    if inner is None:
                        return None
                    alternatives.append(inner)
                if len(alternatives) == 1:
                    return alternatives[0]
                return AnyOf(tuple(alternatives))
            case Comparison():
                if self._understands(tree):
                    return tree
        return None

    def _understands(self, leaf: Comparison) -> bool:
        if not all(map(self.admits, _values(leaf))):
            return False
        if leaf.key in KEYS:
            excluded = leaf.operator is Operator.NIN
            return leaf.operator in _ON_KEYS and (self.excludes or not excluded)
        if not self.any_key and not leaf.key.isidentifier():
            return False
        if "." in leaf.key:  # a path into a dict, which is not stored
            return False
        if leaf.operator in ORDERS:
            return self.orders and _is_number(leaf.value)
        if leaf.operator not in _EQUALITY:
            return False
        values = [leaf.value]
        if leaf.operator is Operator.IN:
            if not isinstance(leaf.value, list) or not leaf.value:
                return False
            values = leaf.value
        if all(isinstance(value, str) for value in values):
            return True
        # Of mixed operands some store refuses the list; 0 and 1 also equal False and True.
        return self.numbers and all(map(_is_number, values)) and not {0, 1} & {*values}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _joined(parts: list[Tree]) -> Tree | None:
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    return All(tuple(parts))


def _values(leaf: Comparison) -> list[Any]:
    """Return the operands of an equality or a membership."""
    if isinstance(leaf.value, list):
        return leaf.value
    return [leaf.value]


# -- Dicts with $: Chroma, pgvector, Pinecone --


def dollars(tree: Tree) -> dict[str, Any]:
    """Return {"$and": […]} and the like, with one operator on each key."""
    match tree:
        case All(parts):
            return {"$and": [dollars(part) for part in parts]}
        case AnyOf(parts):
            return {"$or": [dollars(part) for part in parts]}
        case Comparison(key, operator, value):
            return {key: {f"${operator.value}": value}}
    raise AssertionError(tree)


def dollars_by_type(tree: Tree) -> dict[str, Any]:
    """Return the same for a store in which 1 is not 1.0."""
    match tree:
        case All(parts):
            return {"$and": [dollars_by_type(part) for part in parts]}
        case AnyOf(parts):
            return {"$or": [dollars_by_type(part) for part in parts]}
        case Comparison(key, operator, _) if key not in KEYS and _is_number(_values(tree)[0]):
            clauses = []
            for value in _values(tree):
                if operator in ORDERS:
                    name = f"${operator.value}"
                else:
                    name = "$eq"
                clauses.append({key: {name: float(value)}})
                whole = _whole(operator, value)
                if whole is not None:
                    clauses.append({key: {name: whole}})
            return {"$or": clauses} if len(clauses) > 1 else clauses[0]
        case Comparison(key, operator, value):
            return {key: {f"${operator.value}": value}}
    raise AssertionError(tree)


def _whole(operator: Operator, value: float) -> int | None:
    """Return the whole number with which whole numbers are compared in place of this one."""
    if operator in (Operator.GTE, Operator.LT):
        return -int(-value // 1)
    if operator in (Operator.GT, Operator.LTE):
        return int(value // 1)
    if float(value).is_integer():
        return int(value)
    return None


# -- Functions: LangChain's InMemoryVectorStore and FAISS --


def predicate(tree: Tree) -> Callable[[Mapping[str, Any]], bool]:
    """Return a function of a row's metadata. It is called for every row: our keys come first."""
    parts: Sequence[Tree] = (tree,)
    if isinstance(tree, All):
        parts = tree.parts
    quick = []
    others = []
    for part in parts:
        if isinstance(part, Comparison) and part.key in KEYS:
            quick.append((part.key, {*_values(part)}, part.operator is not Operator.NIN))
        else:
            others.append(part)
    rest = All(tuple(others))

    def passes(metadata: Mapping[str, Any]) -> bool:
        for key, values, is_member in quick:
            if (metadata.get(key) in values) is not is_member:
                return False
        return not others or matches(rest, metadata)

    return passes


# -- Qdrant --


def qdrant_filter(tree: Tree) -> Any:
    """Return a `qdrant_client.models.Filter` on the metadata that langchain-qdrant writes."""
    require("qdrant_client", extra="qdrant")
    from qdrant_client import models

    match tree:
        case All(parts):
            return models.Filter(must=[qdrant_filter(part) for part in parts])
        case AnyOf(parts):
            return models.Filter(should=[qdrant_filter(part) for part in parts])
        case Comparison(key, operator, value):
            field = f"metadata.{key}"
            if operator is Operator.NIN:
                condition = models.FieldCondition(key=field, match=models.MatchAny(any=value))
                return models.Filter(must_not=[condition])
            if operator in ORDERS:
                limits = models.Range(**{operator.value: value})
                return models.Filter(must=[models.FieldCondition(key=field, range=limits)])
            if isinstance(_values(tree)[0], str):
                match_any = models.MatchAny(any=_values(tree))
                return models.Filter(must=[models.FieldCondition(key=field, match=match_any)])
            conditions = []
            for number in _values(tree):
                exactly = models.Range(gte=number, lte=number)
                conditions.append(models.FieldCondition(key=field, range=exactly))
            return models.Filter(should=conditions)
    raise AssertionError(tree)


# -- Milvus --


def expression(tree: Tree) -> str:
    """Return a boolean expression of Milvus."""
    match tree:
        case All(parts):
            return " and ".join(f"({expression(part)})" for part in parts)
        case AnyOf(parts):
            return " or ".join(f"({expression(part)})" for part in parts)
        case Comparison(key, operator, value):
            if operator is Operator.EQ:
                return f"{key} == {_literal(value)}"
            if operator in ORDERS:
                return f"{key} {ORDERS[operator]} {_literal(value)}"
            values = ", ".join(map(_literal, value))
            if operator is Operator.NIN:
                return f"{key} not in [{values}]"
            return f"{key} in [{values}]"
    raise AssertionError(tree)


def _literal(value: Any) -> str:
    # As JSON escapes it, with characters beyond ASCII as they are.
    return json.dumps(value, ensure_ascii=False)


# -- Elasticsearch and OpenSearch --


def clauses(tree: Tree) -> list[dict[str, Any]]:
    """Return clauses of a `bool` query on the metadata that LangChain's class writes."""
    match tree:
        case All(parts):
            return [clause for part in parts for clause in clauses(part)]
        case AnyOf(parts):
            alternatives = []
            for part in parts:
                alternatives.append({"bool": {"filter": clauses(part)}})
            return [{"bool": {"should": alternatives, "minimum_should_match": 1}}]
        case Comparison(key, operator, value):
            field = f"metadata.{key}"
            if operator in ORDERS:
                return [{"range": {field: {operator.value: value}}}]
            if isinstance(_values(tree)[0], str):
                field = f"{field}.keyword"
            terms = {"terms": {field: _values(tree)}}
            if operator is Operator.NIN:
                return [{"bool": {"must_not": [terms]}}]
            return [terms]
    raise AssertionError(tree)


def query(tree: Tree) -> dict[str, Any]:
    """Return the same as one query, as OpenSearch takes it."""
    return {"bool": {"filter": clauses(tree)}}


# -- Weaviate --


def weaviate_filter(tree: Tree) -> Any:
    """Return a filter object of the Weaviate client, version 4."""
    require("weaviate", extra="weaviate")
    from weaviate.classes.query import Filter

    match tree:
        case All(parts):
            return Filter.all_of([weaviate_filter(part) for part in parts])
        case AnyOf(parts):
            return Filter.any_of([weaviate_filter(part) for part in parts])
        case Comparison(key, operator, value):
            field = Filter.by_property(key)
            if operator is Operator.NIN:
                return Filter.all_of([field.not_equal(excluded) for excluded in value])
            if operator is Operator.IN:
                return field.contains_any(value)
            if operator is Operator.EQ:
                return field.equal(value)
            orders = {
                Operator.GT: field.greater_than,
                Operator.GTE: field.greater_or_equal,
                Operator.LT: field.less_than,
                Operator.LTE: field.less_or_equal,
            }
            return orders[operator](value)
    raise AssertionError(tree)


DOLLARS = Form("a dict with $", dollars)
PGVECTOR = Form("a dict with $", dollars, any_key=False)
STRINGS = Form("a dict with $", dollars, numbers=False, orders=False, any_key=False)
BY_TYPE = Form("a dict with $", dollars_by_type)
FUNCTION = Form("a function", predicate)
QDRANT = Form("models.Filter", qdrant_filter)
EXPRESSION = Form("an expression (`expr`)", expression, any_key=False)
CLAUSES = Form("a list of clauses", clauses, admits=is_keyword)
QUERY = Form("a query", query, admits=is_keyword)
WEAVIATE = Form("a filter object (`filters`)", weaviate_filter, any_key=False)
