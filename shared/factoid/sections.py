"""Headings and paragraphs of a text: Markdown, underlined and plain headings become title and section.

A heading is not part of any paragraph. One under which no text stands is kept as a paragraph of its own, so that no word
of the document is lost. A YAML front matter is metadata: its `title` is taken, the rest is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from factoid.sentences import trim
from factoid.units import Document

_ATX = re.compile(r" {0,3}(#{1,6})[ \t]++(\S.*)")
_CLOSING_HASHES = re.compile(r"(?:(?<=[ \t])|\A)#+\Z")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})\s*$")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:(?:[\w-]+:|[ \t]|- ).*\n){1,100}---[ \t]*\r?(?:\n|\Z)")
_FRONT_TITLE = re.compile(r"^title:[ \t]*[\"']?(.*?)[\"']?[ \t]*\r?$", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"[*`]+|\b__|__\b")
_SENTENCE_END = re.compile(r"[.!?。！？][\"'”’)\]]*(?:\s|\Z)")

# Nobody wraps lines at this width: in such a block every line is a paragraph.
_UNWRAPPED = 200
_PLAIN_CHARS, _PLAIN_WORDS = 80, 10
_PLAIN_DEPTH = 3  # title, section, subsection: more short lines in a row are a list
_TERMINATORS = tuple('.!?:;…"”’)]。！？')


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Span `[start, end)` of a paragraph in the document, and the path of headings above it."""

    start: int
    end: int
    section: str


@dataclass(slots=True)
class _Heading:
    level: int
    text: str
    start: int
    end: int
    used: bool = False


@dataclass(slots=True)
class _Outline:
    """Paragraphs in order of reading, and the headings open at this point."""

    document: Document
    title: str
    open: list[_Heading] = field(default_factory=list)
    paragraphs: list[Paragraph] = field(default_factory=list)

    def add_heading(self, heading: _Heading) -> None:
        self.close(heading.level)
        first = not self.open and not self.paragraphs
        if first and (heading.text == self.title or (not self.title and heading.level == 1)):
            self.title = heading.text
            heading.level = 0  # above all others, and no part of the section
        self.open.append(heading)

    def add_paragraph(self, start: int, end: int) -> None:
        for heading in self.open:
            heading.used = True
        self.paragraphs.append(Paragraph(start, end, self._section()))

    def close(self, level: int) -> None:
        """Leave the headings of this level and below; what no text followed becomes a paragraph."""
        while self.open and self.open[-1].level >= level:
            heading = self.open.pop()
            if not heading.used:
                self.add_paragraph(heading.start, heading.end)

    def _section(self) -> str:
        path = [heading.text for heading in self.open if heading.level > 0]
        return ", ".join(filter(None, [self.document.section, *path]))


def outline(document: Document) -> tuple[str, list[Paragraph]]:
    """Return the document's title and its paragraphs in order.

    The title is the document's own, else the front matter's, else the first heading if it is of level 1. Sections read
    outermost first, joined by ", " as in Dense X Retrieval's Figure 8, and start with the document's own section.
    """
    text = document.text
    start, title = 0, document.title
    if matter := _FRONT_MATTER.match(text):
        start = matter.end()
        found = _FRONT_TITLE.search(matter[0])
        title = title or (found[1] if found else "")
    blocks = list(_blocks(text, start))
    if not any(isinstance(block, _Heading) for block in blocks):
        blocks = _with_plain_headings(text, blocks)
    result = _Outline(document, title)
    for block in blocks:
        if isinstance(block, _Heading):
            result.add_heading(block)
        else:
            result.add_paragraph(*block)
    result.close(0)
    return result.title, result.paragraphs


def _lines(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Spans of the lines, without their line ends. Only newlines count: a form feed is no line end in prose."""
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


def _blocks(text: str, start: int) -> Iterator[_Heading | tuple[int, int]]:
    """Yield Markdown headings, and the spans of the paragraphs between them."""
    held: list[tuple[int, int]] = []
    fence = ""
    for begin, end in _lines(text, start):
        line = text[begin:end]
        if mark := _FENCE.match(line):
            closes = fence and mark[1].startswith(fence) and line.strip() == mark[1]
            fence = "" if closes else fence or mark[1]
        heading = None if fence else _ATX.match(line)
        underlined = not fence and len(held) == 1 and _UNDERLINE.match(line)
        if underlined:
            (at, to), held = held[0], []
            yield _Heading(1 if "=" in line else 2, _plain(text[at:to]), at, to)
        elif heading:
            yield from _paragraphs(text, held)
            held = []
            yield _Heading(len(heading[1]), _plain(_CLOSING_HASHES.sub("", heading[2].rstrip())), begin, end)
        elif line.strip() or (fence and held):
            held.append((begin, end))
        else:
            yield from _paragraphs(text, held)
            held = []
    yield from _paragraphs(text, held)


def _paragraphs(text: str, lines: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    if not lines:
        return
    start, end = lines[0]
    unwrapped = any(end - start > _UNWRAPPED for start, end in lines)
    for (above, _), (begin, stop) in pairwise(lines):
        # A line that goes on in the middle of things (as in "CO⏎2") belongs to the one before.
        fresh = text[above:end].rstrip()[-1:] in _TERMINATORS or text[begin:stop].lstrip()[:1].isupper()
        if unwrapped and fresh:
            yield from filter(None, [trim(text, start, end)])
            start = begin
        end = stop
    yield from filter(None, [trim(text, start, end)])


def _plain(heading: str) -> str:
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", heading)).split())


def _with_plain_headings(text: str, blocks: list[_Heading | tuple[int, int]]) -> list[_Heading | tuple[int, int]]:
    """Take short lines that stand alone above running text for headings; the first one is the title."""
    spans = [block for block in blocks if isinstance(block, tuple)]
    found: list[_Heading | tuple[int, int]] = []
    level = 1
    for index, ((start, end), row) in enumerate(zip(spans, _short_rows(text, spans), strict=True)):
        if row and (index == 0 or row <= _PLAIN_DEPTH):
            above = index > 0 and isinstance(found[-1], _Heading)
            level = 1 if index == 0 else level + 1 if above else 2
            found.append(_Heading(level, _plain(text[start:end]), start, end))
        else:
            found.append((start, end))
    return found


def _short_rows(text: str, spans: list[tuple[int, int]]) -> list[int]:
    """Return for each block the length of the row of short lines that it stands in, 0 if no running text follows."""
    rows: list[int] = []
    for short, group in groupby(spans, lambda span: _is_plain_heading(text[slice(*span)])):
        length = len(list(group))
        after = len(rows) + length
        headed = short and after < len(spans) and _SENTENCE_END.search(text, *spans[after])
        rows += [length if headed else 0] * length
    return rows


def _is_plain_heading(block: str) -> bool:
    first = block[0]
    return (
        len(block) <= _PLAIN_CHARS
        and "\n" not in block
        and len(block.split()) <= _PLAIN_WORDS
        and (first.isupper() or first.isdigit())
        and block[-1] not in ".!?:;,…。！？"
    )
