"""Restore words cut at line ends by the evidence of the rest of the document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from factoid.documents.trace import Edit

_BROKEN = re.compile(r"(?<=\w)[-\u2010]\s+(?=\w)")  # a hyphen, and the white space of a line's end
_TOKEN_CHARS = 200  # examined before a hyphen
_LEFT = re.compile(r"\S*?([^\W_]++)\Z")
_RIGHT = re.compile(r"\w+")
_CUT = re.compile(r"(?<!\S)\S+[-\u2010](?:\s+\S+[-\u2010])*\s+\S+")
_COMPOUND = re.compile(r"[^\W_]+(?:[-\u2010][^\W_]+)*")
# hyphens belong to paths, addresses and names of programs
_NAME = re.compile(r"[/@_\\]|\w[.:]\w|www\.")
_ADDRESS = re.compile(r"\S{1,200}?(?:@\w[\w.-]*\.\w|://)")
# "passage- and sentence-level"
_SUSPENDED = frozenset("and or nor to und oder bis et ou y o".split())
_SECOND_HALVES = frozenset(
    "based centric driven friendly grained level oriented related specific themed".split()
)


class Evidence(NamedTuple):
    """How words are written elsewhere in the document, in lower case.

    Words cut at a line's end do not count.
    """

    words: Counter[str]
    pairs: Counter[tuple[str, str]]  # of hyphenated parts: ("self", "contained")


def evidence(texts: Iterable[str]) -> Evidence:
    """Return the evidence of a document's texts."""
    known = Evidence(Counter(), Counter())
    for text in texts:
        for match in _COMPOUND.finditer(_CUT.sub(" ", text)):
            parts = re.split("[-\u2010]", match[0].lower())
            known.words.update(parts)
            known.pairs.update(pairwise(parts))
    return known


def hyphen_edits(text: str, known: Evidence) -> list[Edit]:
    """Return the edits that restore the cut words of a text."""
    edits: list[Edit] = []
    for match in _BROKEN.finditer(text):
        start, end = match.span()
        before = text[max(start - _TOKEN_CHARS, 0) : start].split()[-1]
        right = ""
        if second_half := _RIGHT.match(text, end):
            right = second_half[0]
        hyphen = decide(before, right, known)
        if _ADDRESS.match(text, end):
            hyphen = "-"
        if hyphen is not None:
            edits.append((start + len(hyphen), end, ""))
    return edits


def decide(before: str, right: str, known: Evidence) -> str | None:
    """Return what stands between the halves of a word that was cut.

    It is nothing, a hyphen, or None to leave it as it is. The document decides if it has the word
    elsewhere. Otherwise halves that are words themselves are a compound, and all others one word.
    `before` is the text before the hyphen, up to a space, such as "state-of-the".
    """
    part = _LEFT.match(before)
    if part is None or not part[1].isalpha() or not right[:1].isalpha():
        return "-"  # "GPT- 4", "39- 48"
    first_half = part[1]
    halves = (part[1].lower(), right.lower())
    word = "".join(halves)
    joined = known.words[word] + known.words[f"{word}s"]
    hyphened = known.pairs[halves]
    if halves[1] in _SUSPENDED:
        if joined:
            return ""
        return None
    if joined or hyphened:
        if joined >= hyphened:
            return ""
        return "-"
    is_name = (right[0].isupper() and not first_half.isupper()) or (
        first_half.isupper() and not right.isupper()
    )
    is_compound = min(map(len, halves)) > 2 and all(known.words[half] for half in halves)
    is_part = _NAME.search(before) or "-" in before or halves[1] in _SECOND_HALVES
    if is_name or is_part or is_compound or len(first_half) == 1:
        return "-"
    return ""
