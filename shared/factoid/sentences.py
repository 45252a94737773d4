"""Split text into sentences, by rules for edited prose.

The rules decide on each run of terminators by the text before and after it. They know abbreviations, initials, acronyms,
decimals, quotations, parentheses, citation marks such as `[3]` and `[^3]`, list items, turns of conversations and the
terminators of scripts without spaces. They read Markdown as a reader sees it, need no model and take time linear in the length
of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from factoid.markdown import ONLY_MARKS, read_blocks, visible
from factoid.words import count_words, cut_words

Span = tuple[int, int]

# A run of text without any sentence end is cut here, because encoders and parsers would cut it silently.
MAX_WORDS = 200
MAX_CHARS = 4000

# Followed by a name, number or clause, never by a new sentence.
_OPEN_ABBREVIATIONS = frozenset(
    "dr mr mrs ms mx prof st sts gen col lt cmdr capt sgt maj adm rev hon gov sen rep pres fr msgr mt ft "
    "messrs mme mlle vs v viz cf ca c fl b d e.g i.e eg ie approx est art ch eq eqs fig figs no nos nr op pp p pg vol vols "
    "sec ed eds trans dept univ assn bros incl excl resp tel "
    "nr abs bzw bspw evtl exkl ggf hr hrn inkl sog vgl zzgl dipl.-ing dr.-ing "  # German
    "ex sra pág págs núm".split()  # French, Spanish
)
_BEFORE_NUMBERS = frozenset("max min abb anl anm kap tab ziff".split())
# May end a sentence: only a capitalised function word after them starts a new one.
_CLOSED_ABBREVIATIONS = frozenset(
    "inc ltd co corp jr sr etc al ave blvd rd bd cie esq a.m p.m am pm b.c a.d bc ad ph.d m.d d.c u.s u.k u.n e.u "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun".split()
)
_STARTERS = frozenset(
    "A An The This That These Those He She It They We You I His Her Its Their Our My In On At By For From With Without To "
    "As After Although Among And Another Before Because Between But During Despite Each Either Even Every Few Following "
    "Further Furthermore Hence However If Instead Like Many Meanwhile More Moreover Most Much Neither Nevertheless No Nor "
    "Not Nonetheless Once One Only Or Other Others Over Several Similarly Since So Some Soon Such Then There Therefore "
    "Though Through Thus Today Together Under Unlike Until Upon What When Where Whereas Whether Which While Who Why "
    "Within Yet Both All Any Of How Later Here Also".split()
)

# After a number or one of the German abbreviations that may end a sentence.
_GERMAN_STARTERS = frozenset(
    "Aber Als Am Auch Auf Aus Bei Bis Bitte Da Damit Dann Das Dazu Dem Den Der Des Die Dies Diese Dieser Dieses Doch Ein Eine Er "
    "Es Für Hier Ich Ihr Ihre Im In Jede Jeder Kein Keine Man Mit Nach Nur Sein Seine Seit Sie So Und Vom Von Vor Wann Was Weil "
    "Wenn Wer Wie Wir Wo Zu Zum Zur Zudem".split()
)
_GERMAN_WORD = re.compile(  # near "Fa." and "gem.", which are words of other languages, too
    r"\b(?:auf|das|de[mnrs]|die|durch|eine?[mnrs]?|für|im|ist|mit|nicht|und|vo[mn]|werden|wird|zu[mr])\b", re.IGNORECASE
)
# Makes a number behind it ordinal in German: "im 3. Quartal", "der 1. und 2. Absatz".
_BEFORE_ORDINAL = re.compile(
    r"\b(?:(?<!\bI )am|beim|das|de[mnrs]|die|im|ins|vom|zu[mr]|(?:ein|ihr|jed|kein|mein|sein|unser)(?:e[mnrs]?)?)\s"
    r"(?:\d{1,3}\.,?\s(?:(?:bis|oder|und)\s)?){0,3}\Z",
    re.IGNORECASE,
)
# Make a number before them ordinal in German: "3. Mai".
_ORDINAL_NOUNS = frozenset(
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember Jahrhundert Jahrhunderts "
    "Weltkrieg Weltkriegs".split()
)

_CLOSERS = "\"'”’»)\\]}*_"  # with the end of Markdown's emphasis
_MARKS = ".!?…‽؟۔।"
CITATION = r"""(?:\[(?:(?:\d{1,3}|citation\ needed)(?:[,–-]\s?\d{1,3})*+|\^[^\s\[\]]{1,40})\](?!:)
  |[⁰¹²³⁴⁵⁶⁷⁸⁹]++(?:[,⁻]\s?[⁰¹²³⁴⁵⁶⁷⁸⁹]++)*+)"""  # "[3]", "[^3]", "³"
_CANDIDATE = re.compile(  # possessive throughout, so that no run of marks, closers or spaces is read twice
    rf"""(?<![{_MARKS}])(?P<mark>[{_MARKS}]++)[{_CLOSERS}]*+(?:\s?{CITATION})*+[{_CLOSERS}]*+(?=\s)
      | [。！？｡]++[{_CLOSERS}」』）】]*+
      | \n(?:[^\S\n]*+\n)++
      | \n(?=[^\S\n]*+(?:\||(?:\d{{1,3}}|[a-z])[.)][^\S\n]++\S))
      | (?:\A|\n)[^\S\n]*+(?P<item>[-*•‣–])[^\S\n]++(?=\S)""",
    re.VERBOSE,
)
# A turn of a conversation, perhaps with its time, or a value with its name.
LABELLED_LINE = re.compile(
    r"""^[^\S\n]*+(?:\[?\d[\d:./\ ,APMapm-]{3,24}\]?[\ \t-]*+)?
      [*_]{0,2}(?![a-zß-ÿ])[^\W_](?:[^:\n.!?;,]|\.(?=:|[^\S\n]?[^\W_])){0,39}:[*_]{0,2}(?!\S)""",
    re.MULTILINE | re.VERBOSE,
)
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_NUMBERING = re.compile(r"\d{1,3}(?:\.\d{1,3})*|[^\W\d_]")
_LETTER_AND_POINT = re.compile(r"[^\W\d_]\.")
_ENTITY = re.compile(r"&#?\w{1,32};")
_PARENTHESIS = re.compile(r"\([^()\n]{1,300}\)")
_WORD_CHARACTER = re.compile(r"\w")
_LAST_TOKEN = re.compile(r"\S{1,40}\Z")
_NEXT_WORD = re.compile(r"[^\W\d_]{1,40}+")


def sentence_spans(text: str) -> list[Span]:
    """Return the spans of the sentences of a text, plain or Markdown, trimmed.

    Only white space and what Markdown does not show is left out: marks of lists, quotes and tables, rules, comments, link
    definitions and empty fences. A heading and a row of a table are sentences; so is a block of code, with its fences or
    indentation. Sentences above MAX_WORDS words or MAX_CHARS characters are cut at line ends, else at white space, else anywhere.
    """
    return list(_spans(text))


@lru_cache(1024)
def _spans(text: str) -> tuple[Span, ...]:
    spans: list[Span] = []
    for block in read_blocks(text):
        if block.kind == "code":
            spans += _bounded(text, block.start, block.end)
            continue
        shift = text.index(block.heading, block.start)
        for part in _turns(block.heading or text[block.start : block.end]):
            for start, end in _prose_spans(part):
                spans += _bounded(text, shift + start, shift + end)
            shift += len(part)
    return tuple(spans)


def _turns(source: str) -> list[str]:
    """Cut a paragraph before each line with a label ("Ann: …", "Weight: 59 kg") if these are half of its lines or more."""
    starts = [match.start() for match in LABELLED_LINE.finditer(source)]
    if len(starts) < 2 or len(starts) * 2 < source.count("\n") + 1:
        return [source]
    return [source[start:end] for start, end in pairwise([0, *starts[starts[0] == 0 :], len(source)])]


def _prose_spans(source: str) -> Iterator[Span]:
    """Yield the sentences of a paragraph, found in what a reader sees of it."""
    seen, offsets, code = visible(source)
    rest = seen
    for start, end in code:  # no sentence ends inside
        rest = rest[:start] + "x" * (end - start) + rest[end:]
    sentences: list[Span] = []
    begin = 0
    for end in [*_sentence_ends(rest), len(rest)]:
        sentences += [span for span in trim(seen, begin, end) if not ONLY_MARKS.fullmatch(seen, *span)]
        begin = end
    begin = 0
    for index, (first, last) in enumerate(sentences):
        start, end = offsets[first], offsets[last - 1] + 1
        start -= _opening_marks(source[begin:start])
        following = offsets[sentences[index + 1][0]] if index + 1 < len(sentences) else len(source)
        if entity := _ENTITY.match(source, end - 1, following):
            end = entity.end()
        begin = end = end + _closing_marks(source[end:following])
        if source[start] == "|":  # the outer edges of a table's row
            cells = source[start:end].rstrip("| \t")
            start, end = end - len(source[start:end].lstrip("| \t")), start + len(cells)
        yield start, end


def _opening_marks(before: str) -> int:
    return len(before) - len(before.rstrip("*_[!\\"))


def _closing_marks(behind: str) -> int:
    """Return how many of the characters after a sentence's last visible one close its emphasis or its link."""
    marks = behind[: len(behind) - _opening_marks(behind)] if " " in behind else behind
    return len(marks.partition("\n")[0].partition("<!--")[0].rstrip()) if marks[:1] in ("*", "_", "]") else 0


def trim(text: str, start: int, end: int) -> list[Span]:
    """Return the span without white space at its ends, in a list that is empty if nothing is left."""
    part = text[start:end]
    stripped = part.strip()
    start += len(part) - len(part.lstrip())
    return [(start, start + len(stripped))] if stripped else []


def _sentence_ends(text: str) -> Iterator[int]:
    parentheses = [match.span() for match in _PARENTHESIS.finditer(text)]
    begin = current = following = 0
    for match in _CANDIDATE.finditer(text):
        while current < len(parentheses) and parentheses[current][1] <= match.start():
            current += 1
        mark = match["mark"]
        if mark is None:
            if match["item"]:
                yield match.start()
            begin = match.end()
            yield begin
            continue
        if current < len(parentheses):
            opening, closing = parentheses[current]
            if opening < match.start() and match.end() < closing:
                continue
        if following < match.end():
            word = _WORD_CHARACTER.search(text, match.end())
            following = word.start() if word else len(text)
        if _ends_sentence(text, match, begin, following):
            begin = match.end()
            yield begin


def _ends_sentence(text: str, match: re.Match[str], begin: int, following: int) -> bool:
    """Return whether a run of marks ends the sentence from `begin`; `following` is where the next word or number starts."""
    if following >= len(text):
        return True
    word = _NEXT_WORD.match(text, following)
    if text[following].islower() and (word is None or word[0].islower()):
        return False  # but "iPhone" and "mRNA" may start a sentence
    if match["mark"] != ".":
        return True
    before = _LAST_TOKEN.search(text, max(0, match.start() - 40), match.start())
    token = before[0].lstrip("*_([{\"'“‘«").rpartition("—")[2] if before else ""
    starts = word is not None and word[0] in _STARTERS
    german = word is not None and word[0] in _GERMAN_STARTERS
    digit = text[following].isdigit()
    lower = token.lower()
    if lower in _OPEN_ABBREVIATIONS:
        # "St." before a function word or "no." at the end of a clause ("He said no. They left.").
        return starts and lower in {"no", "v", "c", "b", "d", "art", "est", "ed"} and not digit
    if lower in _CLOSED_ABBREVIATIONS or _ACRONYM.fullmatch(token):
        return starts
    if len(token) == 1 and (token.isupper() or (token.isalpha() and _LETTER_AND_POINT.match(text, following))):
        return starts  # an initial or "z. B.", else "World War I." or "vitamin C."
    if lower == "h" and text.endswith("d. h", 0, match.start()):
        return starts
    if lower in {"mio", "mrd", "tsd"} or (
        lower in {"fa", "gem"} and _GERMAN_WORD.search(text, max(0, match.start() - 100), match.end() + 100)
    ):
        return starts or german
    if digit and (lower in _BEFORE_NUMBERS or lower.endswith("str")):  # "Hauptstr. 5"
        return False
    if token.isdigit() and word is not None:
        ahead = text[max(0, match.start() - 40) : match.start() - len(token)]
        if word[0] in _ORDINAL_NOUNS or (len(token) < 4 and not german and _BEFORE_ORDINAL.search(ahead)):
            return False
    if _NUMBERING.fullmatch(token):
        # "1.", "1.1." and "a." at the start of a line or a sentence number a clause or a list item.
        at = match.start() - len(token)
        return bool(text[max(begin, at - 40) : at].rpartition("\n")[2].strip())
    return True


def _bounded(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a span, in pieces that fit passages if it is too long for a sentence."""
    if end - start <= MAX_CHARS and count_words(text[start:end]) <= MAX_WORDS:
        yield start, end
        return
    while start < end:
        cut = start + len(cut_words(text[start : min(end, start + MAX_CHARS)], MAX_WORDS // 2))
        if cut < end:
            breaks = (text.rfind("\n", start, cut + 1), text.rfind(" ", start, cut + 1))
            cut = next((at for at in breaks if at > start), cut)
        yield from trim(text, start, cut)
        start = cut
