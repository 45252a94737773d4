"""Search, pure: which rows answer a query, from vectors and columns of ids. It knows no database and no units' texts.

Arguments are taken as checked: `UnitStore.search` is where a user's are.
"""

from __future__ import annotations

from factoid.search.blend import LEXICAL, Weights, best_blended, best_by_words
from factoid.search.columns import Columns
from factoid.search.fusion import Fusion, best_fused, diverse_groups
from factoid.search.rollup import Group, Level, Scored, View, best_children, best_groups

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
    "best_children",
    "best_fused",
    "best_groups",
    "diverse_groups",
]
