"""Retrieval at the right granularity.

Documents are cut into passages, sentences and propositions, indexed and searched.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from factoid.encode import SentenceTransformerEncoder
    from factoid.late_interaction import AnyGranularityRanker, PropCite
    from factoid.packing import pack_context
    from factoid.propositions import (
        CachedPropositionizer,
        FlanT5Propositionizer,
        PromptPropositionizer,
        PropositionCache,
        SyntaxPropositionizer,
    )
    from factoid.ranking import Weights
    from factoid.split import split_passages, split_sentences
    from factoid.store import UnitStore
    from factoid.units import Document, Granularity, Hit, Unit

__all__ = [
    "AnyGranularityRanker",
    "CachedPropositionizer",
    "Document",
    "FlanT5Propositionizer",
    "Granularity",
    "Hit",
    "PromptPropositionizer",
    "PropCite",
    "PropositionCache",
    "SentenceTransformerEncoder",
    "SyntaxPropositionizer",
    "Unit",
    "UnitStore",
    "Weights",
    "pack_context",
    "split_passages",
    "split_sentences",
]

_MODULES = {
    "encode": ("SentenceTransformerEncoder",),
    "late_interaction": ("AnyGranularityRanker", "PropCite"),
    "packing": ("pack_context",),
    "ranking": ("Weights",),
    "split": ("split_passages", "split_sentences"),
    "store": ("UnitStore",),
    "units": ("Document", "Granularity", "Hit", "Unit"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> _Any:
    """Import a public name on first use, so `import factoid` and the command's help are fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(f"factoid.{_HOMES.get(name, 'propositions')}"), name)
    globals()[name] = value
    return value
