"""Answers as text: sentences that are complete while the answer is still growing, and the markers `[n]` in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from factoid.markdown import read_blocks, visible
from factoid.sentences import Span, sentence_spans

# Where a word has ended; in scripts without spaces, where a sentence has begun.
_WORD_END = re.compile(r"\S\s|[。！？｡][^\w\s]{0,20}\w")
_BOUNDARY = re.compile(r"[.!?…‽؟۔।。！？｡\n]")
_WORD = re.compile(r"\w")
_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)", re.MULTILINE)
_PARENTHESIS_END = re.compile(r"[)\n]")
_CODE_END = re.compile(r"`|\n\s*\n")
_LONGEST_WAIT = 300  # characters for a parenthesis to close, the splitter's limit

_LIST_OR_TABLE = re.compile(r"[^\S\n]*+\n\s*+(?:[-*+•·‣▪●◦]\s|\d{1,3}[.)]\s|\|)")
_TABLE_RULE = re.compile(r"[ \t|]*\n(?=[^\n]*\|)[ \t|:]*-[ \t|:-]*(?:\n|\Z)")  # below the header of a table

_MARKER = re.compile(r"\[[1-9]\d{0,2}(?:[,–-]\s?[1-9]\d{0,2})*+\]")
_LABEL = re.compile(rf"(?:\A|:\s*\n){_MARKER.pattern}\s*(.*)")  # of a line, with what it labels
_SOURCES = re.compile(
    rf"\W{{0,9}}(?:sources|references|citations|bibliography|quellen)\W{{0,9}}:\W{{0,9}}{_MARKER.pattern}",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"(?<!\w)\w++\Z")
# Words and marks after which a number in brackets is part of the sentence: "see [2]", "press [1]", "f(x)=[1]".
_NOUN_FOLLOWS = frozenset(
    "according an and as at button by equation figure from in key note of option or passage per press reference ref see source "
    "step table than the to with".split()
)
_CITED_BEHIND = ".!?…,;)\"'”’»*_%°؟۔।。！？｡"
_CLOSERS = "\"'”’»*_"
_END = ".!?…‽؟۔।。！？｡"
_FINAL = _END + ":;,"

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


def is_refusal(sentence: str) -> bool:
    """Return whether an English sentence says that there is no answer, in the ways that language models do."""
    return _REFUSAL.search(" ".join(sentence.split())) is not None


def lists_sources(sentence: str) -> bool:
    """Return whether a sentence that `without_markers` returned begins a list of sources.

    That is "Sources: [1] …", or a label with a title: "[1] Manual". After a label, text that ends with a full stop is a claim.
    """
    label = _LABEL.search(sentence)
    has_title = label is not None and not label[1].rstrip(_CLOSERS + " \t").endswith(tuple(_END))
    return has_title or _SOURCES.match(sentence) is not None


class Stretch(NamedTuple):
    """A part of an answer that ends with a sentence."""

    text: str  # the sentence with the text before it and, at the end of an answer, after it
    start: int  # of the sentence in the text
    end: int  # equal to the start if there is no sentence
    is_prose: bool = True  # the sentence is neither a heading nor code
    introduces: bool = False  # it ends in a colon before a list or a table, or is a table's header


class GrowingAnswer:
    """Split a streaming answer into sentences; each is returned when the first word of the next one is complete.

    The stretches add up to the answer, however it is cut into chunks. Sentences are those of `factoid.sentences` up to that
    word. A sentence with an open parenthesis or open inline code waits for it to close.
    """

    def __init__(self) -> None:
        self._text = ""
        self._block = 0  # start of the text that is split again
        self._returned = 0  # characters returned
        self._settled = 0  # all ends of sentences before this place are known
        self._word = 0  # start of the latest word, or of the white space before it
        self._at = 0  # where the search for the next end of a word starts

    def feed(self, chunk: str) -> list[Stretch]:
        """Return the stretches that are complete with this chunk."""
        self._text += chunk
        stretches: list[Stretch] = []
        while match := _WORD_END.search(self._text, self._at):
            self._at = match.start() + 1
            stop = match.end()
            following = self._word if match[0][-1].isspace() else stop - 1
            if not _WORD.search(self._text, following, stop):
                continue
            if _BOUNDARY.search(self._text, self._settled, following):
                complete, waits = self._complete(stop)
                stretches += complete
                self._settled = self._settled if waits else following
            self._word = max(following, match.start() + 1)
        self._at = max(self._at, len(self._text) - 22)  # the longest match
        return stretches

    def finish(self) -> list[Stretch]:
        """Return the rest at the end of the answer."""
        spans = sentence_spans(self._text[self._block :])
        stretches = self._stretches([span for span in spans if self._block + span[1] > self._returned], len(self._text))
        rest = self._text[self._returned :]
        self._returned = len(self._text)
        if stretches:
            return [*stretches[:-1], stretches[-1]._replace(text=stretches[-1].text + rest)]
        return [Stretch(rest, 0, 0)] if rest else []

    def _complete(self, stop: int) -> tuple[list[Stretch], bool]:
        """Return the sentences that are complete in the text up to `stop`, and whether the next one waits for more."""
        text = self._text[self._block : stop]
        complete: list[Span] = []
        waits = False
        for (start, end), following in pairwise(sentence_spans(text)):
            if self._block + end <= self._returned:
                continue
            waits = not _WORD.search(text, *following) or _is_open(text, start, end)
            if waits:
                break
            complete.append((start, end))
        stretches = self._stretches(complete, stop)
        blank = self._text.rfind("\n\n", self._block, self._returned)
        if blank >= 0 and len(_FENCE.findall(self._text, self._block, blank)) % 2 == 0:
            self._block = blank
        return stretches, waits

    def _stretches(self, spans: Sequence[Span], stop: int) -> list[Stretch]:
        """Return sentences, by their spans in the block, with the text before them."""
        block = self._block
        blocks = [part for part in read_blocks(self._text[block:stop]) if part.kind != "prose"] if spans else []
        stretches = []
        for start, end in spans:
            is_prose = not any(part.start < end and part.end > start for part in blocks)
            begin, start, end = self._returned, max(block + start, self._returned), block + end
            introduces = _introduces(self._text, start, end, stop)
            stretches.append(Stretch(self._text[begin:end], start - begin, end - begin, is_prose, introduces))
            self._returned = end
        return stretches


def without_markers(sentence: str, *, starts_line: bool = False) -> str:
    """Return a sentence without citation marks such as `[1]` or `[2, 3]` and the spaces before them.

    Numbers in brackets that are part of the sentence stay: in links, code and addresses, after a single letter ("a[1]"), where a
    noun is expected ("see [2]"), and as the label of a line (`starts_line`), as in a list of sources.
    """
    if not _MARKER.search(sentence):
        return sentence
    plain, offsets, code = visible(sentence)
    text, at = "", 0
    for match in _MARKER.finditer(plain):
        start, end = offsets[match.start()], offsets[match.end() - 1] + 1
        in_code = any(first < match.end() and last > match.start() for first, last in code)
        is_definition = sentence[end : end + 1] == ":" and not sentence[:start].strip()
        if in_code or sentence[start:end] != match[0] or is_definition:
            continue
        before = sentence[at:start].rstrip(" \t")
        follows_marker = bool(at) and not before
        if not follows_marker and not _cites(sentence[:start], starts_line=starts_line):
            continue
        text, at = text + before, end
        if not text:
            at += len(sentence[end:]) - len(sentence[end:].lstrip(" \t"))
    return text + sentence[at:]


def _cites(before: str, *, starts_line: bool) -> bool:
    """Return whether a number in brackets is a citation, judged by the text before it."""
    ahead = before.rstrip(" \t")
    if not ahead:
        return not starts_line  # it belongs to the sentence before
    attached = ahead == before
    if attached and "://" in "".join(ahead.rsplit(maxsplit=1)[-1:]):
        return False
    if word := _LAST_WORD.search(ahead):
        is_name = attached and len(word[0]) == 1 and word[0].isascii() and word[0].isalpha()
        return not is_name and word[0].lower() not in _NOUN_FOLLOWS
    return ahead[-1] in _CITED_BEHIND and (attached or ahead[-1] not in ",;")


def with_markers(sentence: str, numbers: Sequence[int]) -> tuple[str, int]:
    """Return a sentence with marks such as ` [1][3]` before its final punctuation, and where the marks begin."""
    body = sentence.rstrip(_CLOSERS)
    core = body.rstrip(_FINAL).rstrip()
    place = len(core) if core and core != body.rstrip() else len(sentence)
    markers = "".join(f"[{number}]" for number in numbers)
    return (f"{sentence[:place]} {markers}{sentence[place:]}" if markers else sentence), place


def _introduces(text: str, start: int, end: int, stop: int) -> bool:
    """Return whether a sentence only introduces the list or the rows of the table that follow it."""
    if _TABLE_RULE.match(text, end, stop):
        return True
    ends_in_colon = without_markers(text[start:end]).rstrip(_CLOSERS).endswith((":", "："))
    return ends_in_colon and _LIST_OR_TABLE.match(text, end, stop) is not None


def _is_open(text: str, start: int, end: int) -> bool:
    """Return whether a parenthesis or inline code of a sentence may still close after it."""
    parenthesis = text.rfind("(", start, end)
    code = text.rfind("`", start, end) if text.count("`", start, end) % 2 else -1
    return any(
        place >= 0 and len(text) - place <= _LONGEST_WAIT and not end_of.search(text, place + 1)
        for place, end_of in ((parenthesis, _PARENTHESIS_END), (code, _CODE_END))
    )
