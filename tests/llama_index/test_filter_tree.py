"""LlamaIndex's filters as trees, in Python and in SQLite, against LlamaIndex's own reference."""

from __future__ import annotations

import pytest
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from factoid.errors import InvalidInputError
from factoid.filters import matches
from llama_index_factoid.convert import to_tree
from tests.filters.stored import passing
from tests.llama_index.nodes import where

METADATA = [
    {},
    {"n": 1, "s": "Alpha beta", "l": ["a", "b"], "m": "a"},
    {"n": 2.5, "s": "alpha", "l": [], "m": 1},
    {"n": -3, "s": "", "l": ["c"], "b": True, "m": ["a", 1]},
    {"n": 0, "s": "Beta", "l": [1, 2], "b": False, "m": {"a": 1}},
    {"n": None, "s": None, "l": None, "m": None},
    {"n": 2**64, "s": "héé 😀 ÀB", "l": [["a"], None, "alpha"], "m": [["a"]]},
    {"n": 1.0, "s": "a" * 300, "l": ["a" * 300], "m": True},
]
KEYS = ["n", "s", "l", "b", "m", "none"]
VALUES = [1, 2.5, -3, 0, 2**64, "alpha", "Beta", "a", "", "àb", "a" * 300, "missing", None]
VALUES += [[], ["a"], ["a", "b"], ["c", "alpha"], [1, 2], [1.5], ["a" * 300], ["missing", ""]]


def reference(filters):
    """Return what LlamaIndex says of each metadata: True, False, or None where it raises
    TypeError.
    """
    decide = build_metadata_filter_fn(lambda position: METADATA[int(position)], filters)
    results = []
    for position in range(len(METADATA)):
        try:
            results.append(bool(decide(str(position))))
        except TypeError:
            results.append(None)
    return results


def check(filters):
    tree, expected = to_tree(filters), reference(filters)
    if tree is None:
        assert expected == [True] * len(METADATA)
        return
    raised = [i for i, result in enumerate(expected) if result is None]
    passed = [i for i, row in enumerate(METADATA) if matches(tree, row)]
    assert [i for i in passed if i not in raised] == [
        i for i, result in enumerate(expected) if result
    ]
    assert passing(METADATA, tree) == passed


TEXTS, LISTS = ("text_match", "text_match_insensitive"), ("in", "nin", "any", "all")


@pytest.mark.parametrize("operator", FilterOperator)
def test_every_operator(operator):
    taken = {
        ">": int | float | str,
        **dict.fromkeys(TEXTS, str),
        **dict.fromkeys(LISTS, list | str),
    }
    taken |= dict.fromkeys((">=", "<", "<="), taken[">"])
    for key in KEYS:
        for value in VALUES:
            filters = MetadataFilters(
                filters=[MetadataFilter(key=key, value=value, operator=operator)]
            )
            if isinstance(value, taken.get(operator.value, object)):
                check(filters)
                continue
            with pytest.raises(InvalidInputError, match=f"on '{key}' takes a"):
                to_tree(filters)


@pytest.mark.parametrize("condition", FilterCondition)
def test_conditions_are_joined_and_nested(condition):
    one, other = where("n", 1), where("s", "Beta")
    results = [{i for i, passed in enumerate(reference(part)) if passed} for part in (one, other)]
    rows = {*range(len(METADATA))}
    expected = {
        FilterCondition.AND: results[0] & results[1],
        FilterCondition.OR: results[0] | results[1],
        FilterCondition.NOT: rows - results[0] - results[1],
    }[condition]
    flat = MetadataFilters(filters=[*one.filters, *other.filters], condition=condition)
    for filters in (flat, MetadataFilters(filters=[one, other], condition=condition)):
        assert passing(METADATA, to_tree(filters)) == sorted(expected)
