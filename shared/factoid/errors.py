"""Everything that factoid raises on purpose."""

from __future__ import annotations


class FactoidError(Exception):
    """Root of all errors of this package."""


class InvalidInputError(FactoidError, ValueError):
    """An argument or a text cannot be used; the message says what was expected."""


class MissingDependencyError(FactoidError, ImportError):
    """An optional package is not installed; the message holds the pip line that installs it."""


class UnreadableFileError(FactoidError, OSError):
    """A file is missing, binary, damaged or of another format."""


class PropositionizerError(FactoidError):
    """A propositionizer cannot run at all, for its model, its client or the shape of its output."""


class UnreadableOutputError(PropositionizerError):
    """One output of a model holds no list of propositions."""


class StoreError(FactoidError):
    """A store cannot be opened, read or written."""


class StoreFormatError(StoreError):
    """A folder or file is no store, is damaged or of another version."""


class EncoderMismatchError(StoreError, ValueError):
    """Vectors are of another dimension or another encoder than the store's."""
