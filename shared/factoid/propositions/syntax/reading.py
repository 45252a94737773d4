"""A sentence as the parser reads it: names, titles in quotes, dates, short brackets and places are single tokens.

What stands inside a name or a date is none of a parser's business, and a small one trips over it. Each is replaced by
a word of the same kind before parsing, and written out again afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Jan\.|Feb\.|Mar\.|Apr\.|Jun\.|Jul\.|Aug\.|Sept?\.|Oct\.|Nov\.|Dec\.)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_CAPITAL = r"(?:(?:St|Mt|Ft)\. )?[A-Z](?:[\w'’-]|\.(?! |$))*+"
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
# Words that are capitals for other reasons than that a name begins.
_OPENERS = r"The|A|An|In|On|At|He|She|It|They|His|Her|After|As|For|By|With|From|When|Since|During|I|Born"
_NAME = (
    rf"\b(?!(?:{_OPENERS}|{_MONTH}) ){_CAPITAL}"
    rf"(?: (?:(?:de|del|la|le|of|of the|upon|am|der|von|van|bin|al) )?(?!{_MONTH}){_CAPITAL})++"
)
_PATTERNS = re.compile(
    rf"(?P<quote>{_QUOTE})"
    rf"|(?P<bracket>{_BRACKET})"
    rf"|(?P<date>\b(?:{_MONTH} {_DAY}, \d{{4}}|{_DAY} {_MONTH} \d{{4}})\b)"
    rf"|(?P<month>\b{_MONTH} (?:of )?\d{{4}}\b)"
    rf"|{_WITHIN}(?P<place>{_PLACE})"
    rf"|(?P<name>{_NAME})"
)
_PLURAL = re.compile(r"^(?!.* of ).*[^sui]s$")  # "the Oakland Raiders"
_LONGEST = 2000  # characters; what is longer is no sentence
# What stands before a phrase at the beginning of a sentence that has no verb yet.
_FRONTED = re.compile(
    r"(?:(?:After|Although|As|At|Because|Before|By|During|For|From|If|In|On|Once|Since|Though|Unless|Until|With|While|When|"
    r"Born|Throughout)\b[^,]*)?$"
)
# What the parser reads instead.
_STAND_IN = {"quote": "Hamlet", "date": "Tuesday", "month": "1994", "place": "Chicago", "name": "John"}


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence in tokens for the parser.

    Attributes:
        doc: The tokens, not yet parsed.
        words: What to write for each.
        places: For tokens that are places within places, their names from the smallest on.
        times: Tokens that are dates.
    """

    doc: Doc
    words: list[str]
    places: dict[int, list[str]] = field(default_factory=dict)
    times: frozenset[int] = frozenset()


class _Mask(NamedTuple):
    """What was replaced: where in the masked text, by kind, what stood there, by which word, and where it stood."""

    start: int
    kind: str
    text: str
    word: str
    place: int


def read(nlp: Language, sentence: str, *, masked: bool = True) -> Reading:
    """Tokenise a sentence on one line.

    Args:
        nlp: The pipeline whose tokeniser counts.
        sentence: The sentence.
        masked: Whether names, titles, dates and places become single tokens.
    """
    if not masked or len(sentence) > _LONGEST:
        doc = nlp.make_doc(sentence)
        return Reading(doc, [token.text for token in doc])
    left: set[int] = set()  # masks that are no token of their own, as in "(John/Smith)"
    while True:
        plain, masks = _mask(sentence, left)
        doc = nlp.make_doc(plain)
        starts = {token.idx: token for token in doc}
        ends = {token.idx + len(token): token.i for token in doc}
        joined = {mask.place for mask in masks if not _is_token(mask, starts, ends)}
        if not joined:
            break
        left |= joined
    words = [token.text for token in doc]
    places: dict[int, list[str]] = {}
    times: set[int] = set()
    for mask in masks:
        if mask.kind == "bracket":
            words[ends[mask.start]] += mask.text
            continue
        token = starts[mask.start].i
        words[token] = mask.text
        if mask.kind == "place":
            places[token] = mask.text.split(", ")
        elif mask.kind in ("date", "month"):
            times.add(token)
    return Reading(doc, words, places, frozenset(times))


def _is_token(mask: _Mask, starts: Mapping[int, Token], ends: Mapping[int, int]) -> bool:
    if mask.kind == "bracket":
        return mask.start in ends
    return mask.start in starts and starts[mask.start].text == mask.word


def _mask(sentence: str, left: Collection[int]) -> tuple[str, list[_Mask]]:
    masked = ""
    masks: list[_Mask] = []
    at = 0
    after = 0
    while match := _PATTERNS.search(sentence, after):
        after = match.end()
        kind = str(match.lastgroup)
        text, start = match[kind], match.start(kind)
        if start in left:
            continue
        end = match.end()
        if kind == "place" and _FRONTED.match(sentence[: match.start()]) and sentence[end : end + 1] != ",":
            text = text.rpartition(", ")[0]  # "In Paris, France signed …", "Born in Paris, France, Anna …"
            after = end = start + len(text)
            if ", " not in text:
                kind = "name"
        masked += sentence[at:start]
        at = end
        if kind == "bracket":
            masks.append(_Mask(len(masked), kind, text, "", start))
            continue
        inside = (match["end"] or match["tail"] or "") if kind == "quote" else ""
        if inside:
            text = text[:-2] + text[-1]
        stand_in = _STAND_IN[kind]
        if kind == "name" and _PLURAL.search(text) and sentence[: match.start()].lower().endswith("the "):
            stand_in = "Vikings"
        masks.append(_Mask(len(masked), kind, text, stand_in, start))
        masked += stand_in + inside
    return masked + sentence[at:], masks
