"""What a search ranks and returns, still as rows of the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

# What is ranked and returned: each unit for itself, by its passage, or by its document.
Parents = Literal["unit", "passage", "document"]

LEXICAL = "lexical"  # the channel of words
# Best units to return with each parent. A choice, which nothing measured: they show why a parent
# was found, and each is one more text to read from the database. Scores do not depend on it.
MATCHES = 3


class Scored(NamedTuple):
    """A row id and its score; higher is better."""

    row: int
    score: float


class RankedParent(NamedTuple):
    """A passage, document or unit as a search ranks it, still by its row.

    The store turns it into a `Hit`, whose unit has the text.
    """

    key: int  # row of the passage or document; of the unit itself if units are ranked
    score: float  # blended
    matches: tuple[Scored, ...]  # the best units below it that the filter allows, best first
    parts: Mapping[str, float]  # the score of each channel by its name
    # of a document, if passages may be closed: the row of its best open one
    passage: int | None = None


def sort_key(parent: RankedParent) -> tuple[float, int]:
    """Return a key that sorts parents best first; equal ones by row."""
    return -parent.score, parent.key
