"""Options that are passed on by name, and who takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from inspect import signature
from typing import Any


def option_names(kwargs: type) -> frozenset[str]:
    """Return the names that one of these dicts of options takes."""
    return frozenset(kwargs.__optional_keys__)  # type: ignore[attr-defined]


def split_options(
    function: Callable[..., Any], options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options that a function or class takes, and the others.

    Those are its keyword-only arguments.
    """
    names = set()
    for parameter in signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            names.add(parameter.name)
    return split_names(names, options)


def split_names(
    names: Set[str], options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options with these names, and the others."""
    taken = {}
    others = {}
    for name, value in options.items():
        if name in names:
            taken[name] = value
        else:
            others[name] = value
    return taken, others
