"""Find the lines of plain text that start a unit of their own: items of lists."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

# Of these, only the first row stands in running text as well, and needs white space behind it.
_DASHES = "-–*+·‣∙"
_BULLETS = "•●○◦◉■□▪▫◆◇►▶▸▹➢➤➔⁃❖❑❒\uf0a7\uf0b7\uf0d8\uf076\uf0fc\uf0be"
_BOXES = "☐☑☒✓✔✗✘"  # say something, and belong to their item
_START = re.compile(
    rf"""^[^\S\n]*+(?:
        (?P<bullet>(?:[{re.escape(_DASHES)}](?=[^\S\n])|[{_BULLETS}])[^\S\n]*+)(?=\S)
      | (?P<box>[{_BOXES}])
      | (?P<cell>\|)
      | (?P<number>\(?(?P<value>\d{{1,3}}|[ivxlcdm]{{1,7}}|[IVXLCDM]{{1,7}}|[A-Za-zа-яА-Я])
          (?P<close>[.)])\)?)[^\S\n]++(?=\S)
      )""",
    re.MULTILINE | re.VERBOSE,
)
_AGAIN = re.compile(rf"[^\S\n](?P<bullet>[{_BULLETS}])[^\S\n]*+(?=\S)")  # "• one • two"
_NUMBER_IN_LINE = re.compile(r"(?<!\S)(?P<value>\d{1,2})(?:\.\)|[.)])[^\S\n]++(?P<first>\S)")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_ENDS = ".:;!?,…。：；！？，"
_NEARBY = 200  # characters


class LineStart(NamedTuple):
    """A line that starts a unit.

    Args:
        mark: Where its mark stands.
        text: Where its text starts: behind a bullet, at a number, which is part of the text.
    """

    mark: int
    text: int


def line_starts(text: str) -> list[LineStart]:
    """Find the lines of a plain text that start a unit of their own, in order.

    A bullet, a box or a table's bar starts one. A number or a letter ("1.", "2)", "(a)", "ii.") does
    if the number before or after it starts a line as well, or if the line above ends in a mark of
    punctuation: wrapped lines begin with "1990. The" and "I. Newton", too. Where a line starts with
    a bullet, the same bullet within it starts a unit as well, and so do numbers in a line.
    """
    matches = list(_START.finditer(text))
    numbers = [match for match in matches if match["number"]]
    in_order: set[int] = set()
    for first, second in pairwise(numbers):
        if _values(first["value"]).intersection(value - 1 for value in _values(second["value"])):
            in_order.update((first.start(), second.start()))
    starts = []
    for match in matches:
        if match["number"]:
            above = _last_before(text, match.start())
            if match.start() in in_order or not above or above in _ENDS:
                starts.append(LineStart(match.start("number"), match.start("number")))
        elif bullet := match["bullet"]:
            starts.append(LineStart(match.start("bullet"), match.end("bullet")))
            starts += _same_bullets(text, match.end(), bullet.strip())
        else:
            at = match.end() - 1
            starts.append(LineStart(at, at))
    return sorted({*starts, *_numbers_in_line(text)})


def _last_before(text: str, at: int) -> str:
    """Return the last character before a place but for white space, "" if none is nearby."""
    return text[max(0, at - _NEARBY) : at].rstrip()[-1:]


def is_bullet(text: str) -> bool:
    """Return whether a text is a bullet and nothing else."""
    return len(text) == 1 and (text in _DASHES or text in _BULLETS)


def _numbers_in_line(text: str) -> list[LineStart]:
    """Return the items of a list on one line: "1. Open it 2. Wait 3. Close it".

    The list starts the text or follows a colon. Items in lower case are clauses of a sentence: "in
    three parts: 1) the stem, 2) …".
    """
    numbers: list[re.Match[str]] = []
    for match in _NUMBER_IN_LINE.finditer(text):
        value = int(match["value"])
        if match["first"].islower():
            continue
        is_next = value == len(numbers) + 1
        if is_next and (numbers or _last_before(text, match.start()) in ("", ":")):
            numbers.append(match)
    if len(numbers) < 2 or (len(numbers) == 2 and _last_before(text, numbers[0].start())):
        return []
    return [LineStart(match.start(), match.start()) for match in numbers]


def _values(written: str) -> set[int]:
    """Return what a number may mean: "i" is 1 and, as a letter, 9."""
    if written.isdigit():
        return {int(written)}
    values = set()
    lower = written.lower()
    if len(lower) == 1:
        values.add(ord(lower) - ord("a") + 1 if lower <= "z" else ord(lower))
    if all(letter in _ROMAN for letter in lower):
        number = 0
        following = 0
        for letter in reversed(lower):
            digit = _ROMAN[letter]
            number += -digit if digit < following else digit
            following = digit
        values.add(number)
    return values


def _same_bullets(text: str, start: int, bullet: str) -> list[LineStart]:
    if bullet not in _BULLETS:
        return []
    line_end = text.find("\n", start)
    if line_end < 0:
        line_end = len(text)
    same = [match for match in _AGAIN.finditer(text, start, line_end) if match["bullet"] == bullet]
    return [LineStart(match.start("bullet"), match.end()) for match in same]
