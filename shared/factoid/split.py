"""Split documents into passages, and passages into sentences (Dense X Retrieval, Appendix A)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from factoid.errors import InvalidInputError
from factoid.sections import Paragraph, outline
from factoid.sentences import read_sentences
from factoid.text.blocks import Block
from factoid.text.markup import markup_of
from factoid.text.paragraphs import cell_texts, written_leads
from factoid.text.plain import is_plain_line
from factoid.text.reading import Sentence, moved, sentences_of
from factoid.text.sentence_ends import SentenceSplitter
from factoid.units import (
    LINES,
    PROPOSITIONS,
    Document,
    Granularity,
    Metadata,
    Unit,
    child_unit,
    whole_number,
)
from factoid.words import count_words

WORDS = 100
"""The most words of a passage (Dense X Retrieval, Appendix A)."""

MIN_WORDS = 50
"""A passage with fewer words is merged into its neighbour (Dense X Retrieval, Appendix A)."""

_APART = re.compile(r"^[ \t>]*(?:[-*_][ \t]*){3,}\r?$|<!--", re.MULTILINE)  # rules and comments
_CLOSING = re.compile(r"[ \t]*\|(?=[ \t]*\r?$)", re.MULTILINE)  # of a row
# Characters between two sentences that no reader sees, such as a comment: more end a passage.
_UNSEEN = 300


def merge_threshold(words: int, min_words: int | None = None) -> int:
    """Return below how many words a passage is merged: see `split_passages`.

    Raises:
        InvalidInputError: One of them is out of range.
    """
    words = whole_number("words", words)
    if min_words is None:
        return min(MIN_WORDS, words // 2)
    if not 0 <= min_words <= words:
        raise InvalidInputError(f"min_words must be from 0 to words={words}, got {min_words}")
    return min_words


def split_passages(
    document: Document,
    *,
    words: int = WORDS,
    min_words: int | None = None,
    join_paragraphs: bool = True,
    sentences: SentenceSplitter | None = None,
) -> list[Unit]:
    """Cut a document into passages of whole sentences.

    The sentences of a paragraph are packed greedily: a sentence that would take the passage over
    `words` words starts the next. A paragraph's last passage is merged into the one before it, if
    any, when it has fewer than `min_words` words. Consecutive paragraphs of a section are one if
    they have `words` words at most and one of them has fewer than `min_words`; code, and what more
    than a blank line separates, stays apart. Passages never cross sections; headings become the
    `title` and `section` of the passages under them. A single sentence above `words` words is a
    passage of its own (`factoid.sentences` cuts overlong sentences).

    Args:
        document: The document. Spans of the result count the characters of its text.
        words: Up to so many words sentences are packed into a passage; a short last piece that is
            merged may add up to `min_words` - 1. At least 1.
        min_words: Merge threshold for short paragraphs and a paragraph's last passage, from 0 (none
            is merged) to `words`; None for half of `words`, but at most 50.
        join_paragraphs: False never joins paragraphs, as in the paper: a short paragraph is a
            passage of its own.
        sentences: Finds the ends of sentences; by default rules for many languages.
            `spacy_sentences` makes one of a pipeline.

    Raises:
        InvalidInputError: `words` or `min_words` is out of range, or the splitter returned no
            places in a text.
    """
    threshold = merge_threshold(words, min_words)
    title, paragraphs = outline(document)
    units = []
    if join_paragraphs and document.metadata.get(PROPOSITIONS) != LINES:  # rows stay apart
        paragraphs = list(_join_short(document.text, paragraphs, words, threshold))
    for paragraph in paragraphs:
        found = sentences_of(paragraph.blocks, sentences)
        packed = _pack(document.text, paragraph, found, words, threshold)
        for start, end, passage_sentences in packed:
            text = document.text[start:end]
            visible = visible_text(passage_sentences)
            if visible == text:
                visible = ""
            passage = Unit(
                "",
                text,
                Granularity.PASSAGE,
                document.id,
                document.id,
                start,
                end,
                title,
                paragraph.section,
                document.metadata,
                visible=visible,
                sentences=passage_sentences,
            )
            units.append(passage)
    return units


def split_sentences(passage: Unit, sentences: SentenceSplitter | None = None) -> list[Unit]:
    """Cut a passage into sentences, by rules or another splitter.

    Any unit will do whose text is the document's at its span. What is encoded of an item of a list
    or a row of a table begins with what it goes on from, and names the row's columns.
    """
    units = []
    last: Block | None = None
    for sentence in sentences_in(passage, sentences):
        start = sentence.start - passage.start
        text = passage.text[start : sentence.end - passage.start]
        visible = _in_context(sentence, is_first=sentence.block is not last)
        last = sentence.block
        if visible == text:
            visible = ""
        unit = child_unit(
            passage,
            text,
            Granularity.SENTENCE,
            sentence.start,
            sentence.end,
            visible=visible,
            sentences=(sentence,),
        )
        units.append(unit)
    return units


def _in_context(sentence: Sentence, *, is_first: bool) -> str:
    """Return what a reader sees of a sentence.

    The first of its block comes behind what the block goes on from.
    """
    block = sentence.block
    text = sentence.visible.text
    if block.kind == "row" and not block.is_header:
        if text == block.visible.text:
            text = _named_cells(block)
        else:
            text = visible_text([sentence])
    if is_first and block.kind in ("item", "paragraph", "row"):
        leads = written_leads(block)
        if leads:
            return f"{leads} {text}"
    return text


def _named_cells(row: Block) -> str:
    """Return the cells of a row, each with the name of its column."""
    cells = cell_texts(row)
    names = [*row.names[: len(cells)], *[""] * (len(cells) - len(row.names))]
    parts = []
    for name, cell in zip(names, cells, strict=True):
        if name and cell:
            parts.append(f"{name}: {cell}")
        elif cell:
            parts.append(cell)
    return "; ".join(parts)


def sentences_in(passage: Unit, splitter: SentenceSplitter | None = None) -> Sequence[Sentence]:
    """Return the sentences of a passage with their places in the document.

    A passage from `split_passages` knows them; another is read by itself, by the markup that its
    metadata say.
    """
    if (
        passage.sentences
        and splitter is None
        and visible_text(passage.sentences) == passage.search_text
    ):
        return passage.sentences  # else the text was changed
    read = read_sentences(passage.text, splitter, markup=markup_of(passage.text, passage.metadata))
    return moved(read, passage.start)


def seen_text(text: str, metadata: Metadata) -> str:
    """Return what a reader sees of a text that is read by itself.

    It is "" where that is the text as it is.
    """
    markup = markup_of(text, metadata)
    if markup == "plain" and is_plain_line(text):
        return ""
    visible = visible_text(read_sentences(text, markup=markup))
    if visible == text:
        return ""
    return visible


def visible_text(sentences: Sequence[Sentence]) -> str:
    """Return what a reader sees of some sentences, block by block on lines.

    Rows of a table are below its header.
    """
    parts: list[str] = []
    first = sentences[0].block if sentences else None
    if first is not None and first.kind == "row" and first.names:
        parts += [" | ".join(first.names), "\n"]
    block = first
    for number, sentence in enumerate(sentences):
        if number:
            is_on_line = sentence.block is block and sentence.block.kind != "code"
            parts.append(" " if is_on_line else "\n")
        block = sentence.block
        parts.append(sentence.visible.text)
    return "".join(parts)


def _join_short(
    text: str, paragraphs: Iterable[Paragraph], words: int, min_words: int
) -> Iterator[Paragraph]:
    """Join short paragraphs of a section.

    Such are turns of a conversation, clauses of a contract and the parts of a letter.
    """
    joined: Paragraph | None = None
    size = 0.0
    for paragraph in paragraphs:
        is_code = paragraph.blocks[0].kind == "code"
        length = math.inf if is_code else _count(paragraph.blocks)
        if joined is not None:
            between = text[joined.end : paragraph.start]
            is_near = between.count("\n") > 1 or "<" in between
            apart = paragraph.section != joined.section or not is_near or _APART.search(between)
            if not apart and min(size, length) < min_words and size + length <= words:
                joined = joined._replace(end=paragraph.end, blocks=joined.blocks + paragraph.blocks)
                size += length
                continue
            yield joined
        joined = paragraph
        size = length
    if joined is not None:
        yield joined


def _count(blocks: Iterable[Block]) -> int:
    return sum(count_words(block.visible.text) for block in blocks)


def _pack(
    text: str, paragraph: Paragraph, sentences: Sequence[Sentence], words: int, min_words: int
) -> Iterator[tuple[int, int, tuple[Sentence, ...]]]:
    """Yield the span of each passage with its sentences.

    The marks before a sentence belong to its passage. Who wrote a message, and a term, stay with
    what is said below.
    """
    runs: list[list[Sentence]] = []
    size = 0
    for sentence, following in zip_longest(sentences, sentences[1:]):
        length = count_words(sentence.visible.text)
        last = runs[-1][-1] if runs else None
        is_near = last is not None and sentence.start - last.end <= _UNSEEN
        is_named = last is not None and _names(last, sentence)
        needed = length
        if following is not None and _names(sentence, following):
            needed += count_words(following.visible.text)
        if is_near and (is_named or size + needed <= words):
            runs[-1].append(sentence)
            size += length
        else:
            runs.append([sentence])
            size = length
    if len(runs) > 1 and size < min_words and runs[-1][0].start - runs[-2][-1].end <= _UNSEEN:
        runs[-2:] = [runs[-2] + runs[-1]]
    at = paragraph.start
    for run in runs:
        start = _line_start(text, at, run[0].start)
        at = _row_end(text, run[-1])
        yield start, at, tuple(run)


def _names(name: Sentence, sentence: Sentence) -> bool:
    """Return whether a sentence is a line that names the item below, as a speaker does."""
    block = sentence.block
    is_name = name.block.kind == "paragraph" and block.kind == "item"
    if not is_name or name.block.visible.text != name.visible.text:
        return False
    return any(lead.text == name.text and lead.start == name.start for lead in block.leads)


def _row_end(text: str, last: Sentence) -> int:
    """Return where a last sentence ends; of a row, behind the mark that closes it."""
    closing = _CLOSING.match(text, last.end)
    if last.block.kind == "row" and closing:
        return closing.end()
    return last.end


def _line_start(text: str, at: int, start: int) -> int:
    """Return where the marks begin before a sentence on its line.

    `at` is the end of the sentence before.
    """
    line = max(text.rfind("\n", at, start) + 1, at)
    return start - len(text[line:start].lstrip())
