"""Import of optional dependencies at the point of use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from factoid.errors import MissingDependencyError


def require(module: str, *, extra: str) -> ModuleType:
    """Import `module`, or say which extra installs it.

    Raises:
        MissingDependencyError: The package is not installed. A package that is there but fails in its own imports
            raises that failure instead.
    """
    loaded = sys.modules.get(module)
    if loaded is not None and not getattr(loaded.__spec__, "_initializing", False):
        return loaded
    try:
        with whole_import(module):
            return import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise
        advice = f'{module!r} is not installed. Run: pip install "factoid[{extra}]"'
        raise MissingDependencyError(advice, name=error.name) from error


@contextmanager
def whole_import(module: str) -> Iterator[None]:
    """Forget the modules of a package that a block was importing when Ctrl-C came.

    Python forgets the package itself, and keeps those of its modules that were done: they hold on to the half-imported
    package, which fails when they use it.
    """
    package = module.partition(".")[0]
    before = set(sys.modules)
    try:
        yield
    except KeyboardInterrupt:
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == package:
                sys.modules.pop(name, None)
        raise
