"""Find page furniture by its places: running heads, running feet and page numbers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from factoid.documents.blocks import LayoutBlock

_RUNNING_HEAD_WORDS = 15
_VALUE = re.compile(r"\w:\s*+\W?\d")  # "Amount due: 100 EUR" is content, even on every page
# "Page 3 of 12"
_PAGE_NUMBER = re.compile(r"[\W\d]*+(?:(?:pages?|pp?|pg|of|seite|s|von)[\W\d]++)*+", re.IGNORECASE)


def drop_running_heads(blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    """Drop short lines that begin or end pages alike, and numbers that count with the pages.

    The pages are three, or both of two. A page keeps its only text.
    """
    pages: dict[int, int] = {}  # by place of the block
    for place, block in enumerate(blocks):
        if block.page and block.kind != "furniture":
            pages[place] = block.page
    lines: dict[int, list[int]] = defaultdict(list)  # their places by page
    for place, page in pages.items():
        if blocks[place].kind in ("text", "heading") and blocks[place].text.text:
            lines[page].append(place)
    alike: dict[str | int, set[int]] = defaultdict(set)
    for page, on_page in lines.items():
        for place in {on_page[0], on_page[-1]}:
            text = " ".join(blocks[place].text.text.split())
            number = None
            if _PAGE_NUMBER.fullmatch(text):
                number = re.search(r"\d{1,9}", text)
            if number:
                alike[int(number[0]) - page].add(place)
            elif len(text.split()) <= _RUNNING_HEAD_WORDS and not _VALUE.search(text):
                alike[text].add(place)
    least = min(3, max(2, len({*pages.values()})))
    heads: set[int] = set()
    for places in alike.values():
        if len({pages[place] for place in places}) >= least:
            heads |= places
    with_text = {page for place, page in pages.items() if place not in heads}
    rest = []
    for place, block in enumerate(blocks):
        if place not in heads or pages[place] not in with_text:
            rest.append(block)
    return rest
