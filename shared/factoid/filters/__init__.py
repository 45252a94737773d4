"""Metadata filters.

A small tree, parsed from dicts, and evaluated on an index of the metadata in SQLite, or in Python.
"""

from factoid.filters.fields import DELETE_FIELD, INSERT_FIELD, SCHEMA, field_rows, parse_metadata
from factoid.filters.parse import parse_filter, to_condition
from factoid.filters.sql import excluded_by_kind, judges_kinds, passing_rows, says_kinds
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
    matches,
    too_deep,
)

__all__ = [
    "CONDITIONS",
    "DELETE_FIELD",
    "INSERT_FIELD",
    "SCHEMA",
    "All",
    "AnyOf",
    "Comparison",
    "Condition",
    "Filter",
    "Not",
    "Operator",
    "Tree",
    "excluded_by_kind",
    "field_rows",
    "judges_kinds",
    "matches",
    "parse_filter",
    "parse_metadata",
    "passing_rows",
    "says_kinds",
    "to_condition",
    "too_deep",
]
