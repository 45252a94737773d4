"""Split Markdown and plain text into sentences, as a reader sees it.

`factoid.text.sentence_ends` says where sentences end in a block; here stand turns of conversations, code, and what is too long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from factoid.markdown import ONLY_MARKS, read_blocks, visible
from factoid.text.sentence_ends import SentenceSplitter, block_sentences, trim
from factoid.text.sentence_ends import Span as Span
from factoid.words import count_words, cut_words

# A run of text without any sentence end is cut here, because encoders and parsers would cut it silently.
MAX_WORDS = 200
MAX_CHARS = 4000

# A turn of a conversation, perhaps with its time, or a value with its name.
LABELLED_LINE = re.compile(
    r"""^[^\S\n]*+(?:\[?\d[\d:./\ ,APMapm-]{3,24}\]?[\ \t-]*+)?
      [*_]{0,2}(?![a-zß-ÿ])[^\W_](?:[^:\n.!?;,]|\.(?=:|[^\S\n]?[^\W_])){0,39}:[*_]{0,2}(?!\S)""",
    re.MULTILINE | re.VERBOSE,
)
_ENTITY = re.compile(r"&#?\w{1,32};")


def sentence_spans(text: str, splitter: SentenceSplitter | None = None) -> list[Span]:
    """Return the spans of the sentences of a text, plain or Markdown, trimmed.

    Only white space and what Markdown does not show is left out: marks of lists, quotes and tables, rules, comments, link
    definitions and empty fences. A heading and a row of a table are sentences; so is a block of code, with its fences or
    indentation. Sentences above MAX_WORDS words or MAX_CHARS characters are cut at line ends, else at white space, else anywhere.

    Args:
        text: The text.
        splitter: Finds the ends of sentences within a block, in place of the rules of `factoid.text.sentence_ends`.

    Raises:
        InvalidInputError: The splitter returned something else than places in the text, in order.
    """
    return list(_spans_by_rules(text) if splitter is None else _spans(text, splitter))


@lru_cache(1024)
def _spans_by_rules(text: str) -> tuple[Span, ...]:
    return _spans(text, None)


def _spans(text: str, splitter: SentenceSplitter | None) -> tuple[Span, ...]:
    spans: list[Span] = []
    for block in read_blocks(text):
        if block.kind == "code":
            spans += _bounded(text, block.start, block.end)
            continue
        shift = text.index(block.heading, block.start)
        for part in _turns(block.heading or text[block.start : block.end]):
            for start, end in _prose_spans(part, splitter):
                spans += _bounded(text, shift + start, shift + end)
            shift += len(part)
    return tuple(spans)


def _turns(source: str) -> list[str]:
    """Cut a paragraph before each line with a label ("Ann: …", "Weight: 59 kg") if these are half of its lines or more."""
    starts = [match.start() for match in LABELLED_LINE.finditer(source)]
    if len(starts) < 2 or len(starts) * 2 < source.count("\n") + 1:
        return [source]
    return [source[start:end] for start, end in pairwise([0, *starts[starts[0] == 0 :], len(source)])]


def _prose_spans(source: str, splitter: SentenceSplitter | None) -> Iterator[Span]:
    """Yield the sentences of a paragraph, found in what a reader sees of it."""
    seen, offsets, code = visible(source)
    sentences = [span for span in block_sentences(seen, code, splitter) if not ONLY_MARKS.fullmatch(seen, *span)]
    begin = 0
    for index, (first, last) in enumerate(sentences):
        start, end = offsets[first], offsets[last - 1] + 1
        start -= _opening_marks(source[begin:start])
        following = offsets[sentences[index + 1][0]] if index + 1 < len(sentences) else len(source)
        if entity := _ENTITY.match(source, end - 1, following):
            end = entity.end()
        begin = end = end + _closing_marks(source[end:following])
        if source[start] == "|":  # the outer edges of a table's row
            cells = source[start:end].rstrip("| \t")
            start, end = end - len(source[start:end].lstrip("| \t")), start + len(cells)
        yield start, end


def _opening_marks(before: str) -> int:
    return len(before) - len(before.rstrip("*_[!\\"))


def _closing_marks(behind: str) -> int:
    """Return how many of the characters after a sentence's last visible one close its emphasis or its link."""
    marks = behind[: len(behind) - _opening_marks(behind)] if " " in behind else behind
    return len(marks.partition("\n")[0].partition("<!--")[0].rstrip()) if marks[:1] in ("*", "_", "]") else 0


def _bounded(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a span, in pieces that fit passages if it is too long for a sentence."""
    if end - start <= MAX_CHARS and count_words(text[start:end]) <= MAX_WORDS:
        yield start, end
        return
    while start < end:
        cut = start + len(cut_words(text[start : min(end, start + MAX_CHARS)], MAX_WORDS // 2))
        if cut < end:
            breaks = (text.rfind("\n", start, cut + 1), text.rfind(" ", start, cut + 1))
            cut = next((at for at in breaks if at > start), cut)
        yield from trim(text, start, cut)
        start = cut
