"""The title, the headings and the sections of a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from factoid.documents.blocks import LayoutBlock
from factoid.documents.layout import Layout

_NUMBER = re.compile(r"(?:(?:Section|Chapter|Part)\s+)?(\d{1,2}(?:\.\d{1,2}){0,4})\.?\s+\S")
_LETTER = re.compile(r"(?:Appendix\s+)?([A-Z])((?:\.\d{1,2}){0,4})[.:]?\s+\S")
# The stamp of a preprint server along the margin: "arXiv:2301.00001v1 [cs.CL] 1 Jan 2023".
_STAMP = re.compile(r"[A-Za-z]+:\S*\d{3,}\S*\s+(?:\[[\w.\-]+\]\s+)?\d{1,2}\s+[A-Z][a-z]{2,8}\s+\d{4}")
_LETTERS = re.compile(r"[^\W\d_]{2}")
# Names of sections that have no number where others do.
_UNNUMBERED = re.compile(
    r"(?:abstract|summary|keywords?|introduction|(?:table of )?contents|conclusions?|discussion|limitations?|references|"
    r"bibliography|literature|works cited|notes|glossary|index|appendix|appendices|(?:online )?supplement\w*|annex|funding|"
    r"acknowledge?ments?|(?:statement of )?ethic\w*|broader impact|impact statement|reproducibility|author contributions?|"
    r"(?:data|code) availability|(?:declaration|conflicts?|competing)\b)(?:\b.{0,40})?",
    re.IGNORECASE,
)
_STAMP_CHARS = 120
_TURNED = 2.0  # ratio of height to width: a word that runs up or down the page


def drop_stamps(blocks: Sequence[LayoutBlock], layout: Layout) -> tuple[list[LayoutBlock], int]:
    """Drop headings that run along the margin or read as a preprint server's stamp; return the rest and how many were dropped."""
    rest = [block for block in blocks if block.kind not in ("heading", "title") or not _is_stamp(block, layout)]
    return rest, len(blocks) - len(rest)


def demote_headings(blocks: Sequence[LayoutBlock]) -> tuple[list[LayoutBlock], int]:
    """Turn false headings into text that keeps its level; return all blocks and how many were turned.

    A heading is false if it has no word; or if it has no number, follows the first numbered heading, is on the same level as
    numbered ones, and has none of the usual names of unnumbered sections ("References").
    """
    numbered = _numbers(blocks)
    top = min((blocks[place].level for place in numbered), default=0)
    result, count = list(blocks), 0
    for place, block in enumerate(blocks):
        text = block.text.text
        wordless = not _LETTERS.search(text)
        stray = len(numbered) > 2 and place > min(numbered) and place not in numbered and block.level <= top
        if block.kind == "heading" and (wordless or (stray and not _UNNUMBERED.fullmatch(text))):
            result[place] = replace(block, kind="text", level=max(block.level, 1))
            count += 1
    return result, count


def with_title(blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    """Make the first title the only one; without a title, a top-level heading before all text becomes it.

    Other titles, such as those of later pages, become headings.
    """
    result = list(blocks)
    titles = [place for place, block in enumerate(blocks) if block.kind == "title"]
    for place in titles:
        result[place] = replace(blocks[place], kind="heading", level=blocks[place].level or 1)
    first = next((place for place, block in enumerate(blocks) if block.kind in ("heading", "text", "table")), None)
    if not titles and first is not None and blocks[first].kind == "heading" and blocks[first].level <= 1:
        text = blocks[first].text.text
        titles = [] if _NUMBER.match(text) or _UNNUMBERED.fullmatch(text) else [first]
    for place in titles[:1]:
        result[place] = replace(blocks[place], kind="title", level=blocks[place].level or 1)
    return result


def with_sections(blocks: Sequence[LayoutBlock], *, numbers: bool) -> list[LayoutBlock]:
    """Give each block the path of headings above it, and each heading its depth, from 1, as its level.

    With `numbers`, "4.1" is below "4", whatever their levels; a heading without number on the top level is beside "4".
    """
    numbered = _numbers(blocks) if numbers else {}
    top = min((blocks[place].level for place in numbered), default=0)
    ranks = sorted({block.level for block in blocks if block.kind == "heading"})
    path: list[tuple[int, str]] = []
    result: list[LayoutBlock] = []
    last = 0
    for place, block in enumerate(blocks):
        if block.kind == "heading":
            if place in numbered:
                depth = last = numbered[place]
            elif numbered and len(numbered) > 2:
                depth = 1 if block.level <= top else last + block.level - top if last == 1 else last + 1
            else:
                depth = ranks.index(block.level) + 1
            path = [step for step in path if step[0] < depth]
            path.append((depth, " ".join(block.text.text.split())))
            block = replace(block, level=depth)
        result.append(replace(block, section=tuple(name for _, name in path)))
    return result


def _numbers(blocks: Sequence[LayoutBlock]) -> dict[int, int]:
    """Return the depth of each heading that begins with its number, by its place. Letters count from A, after numbers."""
    depths: dict[int, int] = {}
    letter = "A"
    for place, block in enumerate(blocks):
        if block.kind != "heading":
            continue
        text = block.text.text
        if match := _NUMBER.match(text):
            depths[place] = match[1].count(".") + 1
        elif depths and (match := _LETTER.match(text)) and match[1] in (letter, chr(ord(letter) - 1)):
            depths[place] = match[2].count(".") + 1
            letter = chr(ord(match[1]) + 1)
    return depths


def _is_stamp(block: LayoutBlock, layout: Layout) -> bool:
    if len(block.text.text) <= _STAMP_CHARS and _STAMP.fullmatch(block.text.text):
        return True
    boxes = layout.boxes(block.text.sources())
    turned = 0
    for box in boxes:
        xs, ys = box.polygon[::2], box.polygon[1::2]
        turned += max(ys) - min(ys) > _TURNED * (max(xs) - min(xs))
    angles = {page.number: page.angle for page in layout.pages}
    upright = all(abs(angles.get(box.page, 0.0)) % 180 < 45 for box in boxes)
    return upright and turned * 2 > len(boxes)
