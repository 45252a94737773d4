"""Names of articles: how they are written, and the key under which they are found.

MediaWiki writes a title with spaces or underscores, and its first letter in upper case. A key also forgets case, the forms
of quotes and dashes, full width, and Unicode's several ways to write one character.
"""

from __future__ import annotations

import re
import unicodedata
from enum import IntEnum

from factoid.words import UNSPACED

# Marks without width (zero-width space, word joiner, byte order mark, soft hyphen) and of direction; MediaWiki drops the
# latter as well. The joiners U+200C and U+200D stay: they tell words of Persian and Indic scripts apart.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]+")
_TYPOGRAPHY = str.maketrans("‘’‚‛ʼʻ′＇“”„‟″‐‑‒–—−", "''''''''" + '"""""' + "------") | {
    code: code - 0xFEE0
    for code in range(0xFF01, 0xFF5F)
    if code != 0xFF3F  # full-width ASCII, but for the underscore
}
_ACCENT = re.compile("(?<=[A-Za-z])[\u0300-\u036f]+")
_PLAIN_LETTERS = str.maketrans(
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ħ": "h", "Ħ": "H", "ı": "i", "ŧ": "t", "Ŧ": "T"}
    | {"æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ß": "ss"}
)
_MARKS = "-./'·・"
_SEPARATOR = re.compile(rf"(?<=[\w&]) ?(?:[{_MARKS}] ?| )(?=[\w&])")
# Why a name may be written without its spaces: a mark inside, letters beside digits, "and", a script without spaces.
_SQUEEZABLE = re.compile(
    rf"(?<=\w) ?[{_MARKS}&] ?(?=\w)|(?<=[^\W\d_]) (?=\d)|(?<=\d) (?=[^\W\d_])| and "
    rf"| (?={UNSPACED.pattern})|(?<={UNSPACED.pattern}) "
)
_IN_BRACKETS = re.compile(r"(.*\S)\s*\(([^()]+)\)")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_AFTER_COMMA = re.compile(r"([^,&]+), ([^,&]+)")


class NameKind(IntEnum):
    """What a name is to its article; the lower, the more it says."""

    TITLE = 0
    REDIRECT = 1
    ALIAS = 2
    UNACCENTED = 3  # one of these as it is typed without accents
    SQUEEZED = 4  # one of these without the marks and spaces inside it: "nodejs" for "Node.js"
    ANCHOR = 5  # the text of links to the article
    # The title without what tells it from others: "Mercury" of "Mercury (planet)", "Albany" of "Albany, Georgia".
    BASE = 6
    PART = 7  # a part of the title: see `name_parts`
    CAPITAL_PART = 8  # a part that names the article only where it has its capitals


def clean_name(name: str) -> str:
    """Return a name in NFC, without invisible marks, with single spaces for white space and underscores, none around it."""
    if not name.isascii():
        name = unicodedata.normalize("NFC", _INVISIBLE.sub("", name))
    return " ".join(name.replace("_", " ").split())


def canonical_title(title: str) -> str:
    """Return a title as MediaWiki shows it: `clean_name` with the first letter in upper case."""
    title = clean_name(title)
    first = title[:1].upper()
    return first + title[1:] if len(first) == 1 else title  # "ß" has no single upper case


def name_key(name: str) -> str:
    """Return the key of a name: equal for names that differ in case, quotes, dashes, width, spaces or composition only.

    "" if nothing of the name can be seen; such a name finds nothing.
    """
    if name.isascii():  # most names of most languages' Wikipedias: an eighth of the time
        return " ".join(name.lower().replace("_", " ").split())
    # Turkish has "İ" and "ı", or "I" for both.
    folded = clean_name(name).casefold().replace("i\u0307", "i").replace("ı", "i")
    return unicodedata.normalize("NFC", folded.translate(_TYPOGRAPHY))


def without_accents(name: str) -> str | None:
    """Return a name as it is typed without Latin accents, "Sao Paulo" for "São Paulo"; None for one that has none."""
    if name.isascii():
        return None
    plain = _ACCENT.sub("", unicodedata.normalize("NFD", name.translate(_PLAIN_LETTERS)))
    plain = unicodedata.normalize("NFC", plain)
    return None if plain == unicodedata.normalize("NFC", name) else plain


def squeeze(name: str) -> str:
    """Return "Nodejs" for "Node.js", "T40" for "T 40", "AT&T" for "AT and T"; "C++" and ".NET" stay."""
    name = name.replace(" and ", " & ")
    together = name.replace(" ", "")
    return together if together.replace("&", "").isalnum() else _SEPARATOR.sub("", name)


def squeezed_key(name: str, *, spaces: bool = False) -> str | None:
    """Return the key that all spellings of a name share: "nodejs" of "Node.js", "t40" of "T-40", "at&t" of "AT & T".

    None where the name has one spelling only: without a letter, and, but with `spaces`, of words with only spaces between.
    """
    key = name_key(without_accents(name) or name)
    if key.isalnum() or not ((spaces and " " in key) or _SQUEEZABLE.search(key)):
        return None
    squeezed = squeeze(key)
    return squeezed if squeezed != key and any(map(str.isalpha, squeezed)) else None


def split_title(title: str) -> tuple[str, str]:
    """Return "Mercury" and "planet" for "Mercury (planet)", "Albany" and "Georgia" for "Albany, Georgia"; else "" as second."""
    if match := _IN_BRACKETS.fullmatch(title):
        return match[1], match[2]
    if match := _AFTER_COMMA.fullmatch(title):
        place = match[2].split()
        if len(place) <= 3 and all(word[0].isupper() for word in place):  # not "William, Duke of Normandy"
            return match[1], match[2]
    return title, ""


def spelled_out(title: str) -> tuple[str, str] | None:
    """Return the two names of "Federal Bureau of Investigation (FBI)" or "FBI (Federal Bureau of Investigation)"; else None."""
    if match := _IN_BRACKETS.fullmatch(title):
        before, inside = match[1], match[2].strip()
        if _are_initials(inside, before) or _are_initials(before, inside):
            return before, inside
    return None


def _are_initials(short: str, long: str) -> bool:
    letters = short.replace(".", "").replace("-", "")
    words = _WORD.findall(long)
    if not letters.isalnum() or len(words) < 2:  # "(planet)", and much else, ends here
        return False
    if len(letters) < 2 or (len(letters) == 2 and not letters.isupper()):
        return False
    large = [word for word in words if not (word.islower() and len(word) <= 3)]  # "of" and "the" have no initial

    def fold(text: str) -> str:
        signs = unicodedata.normalize("NFD", text.casefold())
        return "".join(sign for sign in signs if not unicodedata.combining(sign))

    return any("".join(fold(word)[:1] for word in some) == fold(letters) for some in (words, large))
