"""Mentions of entities, and the protocol of linkers (Entity Retrieval, §3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that a mention may mean.

    Attributes:
        title: Title of its article, with spaces.
        score: From 0 to 1; the candidates of a mention add up to at most 1.
    """

    title: str
    score: float


class Match(StrEnum):
    """How a mention names its entity."""

    NAME = "name"  # by a whole name
    PART = "part"  # by a part of a name: "Coolidge"
    MISSPELLING = "misspelling"  # by a name with a letter or two wrong


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of a text that names an entity.

    Attributes:
        end: End of the span [start, end) in characters of the text.
        title: Title of the entity's article, with spaces.
        score: How sure the linker is, from 0 to 1; higher is better.
        candidates: The candidates, best first, the chosen one included; empty if not known.
        ambiguous: Whether only their order decided between several candidates.
    """

    start: int
    end: int
    title: str
    score: float = 1.0
    candidates: tuple[Candidate, ...] = ()
    ambiguous: bool = False
    match: Match = Match.NAME


class EntityLinker(Protocol):
    """Finds the entities in a text."""

    def link(self, text: str) -> list[Mention]:
        """Return the mentions, in order of the text and without overlap.

        None if the text names no entity.
        """
