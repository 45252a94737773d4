"""Words of a text, their subwords, and phrases of words that mean one entity."""

from __future__ import annotations

import re
import string
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise
from typing import Any

from factoid._optional import require
from factoid.entities.spel.predict import Prediction
from factoid.entities.spel.vocabulary import OUTSIDE

Span = tuple[int, int]

# Exactly the characters that the authors' inference replaces in documents, each by one character, so that spans stay valid.
PLAIN_CHARACTERS = str.maketrans("‘’“”„–—…•öōáèÉșćčž€\u00a0\ufeff", '\'\'"""--..ooaeEscczE  ')


@dataclass(frozen=True, slots=True)
class Phrase:
    """A word, or a run of words, resolved to one id, which may be "no entity"."""

    start: int
    end: int  # of the span [start, end) in characters
    # the ids that all words and subwords have in common, with mean probabilities, best first
    candidates: dict[int, float]

    @property
    def entity(self) -> int:
        """The best of the candidates."""
        return next(iter(self.candidates))


def find_phrases(
    text: str, words: Sequence[Span], offsets: Sequence[Span], predictions: Sequence[Prediction]
) -> list[Phrase]:
    """Return the phrases of a text, including those without an entity; adjacent mentions of one entity are one phrase."""
    resolved = [
        resolve_word([predictions[at] for at in group], offsets[group[0]][0], offsets[group[-1]][1])
        for group in group_subwords(words, offsets)
        if group  # a word covered by its neighbour's subword has no prediction
    ]
    phrases = []
    for _, group in groupby(resolved, key=lambda word: word.entity):
        members = list(group)
        start, end = members[0].start, members[-1].end
        surface = text[start:end]
        start += len(surface) - len(surface.lstrip())  # a line end is a subword of the word after it
        end = max(start, end - len(surface) + len(surface.rstrip()))
        phrases.append(Phrase(start, end, _shared([word.candidates for word in members])))
    return phrases


def resolve_word(subwords: Sequence[Prediction], start: int, end: int) -> Phrase:
    """Return a word's entity: the best of those that all its subwords list, else that of most subwords."""
    listed = [dict(zip(subword.ids, subword.probabilities, strict=True)) for subword in subwords]
    candidates = _shared(listed)
    if not candidates:
        votes = Counter(subword.ids[0] for subword in subwords)
        entity, most = votes.most_common(1)[0]  # in order of the text
        if votes[OUTSIDE] == most > 1:  # as in the original
            entity = OUTSIDE
        candidates = {entity: sum(probabilities.get(entity, 0.0) for probabilities in listed) / len(listed)}
    return Phrase(start, end, candidates)


def _shared(listed: Sequence[dict[int, float]]) -> dict[int, float]:
    """Return the ids that several tables have in common, with the means of their values, best first."""
    shared = [entity for entity in listed[0] if all(entity in table for table in listed)]
    means = {entity: sum(table[entity] for table in listed) / len(listed) for entity in shared}
    return dict(sorted(means.items(), key=lambda pair: -pair[1]))


def split_words(text: str) -> list[Span]:
    """Return the spans of the words, in characters.

    If a piece between white space begins or ends with ASCII punctuation, its leading run, core and trailing run are words of
    their own; otherwise a trailing 's is one.
    """
    spans: list[Span] = []
    for match in re.finditer(r"\S+", text):
        piece, (start, end) = match[0], match.span()
        if piece[0] in string.punctuation or piece[-1] in string.punctuation:
            core = end - len(piece.lstrip(string.punctuation))
            core_end = max(core, start + len(piece.rstrip(string.punctuation)))
        else:
            core, core_end = start, end - 2 if piece.endswith(("'s", "'S")) else end
        spans += [span for span in ((start, core), (core, core_end), (core_end, end)) if span[0] < span[1]]
    return spans


def group_subwords(words: Sequence[Span], offsets: Sequence[Span]) -> list[range]:
    """Return the subwords of each word: those that start before its end, and not in an earlier word."""
    starts = [start for start, _ in offsets]
    ends = [bisect_left(starts, end) for _, end in words]
    return [range(*pair) for pair in pairwise([0, *ends])]


def join_abbreviations(text: str, words: Sequence[Span]) -> list[Span]:
    r"""Join words with a following "." where Moses keeps both together, as in "U.S.".

    As in the authors' inference a line break is a letter to Moses: in "services.\n\nIn" the stop stays with its word.
    """
    line = text.replace("\n", "\u010a")
    inner = _inner_characters(line, _moses().tokenize(line, escape=False))
    joined: list[Span] = []
    for start, end in words:
        if joined and joined[-1][1] == start and text[start:end] == "." and start in inner:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _inner_characters(text: str, tokens: Sequence[str]) -> set[int]:
    """Return the positions of all characters of tokens except each token's first one."""
    # Moses leaves out white space and control characters. Once it has changed the text, the rest cannot be aligned.
    places = [at for at, sign in enumerate(text) if not (sign.isspace() or unicodedata.category(sign) == "Cc")]
    signs = [(sign, number > 0) for token in tokens for number, sign in enumerate(token) if not sign.isspace()]
    inner = set()
    for at, (sign, is_inner) in zip(places, signs, strict=False):
        if text[at] != sign:
            break
        if is_inner:
            inner.add(at)
    return inner


@cache
def _moses() -> Any:
    return require("sacremoses", extra="spel").MosesTokenizer(lang="en")
