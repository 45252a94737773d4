"""Find the rows that answer a query, from vectors and columns of ids, without a database or the units' texts.

Arguments are not checked here: `UnitStore.search` checks those of users.
"""

from __future__ import annotations

from factoid.search.blend import LEXICAL, Weights, best_blended, best_by_words
from factoid.search.columns import Columns
from factoid.search.fusion import Fusion, best_fused, diverse_groups
from factoid.search.rollup import Group, Level, Scored, View, best_groups

__all__ = [
    "LEXICAL",
    "Columns",
    "Fusion",
    "Group",
    "Level",
    "Scored",
    "View",
    "Weights",
    "best_blended",
    "best_by_words",
    "best_fused",
    "best_groups",
    "diverse_groups",
]
