"""Parse propositions from a model's answer: one tolerant parser for every model.

The answer should be a JSON list of strings. Real answers are also fenced, wrapped in prose, truncated, single-quoted,
inside an object, or broken by unescaped quotes. The parser reads lists token by token and decides at every quote, by what
follows, whether it ends its string. On valid JSON, whole or cut off anywhere, that decision is exact; elsewhere it is the
likelier reading. Time is linear.

`json-repair` does not work here: it returns the broken half of a truncated string as a proposition, merges strings with
apostrophes, skips lists without brackets, and takes quadratic time on repeated brackets.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from factoid.propositions.protocol import NoPropositions

logger = logging.getLogger(__name__)

_OPENERS = "\"'“„‘«"
_CLOSERS = {"'": "'", '"': '"', "“": '”"', "„": '“”"', "‘": "’'", "«": "»"}
_CLOSER = {opener: re.compile(rf"\\.|([{closers}])", re.DOTALL) for opener, closers in _CLOSERS.items()}
_QUOTE = {opener: re.compile(rf"\\.|([{opener}{closers}])", re.DOTALL) for opener, closers in _CLOSERS.items()}

# Quantifiers are possessive: none of these patterns can backtrack.
_SCALAR = r"(?:-?\d[\d.eE+-]*+[):]?|(?:null|true|false|None|True|False|NaN)\b)"
_START = re.compile(rf"\[(?=\s*+(?:\Z|[{_OPENERS}\[{{\]]|//|#|{_SCALAR}\s*+[,;{_OPENERS}]))|\{{(?=\s*+[\"'“])")
_TOKEN = re.compile(
    rf"(?:[\s,;:，、.…]|//[^\n]*+|\#[^\n]*+)*+"
    rf"(?:(?P<open>[\[{{])|(?P<close>[\]}}])|(?P<quote>[{_OPENERS}])|(?P<scalar>{_SCALAR})|(?P<end>\Z))"
)
# The text after a quote that ends its string: the end of the list or of the output, or a comma and another element.
_DELIMITER = re.compile(
    rf"\s*+(?:\Z|[\]}}]|```|[,;，、]\s*+(?:{_SCALAR}\s*+,?\s*+)*+"
    rf"(?:\Z|[\]}}]|```|//|\#|…|\.\.\.|(?P<next>[{_OPENERS}])|\[\s*+[{_OPENERS}\[\]{{]|\{{\s*+[\"'“]))"
)
# A missing comma after a whole sentence, or a missing bracket at the end of the list.
_FORGOTTEN = re.compile(rf"[^\S\n]*+\n\s*+(?:[{_OPENERS}]|\n|\Z)|[^\S\n]++[\"“]|[^\S\n]*+\n[^\S\n]*+\n")
# Within one string: its closing quote was missing or typographic, and the next string began.
_RUN_ON = re.compile(r'(?:”|(?<=[.!?])),\s*+"')
# A key; also at the end of the output, since an element of a list cannot be in an object.
_KEY_END = re.compile(r"\s*+(?::|\Z)")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # Unicode's category Cc: not text, and NUL ends texts in C and SQLite
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_BULLET = re.compile(r"\s*+(?:[-*+•‣–]|\(?\d{1,3}[.):])\s++(?=\S)")


class _List(NamedTuple):
    """The strings in one bracket, where it ends, and whether it was a closed list without numbers or nulls."""

    named: list[str]  # under a key that contains "proposition"
    listed: list[str]  # in a list, or under a numbered key
    end: int
    whole: bool


def read_propositions(output: str, *, cut_off: bool = False) -> list[str]:
    """Return the propositions that a model's answer lists, in order, with repetitions, each on one line.

    A truncated list yields its complete strings. Elements that are not strings are left out. An object yields the values of keys
    that contain "proposition", else all its lists. An answer that lists none (a refusal, prose, a model `cut_off` at its limit
    within the first string) yields `NoPropositions` with the reason.
    """
    answer = mended(output).rpartition("</think>")[2]
    lists = _lists(answer)
    texts = _texts(lists)
    if not lists:
        texts = _texts(_lists(answer.replace('\\"', '"')))  # a list inside a JSON string
    if not texts and answer.lstrip()[:1] in {'"', "“"}:
        bare = _read("[" + answer, 0)  # missing brackets
        texts = bare.listed if bare.whole or len(bare.listed) > 1 else []
    texts = texts or _bullets(answer)
    if texts:
        return texts
    if any(part.whole for part in lists):
        return NoPropositions("empty list")
    logger.info("expected a JSON list of strings from the model, got %.80r", output)
    reason = "unreadable output" if output.strip() else "empty output"
    return NoPropositions("output cut off" if cut_off else reason)


def _lists(text: str) -> list[_List]:
    lists: list[_List] = []
    at = 0
    while match := _START.search(text, at):
        if lists and _texts(lists[-1:]) and "Input:" in text[at : match.start()]:
            break  # the model went on to invent another example
        lists.append(_read(text, match.start()))
        at = max(lists[-1].end, match.end())
    return lists


def _texts(lists: list[_List]) -> list[str]:
    return [text for part in lists for text in part.named] or [text for part in lists for text in part.listed]


def _read(text: str, at: int) -> _List:
    """Read the list or object at `at` to its last bracket, or as far as it goes."""
    named: list[str] = []
    listed: list[str] = []
    inside: list[tuple[str, str]] = []  # open brackets, with their keys
    lists = 0
    whole = texts_only = False
    key: str | None = None
    while match := _TOKEN.match(text, at):
        kind, at = match.lastgroup, match.end()
        nearest = key or (inside[-1][1] if inside else "")
        if kind == "open":
            inside.append((match["open"], nearest))
            if match["open"] == "[":
                lists, texts_only = lists + 1, True
        elif kind == "close":
            if inside:
                lists -= inside.pop()[0] == "["
            if not inside:
                whole = texts_only
                break
        elif kind == "quote":
            in_object = bool(inside) and inside[-1][0] == "{"
            may_be_key = in_object and key is None
            end = _string_end(text, at, match["quote"], in_object, may_be_key)
            if end < 0:
                at = len(text)
                break
            parts = list(_strings(text[at:end], match["quote"]))
            at = end + 1
            if may_be_key and _KEY_END.match(text, at):
                key = " ".join(parts)
                continue
            if _names_propositions(nearest):
                named += parts
            elif lists or may_be_key or nearest[-1:].isdigit():  # {"error": "I cannot."} is no list
                listed += parts
        elif kind == "scalar":
            texts_only = False
        elif kind == "end":
            break
        key = None
    return _List(named, listed, at, whole)


@lru_cache(16)  # a key may be long, and be that of many strings
def _names_propositions(key: str) -> bool:
    return key.lower().rstrip("s0123456789_- ").endswith("proposition")


def _string_end(text: str, start: int, opener: str, in_object: bool, may_be_key: bool) -> int:
    """Return the position of the quote that ends the string whose text begins at `start`, or -1."""
    for quote in _quotes(text, start, _CLOSER[opener]):
        if may_be_key and _KEY_END.match(text, quote + 1):
            return quote
        if delimiter := _DELIMITER.match(text, quote + 1):
            # A single quote cannot open a phrase, because it may be an apostrophe.
            may_open = delimiter["next"] == opener and opener not in "'‘"
            if not may_open or not _opens_phrase(text, delimiter.end(), opener, in_object):
                return quote
        elif _forgotten(text, quote):
            return quote
    return -1


def _opens_phrase(text: str, start: int, opener: str, in_object: bool) -> bool:
    """Return whether the quote before `start` opens a phrase such as "b" in: `["She likes "a", "b" and "c"."]`.

    It does if the next quote ends a word and the text after it cannot follow a string.
    """
    quote = next(_quotes(text, start, _QUOTE[opener]), start)
    if quote == start or text[quote - 1].isspace() or text[quote] not in _CLOSERS[opener]:
        return False
    follows = _DELIMITER.match(text, quote + 1) or _forgotten(text, quote)
    return not follows and not (in_object and _KEY_END.match(text, quote + 1))


def _quotes(text: str, at: int, pattern: re.Pattern[str]) -> Iterator[int]:
    """Yield the positions of the quotes of a pattern, without escaped ones."""
    return (match.start() for match in pattern.finditer(text, at) if match[1])


def _forgotten(text: str, quote: int) -> bool:
    return text[quote - 1] in ".!?" and _FORGOTTEN.match(text, quote + 1) is not None


def _strings(raw: str, opener: str) -> Iterator[str]:
    for part in _RUN_ON.split(raw) if opener == '"' else [raw]:
        if text := " ".join(_words(mended(_ESCAPE.sub(_unescape, part)))):
            yield text


def _words(text: str) -> list[str]:
    return _CONTROLS.sub(" ", text).split()


def mended(text: str) -> str:
    """Join halves of characters from broken JSON escapes; a half without its other half becomes U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescape(match: re.Match[str]) -> str:
    if code := match[1] or match[2]:
        return chr(int(code, 16))
    char = match[3]
    return _CONTROL.get(char, match[0] if char.isalnum() else char)


def _bullets(text: str) -> list[str]:
    """Return the items of a list of lines with bullets or numbers, if at least half of the lines are such items."""
    items: list[list[str]] = []
    others = 0
    for line in text.splitlines():
        words = _words(line)
        bullet = _BULLET.match(line)
        if bullet:
            items.append(_words(line[bullet.end() :]))
        elif items and words and line[:1].isspace():
            items[-1] += words  # a wrapped item
        elif words and not line.startswith("```"):
            others += 1
    if others > len(items):
        return []
    texts = (" ".join(words).removesuffix(",") for words in items)
    return [text[1:-1] if text[0] + text[-1] in {'""', "“”"} else text for text in texts if len(text) > 2]
