"""List items with what they go on from, and rows of tables with the names of their columns: alone, they say little or lie."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import zip_longest

from factoid.propositions.rows import row_facts
from factoid.text.blocks import Block
from factoid.text.paragraphs import cell_texts
from factoid.text.reading import Sentence
from factoid.words import count_words

Fact = tuple[str, int, int]  # a proposition, and its span in the document

_HEAD_WORDS = 12  # most words of a cell that names a row
_COLONS = (":", "：")


class Context:
    """What the sentences of a passage need beside their own text, by their index.

    Attributes:
        leads: What an item goes on from, outermost first, each with a colon behind it.
        facts: The propositions of a row, with the names of its columns and what the table goes on from.
        repeats: The sentences that an item or a row says again, by its own: introductions, and names of columns.
    """

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self.leads: dict[int, str] = {}
        self.facts: dict[int, list[Fact]] = {}
        self.repeats: dict[int, set[int]] = {}
        places = {sentence.start: index for index, sentence in enumerate(sentences)}
        header = -1
        for index, sentence in enumerate(sentences):
            block = sentence.block
            is_first = index == 0 or sentences[index - 1].block is not block
            if block.is_header:
                header = index
                self.facts[index] = [("; ".join(filter(None, cell_texts(block))), sentence.start, sentence.end)]
            elif block.kind == "row":
                self.facts[index] = _row_facts(sentence)
                if block.names and header >= 0 and cell_texts(sentences[header].block) == block.names:
                    self.repeats.setdefault(index, set()).add(header)
            elif block.kind == "item" and is_first and block.leads:
                self.leads[index] = _written(sentence)
            if index in self.facts or index in self.leads:
                above = {places[lead.start] for lead in block.leads if lead.start in places}
                self.repeats.setdefault(index, set()).update(above)

    @property
    def needed(self) -> bool:
        """Whether any sentence needs more than its own text."""
        return bool(self.leads or self.facts)


def _row_facts(sentence: Sentence) -> list[Fact]:
    """Return the propositions of a row, or of the part of a long one that a sentence is."""
    block = sentence.block
    visible = block.visible
    first, last = _place(sentence)
    spans = [(max(start, first), min(end, last)) for start, end in block.cells]
    filled = [span for span in spans if span[0] < span[1]]
    texts = [visible.text[start:end] for start, end in spans]
    cells = list(zip_longest(block.names, texts, fillvalue=""))
    heads = _heads(block) if first > 0 else []
    lead = _written(sentence)
    facts: list[Fact] = []
    for fact in row_facts([*heads, *cells]):
        text = f"{lead} {fact.text}" if lead else fact.text
        places = [place - len(heads) for place in fact.cells]
        inside = [spans[place] for place in places if 0 <= place < len(spans) and spans[place][0] < spans[place][1]]
        if not inside:
            continue
        start = sentence.start
        end = sentence.end
        if len(inside) < len(filled):
            start = visible.offsets[inside[0][0]]
            end = visible.offsets[inside[-1][1] - 1] + 1
        facts.append((text, start, end))
    return facts


def _place(sentence: Sentence) -> tuple[int, int]:
    """Return where a sentence stands in the visible text of its block."""
    text = sentence.visible.text
    whole = sentence.block.visible
    start = bisect_left(whole.offsets, sentence.visible.offsets[0])
    start = whole.text.find(text, start)
    return start, start + len(text)


def _heads(block: Block) -> list[tuple[str, str]]:
    """Return the first cell of a row, with the name of its column, if it is short: each part of a long row repeats it."""
    cells = zip_longest(block.names, cell_texts(block), fillvalue="")
    filled = [(name, text) for name, text in cells if text]
    return [cell for cell in filled[:1] if count_words(cell[1]) <= _HEAD_WORDS]


def _written(sentence: Sentence) -> str:
    """Return what a sentence goes on from, as it stands before it."""
    leads = [lead.text if lead.text.endswith(_COLONS) else f"{lead.text}:" for lead in sentence.block.leads]
    return " ".join(leads)
