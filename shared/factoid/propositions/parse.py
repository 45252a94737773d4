"""Parse propositions from a model's answer: one tolerant parser for every model.

The answer should be a JSON list of strings. Real answers are also fenced, wrapped in prose,
truncated, single-quoted, inside an object, or broken by unescaped quotes. The parser reads lists
token by token and decides at every quote, by what follows, whether it ends its string. On valid
JSON, whole or cut off anywhere, that decision is exact; elsewhere it is the likelier reading. Time
is linear.

`json-repair` does not work here: it returns the broken half of a truncated string as a proposition,
merges strings with apostrophes, skips lists without brackets, and takes quadratic time on repeated
brackets.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from factoid.propositions.protocol import NoPropositions
from factoid.reasoning import without_reasoning

logger = logging.getLogger(__name__)

_OPENERS = "\"'“„‘«"
_CLOSERS = {"'": "'", '"': '"', "“": '”"', "„": '“”"', "‘": "’'", "«": "»"}
_CLOSER = {
    opener: re.compile(rf"\\.|([{closers}])", re.DOTALL) for opener, closers in _CLOSERS.items()
}
_QUOTE = {
    opener: re.compile(rf"\\.|([{opener}{closers}])", re.DOTALL)
    for opener, closers in _CLOSERS.items()
}

# Quantifiers are possessive: none of these patterns can backtrack.
_SCALAR = r"(?:-?\d[\d.eE+-]*+[):]?|(?:null|true|false|None|True|False|NaN)\b)"
_START = re.compile(
    rf"\[(?=\s*+(?:\Z|[{_OPENERS}\[{{\]]|//|#|{_SCALAR}\s*+[,;{_OPENERS}]))|\{{(?=\s*+[\"'“])"
)
_TOKEN = re.compile(
    rf"(?:[\s,;:，、.…]|//[^\n]*+|\#[^\n]*+)*+"
    rf"(?:(?P<open>[\[{{])|(?P<close>[\]}}])|(?P<quote>[{_OPENERS}])|(?P<scalar>{_SCALAR})|"
    rf"(?P<end>\Z))"
)
# The text after a quote that ends its string: the end of the list or of the output, or a comma and
# another element.
_DELIMITER = re.compile(
    rf"\s*+(?:\Z|[\]}}]|```|[,;，、]\s*+(?:{_SCALAR}\s*+,?\s*+)*+"
    rf"(?:\Z|[\]}}]|```|//|\#|…|\.\.\.|(?P<next>[{_OPENERS}])|\[\s*+[{_OPENERS}\[\]{{]"
    rf"|\{{\s*+[\"'“]))"
)
# A missing comma after a whole sentence, or a missing bracket at the end of the list.
_FORGOTTEN = re.compile(
    rf"[^\S\n]*+\n\s*+(?:[{_OPENERS}]|\n|\Z)|[^\S\n]++[\"“]|[^\S\n]*+\n[^\S\n]*+\n"
)
# Within one string: its closing quote was missing or typographic, and the next string began.
_RUN_ON = re.compile(r'(?:”|(?<=[.!?])),\s*+"')
# A key; also at the end of the output, since an element of a list cannot be in an object.
_KEY_END = re.compile(r"\s*+(?::|\Z)")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
# What a backslash is a part of, in a string with its escapes: a formula, whose own backslashes may
# be escaped or not, and inline code. Numbers in brackets, "\\[1\\]", are no formula.
_FORMULA = re.compile(
    r"""\$\$[^$]{1,2000}+\$\$
      | (?<![\\$])\$(?![\s$])(?:[^$\n\\`]|\\.){1,500}+(?<!\s)\$(?![\w$])
      | \\{1,2}\((?:[^\\\n]|\\{1,2}[^)\\\n]){1,1000}+\\{1,2}\)
      | \\{1,2}\[(?=\s|(?:[^\\\n]|\\{1,2}[^]\\\n]){0,1000}?(?:[=^+<>{}]|\\[A-Za-z]))
        (?:[^\\\n]|\\{1,2}[^]\\\n]){1,1000}+\\{1,2}\]""",
    re.VERBOSE,
)
_CODE = re.compile(r"(?<![`\\])`[^`\n]{1,300}`(?!`)")
_PROPOSITION = "proposition"
# What keys of propositions end in, the surest first, and what those beside them are, without the
# endings of plurals.
_KEYS = (_PROPOSITION, "fact", "statement", "claim", "assertion")
_OTHER_KEYS = frozenset(
    "answer author category citation comment confidence context document evidence explanation "
    "heading id justification label language link name note original passage question quote "
    "rationale reason reasoning reference section sentence source span "
    "subject tag thought title topic type url".split()
)
# Unicode's category Cc: not text, and NUL ends texts in C and SQLite
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# Nobody means a form feed or a backspace: there, a backslash was not escaped.
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}
_LEGAL = frozenset('"\\/nrt')  # what JSON escapes, and a model means
# Commands of LaTeX that begin like an escape of JSON, which models forget to escape.
_LATEX = re.compile(
    r"""(?:b(?:ar|eta|ecause|egin|etween|f|ig[lrg]*|igcap|igcup|inom|mod|ot|ox|oxed|oldsymbol|ullet)
      | f(?:box|lat|loor|orall|rac|rak|rown)
      | n(?:abla|atural|earrow|eg|eq|exists|geq|leq|mid|otin|parallel|u|warrow)
      | r(?:angle|brace|brack|ceil|floor|ho|ight|ightarrow|m)
      | t(?:an|anh|au|ext|extbf|extit|extrm|frac|herefore|heta|hinspace|ilde|imes|o|op|riangle)
      )(?![a-z])""",
    re.VERBOSE,
)
_LATEX_IN_MATH = re.compile(r"n(?:e|i|ot)(?![a-z])")  # elsewhere a new line and a word
_LATEX_WORD = re.compile(r"[rt][a-z]{2}")  # in a formula, where no tab stands
# A path of Windows up to one of its backslashes, none of which is escaped: "C:\new\table".
_PATH_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]:(?:\\[^\\/:*?\"<>|\r\n]{1,100})*\Z")
_LONGEST_PATH = 300  # characters
# A path without a drive: one of its backslashes cannot be an escape of JSON, so none is.
_PATH = re.compile(r"(?<![\w\\])\\{1,2}(?:[A-Za-z0-9][\w.$-]{0,60}\\){1,20}[A-Za-z0-9]")
_NO_ESCAPE = re.compile(r"(?<!\\)\\[^\\/nrtu\"]")
_BULLET = re.compile(r"\s*+(?:[-*+•‣–]|\(?\d{1,3}[.):])\s++(?=\S)")


class _String(NamedTuple):
    """A string in an answer's lists and objects."""

    text: str
    key: str = ""  # what `_plain_key` makes of the nearest key; "" without one, or under a number
    is_field: bool = False  # one of several in an object, not in a list of its own


class _List(NamedTuple):
    """The strings in one bracket, where it ends, and whether it was closed.

    Only a list without numbers or nulls counts as closed.
    """

    strings: list[_String]
    end: int
    whole: bool


def read_propositions(output: str, *, cut_off: bool = False) -> list[str]:
    """Return the propositions in a model's answer, in order, each on one line.

    Repetitions stay. A truncated list yields its complete strings. Elements that are not strings
    are left out. An object yields the values of keys that contain "proposition", "fact" or the like
    (`_KEYS`), else all its lists. Of objects in a list, with several strings each, one key counts,
    the same in all. Reasoning (`factoid.reasoning`) is no part of the answer. An answer that lists
    none (a refusal, prose, a model `cut_off` at its limit within the first string) yields
    `NoPropositions` with the reason.
    """
    answer = without_reasoning(mended(output))
    lists = _lists(answer)
    texts = _texts(lists)
    if not lists:
        texts = _texts(_lists(answer.replace('\\"', '"')))  # a list inside a JSON string
    if not texts and answer.lstrip()[:1] in {'"', "“"}:
        bare = _read("[" + answer, 0)  # missing brackets
        texts = _texts([bare]) if bare.whole or len(bare.strings) > 1 else []
    texts = texts or _bullets(answer)
    if texts:
        return texts
    if any(part.whole for part in lists):
        return NoPropositions("empty list")
    logger.info("expected a JSON list of strings from the model, got %.80r", output)
    reason = "unreadable output" if output.strip() else "empty output"
    if cut_off:
        reason = "output cut off"
    return NoPropositions(reason)


def _lists(text: str) -> list[_List]:
    lists: list[_List] = []
    at = 0
    while match := _START.search(text, at):
        if lists and _texts(lists[-1:]) and "Input:" in text[at : match.start()]:
            break  # the model went on to invent another example
        lists.append(_read(text, match.start()))
        at = max(lists[-1].end, match.end())
    return lists


def _known_key(keys: Iterable[str]) -> str | None:
    """Return the key that most likely holds propositions, if there is one."""
    for known in _KEYS:
        for key in keys:
            if key.endswith(known):
                return key
    return None


def _texts(lists: list[_List]) -> list[str]:
    strings: list[_String] = []
    for part in lists:
        strings += part.strings
    lengths: Counter[str] = Counter()
    for string in strings:
        lengths[string.key] += len(string.text)
    key = _known_key(lengths)
    if key is None:
        listed = [string.text for string in strings if not string.is_field]
        if listed or not strings:
            return listed
        key = max(lengths, key=lambda name: (name not in _OTHER_KEYS, lengths[name]))
    return [string.text for string in strings if string.key == key]


def _read(text: str, at: int) -> _List:
    """Read the list or object at `at` to its last bracket, or as far as it goes."""
    strings: list[_String] = []
    inside: list[tuple[str, str]] = []  # open brackets, with their keys
    lists = 0
    whole = texts_only = False
    key: str | None = None
    while match := _TOKEN.match(text, at):
        kind = match.lastgroup
        at = match.end()
        nearest = key or ""
        if not nearest and inside:
            _, nearest = inside[-1]
        if kind == "open":
            inside.append((match["open"], nearest))
            if match["open"] == "[":
                lists = lists + 1
                texts_only = True
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
            plain = _plain_key(nearest)
            is_named = plain.endswith(_PROPOSITION)
            # {"error": "I cannot."} is no list
            if is_named or lists or may_be_key or nearest[-1:].isdigit():
                is_field = in_object and bool(plain)
                strings += [_String(part, plain, is_field) for part in parts]
        elif kind == "scalar":
            texts_only = False
        elif kind == "end":
            break
        key = None
    return _List(strings, at, whole)


@lru_cache(16)  # a key may be long, and be that of many strings
def _plain_key(key: str) -> str:
    """Return a key in lower case, without its number and the ending of a plural."""
    return key.lower().rstrip("0123456789_- ").removesuffix("s")


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
    """Return whether the quote before `start` opens a phrase such as "b" in.

    `["She likes "a", "b" and "c"."]`.
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
    parts = [raw]
    if opener == '"':
        parts = _RUN_ON.split(raw)
    for part in parts:
        if text := " ".join(_words(mended(_unescaped(part)))):
            yield text


def _words(text: str) -> list[str]:
    return _CONTROLS.sub(" ", text).split()


def mended(text: str) -> str:
    """Join halves of characters from broken JSON escapes.

    A half without its other half becomes U+FFFD.
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Kept(NamedTuple):
    """Where backslashes may be a part of a text, each as spans in order."""

    formulas: list[tuple[int, int]]
    code: list[tuple[int, int]]
    paths: list[tuple[int, int]]


def _unescaped(text: str) -> str:
    """Return a string without JSON's escapes; what JSON does not escape keeps its backslash."""
    if "\\" not in text:
        return text
    paths = []
    for match in _PATH.finditer(text):
        if _NO_ESCAPE.search(match[0]):
            paths.append(match.span())
    kept = _Kept(_spans(_FORMULA, text), _spans(_CODE, text), paths)
    return _ESCAPE.sub(lambda match: _unescape(match, kept), text)


def _spans(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    return [match.span() for match in pattern.finditer(text)]


def _unescape(match: re.Match[str], kept: _Kept) -> str:
    if code := match[1] or match[2]:
        return chr(int(code, 16))
    text = match.string
    at = match.start()
    char = match[3]
    if _is_within(at, kept.paths):
        return match[0]
    in_formula = _is_within(at, kept.formulas)
    if char in _CONTROL and (_is_latex(text, at + 1, in_formula) or _is_in_path(text, at)):
        return match[0]
    if char in _LEGAL:
        return _CONTROL.get(char, char)
    is_meant = in_formula or _is_within(at, kept.code)
    if char.isalnum() or (is_meant and char != "'"):
        return match[0]
    return char  # as in Markdown or Python: "\\_", "\\'"


def _is_latex(text: str, at: int, in_formula: bool) -> bool:
    """Return whether the letters at a place, behind a backslash, are a command of LaTeX."""
    if _LATEX.match(text, at):
        return True
    in_math = _LATEX_IN_MATH.match(text, at) or _LATEX_WORD.match(text, at)
    return in_formula and in_math is not None


def _is_in_path(text: str, at: int) -> bool:
    """Return whether a backslash stands in a path of Windows, which models forget to escape.

    A new line has a capital.
    """
    if text[at + 2 : at + 3].isupper():
        return False
    return _PATH_START.search(text, max(0, at - _LONGEST_PATH), at) is not None


def _is_within(at: int, spans: list[tuple[int, int]]) -> bool:
    """Return whether a place is in one of some spans, which are in order."""
    number = bisect_right(spans, at, key=itemgetter(0))
    return number > 0 and at < spans[number - 1][1]


def _bullets(text: str) -> list[str]:
    """Return the items of a list of lines with bullets or numbers.

    At least half of the lines must be such items.
    """
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
    texts = []
    for words in items:
        text = " ".join(words).removesuffix(",")
        if len(text) > 2:
            if text[0] + text[-1] in {'""', "“”"}:
                text = text[1:-1]
            texts.append(text)
    return texts
