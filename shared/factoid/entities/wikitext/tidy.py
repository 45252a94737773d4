"""A rendered line as prose: without the marks for bold, and without the gaps that removed markup left."""

from __future__ import annotations

import html
import re

from factoid.entities.wikitext.quantities import GAP

_QUOTES = re.compile(r"'{2,}")
_STRAY = re.compile(r"\{\{+|\}\}+|\[\[+|\]\]+|\{\||~~~+")
_INVISIBLE = re.compile("[\ue001\u00ad\u200b\u200e\u200f\u2060\ufeff\x00-\x08\x0b-\x1f\x7f]")
_SPACES = re.compile(r"\s+")
_LETTER_BEFORE = re.compile(r"(?:^|\s)\S$")
_GAP_AFTER_DIGIT = re.compile(rf"(?<=\d){GAP}")

# What is left of a pair of brackets whose content, or part of it, showed nothing. All of them until nothing changes.
_BRACKETS = [
    (re.compile(r"\(\s*(?:[,;:.–—/-]|\bor\b|\band\b|\balso\b)?\s*\)"), ""),
    (re.compile(r"\[\s*\]"), ""),
    # "($ in dollars)", an amount that a template computes, and "(years ago)"
    (re.compile(r"\((?:[^()\d]{0,30}[ (])?[$£€](?: [^()]{0,60})?\)"), ""),
    (re.compile(r"\((?:aged?|years? (?:ago|old))\)", re.IGNORECASE), ""),
    (re.compile(r":\s*,"), ":"),
    (re.compile(r",\s*\.(?=\s|$)"), "."),
    (re.compile(r"([(\[])\s*(?:[,;:]\s*)+"), r"\1"),
    (re.compile(r"([(\[])\s+"), r"\1"),
    (re.compile(r"(?<![,;:\s])(?:\s*[,;:])+\s*([)\]])"), r"\1"),
    (re.compile(r"\s+([)\]])"), r"\1"),
    (re.compile(r"([,;])(?:\s*[,;])+"), r"\1"),
    (re.compile(r'(?<!\S)""(?!\S)|“\s*”|«\s*»'), ""),
]
_MAYBE_GAP = re.compile(r"[(\[;\"“«]|[,:]\s*[,.]")
_BEFORE_POINT = re.compile(r"(?<=[^\s.(]) +([,;](?=\s|$)|\.(?=\s(?!\.)|$)|[?!:](?=\s|$))")
_DEEPEST = 5  # brackets in brackets
_EMPTY = re.compile(r"[\W_]*")


def tidy(line: str) -> str:
    """Return a rendered line as prose; "" if there is nothing to read in it."""
    if "''" in line:
        line = _without_quotes(line)
    line = _STRAY.sub("", line)
    line = html.unescape(line)
    line = _INVISIBLE.sub("", _GAP_AFTER_DIGIT.sub(" ", line)).replace(GAP, "")
    line = _SPACES.sub(" ", line)
    for _ in range(_DEEPEST if _MAYBE_GAP.search(line) else 0):
        before = line
        for pattern, replacement in _BRACKETS:
            line = pattern.sub(replacement, line)
        if before == line:
            break
    line = _SPACES.sub(" ", _BEFORE_POINT.sub(r"\1", line)).strip()
    return "" if _EMPTY.fullmatch(line) else line


def _without_quotes(line: str) -> str:
    """Drop the quotes that stand for bold and italics, and keep those that stand for themselves, by MediaWiki's rules.

    Four are an apostrophe and bold; more than five are apostrophes and five. Where italics and bold are both left open, one of
    the three is an apostrophe, as in "l'''Étranger''": the first after a word of one letter, else after another word.
    """
    runs = list(_QUOTES.finditer(line))
    literal = {}
    sizes = {}
    for number, run in enumerate(runs):
        size = len(run[0])
        literal[number] = 1 if size == 4 else max(0, size - 5)
        sizes[number] = size - literal[number]
    bold = [number for number, size in sizes.items() if size == 3]
    fives = sum(size == 5 for size in sizes.values())
    italics = sum(size == 2 for size in sizes.values())
    if (len(bold) + fives) % 2 and (italics + fives) % 2 and bold:
        before = {number: line[max(0, runs[number].start() - 2) : runs[number].start()] for number in bold}
        after_letter = [number for number in bold if _LETTER_BEFORE.search(before[number])]
        after_word = [number for number in bold if before[number] and not before[number][-1].isspace()]
        literal[(after_letter or after_word or bold)[0]] += 1
    kept = []
    at = 0
    for number, run in enumerate(runs):
        kept.append(line[at : run.start()] + "'" * literal[number])
        at = run.end()
    return "".join(kept) + line[at:]
