"""Headings and paragraphs of a text: Markdown, underlined and plain headings and questions become title and section.

A heading is not part of any paragraph. One without text under it is kept as a paragraph of its own, so that no word of the
document is lost. YAML front matter is left out: `factoid.files` reads it as metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise, starmap, zip_longest
from typing import NamedTuple

from factoid.markdown import is_code, read_blocks, visible
from factoid.sentences import LABELLED_LINE, sentence_spans
from factoid.text.sentence_ends import trim
from factoid.units import LONGEST_HEADING, Document

FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:(?:[\w-]+:|[ \t]|- ).*\n){1,100}---[ \t]*\r?(?:\n|\Z)")
_BLANK_LINE = re.compile(r"\n[^\S\n]*+\n")
_LINE = re.compile(r"[^\n]+")  # a form feed is not a line end in prose
_SENTENCE_END = re.compile(r"[.!?。！？][\"'”’)\]]*(?:\s|\Z)")

# Text is not wrapped at this width: in such a block every line is a paragraph.
_UNWRAPPED = 200
_PLAIN_CHARS, _PLAIN_WORDS = 80, 10
_PLAIN_DEPTH = 3  # title, section, subsection: more short lines in a row are a list
_LEAD_CHARS = 200
_BOLD_LEVEL, _QUESTION_LEVEL = 7, 8  # below those of Markdown
_BOLD = re.compile(r"(\*\*|__)(?=[^\n]*[^\W_])(?:(?!\1)[^\n])*[^\n.!?;,…。！？]\1:?")
_CHAPTER = re.compile(  # "2.1 Core hours", "§ 3", "Article 4"; a number alone is that of a page
    r"(?!\d+\Z)(?:§ ?|(?:Article|Section|Chapter|Artikel|Abschnitt|Kapitel) )?(\d{1,3}(?:\.\d{1,3})*)\.?(?: |\Z)"
)
_BULLET = re.compile(r"[-+*•‣–—]\s|[|>]")
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
    blocks = _joined(text, _blocks(text, start))
    if not any(block.level for block in blocks):
        blocks = _with_plain_headings(text, blocks)
    blocks = _with_leads(text, blocks)
    above: list[_Block] = []  # headings
    paragraphs: list[Paragraph] = []
    for block, following in zip_longest(blocks, blocks[1:]):
        level = block.level
        if level:
            if block is blocks[0] and (block.heading == title or (not title and level == 1)):
                title, level = block.heading, 0  # above all others, and not part of the section
            above = [heading for heading in above if heading.level < level]
            if following and not 0 < following.level <= level:  # text follows; without it the heading is a paragraph
                if level:
                    above.append(block)
                continue
        path = [section, *(heading.heading for heading in above)]
        paragraphs.append(Paragraph(block.start, block.end, ", ".join(filter(None, path))))
    return title, paragraphs


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


def _with_plain_headings(text: str, blocks: list[_Block]) -> list[_Block]:
    """Treat short lines that stand alone above running text as headings; the first one is the title.

    In a text with such headings, a short first line is the title whatever follows it: a date, or the parties of a contract.
    With numbers, 2.1 and 2.2 are below 2, and so is what stands between them.
    """
    rows = [
        (short, list(row)) for short, row in groupby(blocks, lambda block: _is_short(text[block.start : block.end]))
    ]
    result: list[_Block] = []
    chapters: list[tuple[str, int]] = []  # numbers of the last heading and of those above it, with their places
    for (short, row), (_, below) in zip_longest(rows, rows[1:], fillvalue=(False, [])):
        headed = short and below and _SENTENCE_END.search(text, below[0].start, below[0].end)
        if headed and LABELLED_LINE.match(text, row[-1].start) and LABELLED_LINE.match(text, below[0].start):
            headed = None  # turns of a conversation
        for start, end, *_ in row:
            if headed and (not result or len(row) <= _PLAIN_DEPTH):
                level = 1 if not result else (result[-1].level or 1) + 1
                heading = _plain(text[start:end])
                if number := _CHAPTER.match(heading):
                    last = chapters[-1][1] if chapters else 0
                    while chapters and not number[1].startswith(f"{chapters[-1][0]}."):
                        chapters.pop()
                    if chapters:
                        level = result[chapters[-1][1]].level + 1
                        for place in range(last + 1, len(result)):  # without numbers; alone they are of level 2
                            if deeper := result[place].level:
                                result[place] = result[place]._replace(level=deeper + level - 2)
                    chapters.append((number[1], len(result)))
                result.append(_Block(start, end, level, heading))
            else:
                result.append(_Block(start, end))
    if any(block.level for block in result) and not result[0].level:
        start, end, *_ = result[0]
        if _is_short(text[start:end]) and not LABELLED_LINE.match(text, start):
            result[0] = _Block(start, end, 1, _plain(text[start:end]))
    return result


def _joined(text: str, blocks: Iterable[_Block]) -> list[_Block]:
    """Join a paragraph that ends in a colon or a semicolon to the next, as introductions and the clauses of a contract do."""
    result: list[_Block] = []
    goes_on = False
    for block in blocks:
        paragraph = text[block.start : block.end]
        if goes_on and not (block.level or _lead_level(paragraph)):
            block = _Block(result.pop().start, block.end)
        result.append(block)
        goes_on = not block.level and _GOES_ON.search(paragraph[-10:]) is not None
        goes_on = goes_on and not is_code(paragraph) and not _BOLD.fullmatch(paragraph)
    return result


def _with_leads(text: str, blocks: Iterable[_Block]) -> list[_Block]:
    """Treat lines in bold and questions as the lowest headings."""
    result = []
    for block in blocks:
        paragraph = text[block.start : block.end]
        if level := block.level or _lead_level(paragraph):
            block = _Block(block.start, block.end, level, block.heading or _plain(paragraph).removesuffix(":"))
        result.append(block)
    return result


def _lead_level(paragraph: str) -> int:
    """Return the level of a short paragraph as a heading, 0 if it is none."""
    if len(paragraph) > _LEAD_CHARS:
        return 0
    if _BOLD.fullmatch(paragraph):
        return _BOLD_LEVEL
    is_question = paragraph.rstrip("*_")[-1:] in ("?", "？") and not _BULLET.match(paragraph)
    return _QUESTION_LEVEL if is_question and len(sentence_spans(paragraph)) == 1 else 0


def _is_short(block: str) -> bool:
    if _BOLD.fullmatch(block):
        block = block.strip("*_:")
    short = len(block) <= _PLAIN_CHARS and "\n" not in block and len(block.split()) <= _PLAIN_WORDS
    return short and (block[0].isupper() or block[0].isdigit() or block[0] == "§") and block[-1] not in ".!?:;,…。！？"
