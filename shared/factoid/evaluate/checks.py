"""Lists that measures take: a string is one, too, of characters, and would be measured without a word."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from factoid.errors import InvalidInputError


def check_list(given: Any, what: str) -> None:
    """Refuse what is no list.

    Args:
        given: The argument.
        what: What it is a list of, for the message.

    Raises:
        InvalidInputError: It is a string, bytes, a mapping, or has no length.
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Collection):
        message = f"expected a list of {what}, got {type(given).__name__}"
        raise InvalidInputError(message)


def check_lists(given: Any, what: str) -> None:
    """Refuse what is no list of lists: one of each question or text.

    Raises:
        InvalidInputError: Either is none, as in `check_list`.
    """
    check_list(given, f"lists of {what}")
    for each in given:
        check_list(each, f"{what} of each question or text")


def check_text(given: object, what: str) -> None:
    """Refuse what is no string.

    Raises:
        InvalidInputError: It is none.
    """
    if not isinstance(given, str):
        message = f"expected {what} as a string, got {type(given).__name__}"
        raise InvalidInputError(message)
