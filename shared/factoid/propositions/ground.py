"""Where a proposition comes from, and whether its passage supports it.

Both compare words: lower-cased, stripped of common endings, function words left out. A number must be in the source; so
must a name (any capitalised word: one at the start may be the subject); of the other content words two thirds must be,
since a propositionizer may add a verb such as "located" or a noun such as "hypothesis".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from factoid.markdown import visible
from factoid.units import Unit

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+|\d*[^\W_]+")
_FUNCTION_WORDS = frozenset(
    "a an the this that these those there here it its he him his she her hers they them their theirs we us our i me my "
    "you your who whom whose which what when where while as if than then so and or but nor yet for of in on at by to from "
    "with into onto about over under after before during between through against among within without upon per via also "
    "is are was were be been being am has have had having do does did done can could will would shall should may might "
    "must not no s t re ve ll d called named known one both each such".split()
)
_ENDINGS = ("ations", "ation", "ing", "ies", "ied", "ers", "ed", "er", "es", "ly", "al", "s", "e", "y")
_PUNCTUATION = " .,;:!?…\"'“”‘’«»()[]{}*_-–—。！？"
_SUPPORT = 2 / 3
_RESOLVED = 1 / 4
_COVERED = 1 / 2


class Token(NamedTuple):
    """A word as it is compared, and its span in the text it stands in."""

    word: str
    start: int
    end: int


def content_tokens(text: str) -> list[Token]:
    """Return the numbers and content words of a text, in order."""
    matches = ((match[0].lower(), match.start(), match.end()) for match in _TOKEN.finditer(text))
    return [Token(_stem(word), start, end) for word, start, end in matches if word not in _FUNCTION_WORDS]


def is_supported(proposition: str, source: set[str]) -> bool:
    """Tell whether a proposition says only what its source says.

    Args:
        proposition: The text.
        source: Words of passage, title and section, as `content_tokens` gives them.
    """
    tokens = content_tokens(proposition)
    known = 0
    for token in tokens:
        if token.word in source:
            known += 1
        elif any(map(str.isdigit, token.word)) or proposition[token.start].isupper():
            return False
    return known >= _SUPPORT * len(tokens)


class Source(NamedTuple):
    """A sentence of a passage.

    Attributes:
        sentence: The sentence.
        tokens: Its content words as a reader sees them, by where they stand in its text.
        readings: Its text on one line as it stands and, if that differs, as a reader sees it, each with the position of every
            character in the document.
    """

    sentence: Unit
    tokens: list[Token]
    readings: list[tuple[str, Sequence[int]]]


def read_source(sentence: Unit) -> Source:
    """Read a sentence for `align`."""
    seen, offsets, _ = visible(sentence.text)
    tokens = [Token(word, offsets[start], offsets[end - 1] + 1) for word, start, end in content_tokens(seen)]
    readings = [_one_line(sentence.text, range(len(sentence.text)), sentence.start)]
    if seen != sentence.text and seen.strip():
        line, places = _one_line(seen, offsets, sentence.start)
        if len(places) > 1:  # marks around the sentence go with its first and last word
            places = [sentence.start, *places[1:-1], sentence.end - 1]
        readings.append((line, places))
    return Source(sentence, tokens, readings)


def source_words(passage: Unit) -> set[str]:
    """Return all words that may support a proposition of this passage."""
    return {token.word for token in content_tokens(passage.text)} | context_words(passage)


def context_words(passage: Unit) -> set[str]:
    """Return the words of title and section, with which propositions are made to stand alone."""
    return {token.word for text in (passage.title, passage.section) for token in content_tokens(text)}


def align(proposition: str, sources: Sequence[Source], context: Collection[str] = ()) -> tuple[int, int, int]:
    """Find the source of a proposition: where it stands, else the sentence that shares most of its rarer words.

    What stands in the passage as it is, first letter, final stop, white space and Markdown's marks aside, gets exactly that
    span: in the sentence of which it is the largest part. Else, a name that the proposition starts with and the words of
    `context` count little: where the sentence has a pronoun, the propositionizer took them from somewhere else.

    Args:
        proposition: The text, without white space at its ends.
        sources: The sentences of its passage, at least one.
        context: Words of title and section, as `content_tokens` gives them.

    Returns:
        (index of the first sentence, start, end) in characters of the document. Where the proposition is in other words, the
        span is the shortest stretch of the sentence that holds the words shared. A proposition that shares no word with any
        sentence gets the whole passage, index -1.
    """
    if verbatim := _find_verbatim(proposition, sources):
        return verbatim
    proposition_tokens = content_tokens(proposition)
    words = [token.word for token in proposition_tokens]
    name = [token.word for token in takewhile(lambda token: proposition[token.start].isupper(), proposition_tokens)]
    weights = {word: _RESOLVED if word in name or word in context else 1.0 for word in words}
    spread = Counter(word for source in sources for word in {token.word for token in source.tokens})
    scores = []
    for source in sources:
        shared = {token.word for token in source.tokens}
        scores.append(sum(weight / spread[word] for word, weight in weights.items() if word in shared))
    if not any(scores):
        return -1, sources[0].sentence.start, sources[-1].sentence.end
    every = set(proposition.lower().split())
    tied = [index for index, score in enumerate(scores) if score == max(scores)]
    best = max(tied, key=lambda index: len(every.intersection(sources[index].sentence.text.lower().split())))
    sentence, tokens, _ = sources[best]
    shared = {token.word for token in tokens}.intersection(words)
    distinctive = shared.intersection(words[len(name) :]).difference(context)
    if distinctive and shared.issuperset(name):
        distinctive = distinctive.union(name)
    start, end = _shortest_window(tokens, distinctive or shared)
    # At either end of the sentence the function words and the full stop belong to it as well.
    start = sentence.start if start == tokens[0].start else sentence.start + start
    end = sentence.end if end == tokens[-1].end else sentence.start + end
    return best, start, end


def _find_verbatim(proposition: str, sources: Sequence[Source]) -> tuple[int, int, int] | None:
    """Return the sentence and the span where a proposition stands, None if it stands nowhere."""
    lowered = proposition[:1].lower() + proposition[1:]
    variants = dict.fromkeys([proposition, proposition.rstrip("."), lowered, lowered.rstrip(".")])
    for text in filter(None, variants):
        for reading in (0, 1):
            places = []
            for index, source in enumerate(sources):
                for line, at in source.readings[reading : reading + 1]:
                    if (begin := _find_words(text, line)) >= 0:
                        places.append((len(line), index, at[begin], at[begin + len(text) - 1] + 1))
            if places:
                return min(places, key=lambda entry: entry[0])[1:]
        if text is proposition and len(sources) > 1 and (across := _find_across(text, sources)):
            return across
    return None


def _find_across(proposition: str, sources: Sequence[Source]) -> tuple[int, int, int] | None:
    """Return the first sentence and the span of a proposition that stands in several sentences in a row."""
    for reading in (0, -1):
        line = ""
        at: list[int] = []
        for before, source in zip([None, *sources], sources, strict=False):
            if before and before.sentence.end < source.sentence.start:
                line += " "
                at.append(before.sentence.end)
            text, places = source.readings[reading]
            line += text
            at.extend(places)
        if (begin := _find_words(proposition, line)) >= 0:
            start, end = at[begin], at[begin + len(proposition) - 1] + 1
            return next(index for index, source in enumerate(sources) if start < source.sentence.end), start, end
    return None


def _find_words(text: str, line: str) -> int:
    """Return where a text stands in a line, as whole words if it does so anywhere; -1 if it does not."""
    first = begin = line.find(text)
    while begin >= 0:
        end = begin + len(text)
        if not (line[begin - 1 : begin].isalnum() and text[0].isalnum()) and not (
            line[end : end + 1].isalnum() and text[-1].isalnum()
        ):
            return begin
        begin = line.find(text, begin + 1)
    return first


def _one_line(text: str, offsets: Sequence[int], shift: int) -> tuple[str, Sequence[int]]:
    """Return a text on one line, and where in the document each of its characters stands."""
    if " ".join(text.split()) == text:
        return text, [shift + offset for offset in offsets]
    positions = [
        at for at, character in enumerate(text) if not character.isspace() or (at and not text[at - 1].isspace())
    ]
    while positions and text[positions[-1]].isspace():
        positions.pop()
    line = "".join(" " if text[at].isspace() else text[at] for at in positions)
    return line, [shift + offsets[at] for at in positions]


def uncovered(sources: Sequence[Source], propositions: Sequence[str]) -> list[int]:
    """Return the indices of sentences of whose content words less than half stand in any proposition.

    A sentence of function words only ("So be it.") is covered by a proposition that holds it as it stands.
    """
    covering = {token.word for text in propositions for token in content_tokens(text)}
    missed = []
    for index, source in enumerate(sources):
        words = {token.word for token in source.tokens}
        if words:
            covered = len(words & covering) >= _COVERED * len(words)
        else:
            bare = source.sentence.text.strip(_PUNCTUATION).casefold()
            covered = any(bare in text.casefold() for text in propositions)
        if not covered:
            missed.append(index)
    return missed


def _shortest_window(tokens: Sequence[Token], words: Collection[str]) -> tuple[int, int]:
    """Return the span of the shortest run of tokens that holds all the words, in any order; they stand in the tokens."""
    hits = [token for token in tokens if token.word in words]
    counts: Counter[str] = Counter()
    first = 0
    runs = []
    for token in hits:
        counts[token.word] += 1
        while counts[hits[first].word] > 1:
            counts[hits[first].word] -= 1
            first += 1
        if len(counts) == len(words):
            runs.append((token.end - hits[first].start, hits[first].start, token.end))
    return min(runs)[1:]


@lru_cache(65_536)
def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
