"""Prepare a sentence for the parser: names, titles in quotes, dates, short brackets and places are single tokens.

A parser need not look inside a name or a date, and a small one trips over it. Each is replaced by a word of the same kind before
parsing, and written out again afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Jan\.|Feb\.|Mar\.|Apr\.|Jun\.|Jul\.|Aug\.|Sept?\.|Oct\.|Nov\.|Dec\.)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_CAPITAL = r"(?:(?:St|Mt|Ft)\. )?[A-Z](?:[\w'’-]|\.(?! |$)){0,60}+"
_CAPITALS = rf"(?>{_CAPITAL}(?: (?:(?:de|del|la|le|of|the|upon|on|am|der) )*{_CAPITAL})*)"
# A title or a word used as such, which begins with a capital or a digit; American style puts the comma inside.
_QUOTE = r"(?<!\w)(?:\"(?=[A-Z0-9])[^\"]{1,80}?(?P<end>[,.;]?)\"|“(?=[A-Z0-9])[^“”]{1,80}?(?P<tail>[,.;]?)”)(?!\w)"
# "(NFL)", "(1994)", "(1994–2001)"
_BRACKET = r"(?<=[\w\"”]) \((?:[A-Z][\w.&-]{0,7}|(?:c\. )?\d{4}(?:\s?[–-]\s?(?:\d{2,4}|present))?)\)"
_WITHIN = r"\b(?P<within>(?:[Ii]n|at|from|near|(?:city|town|village|suburb|state|province|county|district) of) )"
# "in Chicago, Illinois"; not "in Paris, London and Rome"
_PLACE = (
    rf"(?:the )?{_CAPITALS}(?:, (?!(?:January|The|He|She|It|They)\b){_CAPITALS}){{1,2}}"
    r"(?=[,.;]?$|[.;] |, (?!and [A-Z]|or [A-Z]|[A-Z])| (?!and [A-Z]|or [A-Z])[a-z(])"
)
# Words that are capitalised for other reasons than starting a name.
_OPENERS = r"The|A|An|In|On|At|He|She|It|They|His|Her|After|As|For|By|With|From|When|Since|During|I|Born"
_NAME = (
    rf"\b(?!(?:{_OPENERS}|{_MONTH}) ){_CAPITAL}"
    rf"(?: (?:(?:de|del|la|le|of|of the|upon|am|der|von|van|bin|al) )?(?!{_MONTH}){_CAPITAL})++"
)
_CODE = r"(?P<code>`[^`]+`)"
_PATTERNS = re.compile(
    rf"{_CODE}|(?P<quote>{_QUOTE})"
    rf"|(?P<bracket>{_BRACKET})"
    rf"|(?P<date>\b(?:{_MONTH} {_DAY}, \d{{4}}|{_DAY} {_MONTH} \d{{4}})\b)"
    rf"|(?P<month>\b{_MONTH} (?:of )?\d{{4}}\b)"
    rf"|{_WITHIN}(?P<place>{_PLACE})"
    rf"|(?P<name>{_NAME})"
)
_CODE_ONLY = re.compile(_CODE)
_PLURAL = re.compile(r"^(?!.* of ).*[^sui]s$")  # "the Oakland Raiders"
_LONGEST = 2000  # characters; a longer text is not a sentence
# The text before a phrase at the beginning of a sentence that has no verb yet.
_FRONTED = re.compile(
    r"(?:(?:After|Although|As|At|Because|Before|By|During|For|From|If|In|On|Once|Since|Though|Unless|Until|With|While|When|"
    r"Born|Throughout)\b[^,]*)?$"
)
# What the parser reads instead.
_STAND_IN = {"date": "Tuesday", "month": "1994", "place": "Chicago", "name": "John"}
_STAND_IN |= {"code": "Hamlet", "quote": "Hamlet", "bracket": ""}


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence in tokens for the parser."""

    source: str  # the sentence
    words: list[str]  # what to write for each token
    places: dict[int, list[str]] = field(default_factory=dict)  # as in `Tree`
    times: set[int] = field(default_factory=set)


class _Mask(NamedTuple):
    start: int  # in the masked text
    kind: str
    text: str  # the replaced text
    word: str  # its replacement
    origin: int  # its place in the source


def read(nlp: Language, sentence: str, *, masked: bool = True) -> tuple[Doc, Reading]:
    """Return the tokens of a sentence on one line, not yet parsed; unless `masked`, only inline code is a single token."""
    patterns = _PATTERNS if masked else _CODE_ONLY
    unmasked: set[int] = set()  # masks that are not tokens of their own, as in "(John/Smith)"
    while True:
        plain, masks = sentence, list[_Mask]()
        if (masked or "`" in sentence) and len(sentence) <= _LONGEST:
            plain, masks = _mask(sentence, unmasked, patterns)
        doc = nlp.make_doc(plain)
        words = [token.text for token in doc]
        if not masks:
            break
        starts = {token.idx: token.i for token in doc}
        ends = {token.idx + len(token): token.i for token in doc}
        joined = {mask.origin for mask in masks if not _is_token(mask, words, starts, ends)}
        if not joined:
            break
        unmasked |= joined
    if words:
        marks = np.full(len(words), -1)
        marks[0] = 1
        doc.from_array(["SENT_START"], marks.view(np.uint64))  # sentence ends set by the parser would break names
    reading = Reading(sentence, words)
    for mask in masks:
        if mask.kind == "bracket":
            words[ends[mask.start]] += mask.text
            continue
        token = starts[mask.start]
        words[token] = mask.text
        if mask.kind == "place":
            reading.places[token] = mask.text.split(", ")
        elif mask.kind in ("date", "month"):
            reading.times.add(token)
    return doc, reading


def _is_token(mask: _Mask, words: Sequence[str], starts: Mapping[int, int], ends: Collection[int]) -> bool:
    if mask.kind == "bracket":
        return mask.start in ends
    return mask.start in starts and words[starts[mask.start]] == mask.word


def _mask(sentence: str, unmasked: Collection[int], patterns: re.Pattern[str]) -> tuple[str, list[_Mask]]:
    plain = ""
    masks: list[_Mask] = []
    copied = after = 0
    while match := patterns.search(sentence, after):
        after = end = match.end()
        kind = str(match.lastgroup)
        text, start = match[kind], match.start(kind)
        if start in unmasked:
            continue
        if kind == "place" and _FRONTED.match(sentence[: match.start()]) and sentence[end : end + 1] != ",":
            text = text.rpartition(", ")[0]  # "In Paris, France signed …", "Born in Paris, France, Anna …"
            after = end = start + len(text)
            if ", " not in text:
                kind = "name"
        plain += sentence[copied:start]
        copied = end
        comma = (match["end"] or match["tail"] or "") if kind == "quote" else ""
        if comma:
            text = text[:-2] + text[-1]
        word = _STAND_IN[kind]
        if kind == "name" and _PLURAL.search(text) and sentence[: match.start()].lower().endswith("the "):
            word = "Vikings"
        masks.append(_Mask(len(plain), kind, text, word, start))
        plain += word + comma
    return plain + sentence[copied:], masks
