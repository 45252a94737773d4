"""Split documents into passages, and passages into sentences (Dense X Retrieval, Appendix A)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from factoid.errors import InvalidInputError
from factoid.markdown import is_code
from factoid.sections import Paragraph, outline
from factoid.sentences import Span, sentence_spans
from factoid.text.sentence_ends import SentenceSplitter
from factoid.units import LINES, PROPOSITIONS, Document, Granularity, Unit, child_unit
from factoid.words import count_words


def split_passages(
    document: Document, *, words: int = 100, min_words: int = 50, sentences: SentenceSplitter | None = None
) -> list[Unit]:
    """Cut a document into passages of whole sentences.

    The sentences of a paragraph are packed greedily: a sentence that would take the passage over `words` words starts the next. A
    paragraph's last passage is merged into the one before it, if any, when it has fewer than `min_words` words. Consecutive
    paragraphs of a section are one if they have `words` words at most and one of them has fewer than `min_words`; code, and
    what more than a blank line separates, stays apart. Passages never cross sections; headings become the `title` and
    `section` of the passages under them. A single sentence above `words` words is a passage of its own (`factoid.sentences`
    cuts overlong sentences).

    Args:
        document: The document. Spans of the result count the characters of its text.
        words: Maximum number of words in a passage, at least 1.
        min_words: Merge threshold for short paragraphs and a paragraph's last passage, from 0 (none is merged) to `words`.
        sentences: Finds the ends of sentences; by default rules for many languages. `spacy_sentences` makes one of a pipeline.

    Raises:
        InvalidInputError: `words` or `min_words` is out of range, or the splitter returned no places in a text.
    """
    if words < 1 or not 0 <= min_words <= words:
        message = f"expected words >= 1 and 0 <= min_words <= words, got words={words}, min_words={min_words}"
        raise InvalidInputError(message)
    title, paragraphs = outline(document)
    units = []
    if document.metadata.get(PROPOSITIONS) != LINES:  # a table's rows stay apart
        paragraphs = list(_join_short(document.text, paragraphs, words, min_words))
    for begin, stop, section in paragraphs:
        text = document.text[begin:stop]
        for start, end in _pack(text, sentence_spans(text, sentences), words, min_words):
            passage = child_unit(document, text[start:end], Granularity.PASSAGE, begin + start, begin + end)
            units.append(replace(passage, title=title, section=section))
    return units


def split_sentences(passage: Unit, sentences: SentenceSplitter | None = None) -> list[Unit]:
    """Cut a passage, or any unit whose text is the document's at its span, into sentences, by rules or another splitter."""
    return [
        child_unit(passage, passage.text[start:end], Granularity.SENTENCE, passage.start + start, passage.start + end)
        for start, end in sentence_spans(passage.text, sentences)
    ]


def _join_short(text: str, paragraphs: Iterable[Paragraph], words: int, min_words: int) -> Iterator[Paragraph]:
    """Join short paragraphs of a section, such as turns of a conversation, clauses of a contract and the parts of a letter."""
    joined: Paragraph | None = None
    size = 0.0
    for paragraph in paragraphs:
        source = text[paragraph.start : paragraph.end]
        length = math.inf if is_code(source) else count_words(source)
        if joined is not None:
            between = text[joined.end : paragraph.start]
            apart = paragraph.section != joined.section or between.strip() or between.count("\n") < 2
            if not apart and min(size, length) < min_words and size + length <= words:
                joined, size = joined._replace(end=paragraph.end), size + length
                continue
            yield joined
        joined, size = paragraph, length
    if joined is not None:
        yield joined


def _pack(text: str, sentences: list[Span], words: int, min_words: int) -> list[Span]:
    """Return passages that hold all of a text except white space: the marks before a sentence belong to its passage."""
    starts: list[int] = []
    size = at = 0
    for start, end in sentences:
        length = count_words(text[start:end])
        if starts and size + length <= words:
            size += length
        else:
            starts.append(_line_start(text, at, start) if starts else 0)
            size = length
        at = end
    if len(starts) > 1 and size < min_words:
        starts.pop()
    return [(start, start + len(text[start:end].rstrip())) for start, end in pairwise([*starts, len(text)])]


def _line_start(text: str, at: int, start: int) -> int:
    """Return where the marks before a sentence begin, `at` being the end of the sentence before."""
    line = max(text.rfind("\n", at, start) + 1, at)
    return start - len(text[line:start].lstrip())
