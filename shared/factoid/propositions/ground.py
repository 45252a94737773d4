"""Find where a proposition comes from, and whether its passage supports it.

Both compare words: case-folded, without characters that nobody sees or common endings, function
words left out. A number must be in the source, and so must a name (any capitalised word: one at the
start may be the subject). Of the other content words two thirds must be, since a propositionizer
may add a verb such as "located" or a noun such as "hypothesis".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from factoid.split import sentences_in
from factoid.text.reading import Sentence
from factoid.units import Unit
from factoid.words import fold, without_invisible

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+|\d*[^\W_]+")
_FUNCTION_WORDS = frozenset(
    "a an the this that these those there here it its he him his she her hers they them their "
    "theirs we us our i me my you your who whom whose which what when where while as if than then "
    "so and or but nor yet for of in on at by to from with into onto about over under after "
    "before during between through against among within without upon per via also is are was were "
    "be been being am has have had having do does did done can could will would shall should may "
    "might "
    "must not no s t re ve ll d called named known one both each such".split()
)
_ENDINGS = (
    "ations",
    "ation",
    "ing",
    "ies",
    "ied",
    "ers",
    "ed",
    "er",
    "es",
    "ly",
    "al",
    "s",
    "e",
    "y",
)
# The characters of a text on one line: only the first white space between words.
_ON_ONE_LINE = re.compile(r"\S|(?<=\S)\s(?=\s*+\S)")
_PUNCTUATION = " .,;:!?…\"'“”‘’«»()[]{}*_-–—。！？"
_SENTENCE_ENDS = (".", ".!?…")  # a clause may have that of its sentence
_SUPPORT = 2 / 3
_RESOLVED = 1 / 4
_SUBJECT = 0.9  # of the weight of a subject's words, for a sentence that has a pronoun in its place
_PRONOUN = re.compile(
    r"\b(?:he|him|his|she|her|hers|it|its|they|them|their|theirs|this|these|that|those)\b",
    re.IGNORECASE,
)
_COVERED = 1 / 2

Token = tuple[str, int, int]  # a word in the form that is compared, and its span in its text


@lru_cache(4096)
def content_tokens(text: str) -> tuple[Token, ...]:
    """Return the numbers and content words of a text, in order."""
    seen, places = without_invisible(text)
    tokens = []
    for match in _TOKEN.finditer(seen):
        word = fold(match[0])
        if word not in _FUNCTION_WORDS:
            start, end = match.span()
            tokens.append((stem(word), places[start], places[end - 1] + 1))
    return tuple(tokens)


@lru_cache(4096)
def content_words(text: str) -> frozenset[str]:
    """Return the words of `content_tokens`."""
    return frozenset([word for word, _, _ in content_tokens(text)])


def is_supported(proposition: str, known: Collection[str]) -> bool:
    """Return whether a proposition says only what its source says.

    `known` are the source's `content_words`.
    """
    tokens = content_tokens(proposition)
    unknown = [token for token in tokens if token[0] not in known]
    for word, start, _ in unknown:
        if proposition[start].isupper() or any(map(str.isdigit, word)):
            return False
    return len(tokens) - len(unknown) >= _SUPPORT * len(tokens)


class Read(NamedTuple):
    """A sentence of a passage in the form that propositions are compared with."""

    sentence: Sentence
    tokens: list[Token]  # content words as a reader sees them, by their places in the document
    words: frozenset[str]  # of the tokens
    has_pronoun: bool
    # Its text on one line, unchanged and, if that differs, as a reader sees it, each with the
    # position of every character in the document.
    readings: list[tuple[str, Sequence[int]]]

    @property
    def text(self) -> str:
        """The text that a reader sees, on one line if it is no code."""
        return self.sentence.text


class Source:
    """A passage that propositions are compared with."""

    def __init__(self, passage: Unit) -> None:
        self.sentences = [_read(sentence, passage) for sentence in sentences_in(passage)]
        self.context = content_words(passage.title) | content_words(passage.section)
        # Words that may support a proposition, in the source and as a reader sees them ("10³").
        self.known = content_words(passage.text).union(
            self.context, *(sentence.words for sentence in self.sentences)
        )
        for read in self.sentences:  # what it goes on from may stand in the passage before
            block = read.sentence.block
            beside = [lead.text for lead in block.leads] + list(block.names)
            self.known = self.known.union(*map(content_words, beside))
        self._span = passage.start, passage.end
        if self.sentences:
            self._span = self.sentences[0].sentence.start, self.sentences[-1].sentence.end
        self._spread = Counter(chain.from_iterable([sentence.words for sentence in self.sentences]))

    def align(self, proposition: str) -> tuple[int, int, int]:
        """Find where a proposition comes from.

        Its literal place, else the sentence that shares most of its rarer words. A proposition that
        is literally in the passage, ignoring first letter, final stop, white space and Markdown's
        marks, gets exactly that span, in the sentence of which it is the largest part. Otherwise, a
        name at its start and the words of title and section count little, and a sentence with a
        pronoun need not have the first words: the propositionizer took them from elsewhere.

        Returns:
            (index of the first sentence, start, end) in characters of the document. For a
            proposition in other words, the span is the shortest part of the sentence that holds the
            shared words. A proposition that shares no word with any sentence gets the whole
            passage, index -1.
        """
        if verbatim := self._find_verbatim(proposition):
            return verbatim
        tokens = content_tokens(proposition)
        words = [word for word, _, _ in tokens]
        name = []
        for word, place, _ in tokens:
            if not proposition[place].isupper():
                break
            name.append(word)
        resolved = self.context.union(name)
        spread = self._spread
        weights: dict[str, float] = {}
        for word in words:
            if word in spread:
                weights[word] = 1 / spread[word]
                if word in resolved:
                    weights[word] = _RESOLVED / spread[word]
        if not weights:
            return -1, *self._span
        shares = []
        before: set[str] = set()  # the words of the sentences before
        for sentence in self.sentences:
            share = sum(weight for word, weight in weights.items() if word in sentence.words)
            if share and sentence.has_pronoun:
                # "It is old" is where "The pump is old" comes from, not "The pump is red".
                subject = _missing_subject(words, sentence.words, before)
                share += _SUBJECT * sum(weights[word] for word in subject)
            shares.append(share)
            before |= sentence.words
        best = shares.index(max(shares))
        sentence = self.sentences[best]
        shared = sentence.words.intersection(words)
        distinctive = shared.intersection(words[len(name) :]).difference(self.context)
        if distinctive and shared.issuperset(name):
            distinctive = distinctive.union(name)
        start, end = _shortest_window(sentence.tokens, distinctive or shared)
        # At either end of the sentence the function words and the full stop also belong to it.
        if start == sentence.tokens[0][1]:
            start = sentence.sentence.start
        if end == sentence.tokens[-1][2]:
            end = sentence.sentence.end
        return best, start, end

    def uncovered(self, propositions: Sequence[str]) -> list[int]:
        """Return the indices of sentences that propositions hardly cover.

        Less than half of their content words are in any. A sentence of function words only ("So be
        it.") is covered by a proposition that holds it literally.
        """
        words: set[str] = set().union(*map(content_words, propositions))
        text = " ".join(propositions).casefold()
        indices = []
        for index, sentence in enumerate(self.sentences):
            if len(sentence.words & words) < _COVERED * len(sentence.words) or not (
                sentence.words or sentence.text.strip(_PUNCTUATION).casefold() in text
            ):
                indices.append(index)
        return indices

    def _find_verbatim(self, proposition: str) -> tuple[int, int, int] | None:
        """Return the sentence and the span where a proposition literally is, or None."""
        lowered = proposition[:1].lower() + proposition[1:]
        variants: dict[str, None] = {}
        for text in (proposition, lowered):
            for ends in ("", *_SENTENCE_ENDS):
                variants[text.rstrip(ends)] = None
        for text in filter(None, variants):
            for reading in (0, 1):
                places = []
                for index, sentence in enumerate(self.sentences):
                    for line, at in sentence.readings[reading : reading + 1]:
                        if text in line:
                            places.append(
                                (
                                    len(line),
                                    index,
                                    at[line.index(text)],
                                    at[line.index(text) + len(text) - 1] + 1,
                                )
                            )
                if places:
                    return min(places)[1:]
        return None


def _read(sentence: Sentence, passage: Unit) -> Read:
    seen = sentence.visible.text
    offsets = sentence.visible.offsets
    tokens = []
    for word, start, end in content_tokens(seen):
        tokens.append((word, offsets[start], offsets[end - 1] + 1))
    source = passage.text[sentence.start - passage.start : sentence.end - passage.start]
    readings = [_one_line(source, range(sentence.start, sentence.end))]
    if seen != source:
        line, places = _one_line(seen, offsets)
        if len(places) > 1:  # marks around the sentence go with its first and last word
            places = [sentence.start, *places[1:-1], sentence.end - 1]
        readings.append((line, places))
    has_pronoun = _PRONOUN.search(seen) is not None
    return Read(sentence, tokens, content_words(seen), has_pronoun, readings)


def _missing_subject(
    words: Sequence[str], sentence: Collection[str], before: Collection[str]
) -> set[str]:
    """Return the first words of a proposition if only sentences before one have them."""
    subject = set()
    for word in words:
        if word in sentence or word not in before:
            break
        subject.add(word)
    return subject


def _one_line(text: str, places: Sequence[int]) -> tuple[str, Sequence[int]]:
    if " ".join(text.split()) == text:
        return text, places
    positions = [match.start() for match in _ON_ONE_LINE.finditer(text)]
    characters = []
    for position in positions:
        character = text[position]
        if character.isspace():
            character = " "
        characters.append(character)
    return "".join(characters), [places[position] for position in positions]


def _shortest_window(tokens: Iterable[Token], words: Collection[str]) -> tuple[int, int]:
    """Return the span of the shortest run of tokens that holds all the words, in any order.

    The tokens contain them all.
    """
    hits = [token for token in tokens if token[0] in words]
    runs = []
    inside: Counter[str] = Counter()  # the words of the run
    first = 0
    for word, _, end in hits:
        inside[word] += 1
        while inside[hits[first][0]] > 1:  # the run needs no word at its start that it has again
            inside[hits[first][0]] -= 1
            first += 1
        if len(inside) == len(words):
            start = hits[first][1]
            runs.append((end - start, start, end))
    return min(runs)[1:]


@lru_cache(65_536)
def stem(word: str) -> str:
    """Return a word in lower case without a common English ending."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
