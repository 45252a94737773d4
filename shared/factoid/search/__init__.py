"""Search, pure: which rows answer a query, from vectors and columns of ids. It knows no database and no texts."""

from __future__ import annotations

from factoid.search.columns import Columns
from factoid.search.diversity import diverse_groups, diverse_units, most_diverse
from factoid.search.fusion import Fusion, best_fused, fuse
from factoid.search.parents import best_groups, best_matches
from factoid.search.records import Group, Level, Scored
from factoid.search.units import best_units
from factoid.search.view import Index, View

__all__ = [
    "Columns",
    "Fusion",
    "Group",
    "Index",
    "Level",
    "Scored",
    "View",
    "best_fused",
    "best_groups",
    "best_matches",
    "best_units",
    "diverse_groups",
    "diverse_units",
    "fuse",
    "most_diverse",
]
