"""Find the rows that answer a query, from vectors and columns of ids alone.

Arguments are not checked here: `UnitStore.search` checks those of users.
"""

from __future__ import annotations

from factoid.ranking.blend import best_parents
from factoid.ranking.channels import Weights
from factoid.ranking.columns import Columns, View
from factoid.ranking.mmr import diverse_parents, diverse_places
from factoid.ranking.ranked_parents import LEXICAL, MATCHES, Parents, RankedParent, Scored
from factoid.ranking.scale import Scale
from factoid.ranking.words_ranking import best_by_words

__all__ = [
    "LEXICAL",
    "MATCHES",
    "Columns",
    "Parents",
    "RankedParent",
    "Scale",
    "Scored",
    "View",
    "Weights",
    "best_by_words",
    "best_parents",
    "diverse_parents",
    "diverse_places",
]
