"""Which of overlapping spans are the mentions: the longest of all first."""

from __future__ import annotations

from collections.abc import Sequence

from factoid.entities.linkers.spans import Span
from factoid.entities.linkers.tokens import Tokens


def select_longest(spans: Sequence[Span], tokens: Tokens) -> list[Span]:
    """Return spans that do not overlap, in order of the text.

    The span of most words in all the text is taken, then the longest of those that do not overlap it, and so on; of equally
    many words the one of more characters, then the earlier one. A question mark that ends a sentence is the sentence's, and
    not the name's, where the name is known without it.
    """
    if any(not span.weak for span in spans):
        spans = [span for span in spans if not span.weak]
    ends = {(span.first, span.last) for span in spans}
    kept = [span for span in spans if not (_ends_the_question(span, tokens) and (span.first, span.last - 1) in ends)]
    taken: list[Span] = []
    free = bytearray(b"\1") * len(tokens.tokens)
    for span in sorted(kept, key=lambda span: (-span.words, _start(span, tokens) - _end(span, tokens), span.first)):
        stretch = slice(span.first, span.last + 1)
        if all(free[stretch]):
            free[stretch] = bytes(span.last + 1 - span.first)
            taken.append(span)
    return sorted(taken, key=lambda span: span.first)


def _start(span: Span, tokens: Tokens) -> int:
    return tokens.tokens[span.first].start


def _end(span: Span, tokens: Tokens) -> int:
    return tokens.tokens[span.last].end


def _ends_the_question(span: Span, tokens: Tokens) -> bool:
    last = tokens.tokens[span.last]
    after = tokens.text[last.end : last.end + 1]
    return tokens.text[last.start : last.end] == "?" and (not after or after.isspace())
