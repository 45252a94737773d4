"""List items with what they go on from, and rows of tables with the names of their columns.

Alone, they say little or lie.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from factoid.propositions.rows import LONGEST_FACT, cell_pieces, row_facts
from factoid.text.paragraphs import SENTENCE_ENDS, cell_texts, written_leads
from factoid.text.reading import Sentence
from factoid.words import count_words

Fact = tuple[str, int, int]  # a proposition, and its span in the document

_STATEMENT_ENDS = tuple(end for end in SENTENCE_ENDS if end not in "?？")
_WORD = re.compile(r"[^\s,]+")
_KEY_WORDS = 12  # most words of a cell that names a part of its row


class Surroundings:
    """What the sentences of a passage need from their list or table, by their index.

    Attributes:
        leads: What an item goes on from, outermost first, each with a colon behind it.
        facts: The propositions of a row, with the names of its columns and what the table goes on
            from.
        repeats: The sentences that an item or a row says again, by its own: introductions, and
            names of columns.
    """

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self.leads: dict[int, str] = {}
        self.facts: dict[int, list[Fact]] = {}
        self.repeats: dict[int, set[int]] = {}
        places = {sentence.start: index for index, sentence in enumerate(sentences)}
        headers: list[int] = []
        for index, sentence in enumerate(sentences):
            block = sentence.block
            is_first = index == 0 or sentences[index - 1].block is not block
            if block.is_header:
                if headers and headers[-1] != index - 1:
                    headers = []  # of the table, or the part of it, above
                headers.append(index)
                names = "; ".join(filter(None, cell_texts(block)))
                self.facts[index] = [(names, sentence.start, sentence.end)]
            elif block.kind == "row":
                self.facts[index] = _row_facts(sentence)
                repeated = _words(block.names)
                for header in headers:
                    words = _words(cell_texts(sentences[header].block))
                    if words and repeated.issuperset(words):
                        self.repeats.setdefault(index, set()).add(header)
            elif block.kind in ("item", "paragraph") and is_first and block.leads:
                self.leads[index] = written_leads(sentence.block)
            if index in self.facts or index in self.leads:
                # A whole sentence is a fact of its own as well, but for a question.
                said = []
                for lead in block.leads:
                    if lead.start in places:
                        said.append(places[lead.start])
                above = set()
                for place in said:
                    if sentences[place].text[-1:] not in _STATEMENT_ENDS:
                        above.add(place)
                self.repeats.setdefault(index, set()).update(above)

    @property
    def needed(self) -> bool:
        """Whether any sentence needs more than its own text."""
        return bool(self.leads or self.facts)


def _words(names: Sequence[str]) -> set[str]:
    """Return the words of the names of columns, which may join those of several header rows."""
    words: set[str] = set()
    for name in names:
        words.update(_WORD.findall(name))
    return words


def _row_facts(sentence: Sentence) -> list[Fact]:
    """Return the propositions of a row, or of a part of a long one.

    Those of a part also begin with what names the row.
    """
    block = sentence.block
    visible = sentence.visible
    at = bisect_left(block.visible.offsets, visible.offsets[0])  # where the part begins in the row
    is_whole = visible.text == block.visible.text
    cells: list[tuple[str, str]] = []
    places: list[tuple[int, int]] = []  # of each in the part, (0, 0) outside of it
    count = max(len(block.names), len(block.cells))
    for number in range(count):
        name = block.names[number] if number < len(block.names) else ""
        first, last = block.cells[number] if number < len(block.cells) else (0, 0)
        whole = block.visible.text[first:last]
        start = max(first - at, 0)
        end = min(last - at, len(visible.text))
        if is_whole and count_words(whole) <= LONGEST_FACT:
            cells.append((name, whole))
            places.append((start, max(start, end)))
        elif start >= end:
            if count_words(whole) > _KEY_WORDS:
                whole = ""
            cells.append((name, whole))
            places.append((0, 0))
        else:
            for begin, stop in cell_pieces(visible.text[start:end]):
                cells.append((name, visible.text[start + begin : start + stop]))
                places.append((start + begin, start + stop))
    lead = written_leads(sentence.block)
    facts: list[Fact] = []
    longest = 0
    if is_whole:
        longest = LONGEST_FACT
    for fact in row_facts(cells, words=longest):
        text = f"{lead} {fact.text}" if lead else fact.text
        inside = []
        for place in fact.cells:
            if places[place][0] < places[place][1]:
                inside.append(places[place])
        if not inside and not is_whole:
            continue  # it says only what the other parts of the row say
        start = sentence.start
        end = sentence.end
        if inside and len(inside) < sum(1 for first, last in places if first < last):
            start = visible.offsets[inside[0][0]]
            end = visible.offsets[inside[-1][1] - 1] + 1
        facts.append((text, start, end))
    return facts
