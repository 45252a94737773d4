"""The errors that factoid raises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

# What other libraries call an option; a name is suggested where the called class has it.
_ELSEWHERE = {
    "top_k": ("k",),
    "top_n": ("k",),
    "n_results": ("k",),
    "similarity_top_k": ("k",),
    "persist_dir": ("path",),
    "persist_directory": ("path",),
    "persist_path": ("path",),
    "folder_path": ("path",),
    "folder": ("path",),
    "directory": ("path",),
    "distance_strategy": ("similarity",),
    "similarity_cutoff": ("min_score",),
    "score_threshold": ("min_score",),
    "reranker": ("rerank",),
    "embedding_function": ("embedding", "encoder", "embed_model"),
    "embeddings": ("embedding", "encoder", "embed_model"),
    "chunk_size": ("words",),
    "nprobe": ("parameters",),
    "efSearch": ("parameters",),
    "where": ("filter", "filters"),
    "expr": ("filter", "filters"),
    "alpha": ("lexical",),
    "lambda_mult": ("mmr_threshold", "mmr"),
    "search_type": ("mode",),
    "vector_store_query_mode": ("mode",),
}


class FactoidError(Exception):
    """Base class of all errors of this package."""


class InvalidInputError(FactoidError, ValueError):
    """An argument or a text cannot be used; the message says what was expected."""


class UnknownOptionError(InvalidInputError, TypeError):
    """A call names an option that there is not.

    The message says who was called, and the nearest right name.
    """


class MissingDependencyError(FactoidError, ImportError):
    """An optional package is not installed; the message holds the pip line that installs it."""


class UnreadableFileError(FactoidError, OSError):
    """A file is missing, binary, damaged or of another format."""


class PropositionizerError(FactoidError):
    """A propositionizer cannot run at all.

    The cause is its model, its client or the shape of its output.
    """


class StoreError(FactoidError):
    """A store cannot be opened, read or written."""


class StoreFormatError(StoreError):
    """A folder or file is not a store, is damaged or has another version."""


class EncoderMismatchError(StoreError, ValueError):
    """Vectors have another dimension than the store's, or come from another encoder."""


def check_names(
    owner: str,
    names_in_call: Iterable[str],
    known: Iterable[str],
    *,
    elsewhere: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Refuse names of options that are not known.

    Args:
        owner: The class or method that was called.
        names_in_call: The names in the call.
        known: Those that there are.
        elsewhere: Where names belong that others than the owner take.

    Raises:
        UnknownOptionError: A name is not known.
    """
    names = {*known}
    for name in names_in_call:
        if name in names:
            continue
        near = []
        for other in _ELSEWHERE.get(name, ()):
            if other in names:
                near.append(other)
        near = near or get_close_matches(name, sorted(names), n=1, cutoff=0.6)
        if name in elsewhere:
            advice = elsewhere[name]
        elif near:
            advice = f"did you mean {near[0]!r}?"
        else:
            advice = f"it takes {', '.join(sorted(names))}"
        raise UnknownOptionError(f"{owner} has no option {name!r}: {advice}")


def check_list(values: object, things: str, single: type[object] = str) -> None:
    """Refuse one thing, or a string, where several are expected.

    Iterating over it would give letters, or the fields of a record.

    Raises:
        InvalidInputError: It is a string, or of the `single` type.
    """
    if isinstance(values, str | bytes):
        raise InvalidInputError(f"expected a list of {things}, got the string {shown(values)}")
    if isinstance(values, single):
        raise InvalidInputError(f"expected a list of {things}, got a single one")


def shown(value: Any, length: int = 60) -> str:
    """Return the beginning of a value's `repr` for a message, or its type where Python has none.

    That is so for an integer of more than 4,300 digits, and for lists or dicts nested too deep.
    """
    try:
        return f"{value!r:.{length}}"
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} that is too large to show"
