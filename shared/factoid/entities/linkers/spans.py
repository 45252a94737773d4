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
_JOINED = "[\u00ad\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff\u200b-\u200f\u2060]"
_WORD = re.compile(rf"{UNSPACED.pattern}|{_LETTER}(?:{_LETTER}|{_JOINED})*|[^\w\s]")
_MOST_WORDS, _MOST_MARKS = 12, 24  # of a name; most words and marks together
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
    """The words and marks of a text, and whether their capitals show names."""

    def __init__(self, text: str) -> None:
        self.text, self.words = text, list(_read(text))
        words = [word for word in self.words if word.is_word]
        inside = any(word.capital and not word.initial for word in words)
        self.telling = inside and not all(word.capital for word in words)

    def extent(self, span: Span) -> tuple[int, int]:
        """Return where a span [start, end) stands in the text."""
        return self.words[span.first].start, self.words[span.last].end

    def spans(self, *, lower_case: bool) -> Iterator[Span]:
        """Yield what may be a name.

        It has a word that is no stop word, and unless names need no capital, a capital; or two
        words without one, if an article is written so or no word of the text has a capital. Stop
        words alone are a name if they have capitals inside a sentence.
        """
        words, telling = self.words, self.telling
        last_word = max((at for at, word in enumerate(words) if word.is_word), default=0)
        for first, start in enumerate(words):
            if not (start.is_word or start.spaced):
                continue
            count = content = spaces = 0  # words, those that are no stop words, and white space
            capital = inner = function = common = letters = plain = False
            for last in range(first, min(len(words), first + _MOST_MARKS)):
                word = words[last]
                spaces += word.spaced
                if spaces > _MOST_WORDS or (last > first and word.paragraph):
                    break
                if word.is_word:
                    count += 1
                    content += not word.stop
                    capital |= word.capital and not word.stop
                    inner |= (
                        word.capital
                        and not word.initial
                        and word.key not in ARTICLES
                        and word.key != "i"
                    )
                    function |= word.key in _LITTLE_WORDS and not word.capital
                    common |= word.key not in _LITTLE_WORDS
                    # or a code: "4711"
                    letters |= not word.key.isdigit() or (lower_case and len(word.key) > 2)
                    plain = count == 1 and word.key in PLAIN_WORDS and not word.capital
                elif not count or word.spaced or self.text[word.start] in _NO_END:
                    continue
                form = clean_name(self.text[start.start : word.end])
                whole = first == 0 and last >= last_word
                exact = weak = False
                if start.stop and start.initial and start.key not in ARTICLES and not whole:
                    if not telling and start.key in QUESTION_WORDS:
                        continue
                    exact = telling  # "Who Framed Roger Rabbit", but not "Who is married"
                elif (
                    start.key in FUNCTION_WORDS
                    and not start.capital
                    and capital
                    and telling
                    and not lower_case
                ):
                    break  # "in Paris" is not the song
                if not content:
                    if len(form.rstrip(".")) == 1 and not whole:
                        continue  # the "C." of a name
                    if inner and telling:
                        exact, weak = True, count == 1 and not form.isupper()  # "It", but not "US"
                    elif "&" in form or (lower_case and common):  # "at&t"
                        weak = count == 1 or not lower_case
                    elif not whole:
                        continue
                elif plain or not letters:
                    weak = True
                elif not capital and not lower_case:
                    if content > 1:
                        exact = exact or telling
                    elif start.asked or (telling and not inner):
                        continue
                    else:
                        exact, weak = exact or inner, not inner
                yield Span(first, last, form, inner, function, exact, weak)

    def around(self, span: Span, limit: int) -> dict[str, int]:
        """Return the words up to `limit` words away from a span, in the singular, with their distances."""
        around: dict[str, int] = {}
        for at in range(max(0, span.first - limit), min(len(self.words), span.last + 1 + limit)):
            word = self.words[at]
            if at not in span.places and not (word.stop or word.asked):
                key = singular(word.key)
                around[key] = min(around.get(key, limit), max(span.first - at, at - span.last))
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
        sides = [
            at for at in (span.first - 1, after) if 0 <= at < len(self.words) and at not in used
        ]
        words = [self.words[at] for at in sides]
        return any(
            w.is_word and w.capital and w.key not in ARTICLES and not (w.stop and w.initial)
            for w in words
        )


def longest(spans: Iterable[Span], used: Set[int] = frozenset()) -> list[Span]:
    """Return the longest spans that overlap neither each other nor the used words."""
    chosen, used = [], set(used)
    for span in sorted(
        spans, key=lambda span: (span.first - span.last, -len(span.form), span.first)
    ):
        if used.isdisjoint(span.places):
            used.update(span.places)
            chosen.append(span)
    return chosen


def singular(word: str) -> str:
    """Return a word without the "s" of an English plural."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _read(text: str) -> Iterator[Word]:
    initial, asked, before = True, False, 0
    for match in _WORD.finditer(text):
        form, gap, after = (
            match[0],
            text[before : match.start()],
            text[match.end() : match.end() + 1],
        )
        paragraph = gap.count("\n") > 1
        initial = initial or paragraph
        key, is_word = name_key(form), form[0].isalnum()
        capital = form != form.lower() or (
            form == form.upper() and is_word and not any(map(str.isdigit, form))
        )
        stop = key in STOP_WORDS and not (capital and not initial and key in NAMES_IN_CAPITALS)
        stop = stop or (len(key) == 1 and key.isalpha() and after == ".")  # the "C." of a name
        yield Word(
            *match.span(),
            key,
            is_word,
            bool(gap) or not before,
            capital,
            stop,
            initial,
            asked,
            paragraph,
        )
        initial = (form in ".!?…:;。" and not after.isalnum()) or (initial and not is_word)
        asked = key in DETERMINERS_OF_QUESTIONS
        before = match.end()
