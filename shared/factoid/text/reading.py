"""Read a text once.

The result is its blocks, and its sentences as a reader sees them, with the place of each character
in the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from factoid.text.blocks import Block, Span, Visible, protected_within
from factoid.text.markdown import markdown_blocks
from factoid.text.markup import Markup, markup_of
from factoid.text.paragraphs import ONLY_MARKS, part_of, widened_end, widened_start
from factoid.text.plain import plain_blocks
from factoid.text.restructured import restructured_blocks
from factoid.text.sentence_ends import SentenceSplitter, block_sentences
from factoid.words import count_words, cut_words

# A run of text without any sentence end is cut here, because encoders and parsers would cut it
# silently.
MAX_WORDS = 200
MAX_CHARS = 4000

# A turn of a conversation, perhaps with its time, or a value with its name.
LABELLED_LINE = re.compile(
    r"""^[^\S\n]*+(?:\[?\d[\d:./\ ,APMapm-]{3,24}\]?[\ \t-]*+)?
      (?![a-zß-ÿ])[^\W_](?:[^:\n.!?;,]|\.(?=:|[^\S\n]?[^\W_])){0,39}::?(?!\S)""",
    re.MULTILINE | re.VERBOSE,
)


_LINE = re.compile(r"[^\n]+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, a heading, a row of a table or a block of code.

    Attributes:
        start, end: Its span in the source, with the marks around it.
        visible: What a reader sees of it.
        block: The block that it is in.
    """

    start: int
    end: int
    visible: Visible
    block: Block

    @property
    def text(self) -> str:
        """The text that a reader sees, on one line if it is no code."""
        text = self.visible.text
        return text if self.block.kind == "code" else " ".join(text.split())


def moved(sentences: Sequence[Sentence], by: int) -> list[Sentence]:
    """Return the sentences of a part of a text as those of the whole.

    The part begins `by` characters after the start of the whole.
    """
    if not by:
        return list(sentences)
    blocks: dict[int, Block] = {}
    result = []
    for sentence in sentences:
        block = blocks.setdefault(id(sentence.block), sentence.block)
        if block is sentence.block:
            block = blocks[id(sentence.block)] = block.moved(by)
        offsets = [at + by for at in sentence.visible.offsets]
        visible = sentence.visible._replace(offsets=offsets)
        result.append(Sentence(sentence.start + by, sentence.end + by, visible, block))
    return result


@lru_cache(64)
def read(text: str, markup: Markup | None = None, start: int = 0) -> tuple[Block, ...]:
    """Return the blocks of a text in order.

    Args:
        text: The text.
        markup: "markdown", "rst" or "plain"; None to decide by the marks in it (see
            `factoid.text.markup`).
        start: Where to begin, behind front matter.
    """
    markup = markup or markup_of(text)
    if markup == "markdown":
        return tuple(markdown_blocks(text, start))
    if markup == "rst":
        return tuple(restructured_blocks(text, start))
    return tuple(plain_blocks(text, start))


def sentences_of(
    blocks: Sequence[Block], splitter: SentenceSplitter | None = None
) -> list[Sentence]:
    """Return the sentences of blocks, in order.

    A heading and a row of a table are one; so is a block of code. What is above MAX_WORDS words or
    MAX_CHARS characters is cut at line ends, else at white space, else anywhere.

    Args:
        blocks: Blocks of a text.
        splitter: Finds the ends of sentences within a block, in place of the rules of
            `factoid.text.sentence_ends`.

    Raises:
        InvalidInputError: The splitter returned something else than places in the text, in order.
    """
    return [sentence for block in blocks for sentence in _sentences(block, splitter)]


def _sentences(block: Block, splitter: SentenceSplitter | None) -> Iterator[Sentence]:
    visible = block.visible
    spans = [(0, len(visible.text))]
    if block.kind in ("heading", "paragraph", "item"):
        spans = _prose_spans(visible, splitter)
    elif block.kind == "row" and _is_long(visible.text):
        spans = _row_spans(block, splitter)
    is_whole = len(spans) == 1
    least = block.start
    for number, (first, last) in enumerate(spans):
        for begin, stop in _bounded(visible.text, first, last):
            part = part_of(visible, begin, stop)
            if not part.text:
                continue
            start, end = _span(block, part, least)
            if block.kind == "row":
                yield Sentence(start, end, part, block)
                least = end
                continue
            is_last = number == len(spans) - 1 and stop == last
            if block.kind == "code" and is_whole:
                start = block.start if begin == first else start
            if is_last and block.kind != "heading":
                end = max(end, block.end)
            yield Sentence(start, end, part, block)
            least = end


def _prose_spans(visible: Visible, splitter: SentenceSplitter | None) -> list[Span]:
    spans: list[Span] = []
    for first, last in _turns(visible.text):
        part = visible
        if last - first < len(visible.text):
            part = _slice(visible, first, last)
        for start, end in block_sentences(part.text, part.protected, splitter):
            spans.append((first + start, first + end))
    return [span for span in spans if not ONLY_MARKS.fullmatch(visible.text, *span)]


def _row_spans(block: Block, splitter: SentenceSplitter | None) -> list[Span]:
    """Cut a row that is too long between the sentences of its cells."""
    visible = block.visible
    pieces: list[Span] = []
    for first, last in block.cells:
        cell = _slice(visible, first, last)
        for start, end in block_sentences(cell.text, cell.protected, splitter):
            pieces.append((first + start, first + end))
    spans: list[Span] = []
    size = 0
    for start, end in pieces:
        words = count_words(visible.text[start:end])
        if spans and size + words <= MAX_WORDS // 2:
            spans[-1] = (spans[-1][0], end)
            size += words
        else:
            spans.append((start, end))
            size = words
    return spans


def _slice(visible: Visible, start: int, end: int) -> Visible:
    """Return a part of a visible text with the white space at its ends."""
    inside = protected_within(visible.protected, start, end)
    return Visible(visible.text[start:end], visible.offsets[start:end], inside)


def _turns(text: str) -> list[Span]:
    """Cut a paragraph before each line with a label, if half of its lines or more have one.

    Labels are "Ann: …" and "Weight: 59 kg".
    """
    if "\n" not in text:
        return [(0, len(text))]
    starts = [match.start() for match in LABELLED_LINE.finditer(text)]
    if len(starts) < 2 or len(starts) * 2 < text.count("\n") + 1:
        return [(0, len(text))]
    labelled = set(starts)
    indentation = 0
    for line in _LINE.finditer(text):
        column = len(line[0]) - len(line[0].lstrip())
        if line.start() in labelled:
            indentation = column
        elif column < indentation:  # names what stands in indented lines below it
            starts.append(line.start())
            indentation = column
    starts.sort()
    return list(pairwise([0, *starts[starts[0] == 0 :], len(text)]))


def _span(block: Block, part: Visible, least: int) -> Span:
    visible = block.visible
    start = widened_start(visible, part.offsets[0], least)
    end = widened_end(visible, part.offsets[-1] + 1)
    return start, end


def _is_long(text: str) -> bool:
    """Return whether a text is too long for a sentence."""
    if len(text) <= MAX_WORDS:  # a word has a character
        return False
    return len(text) > MAX_CHARS or count_words(text) > MAX_WORDS


def _bounded(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a span of a visible text, in pieces if it is too long for a sentence.

    The pieces fit passages.
    """
    if not _is_long(text[start:end]):
        yield start, end
        return
    while start < end:
        cut = start + len(cut_words(text[start : min(end, start + MAX_CHARS)], MAX_WORDS // 2))
        if cut < end:
            breaks = (text.rfind("\n", start, cut + 1), text.rfind(" ", start, cut + 1))
            cut = next((at for at in breaks if at > start), cut)
        cut = max(cut, start + 1)
        yield start, cut
        start = cut
