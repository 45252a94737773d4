"""Other names and ids of entities, as documents and JSON lines give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from factoid.errors import InvalidInputError


def other_names(value: Any, expected: str) -> tuple[str, ...]:
    """Return a list of names, or one name by itself, without those that are None or blank; none for None.

    Args:
        value: What stands where the names are kept.
        expected: What an error begins with.

    Raises:
        InvalidInputError: It is something else.
    """
    if value is None or isinstance(value, str):
        value = [value]
    names: list[Any] | None = None
    if isinstance(value, Iterable) and not isinstance(value, Mapping | bytes):
        names = list(value)
    if names is None or not all(name is None or isinstance(name, str) for name in names):
        message = f"{expected}, got {value!r:.80}"
        raise InvalidInputError(message)
    return tuple(name for name in names if isinstance(name, str) and name.strip())


def own_id(value: Any) -> str:
    """Return an id as a string, also if it is a number; "" for None.

    Raises:
        InvalidInputError: It is something else.
    """
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    message = f"expected a string or a whole number in 'id', got {value!r:.60}"
    raise InvalidInputError(message)
