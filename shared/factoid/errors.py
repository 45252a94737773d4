"""Everything that factoid raises on purpose.

FactoidError
├── InvalidInputError (ValueError)        an argument or a text that cannot be used; says what was expected
├── MissingDependencyError (ImportError)  an optional package is absent; carries the pip line that installs it
├── UnreadableFileError (OSError)         a file that is missing, binary, damaged or of another format
├── PropositionizerError                  a propositionizer that cannot run at all (model, client or output contract)
│   └── UnreadableOutputError             one model output that holds no list of propositions
└── StoreError
    ├── StoreFormatError                  the folder or file is not a store, is damaged or of another version
    └── EncoderMismatchError (ValueError) vectors of another dimension or another encoder than the store's
"""

from __future__ import annotations


class FactoidError(Exception):
    """Root of all errors of this package."""


class InvalidInputError(FactoidError, ValueError):
    """An argument or a text cannot be used."""


class MissingDependencyError(FactoidError, ImportError):
    """An optional dependency is not installed."""


class UnreadableFileError(FactoidError, OSError):
    """A file is missing, binary, damaged or of an unknown format."""


class PropositionizerError(FactoidError):
    """A propositionizer cannot do its work."""


class UnreadableOutputError(PropositionizerError):
    """A model's output holds no list of propositions."""


class StoreError(FactoidError):
    """A store cannot be opened, read or written."""


class StoreFormatError(StoreError):
    """A path holds something that is not a store of this version."""


class EncoderMismatchError(StoreError, ValueError):
    """Vectors do not fit the store."""
