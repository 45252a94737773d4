"""Checks of the lists that measures take: a string is a list of characters, and would be measured without an error."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from factoid.errors import InvalidInputError


def check_list(value: Any, what: str) -> None:
    """Raise InvalidInputError unless a value is a list: for a string, a mapping, or something without a length."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
        raise InvalidInputError(f"expected a list of {what}, got {type(value).__name__}")


def check_pairs(values: Any, what: str, others: Any, other: str, *, least: int = 0) -> None:
    """Raise InvalidInputError unless both values are lists of the same length, of at least `least` items."""
    check_list(values, what)
    check_list(others, other)
    if len(values) != len(others) or len(values) < least:
        bound = f", at least {least}" if least else ""
        raise InvalidInputError(f"expected as many {what} as {other}{bound}, got {len(values)} and {len(others)}")


def check_lists(value: Any, what: str) -> None:
    """Raise InvalidInputError unless a value is a list of lists, one for each question or text."""
    check_list(value, f"lists of {what}")
    for item in value:
        check_list(item, f"{what} of each question or text")
