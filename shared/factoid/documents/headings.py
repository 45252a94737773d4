"""The title of a document, its headings and their depth."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from factoid.documents.blocks import LayoutBlock, LayoutKind
from factoid.documents.tables import TICK

_NUMBER = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,4})\.?\s+\S")
# The stamp of a preprint server along the margin: "arXiv:2301.00001v1 [cs.CL] 1 Jan 2023".
_STAMP = re.compile(
    r"[A-Za-z]+:(?=\S*?\d{3})\S++\s+(?:\[[\w.\-]+\]\s+)?\d{1,2}\s+[A-Z][a-z]{2,8}\s+\d{4}"
)
_ONLY_MARKS = re.compile(rf"(?:{TICK}|\s)*+")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_UNTITLED = re.compile(
    r"(?:abstract|summary|introduction|preface|(?:table of )?contents)\b.*", re.IGNORECASE
)
_LEAST = 3  # numbered headings; fewer may begin with a number by chance


def drop_stamps(blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    """Drop headings that are stamps of preprint servers."""
    rest = []
    for block in blocks:
        if block.kind not in ("heading", "title") or not _STAMP.fullmatch(block.text.text):
            rest.append(block)
    return rest


def mark_title(blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    """Make the first title the only one.

    Without a title, a top-level heading before all text becomes it.
    """
    titles = [place for place, block in enumerate(blocks) if block.kind == "title"]
    first = None
    for place, block in enumerate(blocks):
        is_body = block.kind in ("heading", "text", "table")
        if is_body and (block.table or not _ONLY_MARKS.fullmatch(block.text.text)):
            first = place
            break
    if (
        not titles
        and first is not None
        and blocks[first].kind == "heading"
        and blocks[first].level <= 1
    ):
        text = blocks[first].text.text
        if not _NUMBER.match(text) and not _UNTITLED.fullmatch(text):
            titles = [first]
    result = list(blocks)
    for place in titles:
        kind: LayoutKind = "heading"
        if place == titles[0]:
            kind = "title"
        result[place] = replace(blocks[place], kind=kind, level=1)
    return result


def demote_headings(blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    """Turn headings without a word into text."""
    demoted = []
    for block in blocks:
        if block.kind == "heading" and not _LETTERS.search(block.text.text):
            demoted.append(replace(block, kind="text"))
        else:
            demoted.append(block)
    return demoted


def number_headings(blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    """Take the levels of headings from their numbers.

    "4.1" is below "4", and the top level without a number beside it.
    """
    numbers: dict[int, int] = {}  # the depth that its number gives a heading, by its place
    for place, block in enumerate(blocks):
        if block.kind == "heading" and (match := _NUMBER.match(block.text.text)):
            numbers[place] = match[1].count(".") + 1
    if len(numbers) < _LEAST:
        return list(blocks)
    top = min(blocks[place].level for place in numbers)
    result: list[LayoutBlock] = []
    last = depth = 1  # the level and the depth of the last numbered heading
    for place, block in enumerate(blocks):
        level = block.level
        if place in numbers:
            last = level
            depth = numbers[place]
            level = depth
        elif block.kind == "heading":
            if level <= top:
                level = 1
            else:
                level = max(2, depth + level - last)
        if level != block.level:
            block = replace(block, level=level)
        result.append(block)
    return result
