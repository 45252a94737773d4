"""The rules for headings in plain texts that stood here before, to compare with.

A short line above a block with the end of a sentence was a heading, and so was every question and
every line in bold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, zip_longest

from factoid.sentences import sentence_spans
from factoid.text.plain_headings import Heading, Line
from factoid.text.reading import LABELLED_LINE

_SENTENCE_END = re.compile(r"[.!?。！？][\"'”’)\]]*(?:\s|\Z)")
_CHAPTER = re.compile(
    r"(?!\d+\Z)(?:§ ?|(?:Article|Section|Chapter|Artikel|Abschnitt|Kapitel) "
    r")?(\d{1,3}(?:\.\d{1,3})*)\.?(?: |\Z)"
)
_BULLET = re.compile(r"[-+*•‣–—]\s|[|>]")
_CHARS = 80
_WORDS = 10
_LEAD_CHARS = 200
_DEPTH = 3
_STRONG_LEVEL = 7
_QUESTION_LEVEL = 8


def earlier_headings(lines: Sequence[Line], _: bool) -> list[Heading]:
    """Find headings by the earlier rules; see `factoid.text.plain_headings.find_headings`."""
    levels = [line.level for line in lines]
    if not any(levels):
        levels = _plain(lines)
    levels = [level or _lead_level(line) for level, line in zip(levels, lines, strict=True)]
    headings = []
    for place, level in enumerate(levels):
        if level:
            later = range(place + 1, len(lines))
            end = next((other for other in later if 0 < levels[other] <= level), len(lines))
            headings.append(Heading(place, end, level))
    return headings


def _plain(lines: Sequence[Line]) -> list[int]:
    levels: list[int] = []
    chapters: list[tuple[str, int]] = []
    rows = [(short, list(row)) for short, row in groupby(lines, _is_short)]
    for (short, row), (_, below) in zip_longest(rows, rows[1:], fillvalue=(False, [])):
        is_headed = bool(short and below and _SENTENCE_END.search(below[0].text))
        if is_headed and LABELLED_LINE.match(row[-1].text) and LABELLED_LINE.match(below[0].text):
            is_headed = False
        for line in row:
            if not is_headed or (levels and len(row) > _DEPTH):
                levels.append(0)
                continue
            level = (levels[-1] or 1) + 1 if levels else 1
            if number := _CHAPTER.match(line.text):
                last = chapters[-1][1] if chapters else 0
                while chapters and not number[1].startswith(f"{chapters[-1][0]}."):
                    chapters.pop()
                if chapters:
                    level = levels[chapters[-1][1]] + 1
                    for place in range(last + 1, len(levels)):
                        levels[place] += (level - 2) * (levels[place] > 0)
                chapters.append((number[1], len(levels)))
            levels.append(level)
    if (
        any(levels)
        and not levels[0]
        and _is_short(lines[0])
        and not LABELLED_LINE.match(lines[0].text)
    ):
        levels[0] = 1
    return levels


def _lead_level(line: Line) -> int:
    text = line.text
    if len(text) > _LEAD_CHARS or line.kind == "code":
        return 0
    if line.is_strong and text[-1:] not in ("?", "？"):
        return _STRONG_LEVEL
    is_question = text[-1:] in ("?", "？") and not _BULLET.match(text)
    return _QUESTION_LEVEL if is_question and len(sentence_spans(text)) == 1 else 0


def _is_short(line: Line) -> bool:
    text = line.text
    is_short = len(text) <= _CHARS and "\n" not in text and len(text.split()) <= _WORDS
    return (
        is_short
        and (text[0].isupper() or text[0].isdigit() or text[0] == "§")
        and text[-1] not in ".!?:;,…。！？"
    )
