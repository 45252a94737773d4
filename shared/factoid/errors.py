"""The errors that factoid raises."""

from __future__ import annotations

from typing import Any


class FactoidError(Exception):
    """Base class of all errors of this package."""


class InvalidInputError(FactoidError, ValueError):
    """An argument or a text cannot be used; the message says what was expected."""


class MissingDependencyError(FactoidError, ImportError):
    """An optional package is not installed; the message holds the pip line that installs it."""


class UnreadableFileError(FactoidError, OSError):
    """A file is missing, binary, damaged or of another format."""


class PropositionizerError(FactoidError):
    """A propositionizer cannot run at all, because of its model, its client or the shape of its output."""


class StoreError(FactoidError):
    """A store cannot be opened, read or written."""


class StoreFormatError(StoreError):
    """A folder or file is not a store, is damaged or has another version."""


class EncoderMismatchError(StoreError, ValueError):
    """Vectors have another dimension than the store's, or come from another encoder."""


def shown(value: Any, length: int = 60) -> str:
    """Return the beginning of a value's `repr` for a message, or its type where Python has none.

    That is so for an integer of more than 4,300 digits, and for lists or dicts nested too deep.
    """
    try:
        return f"{value!r:.{length}}"
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} that is too large to show"
