"""The stretches of a text that may be a name, before it is known which of them are."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from factoid.entities.linkers.casing import Casing, Word
from factoid.entities.linkers.stop_words import ARTICLES, COMMON_WORDS, FUNCTION_WORDS, QUESTION_WORDS
from factoid.entities.linkers.tokens import TokenKind, Tokens

_OPENING = frozenset("([{“‘«„¿¡<")
_NO_END = frozenset(",;:") | _OPENING
_APOSTROPHES = frozenset("'’ʼ`")
_NO_EVIDENCE = ARTICLES | {"i"}  # have capitals where they are no names
_INSIDE = frozenset("-‐‑–_/\\&@") | _APOSTROPHES  # before the rest of a word they end nothing
_TOKENS_PER_WORD = 4  # most, for names such as "S.H.I.E.L.D."
_SENTENCE_ENDS = frozenset("?.!")
_CODE = 3  # digits of a number that names something where names need no capital, as "4711" does
_CHARACTER = 0.5  # of a word: names in scripts without spaces are written in twice as many characters


class LowerCase(Enum):
    """Whether single words without a capital are mentions."""

    NEVER = "never"
    AUTO = "auto"  # in texts without any capital, where nothing else is found
    ALONE = "alone"  # in any text, but only where nothing else is found
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text that is a mention if a name is written so.

    Attributes:
        first, last: Its first and its last token.
        words: How long it is.
        exact: Whether the name must be written with the same capitals.
        weak: Whether it is a mention only if nothing else in the text is.
        title: Whether the name must be an article's title.
    """

    first: int
    last: int
    words: float
    exact: bool
    weak: bool
    title: bool = False


def find_spans(
    tokens: Tokens, words: list[Word], casing: Casing, *, most_words: int, lower_case: LowerCase
) -> Iterator[Span]:
    """Yield the spans of at most `most_words` words that may be a name, by what they are made of.

    * Words that name something, at least one of them with a capital, or two of them without.
    * A single word without a capital: by `lower_case`. A number, or a word with a digit and no capital: weak.
    * What begins with a function word inside the sentence ("first aid"): if all of it is in lower case, and a title is
      written exactly so.
    * Stop words only: weak, and several of them, one with a capital inside the sentence, if written exactly so.
    * Marks only, between spaces: weak.
    * The whole text: always, if weakly.

    With `LowerCase.ALWAYS` any word may begin a name of several words, one of which is no function word; words of every
    question ("state") are names by themselves, if weakly; and numbers are weak only where they have less than three
    digits and no letter.
    """
    count = len(words)
    whole = (_first_word(words), _last_word(words))
    for first in range(count):
        if not _can_begin(words, first, tokens.text) and first not in (0, whole[0]):
            continue
        seen = _Seen(
            casing, lower_case, words[first], asked=first > 0 and words[first - 1].token.key in ("what", "which")
        )
        for last in range(first, min(count, first + most_words * _TOKENS_PER_WORD)):
            word = words[last]
            if last > first and word.token.paragraph:
                break
            seen.add(word, last > first)
            if seen.length > most_words or (seen.lower_title and (seen.capital or seen.inner_capital)):
                break  # not "in Paris"
            if seen.lower_title and word.stop:
                continue
            if not seen.any_word and not _stands_alone(words, first, last):
                continue
            if _can_end(words, first, last, tokens.text):
                is_whole = first in (0, whole[0]) and last in (whole[1], count - 1)
                span = seen.judge(first, last, is_whole)
                if span is not None and (is_whole or not _is_lone_character(words, first, last)):
                    yield span


class _Seen:
    """What the words of a span tell, kept up to date while the span grows."""

    def __init__(self, casing: Casing, lower_case: LowerCase, first: Word, *, asked: bool) -> None:
        self.asked = asked  # "which country": what the answer is
        self.casing = casing
        self.lower_case = lower_case
        self.first = first
        # "first aid" inside a sentence whose capitals tell, where most words in lower case are no names.
        self.lower_title = (
            casing is not Casing.SILENT
            and lower_case is not LowerCase.ALWAYS
            and self._begins_inside()
            and not (first.capital or first.initial)
        )
        self.length = 0.0
        self.words = self.named = self.common = self.digits = 0
        self.any_word = self.capital = self.inner_capital = self.letters = self.spelled = self.acronym = False

    def add(self, word: Word, inside: bool) -> None:
        if not word.is_word:
            return
        if word.token.kind == TokenKind.CHARACTER:
            self.length += _CHARACTER
        elif word.token.spaced or not self.any_word or not inside:
            self.length += 1
        self.any_word = True
        self.words += 1
        self.inner_capital |= word.capital and not word.initial and word.token.key not in _NO_EVIDENCE
        self.acronym |= word.acronym
        self.common += word.stop and word.token.key in COMMON_WORDS
        if word.number:
            self.digits += sum(map(str.isdigit, word.token.key))
            self.spelled |= any(map(str.isalpha, word.token.key))
        else:
            self.spelled = True
        if not word.stop:
            self.named += 1
            self.capital |= word.capital
            self.letters |= not word.number

    def judge(self, first: int, last: int, whole: bool) -> Span | None:
        """Return the span of these words, or None if no name is written so."""
        telling = self.casing is not Casing.SILENT
        own = self.lower_case is LowerCase.ALWAYS
        exact, weak, title = self.acronym, False, False
        start = self.first
        if not self.words:
            return Span(first, last, 1, True, True)
        if not whole and start.is_word and start.stop and start.initial and start.token.key not in ARTICLES:
            if telling:
                exact = True  # "Who Framed Roger Rabbit", but not "Who is married"
            elif start.token.key in QUESTION_WORDS:
                return None
        if self.lower_title:
            exact = title = True
        if not self.named:
            shown = self.inner_capital and telling
            if own and self.common and not shown:
                lone = self.words == 1
                return None if lone and self.asked else Span(first, last, self.length, exact, lone)
            if not (shown or whole):
                return None
            weak, exact = self.words == 1 or not shown, exact or shown
        elif not self.letters:
            weak = not (self.inner_capital and self.words > 1) and not (own and (self.spelled or self.digits >= _CODE))
        elif not self.capital:
            several = self.words > 1
            if self.named == 1:
                if self.inner_capital and telling:
                    exact = True  # "In bloom"
                elif telling and not own and not whole and several and self._begins_inside():
                    exact = title = True  # "first aid"
                elif whole or (own and several) or self._is_lower_case_name():
                    weak = not own
                else:
                    return None
            else:
                exact = exact or (self.casing is Casing.TELLING and not own and not whole)
        elif self.named == 1 and self.casing is Casing.SILENT and start.cased:
            # All words have capitals, which then tell as little as none.
            if not (self._accepts_lower_case() or whole):
                return None
            weak = not own
        return Span(first, last, self.length, exact, weak, title)

    def _is_lower_case_name(self) -> bool:
        return self._accepts_lower_case() and not self.asked and not self._begins_inside()

    def _begins_inside(self) -> bool:
        """Whether a name of one word would begin before it: "in germany"."""
        return self.first.token.key in FUNCTION_WORDS

    def _accepts_lower_case(self) -> bool:
        if self.lower_case is LowerCase.AUTO:
            return self.casing is Casing.SILENT
        return self.lower_case is not LowerCase.NEVER


def _can_begin(words: list[Word], at: int, text: str) -> bool:
    word = words[at]
    before = words[at - 1] if at else None
    if not word.is_word:
        return word.token.spaced or (before is not None and not before.is_word)  # the mark of ".NET"
    # Not the "s" of "Obama's".
    return before is None or word.token.spaced or text[before.token.start] not in _APOSTROPHES or word.capital


def _can_end(words: list[Word], first: int, at: int, text: str) -> bool:
    word = words[at]
    if word.is_word:
        return True
    mark = text[word.token.start]
    # After a space a mark ends no name, but an emoji or a sign does: "Company 😀", "Tern ™".
    if (word.token.spaced and at > first and unicodedata.category(mark) != "So") or mark in _NO_END:
        return False
    inside = at + 1 < len(words) and not words[at + 1].token.spaced and words[at + 1].is_word
    return not (inside and mark in _INSIDE)


def _stands_alone(words: list[Word], first: int, last: int) -> bool:
    """Whether a span of marks has white space, the text's end, or the end of a sentence around it."""
    after = words[last + 1 : last + 2]
    return words[first].token.spaced and (not after or after[0].token.spaced or after[0].token.key in _SENTENCE_ENDS)


def _is_lone_character(words: list[Word], first: int, last: int) -> bool:
    """Whether a span is one character of a script without spaces, amid others, or an initial such as the "C." of a name."""
    word = words[first]
    following = words[first + 1] if first + 1 < len(words) else None
    if word.token.kind == TokenKind.CHARACTER:
        joined = following is not None and not following.token.spaced and following.token.kind == TokenKind.CHARACTER
        before = words[first - 1] if first and not word.token.spaced else None
        return first == last and (joined or (before is not None and before.token.kind == TokenKind.CHARACTER))
    is_letter = word.is_word and len(word.token.key) == 1 and word.cased
    end = first + 1 if following is not None and following.token.key == "." and not following.token.spaced else first
    return is_letter and last <= end and (end > first or not word.capital)


def _first_word(words: list[Word]) -> int:
    return next((at for at, word in enumerate(words) if word.is_word), -1)


def _last_word(words: list[Word]) -> int:
    return next((at for at in range(len(words) - 1, -1, -1) if words[at].is_word), -1)
