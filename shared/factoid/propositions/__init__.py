"""Decompose passages into propositions.

Atomic, self-contained facts (Dense X Retrieval, §2 and §3).
"""

from factoid.propositions.cache import PropositionCache
from factoid.propositions.cached_propositionizer import CachedPropositionizer
from factoid.propositions.contextualizer import Contextualizer, PromptContextualizer
from factoid.propositions.decompose import Decomposition, adecompose, decompose
from factoid.propositions.flan_t5 import FlanT5Propositionizer
from factoid.propositions.prompting.batches import PropositionBatch
from factoid.propositions.prompting.cost import Estimate, Prices, Usage, estimate
from factoid.propositions.prompting.prompted import PromptPropositionizer
from factoid.propositions.protocol import NoPropositions, Propositionizer, Report
from factoid.propositions.syntax import SyntaxPropositionizer

__all__ = [
    "CachedPropositionizer",
    "Contextualizer",
    "Decomposition",
    "Estimate",
    "FlanT5Propositionizer",
    "NoPropositions",
    "Prices",
    "PromptContextualizer",
    "PromptPropositionizer",
    "PropositionBatch",
    "PropositionCache",
    "Propositionizer",
    "Report",
    "SyntaxPropositionizer",
    "Usage",
    "adecompose",
    "decompose",
    "estimate",
]
