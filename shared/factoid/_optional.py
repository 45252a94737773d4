"""Import of optional dependencies at the point of use."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from factoid.errors import MissingDependencyError


def require(module: str, *, extra: str) -> ModuleType:
    """Import `module`, or say which extra installs it.

    Raises:
        MissingDependencyError: The package is not installed. An installed package that fails in its
            own imports raises its own error instead.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise
        advice = f'{module!r} is not installed. Run: pip install "factoid[{extra}]"'
        raise MissingDependencyError(advice, name=error.name) from error
