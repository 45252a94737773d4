"""Restore words cut at line ends, joined or with a hyphen, by the evidence of the rest of the document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from factoid.documents.trace import Edit

Decision = Literal["join", "hyphen", "keep"]

HYPHENS = "-\u2010"
# A hyphen at the end of a word, and the white space left by a line's end, for which services also write a space.
BROKEN = re.compile(rf"(?<=\w)[{HYPHENS}]\s+(?=\w)")

_HYPHEN, _APOSTROPHE, _BLANK = re.compile(f"[{HYPHENS}]"), re.compile(r"['’]"), re.compile(r"\s")
_TOKEN_CHARS = 200  # examined before a hyphen
_WORD_AFTER = re.compile(r"\w+(?:['’]\w+)?")
_LAST_PART = re.compile(r"(?<![^\W_])[^\W_]++\Z")
_CUT = re.compile(rf"(?<!\S)\S+[{HYPHENS}](?:\s+\S+[{HYPHENS}])*\s+\S+")
_COMPOUND = re.compile(rf"[^\W_]+(?:[{HYPHENS}][^\W_]+)*")
_NAME = re.compile(r"[/@_\\]|\w[.:]\w|www\.")  # hyphens belong to paths, addresses and names of programs
_SUSPENDED = frozenset("and or nor to und oder bis et ou y o".split())  # "passage- and sentence-level"
_ENDINGS = frozenset(
    "able age al ance ant ary ate ed ence ent er ers es est ful ian ible ic ical ies ing ion ions ish ism ist ity ive ize "
    "less ly ment ments ness or ous ry sion sions tation tic ties ting tion tions tive ture ure".split()
)
# Halves of compounds that English forms freely; the first of each pair of lists forms them with any word.
_SECOND_HALVES = frozenset("based centric driven friendly grained level oriented related specific themed".split())
_WORDS_BEHIND = frozenset("aware free like scale shot sized style term time trained tuned type wide".split())
_FIRST_HALVES = frozenset("low quasi self well".split())
_WORDS_BEFORE = frozenset("all cross ex half high ill mid multi non semi".split())
_PREFIXES = frozenset("dis down inter intra mis out over pre re sub super trans un under up".split())
_LINKS = frozenset("a and by for in of on the to".split())  # "state-of-the- art"
_TENS = frozenset("twenty thirty forty fifty sixty seventy eighty ninety".split())
_ONES = frozenset(
    "one two three four five six seven eight nine first second third fourth fifth sixth seventh eighth ninth".split()
)
_VERB = (
    r"(?:est|ait|dit|fait|faut|vaut|peut|veut|doit|sait|vient|tient|prend|était|avait|aurait|serait|pourrait|devrait)"
)
# French words after a hyphen, and before it, as in "Est-ce", "Celui-ci" and "Avons-nous".
_FRENCH = {
    second: re.compile(first)
    for seconds, first in (
        ("ce", "est|était|serait|sera"),
        ("il elle on", _VERB),
        ("ils elles", r"\w*nt"),
        ("nous vous", r"\w*(?:ons|ez)|êtes|dites|faites"),
        ("je", "ai|puis|suis|dois|vais|dis|sais|crois"),
        ("tu", "as|es|vas|dois|peux|veux|sais|connais"),
        ("ci", "celui|celle|ceux|celles"),
        ("là", r"(?!voi\Z|de\Z)\w+"),
        ("même mêmes être", r"\w+"),
    )
    for second in seconds.split()
}
_HYPHENED = re.compile(r"\S{1,200}?(?:@|://)|t-(?:ils?|elles?|on)\b")  # an address, or French "a-t-il"
_VARIANT = re.compile(r"(?:v?(?<!\d)\d++|s)\Z")  # "ColBERTv2" is a word if "ColBERT" is


@dataclass(frozen=True, slots=True)
class Evidence:
    """How words are written elsewhere in the document, in lower case. Words cut at a line's end do not count."""

    words: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)  # of hyphenated parts: ("self", "contained")
    vocabulary: Collection[str] = frozenset()  # words known in advance


def evidence(texts: Iterable[str], vocabulary: Collection[str] = ()) -> Evidence:
    """Return the evidence of a document's texts, and of a vocabulary in lower case."""
    words: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for text in texts:
        for match in _COMPOUND.finditer(_CUT.sub(" ", text)):
            parts = _HYPHEN.split(match[0].lower())
            words.update(parts)
            pairs.update(pairwise(parts))
    return Evidence(words, pairs, frozenset(vocabulary))


def hyphen_edits(text: str, known: Evidence) -> list[Edit]:
    """Return the edits that restore the cut words of a text."""
    edits: list[Edit] = []
    for start, end, before, after in broken_words(text):
        decision = "hyphen" if _HYPHENED.match(text, end) else decide(before, after, known)
        if decision != "keep":
            edits.append((start, end, "-" if decision == "hyphen" else ""))
    return edits


def broken_words(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield the span of each hyphen with its white space, the text before it up to a space, and the word after it."""
    for match in BROKEN.finditer(text):
        before = _BLANK.split(text[max(match.start() - _TOKEN_CHARS, 0) : match.start()])[-1]
        if after := _WORD_AFTER.match(text, match.end()):
            yield *match.span(), before, after[0]


def decide(before: str, after: str, known: Evidence) -> Decision:
    """Decide on a word that was cut: "join" its halves, write a "hyphen" between them, or "keep" hyphen and space.

    The document decides if it has the word elsewhere, joined or with a hyphen; then the vocabulary. Without either, halves that
    are words themselves are a compound, and all others one word. `before` is the text before the hyphen, up to a space, such as
    "state-of-the".
    """
    part = _LAST_PART.search(before)
    if part is None or not part[0].isalpha() or not after[0].isalpha():
        return "hyphen"  # "GPT- 4", "39- 48"
    left, right = part[0].lower(), _APOSTROPHE.split(after)[0].lower()
    rights = {right, f"{right}s", _VARIANT.sub("", right)}
    joined = sum(known.words[left + variant] for variant in rights)
    hyphened = sum(known.pairs[left, variant] for variant in rights)
    if right in _SUSPENDED:
        return "join" if joined or left + right in known.vocabulary else "keep"
    if _NAME.search(before):
        return "hyphen"
    if joined or hyphened:
        return "join" if joined >= hyphened else "hyphen"
    if after[0].isupper() and not part[0].isupper():
        return "hyphen"
    if part[0].isupper() and len(left) > 1 and not after.isupper():
        return "hyphen"  # "BERT- networks", "IT- Abteilung"
    if left + right in known.vocabulary:
        return "join"
    if len(left) == 1 or (left in _TENS and right in _ONES) or (right in _FRENCH and _FRENCH[right].fullmatch(left)):
        return "hyphen"  # "X- ray", "twenty- five", "Est- ce"
    if right in _ENDINGS:
        return "join"
    if any(hyphen in before for hyphen in HYPHENS) and (left in _LINKS or _is_word(right, known)):
        return "hyphen"
    if len(left) > 2 and (right in _SECOND_HALVES or (right in _WORDS_BEHIND and _is_word(left, known))):
        return "hyphen"
    if len(right) > 3 and (left in _FIRST_HALVES or (left in _WORDS_BEFORE and _is_word(right, known))):
        return "hyphen"
    if left in _PREFIXES or after[0].islower() is (part[0][0].isupper()):
        return "join"  # "Red- field": a name
    return "hyphen" if min(len(left), len(right)) > 2 and _is_word(left, known) and _is_word(right, known) else "join"


def _is_word(text: str, known: Evidence) -> bool:
    return known.words[text] > 0 or text in known.vocabulary
