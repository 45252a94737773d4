"""Headings and paragraphs of a text: Markdown, underlined and plain headings become title and section.

A heading is not part of any paragraph. One under which no text stands is kept as a paragraph of its own, so that no word
of the document is lost. A YAML front matter is metadata: its `title` is taken, the rest is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise

from factoid.markdown import read_blocks, visible
from factoid.sentences import trim
from factoid.units import Document

FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:(?:[\w-]+:|[ \t]|- ).*\n){1,100}---[ \t]*\r?(?:\n|\Z)")
_FRONT_TITLE = re.compile(r"^title:(.*)$", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[^\S\n]*+\n")
_LINE = re.compile(r"[^\n]+")  # a form feed is no line end in prose
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


def outline(document: Document) -> tuple[str, list[Paragraph]]:
    """Return the document's title and its paragraphs in order.

    The title is the document's own, else the front matter's, else the first heading if it is of level 1. Sections read
    outermost first, joined by ", " as in Dense X Retrieval's Figure 8, and start with the document's own section.
    """
    text = document.text
    start, title = 0, document.title
    if matter := FRONT_MATTER.match(text):
        start = matter.end()
        line = _FRONT_TITLE.search(matter[0])
        title = title or (line[1].strip().strip("\"'") if line else "")
    blocks = list(_blocks(text, start))
    if not any(isinstance(block, _Heading) for block in blocks):
        blocks = _with_plain_headings(text, blocks)
    open_headings: list[_Heading] = []
    paragraphs: list[Paragraph] = []

    def add(start: int, end: int) -> None:
        path = [document.section, *(heading.text for heading in open_headings if heading.level > 0)]
        for heading in open_headings:
            heading.used = True
        paragraphs.append(Paragraph(start, end, ", ".join(filter(None, path))))

    def close(level: int) -> None:
        """Leave the headings of this level and below; what no text followed becomes a paragraph."""
        while open_headings and open_headings[-1].level >= level:
            heading = open_headings.pop()
            if not heading.used:
                add(heading.start, heading.end)

    for block in blocks:
        if not isinstance(block, _Heading):
            add(*block)
            continue
        close(block.level)
        first = not open_headings and not paragraphs
        if first and (block.text == title or (not title and block.level == 1)):
            title = block.text
            block.level = 0  # above all others, and no part of the section
        open_headings.append(block)
    close(0)
    return title, paragraphs


def _blocks(text: str, start: int) -> Iterator[_Heading | tuple[int, int]]:
    """Yield Markdown headings, and the spans of the paragraphs between them; code is a paragraph of its own."""
    run: tuple[int, int] | None = None
    for block in read_blocks(text, start):
        if run and (block.kind != "prose" or _BLANK_LINE.search(text, run[1], block.start)):
            yield from _paragraphs(text, *run)
            run = None
        if block.kind == "heading":
            yield _Heading(block.level, _plain(block.heading), block.start, block.end)
        elif block.kind == "code":
            yield block.start, block.end
        else:  # with the marks before it on its line
            run = (run[0] if run else text.rfind("\n", start, block.start) + 1 or start, block.end)
    if run:
        yield from _paragraphs(text, *run)


def _paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a block of lines as it is, or every line that begins afresh where nobody wraps lines."""
    lines = [match.span() for match in _LINE.finditer(text, start, end)]
    if any(end - start > _UNWRAPPED for start, end in lines):
        for (line, above), (begin, _) in pairwise(lines):
            # A line that goes on in the middle of things (as in "CO⏎2") belongs to the one before.
            if text[line:above].rstrip()[-1:] in _TERMINATORS or text[begin:end].lstrip()[:1].isupper():
                yield from trim(text, start, above)
                start = begin
    yield from trim(text, start, end)


def _plain(heading: str) -> str:
    return " ".join(visible(heading).text.replace("`", "").split())


def _with_plain_headings(text: str, blocks: list[_Heading | tuple[int, int]]) -> list[_Heading | tuple[int, int]]:
    """Take short lines that stand alone above running text for headings; the first one is the title."""
    spans = [block for block in blocks if isinstance(block, tuple)]
    result: list[_Heading | tuple[int, int]] = []
    level = 1
    for index, ((start, end), row) in enumerate(zip(spans, _short_rows(text, spans), strict=True)):
        if row and (index == 0 or row <= _PLAIN_DEPTH):
            above = index > 0 and isinstance(result[-1], _Heading)
            level = 1 if index == 0 else level + 1 if above else 2
            result.append(_Heading(level, _plain(text[start:end]), start, end))
        else:
            result.append((start, end))
    return result


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
    short = len(block) <= _PLAIN_CHARS and "\n" not in block and len(block.split()) <= _PLAIN_WORDS
    return short and (block[0].isupper() or block[0].isdigit()) and block[-1] not in ".!?:;,…。！？"
