"""Names of articles: their spellings, and the key under which they are found.

MediaWiki writes a title with spaces or underscores, and its first letter in upper case. A key also
ignores case, the forms of quotes and dashes, full width, and Unicode's several ways to write one
character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import IntEnum

from factoid.words import UNSPACED

# Marks without width (zero-width space, word joiner, byte order mark, soft hyphen) and of
# direction; MediaWiki drops the latter as well. The joiners U+200C and U+200D stay: they tell words
# of Persian and Indic scripts apart.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]+")
_TYPOGRAPHY = str.maketrans("‘’‚‛ʼʻ′＇“”„‟″‐‑‒–—−", "''''''''" + '"""""' + "------") | {
    code: code - 0xFEE0
    for code in range(0xFF01, 0xFF5F)
    if code != 0xFF3F  # full-width ASCII, except for the underscore
}
_ACCENT = re.compile("(?<=[A-Za-z])[\u0300-\u036f]+")
_PLAIN_LETTERS = str.maketrans(
    {
        "ł": "l",
        "Ł": "L",
        "ø": "o",
        "Ø": "O",
        "đ": "d",
        "Đ": "D",
        "ħ": "h",
        "Ħ": "H",
        "ı": "i",
        "ŧ": "t",
        "Ŧ": "T",
    }
    | {
        "æ": "ae",
        "Æ": "AE",
        "œ": "oe",
        "Œ": "OE",
        "ð": "d",
        "Ð": "D",
        "þ": "th",
        "Þ": "Th",
        "ß": "ss",
    }
)
_MARKS = "-./'·・"
_SEPARATOR = re.compile(rf"(?<=[\w&]) ?(?:[{_MARKS}] ?| )(?=[\w&])")
# Why a name may be written without its spaces: a mark inside, letters beside digits, "and", a
# script without spaces.
_SQUEEZABLE = re.compile(
    rf"(?<=\w) ?[{_MARKS}&] ?(?=\w)|(?<=[^\W\d_]) (?=\d)|(?<=\d) (?=[^\W\d_])| and "
    rf"| (?={UNSPACED.pattern})|(?<={UNSPACED.pattern}) "
)
_IN_BRACKETS = re.compile(r"(.*\S)\s*\(([^()]+)\)")
_AFTER_COMMA = re.compile(r"([^,&]+), ([^,&]+)")
_COMPANY = frozenset(
    "inc incorporated corp corporation co company ltd limited llc llp lp plc gmbh mbh ag kg kgaa "
    "ohg se sa sas sarl srl spa bv nv ab as asa oy oyj aps kk pty pte sro doo zrt kft &".split()
)
_PARTICLES = frozenset(
    "van von der den de del della da di du la le ten ter zu zur bin ibn al el y e dos das".split()
)
# inside a sentence, and not inside a longer name
_BEFORE = re.compile(r"(?:^|[\s(])[a-z][a-z'’-]*[,;]?\s\Z")

NameForm = tuple[str, int, int, str, int]  # key, kind, article, form as it is written, count


class NameKind(IntEnum):
    """How a name relates to its article; lower kinds are stronger."""

    TITLE = 0
    REDIRECT = 1
    ALIAS = 2
    UNACCENTED = 3  # one of these typed without accents
    SQUEEZED = 4  # one of these without the marks and spaces inside it: "nodejs" for "Node.js"
    ANCHOR = 5  # the text of links to the article
    # The title without its distinguishing part: "Mercury" of "Mercury (planet)", "Albany" of
    # "Albany, Georgia".
    BASE = 6
    PART = 7  # a part of the title: see `name_parts`
    CAPITAL_PART = 8  # a part that names the article only with its capitals


def clean_name(name: str) -> str:
    """Return a name in NFC, without invisible marks, with single spaces.

    White space and underscores are spaces.
    """
    if not name.isascii():
        name = unicodedata.normalize("NFC", _INVISIBLE.sub("", name))
    return " ".join(name.replace("_", " ").split())


def canonical_title(title: str) -> str:
    """Return a title as MediaWiki shows it: `clean_name` with the first letter in upper case."""
    title = clean_name(title)
    first = title[:1].upper()
    # "ß" has no single upper case
    if len(first) == 1:
        return first + title[1:]
    return title


def name_key(name: str) -> str:
    """Return the key of a name.

    Equal for names that only differ in case, quotes, dashes, width, spaces or composition.
    It is "" if the name has no visible character; such a name finds nothing.
    """
    if name.isascii():  # most names of most languages' Wikipedias; takes an eighth of the time
        return " ".join(name.lower().replace("_", " ").split())
    # Turkish has "İ" and "ı", or "I" for both.
    folded = clean_name(name).casefold().replace("i\u0307", "i").replace("ı", "i")
    return unicodedata.normalize("NFC", folded.translate(_TYPOGRAPHY))


def without_accents(name: str) -> str | None:
    """Return a name without Latin accents, "Sao Paulo" for "São Paulo", or None if it has none."""
    if name.isascii():
        return None
    plain = _ACCENT.sub("", unicodedata.normalize("NFD", name.translate(_PLAIN_LETTERS)))
    plain = unicodedata.normalize("NFC", plain)
    if plain == unicodedata.normalize("NFC", name):
        return None
    return plain


def squeeze(name: str) -> str:
    """Return "Nodejs" for "Node.js", "T40" for "T 40", "AT&T" for "AT and T".

    "C++" and ".NET" stay.
    """
    name = name.replace(" and ", " & ")
    together = name.replace(" ", "")
    if together.replace("&", "").isalnum():
        return together
    return _SEPARATOR.sub("", name)


def squeezed_key(name: str, *, spaces: bool = False) -> str | None:
    """Return the key that all spellings of a name share.

    "nodejs" of "Node.js", "t40" of "T-40", "at&t" of "AT & T". None where the name has only one
    spelling: without a letter, or (unless `spaces`) of words with only spaces between.
    """
    key = name_key(without_accents(name) or name)
    if key.isalnum() or not ((spaces and " " in key) or _SQUEEZABLE.search(key)):
        return None
    squeezed = squeeze(key)
    if squeezed != key and any(map(str.isalpha, squeezed)):
        return squeezed
    return None


def split_title(title: str) -> tuple[str, str]:
    """Return ("Mercury", "planet") for "Mercury (planet)".

    It is ("Albany", "Georgia") for "Albany, Georgia", else (title, "").
    """
    if match := _IN_BRACKETS.fullmatch(title):
        return match[1], match[2]
    if match := _AFTER_COMMA.fullmatch(title):
        place = match[2].split()
        # not "William, Duke of Normandy"
        if len(place) <= 3 and all(word[0].isupper() for word in place):
            return match[1], match[2]
    return title, ""


def is_company(title: str) -> bool:
    """Return whether a title ends in a company's legal form, as "Apple Inc." does."""
    words = title.replace(",", " ").split()
    return len(words) > 1 and words[-1].replace(".", "").casefold() in _COMPANY


def spelled_out(title: str) -> tuple[str, str] | None:
    """Return both names of "Federal Bureau of Investigation (FBI)", else None.

    "FBI (Federal Bureau of Investigation)" has them as well.
    """
    if match := _IN_BRACKETS.fullmatch(title):
        short, long = sorted(match.groups(), key=len)
        if (
            sum(map(str.isupper, short)) > 1
            and " " not in short
            and " " in long
            and short[0] == long[0]
        ):
            return match[1], match[2]
    return None


def spelled_names(article: int, name: str, kind: NameKind) -> Iterator[NameForm]:
    """Yield a name and its other forms.

    Without accents, brackets or marks, and initials and their words apart.
    """
    yield name_key(name), kind, article, name, 0
    forms = [(name, NameKind.UNACCENTED)]
    if kind is NameKind.TITLE:
        base, rest = split_title(name)
        if rest:
            yield name_key(base), NameKind.BASE, article, base, 0
            forms.append((base, NameKind.BASE))
        for alias in spelled_out(name) or ():
            yield name_key(alias), NameKind.ALIAS, article, alias, 0
            forms.append((alias, NameKind.UNACCENTED))
    for form, plain_kind in forms:
        plain = without_accents(form)
        if plain is not None and name_key(plain) != name_key(form):
            yield name_key(plain), plain_kind, article, plain, 0
        if squeezed := squeezed_key(form):
            yield squeezed, NameKind.SQUEEZED, article, form, 0


def part_names(article: int, title: str, text: str) -> Iterator[NameForm]:
    """Yield the parts of a title that name its article."""
    for part, needs_capital in name_parts(title, text):
        kind = NameKind.PART
        if needs_capital:
            kind = NameKind.CAPITAL_PART
        yield name_key(part), kind, article, part, 0


def name_parts(title: str, text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a title that may name its article.

    Each comes with whether it needs its capitals.

    * A company's name without its legal form: "Acme Pumps" of "Acme Pumps GmbH".
    * The first and the last of three or four names: "John Kennedy" of "John Fitzgerald Kennedy".
    * The end of a title of names ("Coolidge", "V11" of "Dyson V11"), but not of "Bank of America".
      It needs its capitals unless it has a digit or the article uses it: no rule of form tells
      "Calvin Coolidge" from "Station Check".
    """
    name = split_title(title)[0]
    words = name.replace(",", " ").split()
    count = len(words)
    while len(words) > 1 and words[-1].replace(".", "").casefold() in _COMPANY:
        words.pop()
    if len(words) < count:
        yield " ".join(words), False
    else:
        words = name.split()
    are_names = all(word[0].isupper() or word[0].isdigit() or word in _PARTICLES for word in words)
    if not 2 <= len(words) <= 6 or not are_names:
        return
    if len(words) in (3, 4) and all(
        word.replace("-", "").replace("'", "").rstrip(".").isalpha() for word in words
    ):
        yield f"{words[0]} {words[-1]}", False
    if words[0].casefold() in ("the", "a", "an"):
        return
    for first in range(1, len(words)):
        part = " ".join(words[first:])
        is_initial = len(words[first].rstrip(".")) == 1
        if len(part) > 1 and any(map(str.isalpha, part)) and not is_initial:
            yield part, not (any(map(str.isdigit, part)) or _is_used(part, text))


def _is_used(part: str, text: str) -> bool:
    """Tell whether a text uses a part of its title on its own, inside a sentence."""
    at = text.find(part)
    while at >= 0:
        end = at + len(part)
        if not text[end : end + 1].isalnum() and _BEFORE.search(text[max(0, at - 24) : at]):
            return True
        at = text.find(part, end)
    return False
