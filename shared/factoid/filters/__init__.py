"""Metadata filters: a small tree, read from dicts, compiled to SQL over an index of the metadata, or told in Python."""

from factoid.filters.fields import DELETE_FIELD, INSERT_FIELD, SCHEMA, Field, Kind, field_rows
from factoid.filters.functions import register
from factoid.filters.match import matches, mismatch
from factoid.filters.parse import parse_filter
from factoid.filters.select import select_metadata, select_mismatches
from factoid.filters.tree import All, AnyOf, Comparison, Filter, Not, Operator, Tree, cache_key, from_cache_key

__all__ = [
    "DELETE_FIELD",
    "INSERT_FIELD",
    "SCHEMA",
    "All",
    "AnyOf",
    "Comparison",
    "Field",
    "Filter",
    "Kind",
    "Not",
    "Operator",
    "Tree",
    "cache_key",
    "field_rows",
    "from_cache_key",
    "matches",
    "mismatch",
    "parse_filter",
    "register",
    "select_metadata",
    "select_mismatches",
]
