"""Find the options of a directive of MyST: lines with a colon before them, or between rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

Line = tuple[int, int]  # where it begins and ends in its text

_PREFIX = re.compile(r"[ \t>]*+")
_COLON = re.compile(r":(?P<name>[A-Za-z][\w-]*+):(?:[ \t]++(?P<value>[^\n]*+))?")
_MORE = re.compile(r":(?:[ \t]++(?P<value>[^\n]*+))?")  # of the value above
_KEY = re.compile(r"(?P<name>[A-Za-z][\w-]*+):(?:[ \t]++(?P<value>[^\n]*+))?")
_RULE = "---"
_SCALAR = re.compile(r"[|>][-+\d]{0,2}")  # the value begins on the next line
_QUOTES = ('"', "'")


class Option(NamedTuple):
    """An option of a directive.

    Attributes:
        name: Its name.
        lines: Where its value is, line by line, without marks and quotes.
    """

    name: str
    lines: list[Line]


def directive_options(text: str, lines: Sequence[Line]) -> tuple[list[Option], int]:
    """Return the options that a directive's body begins with, and how many lines they take.

    Args:
        text: The source.
        lines: Where the lines of the body are, without white space at their ends.
    """
    if not lines:
        return [], 0
    first = _content(text, lines[0])
    if text[first : lines[0][1]] == _RULE:
        options, count = _between_rules(text, lines)
    else:
        options, count = _behind_colons(text, lines)
    for option in options:
        _trim(text, option.lines)
    return options, count


def _behind_colons(text: str, lines: Sequence[Line]) -> tuple[list[Option], int]:
    options: list[Option] = []
    for number, line in enumerate(lines):
        start = _content(text, line)
        if match := _COLON.fullmatch(text, start, line[1]):
            options.append(Option(match["name"], []))
        elif options:
            match = _MORE.fullmatch(text, start, line[1])
        if match is None:
            return options, number
        if match["value"]:
            options[-1].lines.append(match.span("value"))
    return options, len(lines)


def _between_rules(text: str, lines: Sequence[Line]) -> tuple[list[Option], int]:
    options: list[Option] = []
    column = _content(text, lines[0]) - lines[0][0]
    for number, line in enumerate(lines[1:], start=1):
        start = _content(text, line)
        if text[start : line[1]] == _RULE:
            return options, number + 1
        is_key = start - line[0] == column
        if is_key and (match := _KEY.fullmatch(text, start, line[1])):
            options.append(Option(match["name"], []))
            if match["value"]:
                options[-1].lines.append(match.span("value"))
        elif options and start < line[1]:
            options[-1].lines.append((start, line[1]))
    return [], 0


def _content(text: str, line: Line) -> int:
    """Return where a line begins behind white space and marks of quotes."""
    match = _PREFIX.match(text, *line)
    return match.end() if match else line[0]


def _trim(text: str, lines: list[Line]) -> None:
    """Leave out what says how a value is written: the mark of a scalar, and quotes."""
    if not lines:
        return
    if _SCALAR.fullmatch(text, *lines[0]):
        del lines[0]
        return
    quote = text[lines[0][0]]
    start = lines[0][0]
    end = lines[-1][1]
    if quote in _QUOTES and end - start > 1 and text[end - 1] == quote:
        lines[0] = (start + 1, lines[0][1])
        lines[-1] = (lines[-1][0], end - 1)
