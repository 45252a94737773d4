"""What a search returns: rows and scores. The store turns rows into units."""

from __future__ import annotations

from typing import Literal, NamedTuple

# What results are grouped by: each unit by itself, its passage, or its document.
Level = Literal["unit", "passage", "document"]


class Scored(NamedTuple):
    """A row id and its score; higher is better."""

    row: int
    score: float


class Group(NamedTuple):
    """A parent, the score of its best unit (Dense X Retrieval, §4.3), and its best units, best first.

    Attributes:
        key: Row of the passage or document; of the unit itself where it has no parent.
        score: Higher is better.
        matches: The best units below it that the filter allows.
    """

    key: int
    score: float
    matches: tuple[Scored, ...] = ()
