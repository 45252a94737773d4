"""Mentions of entities, and the protocol of linkers (Entity Retrieval, §3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that a mention may mean."""

    title: str  # of its article, with spaces
    score: float  # from 0 to 1; the candidates of a mention add up to at most 1


class Match(StrEnum):
    """How a mention names its entity."""

    NAME = "name"  # by a whole name
    PART = "part"  # by a part of a name: "Coolidge"
    MISSPELLING = "misspelling"  # by a name with a letter or two wrong


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of a text that names an entity."""

    start: int
    end: int  # of the span [start, end) in characters of the text
    title: str  # of the entity's article, with spaces
    score: float = 1.0  # how sure the linker is, from 0 to 1; higher is better
    # best first, the chosen one included; empty if not known
    candidates: tuple[Candidate, ...] = ()
    ambiguous: bool = False  # whether only their order decided between several candidates
    match: Match = Match.NAME


class EntityLinker(Protocol):
    """Finds the entities in a text."""

    def link(self, text: str) -> list[Mention]:
        """Return the mentions, in order of the text and without overlap.

        None if the text names no entity.
        """
