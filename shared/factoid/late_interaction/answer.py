"""Answers as text: sentences that are complete while the answer is still growing, and the markers `[n]` in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from factoid.markdown import read_blocks
from factoid.sentences import Span, sentence_spans

_BOUNDARY = re.compile(r"[.!?…‽؟۔।。！？｡\n]")
_WHOLE_WORD = re.compile(r"\w\W")
_NEXT_WORD = 30  # characters behind a mark that decide whether a sentence ends there
_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)", re.MULTILINE)
_TABLE_RULE = re.compile(r"[ \t|]*\n(?=[^\n]*\|)[ \t|:]*-[ \t|:-]*(?:\n|\Z)")  # below the header of a table
# Inline code; or numbers in brackets with the space before them, unless they index a letter or are a link.
_MARKER = re.compile(
    r"(`[^`]*`)|(?:(?<![ \t])[ \t]++|(?<!\b[A-Za-z]))\[[1-9]\d{0,2}(?:[,–-]\s?[1-9]\d{0,2})*+\](?![(:])"
)
_CLOSERS = "\"'”’»*_"
_FINAL = ".!?…‽؟۔।。！？｡:;,"

_REFUSAL = re.compile(
    r"""\bI(?:\ am|['’]m)\ (?:sorry|unable|not\ able|not\ sure)\b
      | \b(?:I|we)\ (?:(?:do|could|can)\ not|cannot|(?:don|can|couldn)['’]t)
        \ (?:know|answer|find|determine|say|tell|help|assist)\b
      | \b(?:I|we)\ (?:do\ not|don['’]t)\ have\ (?:(?:any|enough|sufficient|the)\ )?(?:relevant\ )?information\b
      | \b(?:context|passages?|documents?|sources?|excerpts?|texts?|articles?|search\ results)\ (?:(?:provided|given|above)\ )?
        (?:do(?:es)?\ not|do(?:es)?n['’]t)\ (?:contain|mention|provide|say|include|specify|state|answer|give)\b
      | \b(?:no|not\ enough|insufficient)\ (?:relevant\ )?information\b
      | \b(?:no\ mention\ of\b.{0,60}?|(?:is|are)\ not\ (?:\w+\ )?|not\ mentioned\ )
        in\ the\ (?:provided\ |given\ )?(?:context|passages|documents|sources|text)\b
      | \AEmpty\ Response\Z""",
    re.IGNORECASE | re.VERBOSE,
)


def claims_something(sentence: str) -> bool:
    """Return whether a sentence without markers may state a fact.

    A sentence without a word does not, nor one that ends in a colon, nor an English one that says that there is no answer, in
    the ways that language models do.
    """
    introduces = sentence.rstrip(_CLOSERS).endswith((":", "："))
    return any(map(str.isalnum, sentence)) and not introduces and not _REFUSAL.search(" ".join(sentence.split()))


def without_markers(sentence: str) -> str:
    """Return a sentence without citation marks such as `[1]` or `[2, 3]` and the spaces before them; inline code stays."""
    return _MARKER.sub(r"\1", sentence).lstrip(" \t")


def with_markers(sentence: str, numbers: Sequence[int]) -> tuple[str, int]:
    """Return a sentence with marks such as ` [1][3]` before its final punctuation, and where the marks begin."""
    body = sentence.rstrip(_CLOSERS)
    core = body.rstrip(_FINAL).rstrip()
    place = len(core) if core and core != body.rstrip() else len(sentence)
    markers = "".join(f"[{number}]" for number in numbers)
    return (f"{sentence[:place]} {markers}{sentence[place:]}" if markers else sentence), place


class Stretch(NamedTuple):
    """A part of an answer that ends with a sentence."""

    text: str  # the sentence with the text before it and, at the end of an answer, after it
    start: int  # of the sentence in the text
    end: int  # equal to the start if there is no sentence
    is_prose: bool = True  # the sentence is neither a heading, also of a table, nor code

    @property
    def sentence(self) -> str:
        """Return the sentence as it is."""
        return self.text[self.start : self.end]

    @property
    def plain(self) -> str:
        """Return the sentence without markers; code and headings are unchanged."""
        return without_markers(self.sentence) if self.is_prose else self.sentence


class GrowingAnswer:
    """Split a streaming answer into sentences; each is returned when the first word of the next one is complete.

    The stretches add up to the answer, however it is cut into chunks. The sentences are nearly always those of the whole answer:
    what comes later may move the end of a sentence that was already returned.
    """

    def __init__(self, text: str = "") -> None:
        self._text = text
        self._returned = 0  # characters
        self._read = 0  # characters in which no other sentence ends than those returned

    def feed(self, chunk: str) -> list[Stretch]:
        """Return the stretches that are complete with this chunk."""
        self._text += chunk
        if not _BOUNDARY.search(self._text, self._read):
            return []
        spans = self._spans()
        complete = [span for span, (following, _) in pairwise(spans) if _WHOLE_WORD.search(self._text, following)]
        stretches = self._stretches(complete)
        if len(spans) <= len(complete) + 1:  # no other sentence waits for its next word
            self._read = max(self._returned, len(self._text) - _NEXT_WORD)
        return stretches

    def finish(self) -> list[Stretch]:
        """Return the rest at the end of the answer."""
        stretches = self._stretches(self._spans())
        rest, self._returned = self._text[self._returned :], len(self._text)
        if stretches:
            return [*stretches[:-1], stretches[-1]._replace(text=stretches[-1].text + rest)]
        return [Stretch(rest, 0, 0)] if rest else []

    def _block(self) -> int:
        """Return the latest blank line before the rest of the answer that is not in a block of code: splitting starts there."""
        blank = max(self._text.rfind("\n\n", 0, self._returned), 0)
        return 0 if len(_FENCE.findall(self._text, 0, blank)) % 2 else blank

    def _spans(self) -> list[Span]:
        """Return the sentences of the rest of the answer."""
        block = self._block()
        spans = ((block + start, block + end) for start, end in sentence_spans(self._text[block:]))
        return [(max(start, self._returned), end) for start, end in spans if end > self._returned]

    def _stretches(self, spans: Sequence[Span]) -> list[Stretch]:
        """Return sentences with the text before them."""
        others = [part for part in read_blocks(self._text, self._block()) if part.kind != "prose"] if spans else []
        stretches = []
        for start, end in spans:
            is_heading = _TABLE_RULE.match(self._text, end) is not None
            is_prose = not is_heading and not any(part.start < end and part.end > start for part in others)
            begin, self._returned = self._returned, end
            stretches.append(Stretch(self._text[begin:end], start - begin, end - begin, is_prose))
        return stretches
