"""Where a proposition comes from, and whether its passage supports it.

Both compare words: lower-cased, stripped of common endings, function words left out. A number must be in the source; so
must a name (any capitalised word: one at the start may be the subject); of the other content words two thirds must be,
since a propositionizer may add a verb such as "located" or a noun such as "hypothesis".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import NamedTuple

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
    found = []
    for match in _TOKEN.finditer(text):
        word = match[0].lower()
        if word not in _FUNCTION_WORDS:
            found.append(Token(_stem(word), match.start(), match.end()))
    return found


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
    """A sentence of a passage and its words."""

    sentence: Unit
    tokens: list[Token]


def source_words(passage: Unit) -> set[str]:
    """Return all words that may support a proposition of this passage."""
    return {token.word for token in content_tokens(passage.text)} | context_words(passage)


def context_words(passage: Unit) -> set[str]:
    """Return the words of title and section, with which propositions are made to stand alone."""
    return {token.word for text in (passage.title, passage.section) for token in content_tokens(text)}


def align(proposition: str, sources: Sequence[Source], context: Collection[str] = ()) -> tuple[int, int, int]:
    """Find the source of a proposition: the sentence that shares most of its rarer words.

    A name that the proposition starts with and the words of `context` count little: where the sentence has a pronoun,
    the propositionizer took them from somewhere else.

    Args:
        proposition: The text.
        sources: The sentences of its passage, at least one.
        context: Words of title and section, as `content_tokens` gives them.

    Returns:
        (index of the sentence, start, end): the shortest stretch of that sentence that holds the words shared, in
        characters of the document. A proposition that shares no word with any sentence gets the whole passage, index -1.
    """
    found = content_tokens(proposition)
    words = [token.word for token in found]
    name = [token.word for token in takewhile(lambda token: proposition[token.start].isupper(), found)]
    weights = {word: _RESOLVED if word in name or word in context else 1.0 for word in words}
    spread = Counter(word for source in sources for word in {token.word for token in source.tokens})
    best, best_score = -1, 0.0
    for index, source in enumerate(sources):
        shared = {token.word for token in source.tokens}
        score = sum(weight / spread[word] for word, weight in weights.items() if word in shared)
        if score > best_score:
            best, best_score = index, score
    if best < 0:
        return -1, sources[0].sentence.start, sources[-1].sentence.end
    sentence, tokens = sources[best]
    shared = {token.word for token in tokens}.intersection(words)
    own = shared.intersection(words[len(name) :]).difference(context)
    start, end = _shortest_window(tokens, own.union(name) if own and shared.issuperset(name) else own or shared)
    # At either end of the sentence the function words and the full stop belong to it as well.
    start = sentence.start if start == tokens[0].start else sentence.start + start
    end = sentence.end if end == tokens[-1].end else sentence.start + end
    return best, start, end


def uncovered(sources: Sequence[Source], propositions: Sequence[str]) -> list[int]:
    """Return the indices of sentences of whose content words less than half stand in any proposition.

    A sentence of function words only ("So be it.") is covered by a proposition that holds it as it stands.
    """
    said = {token.word for text in propositions for token in content_tokens(text)}
    missed = []
    for index, source in enumerate(sources):
        words = {token.word for token in source.tokens}
        if words:
            covered = len(words & said) >= _COVERED * len(words)
        else:
            bare = source.sentence.text.strip(_PUNCTUATION).casefold()
            covered = any(bare in text.casefold() for text in propositions)
        if not covered:
            missed.append(index)
    return missed


def _shortest_window(tokens: Sequence[Token], words: Collection[str]) -> tuple[int, int]:
    """Return the span of the shortest run of tokens that holds all the words, in any order; they stand in the tokens."""
    wanted = [token for token in tokens if token.word in words]
    held: Counter[str] = Counter()
    first = 0
    runs = []
    for token in wanted:
        held[token.word] += 1
        while held[wanted[first].word] > 1:
            held[wanted[first].word] -= 1
            first += 1
        if len(held) == len(words):
            runs.append((token.end - wanted[first].start, wanted[first].start, token.end))
    return min(runs)[1:]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
