"""Candidate sets: which entities a surface may stand for, and the choice among them.

SpEL's evaluations use the sets of KB+YAGO, which are for surfaces whatever the case, and those of PPRforNED, for surfaces as
written, for surfaces within a known sentence, or for spans of a known sentence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Protocol

from factoid.entities.spel.phrases import Phrase
from factoid.entities.spel.resolve import mean_of_words
from factoid.entities.spel.vocabulary import OUTSIDE, Vocabulary
from factoid.errors import InvalidInputError, UnreadableFileError

Kind = Literal["lower_case", "surface", "sentence", "span"]


class CandidateSets(Protocol):
    """Knows what a span of a text may stand for."""

    def titles(self, text: str, start: int, end: int) -> Sequence[str] | None:
        """Return the titles, with spaces or underscores; None if there is no entry."""


@dataclass(frozen=True, slots=True)
class SurfaceCandidates:
    """Candidates of a surface, wherever it stands.

    Attributes:
        entries: Titles by surface.
        lower_case: Whether the surfaces are in lower case, and any case is meant.
    """

    entries: Mapping[str, Sequence[str]]
    lower_case: bool = False

    def titles(self, text: str, start: int, end: int) -> Sequence[str] | None:
        """Return the titles of the surface; None if it has no entry."""
        surface = text[start:end]
        return self.entries.get(surface.lower() if self.lower_case else surface)


@dataclass(frozen=True, slots=True)
class SentenceCandidates:
    """Candidates of a surface in a known sentence: titles by surface, by sentence."""

    entries: Mapping[str, Mapping[str, Sequence[str]]]

    def titles(self, text: str, start: int, end: int) -> Sequence[str] | None:
        """Return the titles of the surface in this sentence; None if either has no entry."""
        return self.entries.get(text, {}).get(text[start:end])


@dataclass(frozen=True, slots=True)
class SpanCandidates:
    """Candidates of a span of a known sentence: titles by "(begin, end)", by sentence."""

    entries: Mapping[str, Mapping[str, Sequence[str]]]

    def titles(self, text: str, start: int, end: int) -> Sequence[str] | None:
        """Return the titles of this span of this sentence; None if either has no entry."""
        return self.entries.get(text, {}).get(f"({start}, {end})")


def read_candidates(path: str | PathLike[str], kind: Kind) -> CandidateSets:
    """Return the candidate sets of a JSON file.

    Args:
        path: The file.
        kind: "lower_case" for {surface in lower case: [[title, prior], …]}, as kb_plus_yago_candidates.json is, whose priors
            go unused; "surface" for {surface: [title, …]}, "sentence" for {sentence: {surface: [title, …]}} and "span" for
            {sentence: {"(begin, end)": [title, …]}}, as the files of PPRforNED are.

    Raises:
        InvalidInputError: There is no such kind.
        UnreadableFileError: The file is missing, no JSON, or of another shape.
    """
    if kind not in ("lower_case", "surface", "sentence", "span"):
        message = f"unknown kind {kind!r} of candidate sets: expected lower_case, surface, sentence or span"
        raise InvalidInputError(message)
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        if kind in ("lower_case", "surface"):
            return SurfaceCandidates(_sets(found, pairs=kind == "lower_case"), lower_case=kind == "lower_case")
        entries = {sentence: _sets(sets, pairs=False) for sentence, sets in found.items()}
    except OSError as error:
        message = f"the candidate sets {path} cannot be read: {error.strerror or error}"
        raise UnreadableFileError(message) from error
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        message = f"{path} holds no candidate sets of the kind {kind!r}: {error}"
        raise UnreadableFileError(message) from error
    return SentenceCandidates(entries) if kind == "sentence" else SpanCandidates(entries)


def _sets(found: Any, *, pairs: bool) -> dict[str, list[str]]:
    sets = {}
    for surface, titles in found.items():
        if not isinstance(titles, list):
            message = f"expected a list of titles for {surface!r}"
            raise TypeError(message)
        sets[surface] = [title[0] for title in titles] if pairs else titles
        if not all(isinstance(title, str) for title in sets[surface]):
            message = f"expected titles for {surface!r}"
            raise TypeError(message)
    return sets


def choose_candidate(phrase: Phrase, text: str, sets: CandidateSets, vocabulary: Vocabulary) -> Phrase:
    """Return a phrase with the entity that its candidate set allows.

    Without an entry it names no entity. If none of the entry's titles is in the vocabulary, it stays what it is. Else it is
    the most probable of the entities that each of its words lists and the set holds; none if there is none. A phrase that
    names no entity stays so.
    """
    if phrase.entity == OUTSIDE:
        return phrase
    titles = sets.titles(text, phrase.start, phrase.end)
    if titles is None:
        return _resolved(phrase, OUTSIDE)
    known = {entity for title in titles if (entity := vocabulary.find(title)) is not None}
    if not known:
        return phrase
    return _resolved(phrase, next((entity for entity, _ in phrase.candidates() if entity in known), OUTSIDE))


def _resolved(phrase: Phrase, entity: int) -> Phrase:
    return replace(phrase, entity=entity, score=mean_of_words(phrase.words, entity))
