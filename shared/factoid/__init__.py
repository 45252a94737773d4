"""Retrieval at the right granularity: documents into passages, sentences and propositions, indexed and searched."""

from factoid.context import pack_context
from factoid.encode import SentenceTransformerEncoder
from factoid.propositions import (
    CachedPropositionizer,
    FlanT5Propositionizer,
    PromptPropositionizer,
    PropositionCache,
    SyntaxPropositionizer,
    propositionize,
)
from factoid.split import split_passages, split_sentences
from factoid.store import UnitStore
from factoid.units import Document, Granularity, Hit, Unit

__all__ = [
    "CachedPropositionizer",
    "Document",
    "FlanT5Propositionizer",
    "Granularity",
    "Hit",
    "PromptPropositionizer",
    "PropositionCache",
    "SentenceTransformerEncoder",
    "SyntaxPropositionizer",
    "Unit",
    "UnitStore",
    "pack_context",
    "propositionize",
    "split_passages",
    "split_sentences",
]
