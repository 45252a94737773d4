"""The lines of a page: what stands between line ends that no template, table or link holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_SIGN = re.compile(r"\{\{|\}\}|\[\[|\]\]|^[ \t:*#]*\{\||^[ \t]*\|\}(?!\}(?!\}))|\n", re.MULTILINE)
_OPENING = {"}}": "{{", "]]": "[[", "|}": "{|"}
_HEADING = re.compile(r"(={1,6})[ \t]*(.+?)[ \t]*\1[ \t]*")
_CHAPTER = re.compile(r"==[^=\n].*==[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page, with all the lines of the templates, tables and links that begin in it.

    Attributes:
        text: Its wikitext; of a heading, what stands between the signs.
        level: Of a heading, the number of signs; 0 for all others.
        closed: Where the first template, table or link of the line ends; -1 without one.
    """

    text: str
    level: int = 0
    closed: int = -1


def lines(text: str) -> Iterator[Line]:
    """Yield the lines of a prepared page, one by one as they are asked for.

    A template or table that is never closed ends before the next section, and a link at the end of its paragraph: one
    mistake on a page does not swallow the rest.
    """
    start, closed = 0, -1
    stack: list[str] = []
    opened = Counter[str]()  # what the stack holds
    for match in _SIGN.finditer(text):
        sign = match[0].strip(" \t:*#")
        if sign == "\n":
            if stack and _CHAPTER.match(text, match.end()):
                stack.clear()
                opened.clear()
            elif text.startswith("\n", match.end()):
                while stack and stack[-1] == "[[":
                    opened[stack.pop()] -= 1
            if not stack:
                yield _line(text[start : match.start()], closed)
                start, closed = match.end(), -1
        elif sign not in _OPENING:
            stack.append(sign)
            opened[sign] += 1
        elif opened[opening := _OPENING[sign]]:
            while (left := stack.pop()) != opening:
                opened[left] -= 1
            opened[opening] -= 1
            if not stack and closed < 0:
                closed = match.end() - start
    yield _line(text[start:], closed)


def _line(text: str, closed: int) -> Line:
    if text.startswith("=") and (heading := _HEADING.fullmatch(text)):
        return Line(heading[2], level=len(heading[1]))
    return Line(text, closed=closed)
