"""Find where sentences end, by rules for edited prose in many languages.

The rules decide on each run of terminators by the text before and after it. They know
abbreviations, initials, acronyms, decimals, quotations, parentheses, citation marks such as `[3]`
and `[^3]`, list items, and the terminators of scripts without spaces. They need no model and take
time linear in the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from factoid.errors import InvalidInputError
from factoid.text.abbreviations import (
    ABBREVIATIONS,
    COMMON,
    ENGLISH,
    GERMAN,
    OPEN,
    WORDS_TOO,
    Language,
    language_of,
)
from factoid.text.lines import is_bullet, line_starts
from factoid.text.references import DIRECTIONS, is_within_reference
from factoid.words import INVISIBLE, without_invisible

if TYPE_CHECKING:
    from spacy.language import Language as Pipeline

Span = tuple[int, int]

_CLOSERS = "\"'”’“‘»«›‹)\\]}*_"  # with the end of emphasis
_MARKS = ".!?…‽؟۔‼⁇⁈⁉\u037e։"
_UNSPACED = "。！？｡။។።፧፨।॥"
_LOCAL = r"(?<=[\u0370-\u03ff\u1f00-\u1fff]);|(?<=[\u0561-\u0587]):"  # a Greek "?", an Armenian "."
CITATION = r"""(?:\[(?:(?:\d{1,3}|citation\ needed)(?:[,–-]\s?\d{1,3})*+|\^[^\s\[\]]{1,40})\](?!:)
  |[⁰¹²³⁴⁵⁶⁷⁸⁹]++(?:[,⁻]\s?[⁰¹²³⁴⁵⁶⁷⁸⁹]++)*+)"""  # "[3]", "[^3]", "³"
# Possessive throughout, so that no run of marks, closers or spaces is read twice.
_CANDIDATE = re.compile(
    rf"""(?<![{_MARKS}])
        (?P<mark>(?:[{_MARKS}]|{_LOCAL})++(?:[ \u00a0\u202f][.!?…]++(?=[\s{_CLOSERS}]|\Z)){{0,20}}+)
        [{_CLOSERS}]*+(?:[ \u00a0\u202f](?:»|'')(?=\s|\Z))?+(?:\s?{CITATION})*+[{_CLOSERS}]*+(?=\s)
      | (?P<unspaced>[{_UNSPACED}]|．(?!\d))++[{_CLOSERS}」』）】]*+(?!(?<=[」』])と)
      | \n(?:[^\S\n]*+\n)++""",
    re.VERBOSE,
)
_FIRST = re.compile(rf"[{_MARKS};:{_UNSPACED}．\n]")  # what a candidate begins with
_ACRONYM = re.compile(r"(?:[^\W\d_]\.-?)+[^\W\d_]")
_NUMBERING = re.compile(r"\d{1,3}(?:\.\d{1,3})*|[^\W\d_]|[ivx]{2,5}|[IVX]{2,5}")
_LETTER_AND_POINT = re.compile(r"[^\W\d_]\s?\.")
_NO_AND_NUMBER = re.compile(r"Nos?\.\s?\d")
_BEHIND_LETTER_AND_POINT = re.compile(r"(?:\A|[\s(])[^\W\d_]\s?\.\s?\Z")
_PARENTHESIS = re.compile(r"\([^()\n]{1,300}\)|（[^（）\n]{1,300}）|《[^《》\n]{1,300}》")
_WORD_CHARACTER = re.compile(r"\w")
_NEXT_WORD = re.compile(r"[^\W\d_]{1,40}+")
_NUMBER_BEFORE = re.compile(r"(?:\d|\b[IVX]{1,5})\s?\Z")
_TAIL = (
    r"(?:(?<=\.)|\s*+(?:[,;:)\]]|\Z)|\s++(?:a|and|bis|e|en|et|for|i|in|of|on|or|ou|to|und|y|и)\b)"
)
# "3", "4.2(a)", and nothing that goes on like a clause
_REFERENCE = re.compile(rf"\d{{1,5}}[\w.()/–-]{{0,20}}+{_TAIL}")
_LETTER_REFERENCE = re.compile(rf"(?:[A-Z]|[IVXLC]{{2,6}})\b\.?+{_TAIL}")
_ELIDED = re.compile(r"[^\W\d_]{1,5}['’](?=[^\W\d_]{2})")
_VOWEL = re.compile(
    r"[aeiouyäöüåæøœáéíóúýàèìòùâêîôûãõąęėаеёиоуыэюяіїєαεηιουωάέήίόύώ]", re.IGNORECASE
)
_UNSPOKEN = re.compile(r"[a-zа-яα-ωß-ÿ]{2,5}", re.IGNORECASE)
_OLD_SCRIPT_LETTER = re.compile(
    r"[\u05d0-\u05ea\u0620-\u064a]ـ?"
)  # Hebrew and Arabic have no capitals
_DEVANAGARI = re.compile(r"[\u0900-\u0963\u0970-\u097f]")
# Makes a number behind it ordinal in German: "im 3. Quartal", "der 1. und 2. Absatz".
_BEFORE_ORDINAL = re.compile(
    r"\b(?:(?<!\bI )am|beim|das|de[mnrs]|die|im|ins|vom|zu[mr]"
    r"|(?:ein|ihr|jed|kein|mein|sein|unser)(?:e[mnrs]?)?)\s"
    r"(?:\d{1,3}\.,?\s(?:(?:bis|oder|und)\s)?){0,3}\Z",
    re.IGNORECASE,
)
# Make a number before them ordinal in German: "3. Mai".
_ORDINAL_NOUNS = frozenset(
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember "
    "Jahrhundert Jahrhunderts "
    "Weltkrieg Weltkriegs".split()
)
_OPENERS = "*_([{\"'“‘«„»"
_DASH = re.compile(r"—|(?<=\.)–")  # "Mon.–Fri."
_UNITS = frozenset("ft h min std r w см м г гг в вв р".split())  # behind a number; else "min. 5"
_ALONE = re.compile(r"(?<=\s)\.(?=\s|\Z)")  # a full stop of a text cut into tokens
_ATTACHED = re.compile(r"(?<=\w)\.(?=\s|\Z)")
_CLOSING_QUOTE = re.compile(r'[ \u00a0]"(?=\s|\Z)')  # of a text cut into tokens
_CAPITAL = re.compile(r"[A-ZÀ-ÖØ-ÞĀĂĄĆČĎĘĚŁŃŇŘŚŠŤŮŹŻŽΑ-ΩА-ЯЁІЇЄ]")
_LONGEST_TOKEN = 40
_FEWEST_SPACES = 7  # of a text without capitals that is taken for prose
_NUMBERED = ("str", "nr")  # ends of words before numbers: "Hauptstr. 5", "Art.-Nr. 5"
_VARIABLES = frozenset("aixyz")  # before a number: "the value of x. 3 samples …"
_HIDDEN = "ㅁ"  # a letter that is neither large nor small, in place of what is protected


@runtime_checkable
class SentenceSplitter(Protocol):
    """Finds the ends of sentences in one block: a paragraph, an item, a cell, without Markdown.

    A function is one. Results are cached: a splitter is hashable, and the same for the same text.
    """

    def __hash__(self) -> int: ...

    def __call__(self, text: str, /) -> Sequence[int]:
        """Return the places behind the sentences, in order; the text's own end may be left out."""
        ...


def spacy_sentences(nlp: Pipeline) -> SentenceSplitter:
    """Make a splitter of a pipeline of spaCy that has a parser, a `senter` or a `sentencizer`.

    Make it once: results are cached by splitter.
    """

    def split(text: str) -> list[int]:
        return [sentence.end_char for sentence in nlp(text).sents]

    return split


def sentence_ends(text: str, protected: Sequence[Span] = ()) -> list[int]:
    """Find the ends of sentences in what a reader sees of one block.

    Args:
        text: A paragraph, an item of a list or a cell, without Markdown.
        protected: Spans in which no sentence ends, such as inline code and formulas, in order.

    Returns:
        Places behind the sentences' last characters, in order. What lies between two of them is a
        sentence, white space or the bullet of an item. The end of the text is among them only where
        a mark ends the text.
    """
    hidden = _hide(text, protected)
    seen, places = without_invisible(hidden)
    ends = [end for end in dict.fromkeys(_ends(_Prose(seen))) if end > 0]
    if len(seen) == len(text):
        return ends
    behind = [*places, len(text)]
    return [behind[end] for end in ends]


def block_sentences(
    text: str, protected: Sequence[Span] = (), splitter: SentenceSplitter | None = None
) -> list[Span]:
    """Return the spans of the sentences of one block: trimmed, and without bullets.

    Args:
        text: A paragraph, an item of a list or a cell, without Markdown.
        protected: Spans in which no sentence ends, in order.
        splitter: Takes the place of `sentence_ends`. Its ends in protected spans do not count.

    Raises:
        InvalidInputError: The splitter returned something else than places in the text, in order.
    """
    if splitter is None:
        ends: Sequence[int] = sentence_ends(text, protected)
    else:
        checked = _checked(splitter(text), len(text))
        ends = _outside(checked, protected)
    marks = {line.text: line.mark for line in line_starts(text)}  # such as the time of a message
    spans: list[Span] = []
    begin = 0
    for end in [*ends, len(text)]:
        for start, stop in trim(text, begin, end):
            is_mark = start >= marks.get(end, end) or is_bullet(text[start:stop])
            if not is_mark:
                spans.append((start, stop))
        begin = end
    return spans


def trim(text: str, start: int, end: int) -> list[Span]:
    """Return the span without white space and invisible characters at its ends, in a list.

    The list is empty if nothing is left.
    """
    while end > start and _is_blank(text[end - 1]):
        end -= 1
    while start < end and _is_blank(text[start]):
        start += 1
    return [(start, end)] if start < end else []


def _is_blank(character: str) -> bool:
    if character.isspace():
        return True
    return not character.isascii() and INVISIBLE.match(character) is not None


def _checked(ends: Sequence[int], length: int) -> list[int]:
    checked = [int(end) for end in ends]
    if checked != sorted(checked) or not all(0 <= end <= length for end in checked):
        raise InvalidInputError(
            f"expected a sentence splitter to return places from 0 to {length} in order, "
            f"got {checked[:20]}"
        )
    return checked


def _outside(ends: Sequence[int], spans: Sequence[Span]) -> list[int]:
    starts = [start for start, _ in spans]
    outside = []
    for end in ends:
        before = bisect_left(starts, end) - 1  # the last span that starts before the end
        if before < 0 or spans[before][1] <= end:
            outside.append(end)
    return outside


def _hide(text: str, protected: Sequence[Span]) -> str:
    parts = []
    at = 0
    for start, end in protected:
        parts += [text[at:start], _HIDDEN * (end - start)]
        at = end
    return "".join([*parts, text[at:]])


class _Prose:
    """The text of a block, and how it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def language(self) -> Language:
        return language_of(self.text)

    @cached_property
    def is_spaced(self) -> bool:
        """Whether full stops stand alone, as in text that was cut into tokens."""
        alone = len(_ALONE.findall(self.text))
        return alone > 0 and alone >= len(_ATTACHED.findall(self.text))

    @cached_property
    def is_lower(self) -> bool:
        """Whether sentences are written without capitals."""
        is_ended = self.text.rstrip()[-1:] in (".", "!", "?")
        is_prose = is_ended and self.text.count(" ") >= _FEWEST_SPACES
        return is_prose and not _CAPITAL.search(self.text)

    @cached_property
    def has_danda(self) -> bool:
        """Whether sentences end in a danda, so that a point is that of an abbreviation."""
        return "।" in self.text

    def starts_sentence(self, word: str) -> bool:
        """Return whether a word behind an abbreviation starts a sentence."""
        lower = word.lower()
        if word != lower.capitalize() and not self.is_lower:
            return False
        if lower in self.language.function_words:
            return True
        return lower in ENGLISH.function_words and word != "I"  # else a numeral: "BGBl. I"


def _candidates(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `_CANDIDATE`, as `finditer` does, which is slow: it tries each place."""
    end = 0
    for first in _FIRST.finditer(text):
        if first.start() >= end and (match := _CANDIDATE.match(text, first.start())):
            end = match.end()
            yield match


def _ends(prose: _Prose) -> Iterator[int]:
    text = prose.text
    parentheses = [match.span() for match in _PARENTHESIS.finditer(text)]
    lines = line_starts(text)
    begin = current = following = line = counted = quotes = 0
    for match in _candidates(text):
        while line < len(lines) and lines[line].mark < match.end():
            yield from (lines[line].mark, lines[line].text)
            begin = lines[line].text
            line += 1
        while current < len(parentheses) and parentheses[current][1] <= match.start():
            current += 1
        if current < len(parentheses):
            opening, closing = parentheses[current]
            if opening < match.start() and match.end() < closing:
                continue
        if match["mark"] is None:
            begin = match.end()
            yield begin
            continue
        if following < match.end():
            word = _WORD_CHARACTER.search(text, match.end())
            following = word.start() if word else len(text)
        if _ends_sentence(prose, match, begin, following):
            begin = match.end()
            quotes += text.count('"', counted, begin)
            counted = begin
            if quotes % 2 and (closing_quote := _CLOSING_QUOTE.match(text, begin)):
                begin = counted = closing_quote.end()
                quotes += 1
            yield begin
    for start in lines[line:]:
        yield from start


class _Stop(NamedTuple):
    """A full stop, and what stands around it."""

    token: str  # the word before it, without what opens it
    ahead: str  # some text before the word
    starts_line: bool  # whether the word is the first of its line or its sentence
    is_alone: bool  # whether white space stands before the full stop
    goes_on: bool  # whether the next word is in lower case
    following: int  # where the next word or number starts
    word: str  # the next word, "" before a number


def _ends_sentence(prose: _Prose, match: re.Match[str], begin: int, following: int) -> bool:
    """Return whether a run of marks ends the sentence from `begin`.

    Args:
        prose: The block.
        match: The marks.
        begin: Where the sentence starts.
        following: Where the next word or number starts.
    """
    text = prose.text
    if following >= len(text):
        return True
    next_word = _NEXT_WORD.match(text, following)
    word = next_word[0] if next_word else ""
    is_stop = match["mark"] == "."
    is_alone = is_stop and text[match.start() - 1 : match.start()].isspace()
    # "iPhone" and "mRNA" may start a sentence.
    goes_on = text[following].islower() and (not word or word.islower())
    if goes_on and not (is_alone and prose.is_spaced) and not prose.is_lower:
        return False
    if not is_stop:
        return not goes_on or match["mark"][-1] in "!?"

    before = text[max(begin, match.start() - _LONGEST_TOKEN) : match.start()].rstrip()
    if not before:
        return not goes_on
    token = _DASH.split(before.split()[-1].lstrip(_OPENERS))[-1]
    ahead = before[: len(before) - len(token)]
    starts_line = not ahead.rpartition("\n")[2].strip(" \t([*_")
    stop = _Stop(token, ahead, starts_line, is_alone, goes_on, following, word)
    is_reference = is_within_reference(token, ahead, text, match.end("mark"))
    if is_reference and not _starts_sentence(prose, stop):
        return False
    return _ends_behind(prose, stop)


def _ends_behind(prose: _Prose, stop: _Stop) -> bool:
    """Return whether a full stop ends a sentence, by the words around it."""
    text = prose.text
    token = stop.token
    lower = token.lower()
    is_before_number = text[stop.following].isdigit()
    if not (stop.is_alone or stop.goes_on or is_before_number) and _is_plain(token, lower):
        return True
    language = prose.language
    if elided := _ELIDED.match(lower):  # "l'av.", "dell'art."
        lower = lower[elided.end() :]
    is_before_initial = _LETTER_AND_POINT.match(text, stop.following) is not None
    starts = _starts_sentence(prose, stop)
    is_behind_number = _NUMBER_BEFORE.search(stop.ahead) is not None
    if stop.is_alone and starts and (token.isupper() or lower not in OPEN or len(lower) == 1):
        return True

    # Abbreviations.
    if is_behind_number and lower in _UNITS:
        return not (is_before_initial or is_before_number)
    if is_before_number and (lower in language.numbers or lower.endswith(_NUMBERED)):
        is_word = language is ENGLISH and lower in COMMON and token.islower()
        return is_word and not _REFERENCE.match(text, stop.following)
    if lower in language.numbers:
        # "App. B shows"
        is_letter = stop.starts_line and len(stop.word) == 1 and stop.word.isupper()
        if is_letter or _LETTER_REFERENCE.match(text, stop.following):
            return False
    if lower.endswith(("-nr", ".nr")):  # "Best.-Nr. B-5"
        return starts
    if lower in language.open or token in language.open:
        is_word = lower in WORDS_TOO or lower not in OPEN
        return is_word and (starts or stop.is_alone) and not is_before_number
    if lower in language.closing or _ACRONYM.fullmatch(token):
        is_last = lower in DIRECTIONS and stop.word[:1].isupper()
        return starts or stop.is_alone or is_last
    if _DEVANAGARI.match(token) and prose.has_danda:
        return False
    if is_before_number and not is_behind_number and _is_unspoken(token):  # "hfst. 3", "Rdnr. 5"
        return False

    # Letters and numbers.
    if _OLD_SCRIPT_LETTER.fullmatch(token):
        return is_behind_number
    if len(token) == 1 and token.isalpha():
        is_behind_initial = _BEHIND_LETTER_AND_POINT.search(stop.ahead) is not None
        if (
            is_before_number
            and not is_behind_number
            and token.islower()
            and lower not in _VARIABLES
        ):
            return False  # "s. 5"
        if token.isupper() or stop.goes_on or is_before_initial or is_behind_initial:
            return starts  # an initial or "z. B.", else "World War I." or "vitamin C."
    if language is GERMAN and _is_ordinal(stop, starts):
        return False
    if _NUMBERING.fullmatch(token):
        return not stop.starts_line  # "1.", "a." and "ii." number a clause or an item of a list
    if stop.goes_on and not prose.is_spaced:
        is_word = lower in ENGLISH.function_words and len(token) > 1
        return is_word or (len(token) >= 3 and _VOWEL.search(token) is not None)
    return True


def _is_ordinal(stop: _Stop, starts: bool) -> bool:
    """Return whether a number in German is an ordinal before a noun."""
    if not stop.token.isdigit() or not stop.word:
        return False
    if stop.word in _ORDINAL_NOUNS:
        return True
    is_behind_article = _BEFORE_ORDINAL.search(stop.ahead) is not None
    return len(stop.token) < 4 and not starts and is_behind_article


def _starts_sentence(prose: _Prose, stop: _Stop) -> bool:
    """Return whether the next word starts a sentence, behind an abbreviation."""
    if _LETTER_AND_POINT.match(prose.text, stop.following):
        return False
    return prose.starts_sentence(stop.word) and not _NO_AND_NUMBER.match(prose.text, stop.following)


def _is_plain(token: str, lower: str) -> bool:
    """Return whether a token is a word of which no rule says that it is not the last one."""
    is_word = len(token) > 1 and token.isascii() and token.isalpha()
    if not is_word or lower in ABBREVIATIONS or token in ABBREVIATIONS or lower in _UNITS:
        return False
    return lower.strip("ivx") != ""  # no number


def _is_unspoken(token: str) -> bool:
    """Return whether a word has no vowel, as abbreviations do."""
    is_word = _UNSPOKEN.fullmatch(token) is not None and not token.isupper()
    return is_word and _VOWEL.search(token) is None
