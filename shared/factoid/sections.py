"""Headings and paragraphs of a text: Markdown, underlined and plain headings and questions become title and section.

A heading is not part of any paragraph. One without text under it is kept as a paragraph of its own, so that no word of the
document is lost. YAML front matter is left out: `factoid.files` reads it as metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise, starmap
from typing import NamedTuple

from factoid.markdown import is_code, read_blocks, visible
from factoid.text.marked_headings import marked_headings
from factoid.text.plain_headings import Heading, Line, find_headings, heading_cuts
from factoid.text.sentence_ends import trim
from factoid.units import LONGEST_HEADING, Document

FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:(?:[\w-]+:|[ \t]|- ).*\n){1,100}---[ \t]*\r?(?:\n|\Z)")
_BLANK_LINE = re.compile(r"\n[^\S\n]*+\n")
_LINE = re.compile(r"[^\n]+")  # a form feed is not a line end in prose
# Text is not wrapped at this width: in such a block every line is a paragraph.
_UNWRAPPED = 200
_LEAD_CHARS = 200
_BOLD = re.compile(r"(\*\*|__)(?=[^\n]*[^\W_])(?:(?!\1)[^\n])*[^\n.!?;,…。！？]\1:?")
_BOLD_QUESTION = re.compile(r"(\*\*|__)(?:(?!\1)[^\n])+[?？]\1")
_MARKDOWN_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+\S", re.MULTILINE)
_GOES_ON = re.compile(r"(?:[:：]|[;；](?:\s(?:and|or))?)[*_]{0,2}\Z")
_TERMINATORS = tuple('.!?:;…"”’)]。！？')


class Paragraph(NamedTuple):
    """Span `[start, end)` of a paragraph in the document, and the path of headings above it."""

    start: int
    end: int
    section: str


class _Block(NamedTuple):
    start: int
    end: int
    level: int = 0  # of a heading, from 1
    heading: str = ""


def outline(document: Document) -> tuple[str, list[Paragraph]]:
    """Return the document's title and its paragraphs in order.

    The title is the document's own, else the first heading if it is of level 1. Sections are written outermost first, joined by
    ", " as in Dense X Retrieval's Figure 8, and start with the document's own section.
    """
    text = document.text
    start = int(text.startswith("\ufeff"))  # without a byte order mark
    title, section = document.title[:LONGEST_HEADING], document.section[:LONGEST_HEADING]
    if matter := FRONT_MATTER.match(text, start):
        start = matter.end()
    blocks = _all_blocks(text, start)
    if not any(block.level for block in blocks):
        blocks = [part for block in blocks for part in _cut_at_headings(text, block)]
    headings = {
        heading.place: heading
        for heading in find_headings([*_lines(text, blocks)], _MARKDOWN_HEADING.search(text) is None)
    }
    above: list[tuple[Heading, str]] = []  # with their words
    paragraphs: list[Paragraph] = []
    for place, block in enumerate(blocks):
        above = [(heading, words) for heading, words in above if heading.end > place]
        if heading := headings.get(place):
            words = block.heading or _plain(text[block.start : block.end]).removesuffix(":")
            is_title = place == 0 and (words == title or (not title and heading.level == 1))
            following = headings.get(place + 1)
            is_last = place + 1 == len(blocks)
            if is_title:
                title = words
            if not is_last and (is_title or not following or following.level > heading.level):
                if not is_title:
                    above.append((heading, words))
                continue  # text follows; without it the heading is a paragraph
        path = [section, *(words for _, words in above)]
        paragraphs.append(Paragraph(block.start, block.end, ", ".join(filter(None, path))))
    return title, paragraphs


def _all_blocks(text: str, start: int) -> list[_Block]:
    """Return the blocks of a text; headings are those that are marked, as Markdown does or a wiki."""
    marked = [] if _MARKDOWN_HEADING.search(text, start) else marked_headings(text, start)
    blocks: list[_Block] = []
    for heading in marked:
        blocks += _between(text, start, heading.start)
        words = _plain(text[heading.title_start : heading.title_end])
        blocks.append(_Block(heading.start, heading.end, heading.level, words))
        start = heading.end
    return blocks + _between(text, start, len(text))


def _between(text: str, start: int, end: int) -> list[_Block]:
    part = text[start:end]
    blocks = _joined(part, _blocks(part, 0))
    return [block._replace(start=block.start + start, end=block.end + start) for block in blocks]


def _cut_at_headings(text: str, block: _Block) -> Iterator[_Block]:
    paragraph = text[block.start : block.end]
    cuts = [] if is_code(paragraph) else heading_cuts(paragraph)
    for first, last in pairwise([0, *cuts, len(paragraph)]):
        yield from starmap(_Block, trim(text, block.start + first, block.start + last))


def _lines(text: str, blocks: Iterable[_Block]) -> Iterator[Line]:
    before = 0
    for block in blocks:
        paragraph = text[block.start : block.end]
        gap = max(text.count("\n", before, block.start) - 1, 0)
        is_strong = _BOLD.fullmatch(paragraph) is not None or _BOLD_QUESTION.fullmatch(paragraph) is not None
        words = block.heading or (paragraph.strip("*_") if is_strong else paragraph)
        kind = "heading" if block.level else "code" if is_code(paragraph) else "paragraph"
        yield Line(words, kind, is_strong, gap, block.level)
        before = block.end


def _blocks(text: str, start: int) -> Iterator[_Block]:
    """Yield Markdown headings and the paragraphs between them; code is a paragraph of its own."""
    run: tuple[int, int] | None = None
    for block in read_blocks(text, start):
        if run and (block.kind != "prose" or _BLANK_LINE.search(text, run[1], block.start)):
            yield from _paragraphs(text, *run)
            run = None
        if block.kind == "prose":  # with the marks before it on its line
            run = (run[0] if run else text.rfind("\n", start, block.start) + 1 or start, block.end)
        else:
            level = block.level if len(block.heading) <= LONGEST_HEADING else 0
            yield _Block(block.start, block.end, level, _plain(block.heading) if level else "")
    if run:
        yield from _paragraphs(text, *run)


def _paragraphs(text: str, start: int, end: int) -> Iterator[_Block]:
    """Yield a block of lines unchanged, or, if its lines are not wrapped, each line that starts a paragraph."""
    lines = [match.span() for match in _LINE.finditer(text, start, end)]
    if any(end - start > _UNWRAPPED for start, end in lines):
        for (line, above), (begin, stop) in pairwise(lines):
            # A line that continues another (as in "CO⏎2") belongs to the one before.
            if text[line:above].rstrip()[-1:] in _TERMINATORS or text[begin:stop].lstrip()[:1].isupper():
                yield from starmap(_Block, trim(text, start, above))
                start = begin
    yield from starmap(_Block, trim(text, start, end))


def _plain(heading: str) -> str:
    return " ".join(visible(heading).text.replace("`", "").split())


def _joined(text: str, blocks: Iterable[_Block]) -> list[_Block]:
    """Join a paragraph that ends in a colon or a semicolon to the next, as introductions and the clauses of a contract do."""
    result: list[_Block] = []
    goes_on = False
    for block in blocks:
        paragraph = text[block.start : block.end]
        if goes_on and not (
            block.level or _BOLD.fullmatch(paragraph) or _BOLD_QUESTION.fullmatch(paragraph) or _ends_asking(paragraph)
        ):
            block = _Block(result.pop().start, block.end)
        result.append(block)
        goes_on = not block.level and _GOES_ON.search(paragraph[-10:]) is not None
        goes_on = goes_on and not is_code(paragraph) and not _BOLD.fullmatch(paragraph)
    return result


def _ends_asking(paragraph: str) -> bool:
    return len(paragraph) <= _LEAD_CHARS and paragraph[-1:] in ("?", "？")
