"""Read plain text into blocks: paragraphs, items of lists, rows between bars, and indented code. Every character is text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from factoid.text.blocks import Block, Visible
from factoid.text.paragraphs import Above, paragraph_blocks

_INK = re.compile(r"\S")
_PARAGRAPH = re.compile(r"[^\S\n]*+\S[^\n]*+(?:\n(?![^\S\n]*+(?:\n|\Z))[^\n]*+)*+")
_RULE = re.compile(r"^[^\S\n]*([-=_*~#+^])(?:[^\S\n]*\1){2,}[^\S\n]*$", re.MULTILINE)
_CODE_SIGN = re.compile(r"[=(){}\[\];<>/\\_$|#@]|--")
_CODE_LINE = re.compile(r"(?: {4}| {0,3}\t)")


def plain_blocks(text: str, start: int = 0) -> list[Block]:
    """Return the blocks of a plain text from a place on, in order; blank lines stand between paragraphs."""
    above = Above()
    blocks: list[Block] = []
    for paragraph in _paragraphs(text, start):
        for begin, end in _between_rules(text, *paragraph):
            source = text[begin:end]
            places = range(begin, end)
            if _is_code(source):
                stripped = source.rstrip()
                visible = Visible(stripped, places[: len(stripped)], ((0, len(stripped)),))
                above.last = Block("code", begin, begin + len(stripped), visible)
                blocks.append(above.last)
            else:
                blocks += paragraph_blocks((source, places), as_it_is, above)
    return blocks


def _paragraphs(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield where the paragraphs of a text from a place on begin and end; the first line keeps its indent."""
    # A pattern that begins with white space would be tried at each place of a long blank line.
    while ink := _INK.search(text, start):
        line = text.rfind("\n", start, ink.start()) + 1
        paragraph = _PARAGRAPH.match(text, max(start, line))
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


def is_code_like(content: str) -> bool:
    """Return whether text that is indented looks like code: plain texts indent their paragraphs, too."""
    return _CODE_SIGN.search(content) is not None and content.rstrip().rstrip("\"'”’)*_")[-1:] not in set(".!?…。")


def _is_code(source: str) -> bool:
    lines = source.split("\n")
    return all(map(_CODE_LINE.match, lines)) and is_code_like(source)
