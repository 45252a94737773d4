"""Passages into propositions: atomic, self-contained facts (Dense X Retrieval, §2 and §3)."""

from factoid.propositions.decompose import Decomposition, adecompose, decompose, propositionize
from factoid.propositions.protocol import (
    AsyncPropositionizer,
    NoPropositions,
    Propositionizer,
    Report,
)

__all__ = [
    "AsyncPropositionizer",
    "Decomposition",
    "NoPropositions",
    "Propositionizer",
    "Report",
    "adecompose",
    "decompose",
    "propositionize",
]
