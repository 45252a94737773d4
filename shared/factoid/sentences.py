"""Split Markdown and plain text into sentences, as a reader sees it.

`factoid.text.reading` reads a text; `factoid.text.sentence_ends` says where sentences end in a
block.
"""

from __future__ import annotations

from functools import lru_cache

from factoid.text.markup import Markup
from factoid.text.reading import MAX_CHARS as MAX_CHARS
from factoid.text.reading import MAX_WORDS as MAX_WORDS
from factoid.text.reading import Sentence, read, sentences_of
from factoid.text.sentence_ends import SentenceSplitter
from factoid.text.sentence_ends import Span as Span


def sentence_spans(
    text: str, splitter: SentenceSplitter | None = None, *, markup: Markup | None = None
) -> list[Span]:
    """Return the spans of the sentences of a text, plain or Markdown, trimmed.

    Only white space and what Markdown does not show is left out: marks of lists, quotes and tables,
    rules, comments, link definitions and empty fences. A heading and a row of a table are
    sentences; so is a block of code, with its fences or indentation. Sentences above MAX_WORDS
    words or MAX_CHARS characters are cut at line ends, else at white space, else anywhere.

    Args:
        text: The text.
        splitter: Finds the ends of sentences within a block, in place of the rules of
            `factoid.text.sentence_ends`.
        markup: "markdown", "rst" or "plain"; None to decide by the marks in the text.

    Raises:
        InvalidInputError: The splitter returned something else than places in the text, in order.
    """
    spans = []
    for sentence in read_sentences(text, splitter, markup=markup):
        spans.append((sentence.start, sentence.end))
    return spans


def read_sentences(
    text: str, splitter: SentenceSplitter | None = None, *, markup: Markup | None = None
) -> list[Sentence]:
    """Return the sentences of a text with what a reader sees of each.

    Arguments and errors are those of `sentence_spans`.
    """
    if splitter is None:
        return list(_read_by_rules(text, markup))
    return sentences_of(read(text, markup), splitter)


@lru_cache(1024)
def _read_by_rules(text: str, markup: Markup | None) -> tuple[Sentence, ...]:
    return tuple(sentences_of(read(text, markup)))
