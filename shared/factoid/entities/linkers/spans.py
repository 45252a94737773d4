"""Spans of a text that may be a name, the choice among them, and parts of longer names."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from factoid.entities.linkers.stop_words import ARTICLES, COMMON_WORDS, FUNCTION_WORDS, QUESTION_WORDS
from factoid.entities.linkers.tokens import Casing, TokenKind, Tokens, Word

_OPENING = frozenset("([{“‘«„¿¡<")
_NO_END = frozenset(",;:") | _OPENING
_APOSTROPHES = frozenset("'’ʼ`")
_NO_EVIDENCE = ARTICLES | {"i"}  # their capitals do not show a name
_INSIDE = frozenset("-‐‑–_/\\&@") | _APOSTROPHES  # before the rest of a word they do not end a name
_MOST_WORDS, _MOST_TOKENS = 12, 48  # of a name; more tokens than words for "S.H.I.E.L.D."
_SENTENCE_ENDS = frozenset("?.!")
_ROMAN = re.compile(r"[ivx]+")
_JOINING = frozenset("-‐‑–/&")
_LEADING_ON = frozenset("of the du de del von van der".split())  # "Battle of Salamis", "Paul the Octopus"
_CODE = 3  # the fewest digits of a number that is a name where names need no capital, such as "4711"
_CHARACTER = 0.5  # length of a character in words: names in scripts without spaces have about two characters for a word


class LowerCase(Enum):
    """Whether single words without a capital are mentions."""

    NEVER = "never"
    AUTO = "auto"  # in texts without a capital inside a sentence, where nothing else is found
    ALWAYS = "always"


class Span(NamedTuple):
    """A span of a text that is a mention if there is such a name."""

    first: int  # token
    last: int  # token
    words: float  # its length
    exact: bool  # the name must have the same capitals
    weak: bool  # a mention only if nothing else in the text is one
    title: bool = False  # the name must be an article's title


def find_spans(tokens: Tokens, words: list[Word], casing: Casing, lower_case: LowerCase) -> Iterator[Span]:
    """Yield the spans that may be a name.

    * Words that are not stop words, at least one of them with a capital, or two of them without.
    * A single word without a capital: by `lower_case`. A number, or a word with a digit and no capital: weak.
    * A span that begins with a function word inside the sentence ("first aid"): if all of it is in lower case, and a title
      is written exactly so.
    * Stop words only: weak, and several of them, one with a capital inside the sentence, if written exactly so.
    * Marks only, between spaces, and the whole text: weak.

    With `LowerCase.ALWAYS` any word may begin a name of several words, at least one of which is not a function word. Words of
    every question ("state") are then weak names, and so are numbers of less than three digits without a letter.
    """
    count = len(words)
    places = [at for at, word in enumerate(words) if word.is_word]
    begins, ends = {0, *places[:1]}, {count - 1, *places[-1:]}  # of the whole text
    for first in range(count):
        if not _can_begin(words, first, tokens.text) and first not in begins:
            continue
        asked = first > 0 and words[first - 1].token.key in ("what", "which")
        seen = _Seen(casing, lower_case, words[first], asked=asked)
        for last in range(first, min(count, first + _MOST_TOKENS)):
            word = words[last]
            if last > first and word.token.paragraph:
                break
            seen.add(word)
            if seen.length > _MOST_WORDS or (seen.lower_title and (seen.capital or seen.inner_capital)):
                break  # not "in Paris"
            if (seen.lower_title and word.stop) or not (seen.words or _stands_alone(words, first, last)):
                continue
            if _can_end(words, first, last, tokens.text):
                is_whole = first in begins and last in ends
                span = seen.judge(first, last, is_whole)
                if span is not None and (last > first + 1 or is_whole or not _is_lone_character(words, first, last)):
                    yield span


def cut_spans(tokens: Tokens, start: int, end: int) -> list[Span]:
    """Return the span of some characters, and the same without a leading article, a closing "'s", or both."""
    first = bisect_right(tokens.tokens, start, key=lambda token: token.end)
    last = bisect_left(tokens.tokens, end, key=lambda token: token.start) - 1
    keys = [token.key for token in tokens.tokens[first : last + 1]]
    firsts = [first, first + 1] if keys[:1] and keys[0] in ARTICLES and last > first else [first]
    lasts = [last, last - 2] if keys[-2:] == ["'", "s"] and len(keys) > 2 else [last]
    return [Span(first, last, 1, False, False) for last in lasts for first in firsts if first <= last]


def select_longest(spans: Sequence[Span], tokens: Tokens) -> list[Span]:
    """Return spans that do not overlap, chosen longest first, in order of the text; weak ones only if there are no others.

    Among spans of equally many words, the one with more characters goes first, then the earlier one. A question mark that ends
    a sentence is not part of a name that is known without it.
    """
    spans = [span for span in spans if not span.weak] or spans
    ends = {(span.first, span.last) for span in spans}
    names = [span for span in spans if not (_ends_the_question(span, tokens) and (span.first, span.last - 1) in ends)]
    longest: list[Span] = []
    free = bytearray(b"\1") * len(tokens.tokens)

    def order(span: Span) -> tuple[float, int, int]:
        return -span.words, tokens.tokens[span.first].start - tokens.tokens[span.last].end, span.first

    for span in sorted(names, key=order):
        stretch = slice(span.first, span.last + 1)
        if all(free[stretch]):
            free[stretch] = bytes(span.last + 1 - span.first)
            longest.append(span)
    return sorted(longest, key=lambda span: span.first)


def _ends_the_question(span: Span, tokens: Tokens) -> bool:
    last = tokens.tokens[span.last]
    after = tokens.text[last.end : last.end + 1]
    return tokens.text[last.start : last.end] == "?" and (not after or after.isspace())


class _Seen:
    """The properties of a span's words, kept up to date while the span grows."""

    def __init__(self, casing: Casing, lower_case: LowerCase, first: Word, *, asked: bool) -> None:
        self.casing, self.first = casing, first
        self.free = lower_case is LowerCase.ALWAYS  # names need no capital
        self.asked = asked and not self.free  # "which country" says what the answer is
        self.inside = first.token.key in FUNCTION_WORDS  # a name of one word would begin after it: "in germany"
        self.accepts_lower_case = self.free or (lower_case is LowerCase.AUTO and casing is not Casing.TELLING)
        # "first aid" inside a sentence whose capitals tell, where most words in lower case are not names.
        in_lower_case = self.inside and not (first.capital or first.initial)
        self.lower_title = in_lower_case and casing is not Casing.SILENT and not self.free
        self.length = 0.0
        self.words = self.named = self.common = self.digits = 0
        self.capital = self.inner_capital = self.letters = self.spelled = self.acronym = self.ampersand = False

    def add(self, word: Word) -> None:
        if not word.is_word:
            self.ampersand |= self.words > 0 and word.token.key == "&"
            return
        if word.token.kind == TokenKind.CHARACTER:
            self.length += _CHARACTER
        elif word.token.spaced or not self.words:
            self.length += 1
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
        """Return the span of these words, or None if they cannot be a name."""
        telling, free = self.casing is not Casing.SILENT, self.free
        exact, weak, title = self.acronym, False, False
        start = self.first
        if not self.words:
            return Span(first, last, 1, True, True)
        if not self.named and self.ampersand and self.words > 1:
            return Span(first, last, self.length, False, not free)  # "at&t"
        if not whole and start.is_word and start.stop and start.initial and start.token.key not in ARTICLES:
            if telling:
                exact = True  # "Who Framed Roger Rabbit", but not "Who is married"
            elif start.token.key in QUESTION_WORDS:
                return None
        if self.lower_title:
            exact = title = True
        if not self.named:
            shown = self.inner_capital and telling
            if free and self.common and not shown:
                lone = self.words == 1
                return None if lone and self.asked else Span(first, last, self.length, exact, lone)
            if not (shown or whole):
                return None
            weak, exact = self.words == 1 or not shown, exact or shown
        elif not self.letters:
            weak = not (self.inner_capital and self.words > 1) and not (free and (self.spelled or self.digits >= _CODE))
        elif not self.capital:
            several = self.words > 1
            if self.named == 1:
                if self.inner_capital and telling:
                    exact = True  # "In bloom"
                elif telling and not free and not whole and several and self.inside:
                    exact = title = True  # "first aid"
                elif whole or (free and several) or (self.accepts_lower_case and not self.asked and not self.inside):
                    weak = not free
                else:
                    return None
            else:
                exact = exact or (self.casing is Casing.TELLING and not free and not whole)
        elif self.named == 1 and self.casing is Casing.SILENT and start.cased:
            # Every word has capitals, which then say as little as none.
            if not (self.accepts_lower_case or whole):
                return None
            weak = not free
        return Span(first, last, self.length, exact, weak, title)


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
    # After a space a mark does not end a name, but an emoji or a sign does: "Company 😀", "Tern ™".
    if (word.token.spaced and at > first and unicodedata.category(mark) != "So") or mark in _NO_END:
        return False
    inside = at + 1 < len(words) and not words[at + 1].token.spaced and words[at + 1].is_word
    return not (inside and mark in _INSIDE)


def _stands_alone(words: list[Word], first: int, last: int) -> bool:
    """Tell whether a span of marks stands between white space, or the end of a sentence or of the text."""
    after = words[last + 1 : last + 2]
    return words[first].token.spaced and (not after or after[0].token.spaced or after[0].token.key in _SENTENCE_ENDS)


def _is_lone_character(words: list[Word], first: int, last: int) -> bool:
    """Tell whether a span is one character of a script without spaces, amid others, or an initial such as "C." in a name."""
    word = words[first]
    after = next((word.token for word in words[first + 1 : first + 2] if not word.token.spaced), None)
    if word.token.kind == TokenKind.CHARACTER:
        before = words[first - 1].token if first and not word.token.spaced else None
        return first == last and any(token and token.kind == TokenKind.CHARACTER for token in (before, after))
    is_letter = word.is_word and len(word.token.key) == 1 and word.cased
    end = first + 1 if after and after.key == "." else first
    return is_letter and last <= end and (end > first or not word.capital)


def is_part(words: Sequence[Word], casing: Casing, span: Span, mentions: Sequence[Span]) -> bool:
    """Tell whether a span between mentions looks like a part of a longer name: "Mary" of "Mary Jack", "Line" of "Line 6"."""
    if casing is not Casing.TELLING:
        return False
    at = bisect_left(mentions, span.first, key=lambda mention: mention.first)
    end = bisect_right(mentions, span.first, key=lambda mention: mention.first)
    before, after = mentions[max(0, at - 1) : at], mentions[end : end + 1]
    left, right = span.first - 1, span.last + 1
    if left > 0 and _joins(words, left):
        left -= 1
    if right + 1 < len(words) and _joins(words, right):
        right += 1
    follows_name = left >= 0 and not words[span.first].token.paragraph and _looks_named(words[left])
    if follows_name and all(mention.last < left or mention.words == span.words == 1 for mention in before):
        return True
    if right >= len(words) or words[right].token.paragraph:
        return False
    word = words[right]
    if word.is_word and (word.number or (word.capital and _ROMAN.fullmatch(word.token.key))):
        return True  # the "6" of "Line 6", the "XVI" of "Louis XVI"
    if _looks_named(word) and all(mention.first > right or mention.words == span.words == 1 for mention in after):
        return True
    end = right
    while end < len(words) and words[end].token.key in _LEADING_ON and not words[end].capital:
        end += 1
    return span.words == 1 and right < end < len(words) and _looks_named(words[end])


def _joins(words: Sequence[Word], at: int) -> bool:
    """Tell whether a token is a hyphen or the like between two words."""
    spaced = words[at].token.spaced or words[at + 1].token.spaced
    return words[at].token.key in _JOINING and (not spaced or words[at].token.key == "&")


def _looks_named(word: Word) -> bool:
    named = not word.stop or (not word.initial and word.token.key not in ARTICLES and word.token.key != "i")
    return word.is_word and word.capital and word.cased and named
