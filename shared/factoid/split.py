"""Split documents into passages, and passages into sentences (Dense X Retrieval, Appendix A)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from factoid.errors import InvalidInputError
from factoid.sections import outline
from factoid.sentences import Span, sentence_spans
from factoid.units import Document, Granularity, Unit, child_unit
from factoid.words import count_words


def split_passages(document: Document, *, words: int = 100, min_words: int = 50) -> list[Unit]:
    """Cut a document into passages of whole sentences.

    The sentences of a paragraph are packed greedily: a sentence that would take the passage over `words` words starts the next. A
    paragraph's last passage is merged into the one before it, if any, when it has fewer than `min_words` words. Passages never
    cross paragraphs or sections; headings become the `title` and `section` of the passages under them. A single sentence above
    `words` words is a passage of its own (`factoid.sentences` cuts overlong sentences).

    Args:
        document: The document. Spans of the result count the characters of its text.
        words: Maximum number of words in a passage, at least 1.
        min_words: Merge threshold for a paragraph's last passage, from 0 to `words`.

    Raises:
        InvalidInputError: `words` or `min_words` is out of range.
    """
    if words < 1 or not 0 <= min_words <= words:
        message = f"expected words >= 1 and 0 <= min_words <= words, got words={words}, min_words={min_words}"
        raise InvalidInputError(message)
    title, paragraphs = outline(document)
    units = []
    for begin, stop, section in paragraphs:
        text = document.text[begin:stop]
        for start, end in _pack(text, sentence_spans(text), words, min_words):
            passage = child_unit(document, text[start:end], Granularity.PASSAGE, begin + start, begin + end)
            units.append(replace(passage, title=title, section=section))
    return units


def split_sentences(passage: Unit) -> list[Unit]:
    """Cut a passage, or any unit whose text is the document's at its span, into sentences."""
    return [
        child_unit(passage, passage.text[start:end], Granularity.SENTENCE, passage.start + start, passage.start + end)
        for start, end in sentence_spans(passage.text)
    ]


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
    return [(start, len(text[:end].rstrip())) for start, end in pairwise([*starts, len(text)])]


def _line_start(text: str, at: int, start: int) -> int:
    """Return where the marks before a sentence begin, `at` being the end of the sentence before."""
    line = max(text.rfind("\n", at, start) + 1, at)
    return start - len(text[line:start].lstrip())
