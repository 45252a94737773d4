"""Split a growing answer into sentences.

A sentence is returned once the next one begins. Some claim nothing, and need no citation.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from factoid.late_interaction.markers import CLOSERS, without_markers
from factoid.reasoning import open_reasoning, reasoning_spans
from factoid.sentences import Span, sentence_spans
from factoid.text.reading import read

_BOUNDARY = re.compile(r"[.!?…‽؟۔।。！？｡\n]")
_WHOLE_WORD = re.compile(r"\w\W")
_LAST_WORD = re.compile(r".*\w(?=\W)", re.DOTALL)
_NEXT_WORD = 30  # characters behind a mark that decide whether a sentence ends there
# characters before the next sentence that are read again: the splitter looks back 300 at most
_CONTEXT = 500
# Characters of an unfinished text that may be split again: so many for every chunk, and so many
# for each new character. What is split again is in proportion to what is new: time stays linear.
_AGAIN_PER_CHUNK = 300
_AGAIN_PER_NEW = 8
_FENCE = re.compile(r"^[ \t]*+(?P<marks>`{3,}+|~{3,}+)(?P<rest>[^\n]*)", re.MULTILINE)
_LONGEST_FENCE = 100
# below the header of a table
_TABLE_RULE = re.compile(r"[ \t|]*\n(?=[^\n]*\|)[ \t|:]*-[ \t|:-]*(?:\n|\Z)")

_REFUSAL = re.compile(
    r"""\bI(?:\ am|['’]m)\ (?:sorry|unable|not\ able|not\ sure)\b
      | \b(?:I|we)\ (?:(?:do|could|can)\ not|cannot|(?:don|can|couldn)['’]t)
        \ (?:know|answer|find|determine|say|tell|help|assist)\b
      | \b(?:I|we)\ (?:do\ not|don['’]t)\ have\ (?:(?:any|enough|sufficient|the)\ )?
        (?:relevant\ )?information\b
      | \b(?:context|passages?|documents?|sources?|excerpts?|texts?|articles?|search\ results)
        \ (?:(?:provided|given|above)\ )?(?:do(?:es)?\ not|do(?:es)?n['’]t)
        \ (?:contain|mention|provide|say|include|specify|state|answer|give)\b
      | \b(?:no|not\ enough|insufficient)\ (?:relevant\ )?information\b
      | \b(?:no\ mention\ of\b.{0,60}?|(?:is|are)\ not\ (?:\w+\ )?|not\ mentioned\ )
        in\ the\ (?:provided\ |given\ )?(?:context|passages|documents|sources|text)\b
      | \AEmpty\ Response\Z""",
    re.IGNORECASE | re.VERBOSE,
)


def claims_something(sentence: str) -> bool:
    """Return whether a sentence without markers may state a fact.

    A sentence without a word does not, nor one that ends in a colon, nor an English one that says
    that there is no answer, in the ways that language models do.
    """
    introduces = sentence.rstrip(CLOSERS).endswith((":", "："))
    return (
        any(map(str.isalnum, sentence))
        and not introduces
        and not _REFUSAL.search(" ".join(sentence.split()))
    )


class Stretch(NamedTuple):
    """A part of an answer that ends with a sentence."""

    text: str  # the sentence with the text before it and, at the end of an answer, after it
    start: int  # of the sentence in the text
    end: int  # equal to the start if there is no sentence
    # the sentence is neither a heading, also of a table, nor code, nor reasoning
    is_prose: bool = True

    @property
    def sentence(self) -> str:
        """Return the sentence as it is."""
        return self.text[self.start : self.end]

    @property
    def plain(self) -> str:
        """Return the sentence without markers; code, headings and reasoning are unchanged."""
        if self.is_prose:
            return without_markers(self.sentence)
        return self.sentence


class _State(Enum):
    """What a growing answer needs before it is split: see the comment in `GrowingAnswer`."""

    SEARCHING = "a mark that may end a sentence"
    WAITING = "a whole word behind that mark"
    DUE = "nothing"


class GrowingAnswer:
    """Split a streaming answer into sentences.

    Each is returned when the first word of the next one is complete. The stretches add up to the
    answer, however it is cut into chunks. The sentences are nearly always those of the whole
    answer: what comes later may move the end of a sentence that was already returned.

    Reasoning (`factoid.reasoning`) is split as well, and is no prose; of one that the prompt began,
    a stream learns too late.

    Time is linear in the answer. What was returned is read again only as far as it may matter for
    the next sentences, and a long paragraph, list or block of code is split when an eighth of what
    would be read is new.
    """

    # Splitting costs far more than reading a chunk, so a chunk only moves the answer through three
    # states (`_read`), and splitting happens in the last one:
    #
    # 1. SEARCHING: no mark was read that may end a sentence. A chunk with one leads to
    # 2. WAITING: the word behind the mark decides whether a sentence ends there ("p. 5",
    #    "Dr. Berg"). Once it is whole, with the character behind it, a split
    # 3. is DUE: `feed` splits what was not returned yet, in a long text only when enough of it is
    #    new. It returns the sentences that a whole word of the next one follows. Then the state
    #    is found anew from what is left: all of it if another sentence waits for its next word,
    #    else only the end, since marks before it were seen to end nothing.
    #
    # What was returned is dropped up to the latest place where reading can start again
    # (`_drop_returned`). Where that is inside code or reasoning, `_fence` and `_thought` keep what
    # opened it, and are put before the text when it is split (`_source`).

    def __init__(self, text: str = "") -> None:
        self._text = text  # the answer from where splitting starts, without the chunks
        self._chunks: list[str] = []  # that came since the text was split
        self._fresh = len(text)  # characters that came since
        self._returned = 0  # characters of the text that are in stretches returned before
        self._fence = ""  # what opens the block of code in which the text begins
        self._thought = ""  # what opens the reasoning in which the text begins
        self._state = _State.SEARCHING
        self._last = ""  # while WAITING, the last character behind the mark
        self._read(text)

    def feed(self, chunk: str) -> list[Stretch]:
        """Return the stretches that are complete with this chunk."""
        if not chunk:
            return []
        self._chunks.append(chunk)
        self._fresh += len(chunk)
        self._read(chunk)
        may_split_again = _AGAIN_PER_CHUNK + _AGAIN_PER_NEW * self._fresh
        is_too_soon = len(self._text) > may_split_again
        if self._state is not _State.DUE or is_too_soon:
            return []
        self._join()
        spans = self._spans()
        complete = self._complete(spans)
        stretches = self._take(complete)
        # Beside the last sentence, which is unfinished, one may wait for a word of the next.
        has_waiting = len(spans) > len(complete) + 1
        self._find_state(has_waiting=has_waiting)
        self._drop_returned([end for _, end in complete])
        return stretches

    def finish(self) -> list[Stretch]:
        """Return the rest at the end of the answer."""
        self._join()
        stretches = self._take(self._spans())
        rest = self._text[self._returned :]
        self._returned = len(self._text)
        if stretches:  # what comes behind the last sentence belongs to its stretch
            *others, last = stretches
            return [*others, last._replace(text=last.text + rest)]
        if rest:
            return [Stretch(rest, 0, 0)]
        return []

    def _read(self, part: str) -> None:
        """Move to the state that the next part of the answer leads to."""
        if self._state is _State.DUE:
            return
        if self._state is _State.SEARCHING:
            mark = _BOUNDARY.search(part)
            if mark is None:
                return
            self._state = _State.WAITING
            behind_mark = part[mark.end() :]
        else:
            behind_mark = self._last + part  # a word may end where the part begins
        self._last = behind_mark[-1:]
        if _WHOLE_WORD.search(behind_mark):
            self._state = _State.DUE

    def _complete(self, spans: Sequence[Span]) -> list[Span]:
        """Return the sentences that a whole word of the next one follows."""
        last_word = _LAST_WORD.match(self._text)
        end_of_words = 0
        if last_word:
            end_of_words = last_word.end()
        complete = []
        for span, (start_of_next, _) in pairwise(spans):
            if start_of_next < end_of_words:
                complete.append(span)
        return complete

    def _find_state(self, *, has_waiting: bool) -> None:
        """Find the state anew after a split, from what was not returned.

        All of it counts if a sentence in it waits for its next word; else only the end, since the
        marks before were seen to end nothing.
        """
        start = self._returned
        if not has_waiting:
            start = max(start, len(self._text) - _NEXT_WORD)
        self._state = _State.SEARCHING
        self._read(self._text[start:])

    def _join(self) -> None:
        self._text += "".join(self._chunks)
        self._chunks = []
        self._fresh = 0

    def _source(self) -> tuple[str, int]:
        """Return the text to split, and where it begins.

        After lines that open its block of code or its reasoning.
        """
        opening = "".join(f"{mark}\n" for mark in (self._thought, self._fence) if mark)
        return opening + self._text, len(opening)

    def _spans(self) -> list[Span]:
        """Return the sentences of the rest of the answer; none is in part reasoning."""
        source, shift = self._source()
        spans: list[Span] = []
        for first, last, _ in _parts(source):
            here = sentence_spans(source[first:last], markup="markdown")
            spans += [(start + first - shift, end + first - shift) for start, end in here]
        rest = []
        for start, end in spans:
            if end > self._returned:
                rest.append((max(start, self._returned), end))
        return rest

    def _take(self, spans: Sequence[Span]) -> list[Stretch]:
        """Return sentences with the text before them, and count them as returned."""
        if not spans:
            return []
        others = self._spans_of_no_prose()
        ends = [end for _, end in others]
        stretches = []
        for start, end in spans:
            # The first other span that ends behind the start of the sentence may touch it.
            nearest = bisect_right(ends, start)
            is_prose = nearest == len(others) or others[nearest][0] >= end
            if _TABLE_RULE.match(self._text, end):
                is_prose = False
            begin = self._returned
            self._returned = end
            stretches.append(Stretch(self._text[begin:end], start - begin, end - begin, is_prose))
        return stretches

    def _spans_of_no_prose(self) -> list[Span]:
        """Return where reasoning, code, headings and headers of tables stand, in order."""
        source, shift = self._source()
        spans: list[Span] = []
        for first, last, is_reasoning in _parts(source):
            if is_reasoning:
                spans.append((first - shift, last - shift))
                continue
            offset = first - shift
            for block in read(source[first:last], "markdown"):
                if block.kind in ("heading", "code") or block.is_header:
                    spans.append((block.start + offset, block.end + offset))
        return spans

    def _drop_returned(self, ends: Sequence[int]) -> None:
        """Drop what was returned and does not matter any more.

        `ends` are those of the sentences returned just now.
        """
        start = self._place_to_begin(ends)
        if not start:
            return
        source, shift = self._source()
        self._thought = open_reasoning(source, start + shift)
        self._fence = _open_fence(self._text, start, self._fence)
        self._text = self._text[start:]
        self._returned -= start

    def _place_to_begin(self, ends: Sequence[int]) -> int:
        """Return where the text may begin: the latest place where reading can start again.

        That is a blank line outside of code. Where none is near, it is a line, or the end of a
        sentence of a long paragraph; and 0, which drops nothing, while there is little to drop.
        """
        blank_line = self._text.rfind("\n\n", 0, self._returned)
        if blank_line >= 0 and not _open_fence(self._text, blank_line, self._fence):
            return blank_line
        if self._returned <= 2 * _CONTEXT:
            return 0
        before = self._returned - _CONTEXT
        line = self._text.rfind("\n", 0, before) + 1
        if line:
            return line
        return max((end for end in ends if end <= before), default=self._returned)


def _parts(text: str) -> list[tuple[int, int, bool]]:
    """Return the spans of a text in order, and whether each is reasoning."""
    parts: list[tuple[int, int, bool]] = []
    at = 0
    for start, end in reasoning_spans(text):
        parts += [(at, start, False), (start, end, True)]
        at = end
    parts.append((at, len(text), False))
    return [part for part in parts if part[0] < part[1]]


def _open_fence(text: str, end: int, fence: str) -> str:
    """Return the marks that open the block of code around a place, "" if there is none.

    `fence` is that of the text's begin.
    """
    for match in _FENCE.finditer(text, 0, end):
        marks = match["marks"]
        rest = match["rest"]
        if not fence:
            fence = "" if marks[0] == "`" and "`" in rest else marks[:_LONGEST_FENCE]
        elif marks.startswith(fence) and not rest.strip():
            fence = ""
    return fence
