"""Find headings that the notation of a plain text marks.

The notations are those of wikis, AsciiDoc and reStructuredText, and underlines.

Markdown's own parser reads `# Heading`, and underlines in Markdown.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_WIKI = re.compile(
    r"(?P<left>=(?:[ \t]?=){0,5})[ \t]*+(?P<title>[^\s=](?:[^\n]*[^\s=])?)[ \t]*+"
    r"(?P<right>=(?:[ \t]?=){0,5})"
)
_ASCIIDOC = re.compile(r"(?P<left>={1,6})[ \t]++(?P<title>[^\W_][^\n]*[^\s=]|[^\W\d_])")
_ASCIIDOC_ATTRIBUTE = re.compile(
    r"\[.*\]|\.[^\s.].*|:[\w-]+:.*|//.*"
)  # may stand right above a heading
_NUMBERED = re.compile(r"h(?P<level>[1-6])\.[ \t]++(?P<title>\S[^\n]*)")
_RULE = re.compile(r"([=\-~^\"'`#*+:._])\1{2,}")
# What a text has at least in which a heading is marked.
_MARK = re.compile(r"=|\n[^\S\n]*([\-~^\"'`#*+:._])\1\1|^[^\S\n]*h[1-6]\.[ \t]", re.MULTILINE)
_OPEN_BLOCKS = (
    "====",
    "****",
    "____",
    "++++",
)  # of AsciiDoc, where attributes stand above them; else rules
_LETTER = re.compile(r"[^\W\d_]")
_COLUMNS = re.compile(r"\S(?: {2,}|\t)\S|\|")
_NO_TITLE = re.compile(
    r"[>|#/=•●▪‣]|[-*+–—][ \t]|\[[^\]]*\]\Z|\.[^\W_]"
)  # the last two stand above AsciiDoc's blocks
_LONGEST_TITLE = 120
_SHORTEST_SHARE = 0.6  # of a title that its underline is long
_LONGER = 8  # characters that an underline may be longer than its title, other than = and -


class MarkedHeading(NamedTuple):
    """A heading that is marked.

    Attributes:
        start, end: Its span in the text, with its marks and the lines over and under it.
        title_start, title_end: The span of its words.
        level: From 1. No heading is of level 1 if several would be: then none is the title of the
            text.
    """

    start: int
    end: int
    title_start: int
    title_end: int
    level: int


class _Row(NamedTuple):
    """A line without the white space at its ends."""

    text: str
    start: int
    end: int


def marked_headings(text: str, start: int = 0) -> list[MarkedHeading]:
    """Find the headings of a plain text that its notation marks, in order.

    `= Title =` and `== Section ==` are those of a wiki, also with spaces between the signs; so are
    `h1. Title` and `h2. Section`, of Confluence and Textile;
    `= Title` and `== Section` below an empty line are AsciiDoc's; a line with a rule of one sign
    under it, or under and over it, is one of reStructuredText. There, each new kind of rule is a
    level deeper. The header of a table, a sentence and an item of a list are none.

    Args:
        text: The text.
        start: Where to begin.
    """
    if not _MARK.search(text, start):
        return []
    rows = _rows(text, start)
    styles: list[tuple[str, bool]] = []  # of rules, outermost first
    headings: list[MarkedHeading] = []
    taken = -1  # the last line that is part of a heading
    asciidoc = 0
    listings = _listings(rows)
    for place, row in enumerate(rows):
        if place <= taken or not row.text:
            continue
        if place in listings:
            taken = listings[place]
            continue
        if marked := _wiki_heading(row) or _numbered_heading(row):
            headings.append(marked)
        elif marked := _asciidoc_heading(rows, place):
            headings.append(marked)
            asciidoc += 1
        elif _is_underlined(rows, place):
            rule = rows[place + 1]
            is_overlined = place > 0 and place - 1 > taken and _is_rule_like(rows[place - 1], rule)
            style = (rule.text[0], is_overlined)
            if style not in styles:
                styles.append(style)
            begin = rows[place - 1].start if is_overlined else row.start
            headings.append(
                MarkedHeading(begin, rule.end, row.start, row.end, styles.index(style) + 1)
            )
            taken = place + 1
    if asciidoc == 1 and len(headings) == 1 and text[start : headings[0].start].strip():
        return []  # one line that starts with = amid a text
    return _below_several_titles(headings)


def _rows(text: str, start: int) -> list[_Row]:
    rows = []
    for match in _LINE.finditer(text, start):
        line = match[0]
        stripped = line.strip()
        begin = match.start() + len(line) - len(line.lstrip()) if stripped else match.start()
        rows.append(_Row(stripped, begin, begin + len(stripped)))
    return rows


def _listings(rows: list[_Row]) -> dict[int, int]:
    """Return the last line of each listing, by its first line.

    AsciiDoc has listings between `----`, for example.
    """
    last: dict[int, int] = {}
    closing: dict[str, int] = {}
    for place in range(len(rows) - 1, -1, -1):
        text = rows[place].text
        mark = "```" if text.startswith("```") else text
        if mark not in ("----", "....", "```", *_OPEN_BLOCKS):
            continue
        above = rows[place - 1].text if place else ""
        is_filled = place + 1 < len(rows) and rows[place + 1].text != ""
        is_below_attribute = _ASCIIDOC_ATTRIBUTE.fullmatch(above) is not None
        if (
            mark in closing
            and is_filled
            and (is_below_attribute or (not above and mark not in _OPEN_BLOCKS))
        ):
            last[place] = closing.pop(mark)
        else:
            closing[mark] = place
    return last


def _wiki_heading(row: _Row) -> MarkedHeading | None:
    if row.text[0] != "=" or len(row.text) > 2 * _LONGEST_TITLE:
        return None
    match = _WIKI.fullmatch(row.text)
    if not match or not _LETTER.search(match["title"]):
        return None
    level = match["left"].count("=")
    if level != match["right"].count("="):
        return None
    begin, end = match.span("title")
    return MarkedHeading(row.start, row.end, row.start + begin, row.start + end, level)


def _numbered_heading(row: _Row) -> MarkedHeading | None:
    match = _NUMBERED.fullmatch(row.text) if len(row.text) <= _LONGEST_TITLE else None
    if not match or not _LETTER.search(match["title"]):
        return None
    if match["title"][0].islower() or match["title"].endswith((".", ",", ";")):
        return None  # a line of prose, "h2. is not one."
    begin, end = match.span("title")
    level = int(match["level"])
    return MarkedHeading(row.start, row.end, row.start + begin, row.start + end, level)


def _asciidoc_heading(rows: list[_Row], place: int) -> MarkedHeading | None:
    row = rows[place]
    above = rows[place - 1].text if place else ""
    match = _ASCIIDOC.fullmatch(row.text) if len(row.text) <= _LONGEST_TITLE else None
    if not match or (above and not _ASCIIDOC_ATTRIBUTE.fullmatch(above)):
        return None
    begin, end = match.span("title")
    return MarkedHeading(row.start, row.end, row.start + begin, row.start + end, len(match["left"]))


def _is_underlined(rows: list[_Row], place: int) -> bool:
    if place + 1 == len(rows) or not (rule := _RULE.fullmatch(rows[place + 1].text)):
        return False
    title = rows[place].text
    length = len(rule[0])
    is_overlined = place > 0 and _is_rule_like(rows[place - 1], rows[place + 1])
    starts_alone = place == 0 or not rows[place - 1].text or is_overlined
    if not starts_alone or len(title) > _LONGEST_TITLE or not _LETTER.search(title):
        return False
    if _COLUMNS.search(title) or _NO_TITLE.match(title) or title[-1] in ".,;:…":
        return False
    below = rows[place + 2].text if place + 2 < len(rows) else ""
    if _COLUMNS.search(below):
        return False
    if length < _SHORTEST_SHARE * len(title) and rule[1] not in "=-":
        return False
    return is_overlined or rule[1] in "=-" or length <= len(title) + _LONGER


def _is_rule_like(row: _Row, rule: _Row) -> bool:
    return row.text == rule.text


def _below_several_titles(headings: list[MarkedHeading]) -> list[MarkedHeading]:
    counts = Counter(heading.level for heading in headings)
    if counts[1] < 2:
        return headings
    return [heading._replace(level=heading.level + 1) for heading in headings]
