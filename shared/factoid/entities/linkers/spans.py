"""Spans of a text that may be a name.

Its words, what their capitals say, and the choice among overlapping spans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from factoid.entities.articles.article import Name
from factoid.entities.articles.names import clean_name, name_key
from factoid.entities.linkers.stop_words import (
    ARTICLES,
    DETERMINERS_OF_QUESTIONS,
    FUNCTION_WORDS,
    NAMES_IN_CAPITALS,
    PLAIN_WORDS,
    QUESTION_WORDS,
    STOP_WORDS,
)
from factoid.entities.mention import Match
from factoid.words import UNSPACED

_LETTER = rf"(?!{UNSPACED.pattern})[^\W_]"
# Accents, vowel signs and points of several scripts, and characters without width.
_JOINED = (
    "[\u00ad\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963"
    "\u0966-\u0dff\u200b-\u200f\u2060]"
)
_WORD = re.compile(rf"{UNSPACED.pattern}|{_LETTER}(?:{_LETTER}|{_JOINED})*|[^\w\s]")
_MOST_WORDS = 12  # of a name
_FEWEST_IN_CAPITALS = 3  # words of a sentence: "NASA ESA" are two acronyms
_MOST_MARKS = 24  # of a name, with its words
_NO_END = frozenset(",;:([{“‘«„¿¡<-–/&@")  # marks that do not end a name
_LEADING_ON = frozenset("of the du de del von van der".split())
_LITTLE_WORDS = FUNCTION_WORDS | ARTICLES


class Word(NamedTuple):
    """A word of a text, a character of a script without spaces, or a mark."""

    start: int
    end: int  # of the span [start, end) in the text
    key: str
    is_word: bool  # not a mark
    spaced: bool  # follows white space
    capital: bool  # has a capital letter, or is of a script without capitals
    stop: bool  # is no name on its own
    initial: bool  # begins a sentence
    asked: bool  # says what the answer is: "country" in "Which country"
    paragraph: bool  # follows an empty line


@dataclass(slots=True)
class Span:
    """Words that may be a name, and the names that they are."""

    first: int
    last: int  # word
    form: str
    inner: bool  # has a capital inside a sentence
    function: bool  # has a function word in lower case
    exact: bool  # the name must have the same capitals
    weak: bool  # a mention only if nothing else in the text is one
    is_written: bool = False  # the names are written exactly so
    is_common: bool = False  # the text rather uses it as a common noun
    names: Sequence[Name] = ()
    match: Match = Match.NAME

    @property
    def places(self) -> range:
        """The numbers of its words."""
        return range(self.first, self.last + 1)


class Words:
    """The words and marks of a text, and whether their capitals show names.

    Attributes:
        uncased: The text, in lower case if it is a sentence all in capitals.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = list(_read(text))
        words = []
        for word in self.words:
            if word.is_word:
                words.append(word)
        # In capitals alone, case says nothing.
        self.uncased = text
        if text.isupper() and len(words) >= _FEWEST_IN_CAPITALS and len(text.lower()) == len(text):
            self.uncased = text.lower()
        has_inner_capital = any(word.capital and not word.initial for word in words)
        self.telling = has_inner_capital and not all(word.capital for word in words)

    def extent(self, span: Span) -> tuple[int, int]:
        """Return where a span [start, end) stands in the text."""
        return self.words[span.first].start, self.words[span.last].end

    def spans(self, *, lower_case: bool) -> Iterator[Span]:
        """Yield what may be a name.

        It has a word that is no stop word, and unless names need no capital, a capital; or two
        words without one, if an article is written so or no word of the text has a capital. Stop
        words alone are a name if they have capitals inside a sentence.
        """
        last_word = 0
        for number, word in enumerate(self.words):
            if word.is_word:
                last_word = number
        for first, start in enumerate(self.words):
            if start.is_word or start.spaced:
                yield from self._spans_from(first, last_word, lower_case=lower_case)

    def _spans_from(self, first: int, last_word: int, *, lower_case: bool) -> Iterator[Span]:
        """Yield the spans that begin with a word."""
        start = self.words[first]
        traits = _Traits()
        spaces = 0
        for last in range(first, min(len(self.words), first + _MOST_MARKS)):
            word = self.words[last]
            spaces += word.spaced
            if spaces > _MOST_WORDS or (last > first and word.paragraph):
                return
            if word.is_word:
                traits.add(word, lower_case=lower_case)
            elif not traits.count or word.spaced or self.text[word.start] in _NO_END:
                continue
            is_whole = first == 0 and last >= last_word
            if not is_whole and self._is_question_word(start):
                # "Who Framed Roger Rabbit", but not "Who is married"
                if not self.telling and start.key in QUESTION_WORDS:
                    continue
                is_exact = self.telling
            elif traits.capital and self._leads_to_a_name(start, lower_case=lower_case):
                return  # "in Paris" is not the song
            else:
                is_exact = False
            form = clean_name(self.text[start.start : word.end])
            span = Span(first, last, form, traits.inner, traits.function, is_exact, False)
            if self._may_be_a_name(span, traits, is_whole=is_whole, lower_case=lower_case):
                yield span

    def _is_question_word(self, word: Word) -> bool:
        """Return whether a word is a stop word that begins a sentence, and no article."""
        return word.stop and word.initial and word.key not in ARTICLES

    def _leads_to_a_name(self, word: Word, *, lower_case: bool) -> bool:
        """Return whether a word is a function word that stands before names, where these differ."""
        if lower_case or not self.telling:
            return False
        return word.key in FUNCTION_WORDS and not word.capital

    def _may_be_a_name(
        self, span: Span, traits: _Traits, *, is_whole: bool, lower_case: bool
    ) -> bool:
        """Return whether a span may be a name, and mark it as exact or weak."""
        if not traits.content:
            return self._may_be_stop_words(span, traits, is_whole=is_whole, lower_case=lower_case)
        if traits.plain or not traits.letters:
            span.weak = True
        elif not traits.capital and not lower_case:
            if traits.content > 1:
                span.exact = span.exact or self.telling
            elif self.words[span.first].asked or (self.telling and not traits.inner):
                return False
            else:
                span.exact = span.exact or traits.inner
                span.weak = not traits.inner
        return True

    def _may_be_stop_words(
        self, span: Span, traits: _Traits, *, is_whole: bool, lower_case: bool
    ) -> bool:
        """Return whether a span of stop words alone may be a name, and mark it."""
        if len(span.form.rstrip(".")) == 1 and not is_whole:
            return False  # the "C." of a name
        if traits.inner and self.telling:
            span.exact = True
            span.weak = traits.count == 1 and not span.form.isupper()  # "It", but not "US"
            return True
        if "&" in span.form or (lower_case and traits.common):  # "at&t"
            span.weak = traits.count == 1 or not lower_case
            return True
        return is_whole

    def around(self, span: Span, limit: int) -> dict[str, int]:
        """Return the words up to `limit` words away from a span, with their distances.

        The words are in the singular.
        """
        around: dict[str, int] = {}
        first = max(0, span.first - limit)
        end = min(len(self.words), span.last + 1 + limit)
        for number in range(first, end):
            word = self.words[number]
            if number in span.places or word.stop or word.asked:
                continue
            key = singular(word.key)
            distance = max(span.first - number, number - span.last)
            around[key] = min(around.get(key, limit), distance)
        return around

    def is_beside_a_name(self, span: Span, used: Set[int]) -> bool:
        """Tell whether a capitalized word stands beside a span that is not among the used ones.

        "Jack" in "Mary Jack".
        """
        if not self.telling:
            return False
        after = span.last + 1
        while after < len(self.words) and self.words[after].key in _LEADING_ON:
            after += 1  # "Battle of Salamis"
        for number in (span.first - 1, after):
            if number in used or not 0 <= number < len(self.words):
                continue
            word = self.words[number]
            is_stop = word.key in ARTICLES or (word.stop and word.initial)
            if word.is_word and word.capital and not is_stop:
                return True
        return False


@dataclass(slots=True)
class _Traits:
    """The facts about the words of a span that have been looked up so far."""

    count: int = 0  # words
    content: int = 0  # those that are no stop words
    capital: bool = False  # one of those has a capital
    inner: bool = False  # a word has a capital inside a sentence
    function: bool = False  # one is a function word in lower case
    common: bool = False  # one is no function word
    letters: bool = False  # one is not a number
    plain: bool = False  # there is one word, and it is a plain one

    def add(self, word: Word, *, lower_case: bool) -> None:
        """Take in one more word."""
        is_little = word.key in _LITTLE_WORDS
        self.count += 1
        if not word.stop:
            self.content += 1
            self.capital |= word.capital
        if word.capital and not word.initial and word.key not in ARTICLES and word.key != "i":
            self.inner = True
        self.function |= is_little and not word.capital
        self.common |= not is_little
        is_code = lower_case and len(word.key) > 2  # "4711"
        self.letters |= is_code or not word.key.isdigit()
        self.plain = self.count == 1 and word.key in PLAIN_WORDS and not word.capital


def longest(spans: Iterable[Span], used: Set[int] = frozenset()) -> list[Span]:
    """Return the longest spans that overlap neither each other nor the used words."""

    def by_length(span: Span) -> tuple[int, int, int]:
        return span.first - span.last, -len(span.form), span.first

    chosen = []
    taken = set(used)
    for span in sorted(spans, key=by_length):
        if taken.isdisjoint(span.places):
            taken.update(span.places)
            chosen.append(span)
    return chosen


def singular(word: str) -> str:
    """Return a word without the "s" of an English plural."""
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _read(text: str) -> Iterator[Word]:
    """Yield the words and marks of a text."""
    is_initial = True
    is_asked = False
    before = 0
    for match in _WORD.finditer(text):
        form = match[0]
        gap = text[before : match.start()]
        after = text[match.end() : match.end() + 1]
        begins_paragraph = gap.count("\n") > 1
        is_initial = is_initial or begins_paragraph
        key = name_key(form)
        is_word = form[0].isalnum()
        has_capital = form != form.lower()
        if form == form.upper() and is_word and not any(map(str.isdigit, form)):
            has_capital = True
        is_stop = key in STOP_WORDS
        if has_capital and not is_initial and key in NAMES_IN_CAPITALS:
            is_stop = False
        if len(key) == 1 and key.isalpha() and after == ".":
            is_stop = True  # the "C." of a name
        yield Word(
            start=match.start(),
            end=match.end(),
            key=key,
            is_word=is_word,
            spaced=bool(gap) or not before,
            capital=has_capital,
            stop=is_stop,
            initial=is_initial,
            asked=is_asked,
            paragraph=begins_paragraph,
        )
        ends_sentence = form in ".!?…:;。" and not after.isalnum()
        is_initial = ends_sentence or (is_initial and not is_word)
        is_asked = key in DETERMINERS_OF_QUESTIONS
        before = match.end()
