"""List items with what they go on from, and rows of tables with the names of their columns: alone, they say little or lie."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from factoid.propositions.rows import row_facts
from factoid.text.paragraphs import cell_texts
from factoid.text.reading import Sentence

Fact = tuple[str, int, int]  # a proposition, and its span in the document

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
            elif block.kind == "row" and is_first:
                self.facts[index] = _row_facts(sentence)
                if block.names and header >= 0 and cell_texts(sentences[header].block) == block.names:
                    self.repeats.setdefault(index, set()).add(header)
            elif block.kind in ("item", "paragraph") and is_first and block.leads:
                self.leads[index] = _written(sentence)
            if index in self.facts or index in self.leads:
                above = {places[lead.start] for lead in block.leads if lead.start in places}
                self.repeats.setdefault(index, set()).update(above)

    @property
    def needed(self) -> bool:
        """Whether any sentence needs more than its own text."""
        return bool(self.leads or self.facts)


def _row_facts(sentence: Sentence) -> list[Fact]:
    block = sentence.block
    visible = sentence.visible
    is_whole = visible.text == block.visible.text
    spans = block.cells if is_whole else ((0, len(visible.text)),)
    names = block.names if is_whole else ()
    texts = [visible.text[start:end] for start, end in spans]
    cells = list(zip_longest(names, texts, fillvalue=""))
    lead = _written(sentence)
    facts: list[Fact] = []
    for fact in row_facts(cells):
        text = f"{lead} {fact.text}" if lead else fact.text
        inside = [spans[place] for place in fact.cells if place < len(spans) and spans[place][0] < spans[place][1]]
        start = sentence.start
        end = sentence.end
        if len(inside) < sum(1 for first, last in spans if first < last):
            start = visible.offsets[inside[0][0]]
            end = visible.offsets[inside[-1][1] - 1] + 1
        facts.append((text, start, end))
    return facts


def _written(sentence: Sentence) -> str:
    """Return what a sentence goes on from, as it stands before it."""
    leads = [lead.text if lead.text.endswith(_COLONS) else f"{lead.text}:" for lead in sentence.block.leads]
    return " ".join(leads)
