"""Headings and paragraphs of a text: Markdown, underlined and plain headings and questions become title and section.

A heading is not part of any paragraph. One without text under it is kept as a paragraph of its own, so that no word of the
document is lost. Front matter is left out, but for the title in it: `factoid.files` reads it as metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from typing import NamedTuple

from factoid.text.blocks import Block
from factoid.text.front_matter import front_matter, title_of
from factoid.text.markup import markup_of
from factoid.text.reading import LABELLED_LINE, read, sentences_of
from factoid.units import LONGEST_HEADING, Document

_BLANK_LINE = re.compile(r"\n[^\S\n]*+\n")
_SENTENCE_END = re.compile(r"[.!?。！？][\"'”’)\]]*(?:\s|\Z)")

_PLAIN_CHARS, _PLAIN_WORDS = 80, 10
_PLAIN_DEPTH = 3  # title, section, subsection: more short lines in a row are a list
_LEAD_CHARS = 200
_BOLD_LEVEL, _QUESTION_LEVEL = 7, 8  # below those of Markdown
_CHAPTER = re.compile(  # "2.1 Core hours", "§ 3", "Article 4"; a number alone is that of a page
    r"(?!\d+\Z)(?:§ ?|(?:Article|Section|Chapter|Artikel|Abschnitt|Kapitel) )?(\d{1,3}(?:\.\d{1,3})*)\.?(?: |\Z)"
)
_GOES_ON = re.compile(r"(?:[:：]|[;；](?:\s(?:and|or))?)\Z")
_NO_HEADING = tuple(".!?;,…。！？")


class Paragraph(NamedTuple):
    """A paragraph of a document: its span `[start, end)`, the path of headings above it, and its blocks."""

    start: int
    end: int
    section: str
    blocks: tuple[Block, ...]


class _Part(NamedTuple):
    """A paragraph or a heading while headings are looked for."""

    start: int
    end: int
    blocks: tuple[Block, ...]
    level: int = 0  # of a heading, from 1
    heading: str = ""

    @property
    def text(self) -> str:
        """What a reader sees of it."""
        return "\n".join([block.visible.text for block in self.blocks])

    @property
    def is_strong(self) -> bool:
        """Whether it is one line of bold text that may be a heading."""
        visible = self.blocks[0].visible
        is_line = len(self.blocks) == 1 and "\n" not in visible.text
        return (
            is_line and self.blocks[0].kind == "paragraph" and visible.is_strong and visible.text[-1] not in _NO_HEADING
        )

    @property
    def is_code(self) -> bool:
        """Whether it is code."""
        return self.blocks[0].kind == "code"


def outline(document: Document) -> tuple[str, list[Paragraph]]:
    """Return the document's title and its paragraphs in order.

    The title is the document's own, else that of its front matter, else the first heading if it is of level 1. Sections are
    written outermost first, joined by ", " as in Dense X Retrieval's Figure 8, and start with the document's own section.
    """
    text = document.text
    fields, start = front_matter(text)
    start = max(start, int(text.startswith("\ufeff")))  # without a byte order mark
    title = (document.title or title_of(fields))[:LONGEST_HEADING]
    section = document.section[:LONGEST_HEADING]
    blocks = read(text, markup_of(text, document.metadata), start)
    parts = _joined(_parts(text, start, blocks))
    if not any(part.level for part in parts):
        parts = _with_plain_headings(parts)
    parts = _with_leads(parts)
    above: list[_Part] = []  # headings
    paragraphs: list[Paragraph] = []
    for part, following in zip_longest(parts, parts[1:]):
        level = part.level
        if level:
            if part is parts[0] and (part.heading == title or (not title and level == 1)):
                title, level = part.heading, 0  # above all others, and not part of the section
            above = [heading for heading in above if heading.level < level]
            if following and not 0 < following.level <= level:  # text follows; without it the heading is a paragraph
                if level:
                    above.append(part)
                continue
        path = [section, *(heading.heading for heading in above)]
        paragraphs.append(Paragraph(part.start, part.end, ", ".join(filter(None, path)), part.blocks))
    if not title:
        title = " ".join(str(fields.get("description") or "").split())[:LONGEST_HEADING]
    return title, paragraphs


def _parts(text: str, start: int, blocks: Iterable[Block]) -> Iterator[_Part]:
    """Yield headings and the paragraphs between them; code is a paragraph of its own, and so is a line that is not wrapped."""
    run: list[Block] = []
    for block in blocks:
        is_apart = block.kind in ("heading", "code") or (run and run[-1].kind == block.kind == "paragraph")
        if run and (is_apart or _BLANK_LINE.search(text, run[-1].end, block.start)):
            yield _paragraph(text, start, run)
            run = []
        if block.kind == "heading":
            level = block.level if len(block.visible.text) <= LONGEST_HEADING else 0
            yield _Part(block.start, block.end, (block,), level, _plain(block.visible.text) if level else "")
        elif block.kind == "code":
            yield _Part(block.start, block.end, (block,))
        else:
            run.append(block)
    if run:
        yield _paragraph(text, start, run)


def _paragraph(text: str, start: int, run: Sequence[Block]) -> _Part:
    """Return a run of blocks as a paragraph, with the marks before it on its line."""
    first = run[0].start
    line = max(text.rfind("\n", start, first) + 1, start)
    before = text[line:first]
    begin = first - len(before.lstrip())
    return _Part(begin, run[-1].end, tuple(run))


def _plain(heading: str) -> str:
    return " ".join(heading.replace("`", "").split())


def _with_plain_headings(parts: list[_Part]) -> list[_Part]:
    """Treat short lines that stand alone above running text as headings; the first one is the title.

    In a text with such headings, a short first line is the title whatever follows it: a date, or the parties of a contract.
    With numbers, 2.1 and 2.2 are below 2, and so is what stands between them.
    """
    rows = [(short, list(row)) for short, row in groupby(parts, _is_short)]
    result: list[_Part] = []
    chapters: list[tuple[str, int]] = []  # numbers of the last heading and of those above it, with their places
    for (short, row), (_, below) in zip_longest(rows, rows[1:], fillvalue=(False, [])):
        headed = short and below and _SENTENCE_END.search(below[0].text)
        if headed and LABELLED_LINE.match(row[-1].text) and LABELLED_LINE.match(below[0].text):
            headed = None  # turns of a conversation
        for part in row:
            if headed and (not result or len(row) <= _PLAIN_DEPTH):
                level = 1 if not result else (result[-1].level or 1) + 1
                heading = _plain(part.text).removesuffix(":")
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
                result.append(part._replace(level=level, heading=heading))
            else:
                result.append(part)
    if any(part.level for part in result) and not result[0].level:
        first = result[0]
        if _is_short(first) and not LABELLED_LINE.match(first.text):
            result[0] = first._replace(level=1, heading=_plain(first.text))
    return result


def _joined(parts: Iterable[_Part]) -> list[_Part]:
    """Join a paragraph that ends in a colon or a semicolon to the next, as introductions and the clauses of a contract do."""
    result: list[_Part] = []
    goes_on = False
    for part in parts:
        if goes_on and not (part.level or _lead_level(part)):
            before = result.pop()
            part = _Part(before.start, part.end, before.blocks + part.blocks)
        result.append(part)
        goes_on = not part.level and _GOES_ON.search(part.text[-10:]) is not None
        goes_on = goes_on and part.blocks[-1].kind != "code" and not part.is_strong
    return result


def _with_leads(parts: Iterable[_Part]) -> list[_Part]:
    """Treat lines in bold and questions as the lowest headings."""
    result = []
    for part in parts:
        if level := part.level or _lead_level(part):
            part = part._replace(level=level, heading=part.heading or _plain(part.text).removesuffix(":"))
        result.append(part)
    return result


def _lead_level(part: _Part) -> int:
    """Return the level of a short paragraph as a heading, 0 if it is none."""
    text = part.text
    if len(text) > _LEAD_CHARS or part.is_code:
        return 0
    if part.is_strong:
        return _BOLD_LEVEL
    is_spoken = text.startswith(("—", "–")) or (part.blocks[0].kind == "item" and not text[0].isdigit())
    is_question = text[-1:] in ("?", "？") and len(part.blocks) == 1 and not is_spoken
    return _QUESTION_LEVEL if is_question and len(sentences_of(part.blocks)) == 1 else 0


def _is_short(part: _Part) -> bool:
    text = part.text
    if len(part.blocks) > 1 or part.is_code or part.blocks[0].kind == "row":
        return False
    if part.is_strong:
        text = text.removesuffix(":")
    short = len(text) <= _PLAIN_CHARS and "\n" not in text and len(text.split()) <= _PLAIN_WORDS
    return short and (text[0].isupper() or text[0].isdigit() or text[0] == "§") and text[-1] not in ".!?:;,…。！？"
