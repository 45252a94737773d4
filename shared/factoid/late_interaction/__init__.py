"""AGRaME: rank units by the passage's token vectors (Gangi Reddy et al., 2024)."""

from factoid.late_interaction.citations import (
    Citation,
    CitationFields,
    CitedAnswer,
    CitedSentence,
    CiteReport,
)
from factoid.late_interaction.cite import PropCite
from factoid.late_interaction.encoder import LateInteractionEncoder, TokenEncoder
from factoid.late_interaction.rank import AnyGranularityRanker, RankReport, SpanHit
from factoid.late_interaction.score import span_scores, token_mask
from factoid.store.token_cache import TokenVectorCache, TokenVectors

__all__ = [
    "AnyGranularityRanker",
    "Citation",
    "CitationFields",
    "CiteReport",
    "CitedAnswer",
    "CitedSentence",
    "LateInteractionEncoder",
    "PropCite",
    "RankReport",
    "SpanHit",
    "TokenEncoder",
    "TokenVectorCache",
    "TokenVectors",
    "span_scores",
    "token_mask",
]
