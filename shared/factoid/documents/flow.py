"""Join what columns, pages and floats cut: captions and legends of figures, formulas, running text, references."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import get_args

from factoid.documents.blocks import Furniture, LayoutBlock
from factoid.documents.layout import Layout, grouped
from factoid.documents.trace import TracedText, join

_FIGURE_CAPTION = re.compile(
    r"(?:Figure|Fig\.|Chart|Scheme|Plate|Diagram|Abbildung|Abb\.)\s+(?:[A-Z]?\d+|[A-Z])(?:[.\-]\d+)?[a-z]?\s*[:.|]\s",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’»)\]*]*\Z")
_GOES_ON = re.compile(r"[(\[“\"]?[^\W\d_A-Z]")  # begins in the middle of a sentence
_IS_OPEN = re.compile(r"(?:[,(\[–—]|\w[-\u2010])\Z")
_ITEM = re.compile(r"(?:[-*+•·‣▪●◦]|\d{1,3}[.)]|\[\d+\]|\([a-z\d]{1,3}\))\s")
_REFERENCES = re.compile(
    r"(?:[\dA-Z]{1,2}(?:\.\d{1,2})*\.?\s+)?(?:references|bibliography|works cited|literature(?: cited)?|literaturverzeichnis|"
    r"références|referencias)(?: and notes)?\W*",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^(?:[-*+]\s+)?(?:\[[\w+]{1,12}\]|\d{1,3}\.)\s", re.MULTILINE)  # "[12] ", "[Smi20] ", "12. "
_YEAR = re.compile(r"\b(?:1[6-9]|20)\d\d[a-z]?\b|\b(?:in press|forthcoming|to appear|n\.d\.)", re.IGNORECASE)
_LEGEND_WORDS = 3
_FORMULA_WORDS = 6
_RUNNING_HEAD_PAGES = 3  # a line at the top or the bottom of this many pages is furniture
_RUNNING_HEAD_WORDS = 15
_NUMBER = re.compile(r"\d{1,9}")
_VALUE = re.compile(r"\w:\s*+\W?\d")  # "Amount due: 100 EUR"
_PAGE_NUMBER = re.compile(r"[\W\d]*+(?:(?:pages?|pp?|pg|of|seite|s|von)[\W\d]++)*+", re.IGNORECASE)  # "Page 3 of 12"
_MOST_PAGES_BEFORE = 100  # a number further from the page's is more likely that of an invoice


def is_finished(text: str) -> bool:
    """Return whether a paragraph ends like a sentence."""
    return _SENTENCE_END.search(text.rstrip()) is not None


def goes_on(before: str, after: str) -> bool:
    """Return whether one piece of running text continues another."""
    before, after = before.rstrip(), after.lstrip()
    if not before or not after or _ITEM.match(after) or _SENTENCE_END.search(before):
        return False
    return bool(_IS_OPEN.search(before) or (_GOES_ON.match(after) and after[:1].lower() == after[:1]))


def running_heads(lines: Sequence[tuple[int, str]], pages: int) -> set[int]:
    """Return the places of lines, given with their pages, that are alike on enough pages.

    Numbers may differ if they count with the pages; "Invoice number: 4701" is content, whatever the next pages say.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for place, (_, text) in enumerate(lines):
        if not _VALUE.search(text) or _PAGE_NUMBER.fullmatch(text):
            groups[_NUMBER.sub("0", " ".join(text.split()))].append(place)
    heads: set[int] = set()
    for places in groups.values():
        rows = [[int(number) for number in _NUMBER.findall(lines[place][1])] for place in places]
        differing = [column for column in range(len(rows[0])) if len({row[column] for row in rows}) > 1]
        alike: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for place, row in zip(places, rows, strict=True):
            page, text = lines[place]
            before = tuple(row[column] - page for column in differing)
            first = text[:1].isdigit() or _PAGE_NUMBER.fullmatch(text)
            if first or all(abs(distance) < _MOST_PAGES_BEFORE for distance in before):
                alike[before].append(place)
        for same in alike.values():
            heads.update(same if len({lines[place][0] for place in same}) >= pages else ())
    return heads


def drop_running_heads(blocks: Sequence[LayoutBlock], layout: Layout) -> tuple[list[LayoutBlock], int]:
    """Drop short lines that begin or end many pages alike, except page numbers; return the rest and how many were dropped.

    A page without other text keeps them.
    """
    edges: dict[int, tuple[int, int]] = {}
    texts: dict[int, int] = {}  # page by place, of everything except furniture
    for place, block in enumerate(blocks):
        page = _page(block, layout)
        if page is None or block.kind in get_args(Furniture):
            continue
        texts[place] = page
        if block.kind in ("text", "heading") and block.text.text:
            edges[page] = (edges.get(page, (place, place))[0], place)
    places = sorted({place for pair in edges.values() for place in pair})
    places = [place for place in places if len(blocks[place].text.text.split()) <= _RUNNING_HEAD_WORDS]
    lines = [(texts[place], blocks[place].text.text) for place in places]
    heads = {places[line] for line in running_heads(lines, _RUNNING_HEAD_PAGES)}
    with_text = {page for place, page in texts.items() if place not in heads}
    heads = {place for place in heads if texts[place] in with_text}
    return [block for place, block in enumerate(blocks) if place not in heads], len(heads)


def gather_figures(blocks: Sequence[LayoutBlock]) -> tuple[list[LayoutBlock], int]:
    """Put captions with their figures; return all blocks and how many captions were moved.

    A caption without a picture belongs to a figure that the service read as text; its body is the blocks from the last false
    heading to the caption. The service may have read the caption as the page's footer.
    """
    result: list[LayoutBlock] = []
    count = 0
    waiting: LayoutBlock | None = None  # a caption above its figure
    for place, block in enumerate(blocks):
        if block.kind in ("text", "footer", "header", "caption") and _FIGURE_CAPTION.match(block.text.text):
            after = blocks[place + 1] if place + 1 < len(blocks) else None
            count += 1
            if result and result[-1].kind == "figure" and not result[-1].text.text:
                result[-1] = replace(result[-1], text=block.text)
            elif after and after.kind == "figure" and not after.text.text:
                waiting = block
            else:
                start = _start_of_figure(result)
                body = tuple(part.text for part in result[start:])
                result[start:] = [replace(block, kind="figure", level=0, body=body)]
        elif block.kind == "figure" and waiting:
            result.append(replace(block, text=waiting.text))
            waiting = None
        else:
            result.append(block)
    return result, count


def gather_legends(blocks: Sequence[LayoutBlock]) -> tuple[list[LayoutBlock], int]:
    """Move short scraps directly before a figure into it; return the other blocks and how many scraps were moved."""
    result: list[LayoutBlock] = []
    count = 0
    for block in blocks:
        if block.kind == "figure":
            start = len(result)
            while start and _is_scrap(result[start - 1], _LEGEND_WORDS):
                start -= 1
            if len(result) - start > 1:
                scraps = [part.text.text for part in result[start:]]
                block = replace(block, inside=" ".join([*scraps, block.inside]).strip())
                count += len(scraps)
                del result[start:]
        result.append(block)
    return result, count


def gather_formulas(blocks: Sequence[LayoutBlock]) -> tuple[list[LayoutBlock], int]:
    """Join the scraps of a formula into one block; return all blocks and how many scraps were joined."""
    result: list[LayoutBlock] = []
    count = 0
    for are_scraps, group in groupby(blocks, key=lambda block: _is_scrap(block, _FORMULA_WORDS)):
        run = list(group)
        if are_scraps and len(run) > 1 and any("=" in part.text.text for part in run):
            result.append(replace(run[0], kind="formula", text=join([part.text for part in run], " ")))
            count += len(run)
        else:
            result += run
    return result, count


def rejoin(blocks: Sequence[LayoutBlock]) -> tuple[list[LayoutBlock], int]:
    """Join running text that was cut; return all blocks and the number of cuts.

    Text continues after figures, tables, footnotes and page furniture, never after a heading.
    """
    groups: list[list[LayoutBlock]] = []
    last: list[LayoutBlock] = []  # the pieces of the running text that may continue
    for block in blocks:
        is_text = block.kind == "text" and block.level == 0
        if is_text and last and goes_on(last[-1].text.text, block.text.text):
            last.append(block)
            continue
        groups.append([block])
        if block.kind in ("heading", "title", "code", "formula", "text"):
            last = groups[-1] if is_text else []
    joined = [replace(group[0], text=join([block.text for block in group], "\n")) for group in groups]
    return joined, len(blocks) - len(joined)


def is_reference_heading(heading: str) -> bool:
    """Return whether a heading is that of a list of references."""
    return _REFERENCES.fullmatch(heading) is not None


def entries(paragraphs: Sequence[TracedText]) -> list[TracedText]:
    """Return the entries of a list of references, from its paragraphs.

    Entries begin at their numbers or keys in brackets, if any. Otherwise each paragraph is an entry, unless the one before is
    unfinished or it holds no year: then it continues the entry before.
    """
    starts = sum(len(_NUMBERED.findall(paragraph.text)) for paragraph in paragraphs)
    if starts >= max(2, len(paragraphs) / 2):
        whole = join(list(paragraphs), "\n")
        places = [match.start() for match in _NUMBERED.finditer(whole.text)]
        bounds = [0, *(place for place in places if place), len(whole.text)]
        cuts = [whole.cut(start, end).strip() for start, end in pairwise(bounds)]
        return [cut for cut in cuts if cut.text]
    groups = grouped(paragraphs, lambda last, new: bool(is_finished(last.text) and _YEAR.search(new.text)))
    return [join(group, "\n") for group in groups]


def _start_of_figure(blocks: Sequence[LayoutBlock]) -> int:
    """Return where the body of the figure before a caption begins: at the last false heading, or at the end without one."""
    for place in range(len(blocks) - 1, -1, -1):
        block = blocks[place]
        if block.kind == "text" and block.level:
            return place
        if block.kind not in ("text", "code", "formula"):
            break
    return len(blocks)


def _is_scrap(block: LayoutBlock, words: int) -> bool:
    text = block.text.text
    is_short = bool(text) and len(text.split()) <= words and not is_finished(text)
    return block.kind == "text" and not block.level and is_short and not _ITEM.match(text)


def _page(block: LayoutBlock, layout: Layout) -> int | None:
    spans = [block.table.span] if block.table and block.table.span else block.text.sources()
    return layout.page_at(spans[0][0]) if spans else None
