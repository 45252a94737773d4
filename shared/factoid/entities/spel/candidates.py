"""Candidate sets: which entities a surface may stand for, and the choice among them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from factoid.entities.spel.phrases import Phrase
from factoid.entities.spel.vocabulary import OUTSIDE, Vocabulary
from factoid.errors import InvalidInputError, UnreadableFileError

Kind = Literal["lower_case", "surface", "sentence", "span"]


@dataclass(frozen=True, slots=True)
class CandidateSets:
    """The titles, with spaces or underscores, that spans of texts may stand for.

    By kind, the entries are titles by surface in lower case, whose case in the text does not matter ("lower_case"); by surface
    ("surface"); by sentence and surface ("sentence"); by sentence and "(begin, end)" ("span").
    """

    entries: Mapping[str, Any]
    kind: Kind = "surface"

    def titles(self, text: str, start: int, end: int) -> Sequence[str] | None:
        """Return the titles of a span of a text; None if there is no entry."""
        surface = text[start:end].lower() if self.kind == "lower_case" else text[start:end]
        entries = self.entries if self.kind in ("lower_case", "surface") else self.entries.get(text, {})
        titles: Sequence[str] | None = entries.get(f"({start}, {end})" if self.kind == "span" else surface)
        return titles

    def choose(self, phrase: Phrase, text: str, vocabulary: Vocabulary) -> Phrase:
        """Return a phrase with the most probable of its candidates that its set holds, or with no entity if there is none.

        Where the set has titles, but the vocabulary none of them, the phrase stays what it is.
        """
        if phrase.entity == OUTSIDE:
            return phrase
        titles = self.titles(text, phrase.start, phrase.end) or ()
        known = {entity for title in titles if (entity := vocabulary.find(title)) is not None}
        if titles and not known:
            return phrase
        return replace(phrase, entity=next((entity for entity in phrase.candidates if entity in known), OUTSIDE))


def read_candidates(path: str | PathLike[str], kind: Kind) -> CandidateSets:
    """Return the candidate sets of a JSON file.

    Its kind is "lower_case" for {surface in lower case: [[title, prior], …]}, as kb_plus_yago_candidates.json is, whose priors
    go unused; "surface" for {surface: [title, …]}, "sentence" for {sentence: {surface: [title, …]}} and "span" for
    {sentence: {"(begin, end)": [title, …]}}, as the files of PPRforNED are.

    Raises:
        InvalidInputError: There is no such kind.
        UnreadableFileError: The file is missing, no JSON, or of another shape.
    """
    if kind not in get_args(Kind):
        raise InvalidInputError(f"unknown kind {kind!r} of candidate sets: expected {', '.join(get_args(Kind))}")
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if kind in ("lower_case", "surface"):
            return CandidateSets(_sets(content, pairs=kind == "lower_case"), kind)
        return CandidateSets({sentence: _sets(sets, pairs=False) for sentence, sets in content.items()}, kind)
    except (OSError, ValueError, TypeError, AttributeError, LookupError) as error:
        raise UnreadableFileError(f"{path} cannot be read as candidate sets of the kind {kind!r}: {error}") from error


def _sets(content: Any, *, pairs: bool) -> dict[str, list[str]]:
    sets = {}
    for surface, titles in content.items():
        sets[surface] = [title[0] for title in titles] if pairs else titles
        if not isinstance(titles, list) or not all(isinstance(title, str) for title in sets[surface]):
            raise TypeError(f"expected a list of titles for {surface!r}")
    return sets
