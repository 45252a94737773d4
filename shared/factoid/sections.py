"""Headings and paragraphs of a text.

Markdown, underlined and plain headings and questions become title and section. A heading is not
part of any paragraph. One without text under it is kept as a paragraph of its own, so that no word
of the document is lost. Front matter is left out, but for the title in it: `factoid.files` reads it
as metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from factoid.text.blocks import Block
from factoid.text.front_matter import front_matter, title_of
from factoid.text.inline import inline
from factoid.text.markdown import markdown_blocks, references_in
from factoid.text.marked_headings import marked_headings
from factoid.text.markup import Markup, markup_of
from factoid.text.paragraphs import Read, part_of, span_of
from factoid.text.plain import as_it_is
from factoid.text.plain_headings import Heading, Line, find_headings, heading_cuts
from factoid.text.reading import read
from factoid.text.restructured import restructured_inline
from factoid.units import LONGEST_HEADING, Document

_BLANK_LINE = re.compile(r"\n[^\S\n]*+\n")
_IMAGE = re.compile(r"\[?!\[|<img\b", re.IGNORECASE)
_LEAD_CHARS = 200
_GOES_ON = re.compile(r"(?:[:：]|[;；](?:\s(?:and|or))?)\Z")
_INLINE: dict[Markup, Read] = {"markdown": inline, "rst": restructured_inline, "plain": as_it_is}
_NO_HEADING = tuple(".!;,…。！")


class Paragraph(NamedTuple):
    """A paragraph of a document.

    Its span `[start, end)`, the path of headings above it, and its blocks.
    """

    start: int
    end: int
    section: str
    blocks: tuple[Block, ...]


class _Part(NamedTuple):
    """A paragraph or a heading while headings are looked for."""

    start: int
    end: int
    blocks: tuple[Block, ...]

    @property
    def kind(self) -> str:
        """The kind of its first block."""
        return self.blocks[0].kind

    @property
    def text(self) -> str:
        """The text that a reader sees."""
        return "\n".join([block.visible.text for block in self.blocks])

    @property
    def level(self) -> int:
        """The level of a heading that is marked, or 0."""
        if self.kind == "heading" and len(self.text) <= LONGEST_HEADING:
            return self.blocks[0].level
        return 0

    @property
    def is_strong(self) -> bool:
        """Whether it is one line of bold text that may be a heading."""
        visible = self.blocks[0].visible
        is_line = len(self.blocks) == 1 and self.kind == "paragraph" and "\n" not in visible.text
        return is_line and visible.is_strong and not visible.text.endswith(_NO_HEADING)


def outline(document: Document) -> tuple[str, list[Paragraph]]:
    """Return the document's title and its paragraphs in order.

    The title is the document's own, else that of its front matter, else the first heading if it is
    of level 1. Sections are written outermost first, joined by ", " as in Dense X Retrieval's
    Figure 8, and start with the document's own section.
    """
    text = document.text
    fields, start = front_matter(text)
    start = max(start, int(text.startswith("\ufeff")))  # without a byte order mark
    title = (document.title or title_of(fields))[:LONGEST_HEADING]
    section = document.section[:LONGEST_HEADING]
    markup = markup_of(text, document.metadata)
    blocks = _with_marked_headings(text, start, markup)
    has_levels = any(block.kind == "heading" for block in blocks)
    parts = _joined(_parts(text, start, blocks))
    if not has_levels:
        pieces: list[_Part] = []
        for part in parts:
            pieces += _cut_at_headings(text, part)
        parts = pieces
    is_marked = markup == "rst" or (markup == "markdown" and _has_number_signs(text, blocks))
    is_plain = not (has_levels and is_marked)
    headings = {
        heading.place: heading for heading in find_headings(list(_lines(text, parts)), is_plain)
    }
    above: list[tuple[Heading, str]] = []  # with their words
    paragraphs: list[Paragraph] = []
    for place, part in enumerate(parts):
        above = [(heading, words) for heading, words in above if heading.end > place]
        if heading := headings.get(place):
            words = _plain(part.text).removesuffix(":")
            is_title = place == 0 and (words == title or (not title and heading.level == 1))
            following = headings.get(place + 1)
            is_last = place + 1 == len(parts)
            if is_title:
                title = words
            if not is_last and (is_title or not following or following.level > heading.level):
                if not is_title:
                    above.append((heading, words))
                continue  # text follows; without it the heading is a paragraph
        path = [section, *(words for _, words in above)]
        paragraphs.append(
            Paragraph(part.start, part.end, ", ".join(filter(None, path)), part.blocks)
        )
    if not title:
        title = " ".join(str(fields.get("description") or "").split())[:LONGEST_HEADING]
    return title, paragraphs


def _with_marked_headings(text: str, start: int, markup: Markup) -> list[Block]:
    """Return the blocks of a text.

    Headings are those that Markdown marks or, without "#", a wiki, AsciiDoc or underlines.
    """
    blocks = read(text, markup, start)
    if markup == "markdown" and _has_number_signs(text, blocks):
        return list(blocks)
    marked = marked_headings(text, start)
    if not marked:
        return list(blocks)
    result: list[Block] = []
    references = references_in(text, start) if markup == "markdown" else {}
    for heading in marked:
        result += _read_between(text, start, heading.start, markup, references)
        source = text[heading.title_start : heading.title_end]
        see = _INLINE[markup]
        visible = see(source, range(heading.title_start, heading.title_end))
        result.append(Block("heading", heading.start, heading.end, visible, heading.level))
        start = heading.end
    return [*result, *_read_between(text, start, len(text), markup, references)]


def _has_number_signs(text: str, blocks: Iterable[Block]) -> bool:
    return any(block.kind == "heading" and text.startswith("#", block.start) for block in blocks)


def _read_between(
    text: str, start: int, end: int, markup: Markup, references: Mapping[str, Any]
) -> list[Block]:
    """Return the blocks between two headings; links in Markdown may be defined anywhere."""
    part = text[start:end]
    blocks = markdown_blocks(part, references=references) if references else read(part, markup)
    return [block.moved(start) for block in blocks]


def _parts(text: str, start: int, blocks: Iterable[Block]) -> Iterator[_Part]:
    """Yield headings and the paragraphs between them. Code is a paragraph of its own."""
    run: list[Block] = []
    for block in blocks:
        is_alone = block.kind in ("heading", "code")
        is_apart = is_alone or (run and run[-1].kind == block.kind == "paragraph")
        if run and (is_apart or _BLANK_LINE.search(text, run[-1].end, block.start)):
            yield _paragraph(text, start, run)
            start = run[-1].end  # two paragraphs may stand on one line, with a break between them
            run = []
        if is_alone:
            yield _Part(block.start, block.end, (block,))
            start = block.end
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


def _cut_at_headings(text: str, part: _Part) -> Iterator[_Part]:
    """Cut a paragraph of plain text around lines in it that could be headings."""
    cuts = [] if part.kind in ("heading", "code") else heading_cuts(text[part.start : part.end])
    if not cuts:
        yield part
        return
    blocks = part.blocks
    start = part.start
    for cut in [part.start + cut for cut in cuts] + [part.end]:
        before, blocks = _divided(blocks, cut)
        if before:
            yield _paragraph(text, start, before)
        start = cut


def _divided(blocks: Sequence[Block], at: int) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Divide blocks before and behind a place in the source."""
    before: list[Block] = []
    behind: list[Block] = []
    for block in blocks:
        if block.end <= at:
            before.append(block)
        elif block.start >= at:
            behind.append(block)
        else:
            offsets = block.visible.offsets
            place = next(
                (place for place, offset in enumerate(offsets) if offset >= at), len(offsets)
            )
            for visible, target in (
                (part_of(block.visible, 0, place), before),
                (part_of(block.visible, place, len(offsets)), behind),
            ):
                if visible.text:
                    start, end = span_of(visible)
                    number = block.number if target is before else 0
                    target.append(
                        replace(block, start=start, end=end, visible=visible, number=number)
                    )
    return tuple(before), tuple(behind)


def _lines(text: str, parts: Iterable[_Part]) -> Iterator[Line]:
    before = 0
    for part in parts:
        gap = max(text.count("\n", before, part.start) - 1, 0)
        marks = text[part.start : part.blocks[0].start]
        shown = list(map(_marked, part.blocks[1:]))
        words = "\n".join([marks + part.blocks[0].visible.text, *shown])
        if part.kind == "heading":
            words = part.text
        elif part.kind == "row":
            words = f"| {words}"
        elif part.is_strong:
            words = part.text
        kind = "paragraph"
        is_unmarked = not marks and not part.blocks[0].number and words[:1].isalpha()
        goes_on = part.kind == "item" and is_unmarked  # a further paragraph of a message or a term
        if part.level or part.kind == "code" or goes_on:
            kind = part.kind
        elif _IMAGE.match(text, part.start):
            kind = "image"
        yield Line(words, kind, part.is_strong, gap, part.level)
        before = part.end


def _marked(block: Block) -> str:
    """Return what a reader sees of a block, with a mark of what it is."""
    mark = {"item": "- ", "row": "| "}.get(block.kind, "")
    return mark + block.visible.text


def _plain(heading: str) -> str:
    return " ".join(heading.replace("`", "").split())


def _joined(parts: Iterable[_Part]) -> list[_Part]:
    """Join a paragraph that ends in a colon or a semicolon to the next.

    Such are introductions and the clauses of a contract. The title of an admonition is joined to
    what is below it.
    """
    groups: list[list[_Part]] = []
    for part in parts:
        if groups and _goes_on(groups[-1], part):
            groups[-1].append(part)
        else:
            groups.append([part])
    return [_as_one(group) for group in groups]


def _goes_on(group: Sequence[_Part], part: _Part) -> bool:
    """Return whether paragraphs that are joined go on in the next one."""
    if part.level or part.is_strong or _ends_asking([part]):
        return False
    is_heading = len(group) == 1 and group[0].level > 0
    is_strong = len(group) == 1 and group[0].is_strong
    if is_heading or is_strong:
        return False
    last = group[-1].blocks[-1]
    if last.kind != "code" and _GOES_ON.search(last.visible.text[-10:]):
        return True
    is_title = any(lead.end == last.end for lead in part.blocks[0].leads)
    return is_title and last.kind == "paragraph" and not _ends_asking(group)


def _as_one(group: Sequence[_Part]) -> _Part:
    """Return joined paragraphs as one."""
    blocks: list[Block] = []
    for part in group:
        blocks += part.blocks
    return _Part(group[0].start, group[-1].end, tuple(blocks))


def _ends_asking(parts: Sequence[_Part]) -> bool:
    """Return whether paragraphs are a short question."""
    last = parts[-1].blocks[-1].visible.text
    if last[-1:] not in ("?", "？"):
        return False
    length = -1
    for part in parts:
        length += len(part.text) + 1
        if length > _LEAD_CHARS:
            return False
    return True
