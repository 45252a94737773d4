"""Read plain text into blocks.

The blocks are paragraphs, items of lists, rows between bars, and indented code. Every character is
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from factoid.text.aligned import AlignedTable, aligned_tables, cell_source
from factoid.text.blocks import Block, Lead, Visible
from factoid.text.lines import line_starts
from factoid.text.messages import Header, message_headers, message_parts
from factoid.text.paragraphs import (
    Above,
    Read,
    caption_of,
    has_header,
    joined,
    named_rows,
    paragraph_blocks,
)

_LONGEST_LINE = 4000  # characters
_WORDS = re.compile(r"[!-~]++(?: [!-~]++)*+")
_MARK_ALONE = re.compile(r"(?<!\S)[-+*|:=~`_#>^]++(?!\S)")
_INK = re.compile(r"\S")
_PARAGRAPH = re.compile(r"[^\S\n]*+\S[^\n]*+(?:\n(?![^\S\n]*+(?:\n|\Z))[^\n]*+)*+")
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
# The marks of a line that a message quotes from another one; ">>> " is a prompt of Python.
_QUOTED = re.compile(r"[ ]?(?!>>>[ ])>(?:[ ]?>)*+(?:[ ]|\s*\Z)")
_CAPITAL = re.compile(r"[\"'“„«‘(]*[^\W\d_]")
_RULE = re.compile(r"^[^\S\n]*([-=_*~#+^])(?:[^\S\n]*\1){2,}[^\S\n]*$", re.MULTILINE)
_CODE_SIGN = re.compile(r"[=(){}\[\];<>/\\_$|#@]|--")
_CODE_LINE = re.compile(r"(?: {4}| {0,3}\t)")


def plain_blocks(
    text: str,
    start: int = 0,
    *,
    base: int = 0,
    inline: Read | None = None,
    above: Above | None = None,
    finds_code: bool = True,
) -> list[Block]:
    """Return the blocks of a plain text from a place on, in order.

    Blank lines stand between paragraphs.

    Args:
        text: The text.
        start: Where to begin in it.
        base: The place in the source where the text begins.
        inline: Returns what a reader sees of a part of it; None where that is all of it.
        above: What stands above, which is moved on.
        finds_code: Whether lines that are indented may be code.
    """
    lines = _Lines(text, base, inline or as_it_is, Above() if above is None else above, finds_code)
    headers = message_headers(text, start) if inline is None else []
    if not headers:
        return _blocks_of_lines(lines, start, len(text))
    blocks = _blocks_of_lines(lines, start, headers[0].start)
    ends = [header.start for header in headers[1:]]
    for header, end in zip(headers, [*ends, len(text)], strict=True):
        blocks += _message(lines, header, end)
    return blocks


class _Lines(NamedTuple):
    """A text whose lines are read, see `plain_blocks`."""

    text: str
    base: int
    inline: Read
    above: Above
    finds_code: bool

    def are_code(self, source: str) -> bool:
        """Return whether some lines are code."""
        return self.finds_code and _is_code(source)


def _message(lines: _Lines, header: Header, end: int) -> list[Block]:
    """Return the blocks of a message of a chat up to a place.

    The name in the line above it is one, which the message goes on from. The time is a mark. A
    line without a message stays as it is.
    """
    message = lines._replace(above=Above(), finds_code=False)
    blocks = []
    for begin, stop in message_parts(lines.text, header.end, end):
        for block in _blocks_of_lines(message, begin, stop):
            if block.kind == "paragraph":
                block = replace(block, kind="item", level=1)
            blocks.append(block)
    if not blocks:
        return _blocks_of_lines(message, header.start, header.end)
    start = lines.base + header.name_start
    name = lines.text[header.name_start : header.name_end]
    speaker = Block(
        "paragraph", start, start + len(name), Visible(name, range(start, start + len(name)))
    )
    lead = Lead(speaker.start, speaker.end, name)
    blocks[0] = replace(blocks[0], leads=(lead, *blocks[0].leads))
    return [speaker, *blocks]


def _blocks_of_lines(lines: _Lines, start: int, end: int) -> list[Block]:
    """Return the blocks between two places in a text."""
    text = lines.text
    blocks: list[Block] = []
    for begin, stop in _paragraphs(text, start, end):
        paragraph = text[begin:stop]
        at = begin
        for table in [] if lines.are_code(paragraph) else aligned_tables(paragraph):
            blocks += _blocks_between(lines, at, begin + table.start)
            blocks += _rows(lines, paragraph, begin, table)
            at = min(begin + table.end + 1, stop)
        blocks += _blocks_between(lines, at, stop)
    return blocks


def _blocks_between(lines: _Lines, start: int, end: int) -> list[Block]:
    """Return the blocks of the lines of a paragraph that are in no aligned table."""
    blocks: list[Block] = []
    for begin, stop in _between_rules(lines.text, start, end):
        source = lines.text[begin:stop]
        places = range(lines.base + begin, lines.base + stop)
        if lines.are_code(source):
            stripped = source.rstrip()
            visible = Visible(stripped, places[: len(stripped)], ((0, len(stripped)),))
            block = Block("code", places.start, places.start + len(stripped), visible)
            lines.above.last = block
            blocks.append(block)
        elif lines.inline is as_it_is and ">" in source:
            blocks += _blocks_with_quotes(lines, begin, stop)
        else:
            blocks += paragraph_blocks((source, places), lines.inline, lines.above)
    return blocks


class _Voice(NamedTuple):
    """Lines of a paragraph that are quoted as deep as each other, or that are not quoted.

    Attributes:
        depth: How many marks of quotes stand before each.
        lines: The span of each, without its marks; that of an empty one as well.
        above: The line above them.
    """

    depth: int
    lines: list[tuple[int, int]]
    above: str


def _blocks_with_quotes(lines: _Lines, start: int, end: int) -> list[Block]:
    """Return the blocks of a paragraph some of whose lines may quote another message.

    What is quoted is said by somebody else, and no part of the paragraph around it.
    """
    text = lines.text
    voices = _voices(text, start, end)
    if not any(_is_quote(text, voice) for voice in voices):
        voices = [_Voice(0, [(start, end)], "")]
    blocks: list[Block] = []
    for voice in voices:
        above = Above() if voice.depth else lines.above
        for source in _paragraphs_of(lines, voice):
            blocks += paragraph_blocks(source, lines.inline, above)
    return blocks


def _voices(text: str, start: int, end: int) -> list[_Voice]:
    voices: list[_Voice] = []
    above = ""
    for match in _LINE.finditer(text, start, end):
        line = match[0].rstrip()
        marks = _QUOTED.match(line)
        depth = marks[0].count(">") if marks else 0
        if not voices or voices[-1].depth != depth:
            voices.append(_Voice(depth, [], above))
        begin = match.start() + (marks.end() if marks else 0)
        voices[-1].lines.append((begin, match.start() + len(line)))
        above = line
    return voices


def _is_quote(text: str, voice: _Voice) -> bool:
    """Return whether lines behind marks are a quote, and no wrapped "> 5", no prompts of a shell.

    They begin with a capital, and are several, or end as a sentence; or the line above them ends in
    a colon, as in "Ann wrote:".
    """
    if not voice.depth:
        return False
    filled = [text[start:end] for start, end in voice.lines if start < end]
    if not filled:
        return False
    if voice.above.endswith(":"):
        return _CAPITAL.match(filled[0]) is not None
    is_sentence = filled[-1].endswith((".", "!", "?", "…"))
    return filled[0][:1].isupper() and (len(filled) > 1 or is_sentence)


def _paragraphs_of(lines: _Lines, voice: _Voice) -> Iterator[tuple[str, list[int]]]:
    """Yield the paragraphs of lines without their marks, with the place of each character."""
    shown: list[int] = []
    for start, end in [*voice.lines, (0, 0)]:
        if start < end:
            shown += range(start, end)
            shown.append(min(end, len(lines.text) - 1))  # the line feed
        elif shown:
            yield _source(lines, shown[:-1])
            shown = []


def _source(lines: _Lines, shown: Sequence[int]) -> tuple[str, list[int]]:
    return "".join(lines.text[at] for at in shown), [lines.base + at for at in shown]


def _rows(lines: _Lines, paragraph: str, start: int, table: AlignedTable) -> list[Block]:
    """Return the rows of an aligned table in a paragraph that begins at a place."""
    start += lines.base
    places = range(start, start + len(paragraph))
    above = lines.above
    rows = []
    for cells in table.rows:
        filled = [cell for cell in cells if cell]
        starts = [places[cell[0]] if cell else start for cell in cells[1:]]
        visible, spans = joined(
            [lines.inline(*cell_source(paragraph, cell, places)) for cell in cells], starts
        )
        first = places[filled[0][0]]
        last = places[filled[-1][-1]]
        rows.append(Block("row", first, last + 1, visible, cells=spans))
    is_named = table.is_ruled or has_header(rows)
    blocks = named_rows(rows, 0 if is_named else -1, caption_of(above.last, in_list=False))
    above.last = blocks[-1]
    return blocks


def _paragraphs(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield where the paragraphs between two places in a text begin and end.

    The first line keeps its indent.
    """
    # A pattern that begins with white space would be tried at each place of a long blank line.
    while ink := _INK.search(text, start, stop):
        line = text.rfind("\n", start, ink.start()) + 1
        paragraph = _PARAGRAPH.match(text, max(start, line), stop)
        if paragraph is None:
            return
        yield paragraph.span()
        start = paragraph.end()


def _between_rules(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a paragraph between lines that are no more than a rule."""
    for rule in _RULE.finditer(text, start, end):
        if rule.start() > start:
            yield start, rule.start() - 1
        start = min(rule.end() + 1, end)
    if start < end:
        yield start, end


def as_it_is(source: str, places: Sequence[int]) -> Visible:
    """Return what a reader sees of plain text: all of it but white space at its ends."""
    text = source.strip()
    start = source.find(text) if text else 0
    return Visible(text, places[start : start + len(text)])


def is_plain_line(text: str) -> bool:
    """Return whether a reader surely sees a plain text as it is, one sentence behind the other.

    Such is a line of words with one blank between them, none of which marks a list, a table or a
    rule. This is quicker than to read it.
    """
    if len(text) > _LONGEST_LINE or not _WORDS.fullmatch(text):
        return False
    if _MARK_ALONE.search(text) or "|" in text or "..." in text or " . ." in text:
        return False
    return not line_starts(text)


def is_code_like(content: str) -> bool:
    """Return whether text that is indented looks like code.

    Plain texts indent their paragraphs, too.
    """
    return _CODE_SIGN.search(content) is not None and content.rstrip().rstrip("\"'”’)*_")[
        -1:
    ] not in set(".!?…。")


def _is_code(source: str) -> bool:
    lines = source.split("\n")
    return all(map(_CODE_LINE.match, lines)) and is_code_like(source)
