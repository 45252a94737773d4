"""`factoid store move`: between a store and a vector store of another make."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from factoid._optional import require
from factoid.cli import options as opts
from factoid.cli.options import argument
from factoid.errors import InvalidInputError
from factoid.terminal import count

if TYPE_CHECKING:
    from factoid.existing import ExistingStore

_ADAPTERS = {"langchain_core": "langchain_factoid", "llama_index": "llama_index_factoid"}


def move(
    source: Annotated[str, argument("FROM", "A store, or module:name of a vector store.")],
    target: Annotated[str, argument("TO", "A store, created if absent, or module:name.")],
    *,
    output: opts.Output,
) -> None:
    """Copy all documents, units and vectors between a store and a vector store.

    A vector store is named as module:name, the place of the object in your own code: a vector store
    of LangChain or LlamaIndex, or a MultiGranularRetriever over one. What is there already is
    skipped, so that an interrupted move can be repeated.
    """
    from factoid.existing.move import move_from, move_to
    from factoid.store import UnitStore

    if is_import(source) == is_import(target):
        raise InvalidInputError(
            "factoid store move takes a folder and a vector store as module:name, in either order"
        )
    if is_import(target):
        existing = imported_store(target)
        with opts.open_store(source, read_only=True) as opened:
            report = move_to(opened, existing, progress=output.progress)
    else:
        existing = imported_store(source)
        with UnitStore(target, encoder=existing.encoder) as opened:
            report = move_from(existing, opened, progress=output.progress)
    counts = {
        "documents": report.documents,
        "unchanged": report.unchanged,
        "units": report.units,
    }
    output.print(
        counts,
        f"{count(report.documents, 'document')} with {count(report.units, 'unit')} moved, "
        f"{report.unchanged:,} unchanged",
    )


def is_import(name: str) -> bool:
    """Return whether a name is that of an object in a module."""
    module, _, attribute = name.partition(":")
    return attribute.isidentifier() and all(map(str.isidentifier, module.split(".")))


def is_address(name: str) -> bool:
    """Return whether a name is the address of a vector store."""
    return "://" in name


def vector_store(name: str, encoder: str = "", dim: int | None = None) -> ExistingStore:
    """Return the vector store at a place of the user's code, or at an address.

    Args:
        name: The place, or the address.
        encoder: The name of what made the vectors of a store at an address: it is not loaded.
        dim: Their dimension, for a collection that is to be made.

    Raises:
        InvalidInputError: There is no such object, or no store is known by such an address.
        MissingDependencyError: A package is not installed.
    """
    if is_import(name):
        return imported_store(name)
    from factoid.scale.load import NamedEncoder

    require("langchain_core", extra="langchain")
    addresses = import_module("langchain_factoid.addresses")
    vectors = addresses.vectorstore_at(name, NamedEncoder(encoder), dim)
    existing: ExistingStore = (
        import_module("langchain_factoid").MultiGranularRetriever(vectorstore=vectors).existing
    )
    return existing


def imported_store(name: str) -> ExistingStore:
    """Return the vector store at a place of the user's code, or that of a retriever there.

    Raises:
        InvalidInputError: There is no such object, or it is something else.
    """
    module_name, _, attribute = name.partition(":")
    sys.path.insert(0, "")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            f"{name}: there is no module {error.name!r}; run the command in the folder of your code"
        ) from error
    finally:
        sys.path.remove("")
    try:
        named: Any = getattr(module, attribute)
    except AttributeError as error:
        raise InvalidInputError(f"{name}: the module {module_name} has no {attribute}") from error
    if not hasattr(named, "existing"):
        for ancestor in type(named).__mro__:
            adapter = _ADAPTERS.get(ancestor.__module__.split(".")[0])
            if adapter is not None:
                named = import_module(adapter).MultiGranularRetriever(vectorstore=named)
                break
    existing: ExistingStore | None = getattr(named, "existing", None)
    if existing is None:
        raise InvalidInputError(
            f"{name} must be a vector store of LangChain or LlamaIndex, or a "
            f"MultiGranularRetriever over one, got {type(named).__name__}"
        )
    return existing
