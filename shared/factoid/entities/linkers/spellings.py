"""Other spellings of names: "T40", "T 40" and "T-40"; "check valve" and "check-valve"; "Müller" and "Muller"."""

from __future__ import annotations

import re
from itertools import product

from factoid.entities.articles.names import canonical_title, without_accents
from factoid.entities.linkers.stop_words import ARTICLES, FUNCTION_WORDS

_DIGIT = re.compile(r"\d")
_BETWEEN = re.compile(r"(?<=[^\W\d_])[ -]?(?=\d)|(?<=\d)[ -]?(?=[^\W\d_])")  # a letter and a digit
_SEPARATORS = ("", " ", "-")
_MOST_PLACES = 2  # nine spellings
_MOST_HYPHENS = 3
_MOST_WORDS = 4  # of a name of letters and digits
_LETTERS = frozenset("bcdefghjklmnopqrstuvwxyz")  # not "a 4"
_NO_PARTS = (FUNCTION_WORDS | ARTICLES) - _LETTERS


def respellings(key: str, words: float) -> list[str]:
    """Return the keys under which a name of so many words may be known if it is not as it stands."""
    plain = without_accents(key)
    return [*(spellings(key) if words <= _MOST_WORDS else ()), *([plain] if plain else ())]


def is_respelled(one: str, other: str) -> bool:
    """Tell whether two forms have the same capitals, but for the first letter, and the same letters and digits."""
    plain = (join_digits(canonical_title(without_accents(form) or form)) for form in (one, other))
    return len(set(plain)) == 1


def spellings(key: str) -> list[str]:
    """Return the other keys of a name whose letters and digits are joined, hyphenated or spaced; none of a name without.

    There are none either where a function word stands beside a number ("in 1984"), or where letters and digits meet at more
    than two places.

    >>> spellings("tern 40"), spellings("wd40"), spellings("heron"), spellings("in 40")
    (['tern40', 'tern-40'], ['wd 40', 'wd-40'], [], [])
    """
    if not _DIGIT.search(key):
        return []
    places = list(_BETWEEN.finditer(key))
    if not 0 < len(places) <= _MOST_PLACES:
        return []
    for place in places:
        before, after = key[: place.start()].rpartition(" ")[2], key[place.end() :].partition(" ")[0]
        if place[0] and (before in _NO_PARTS or after in _NO_PARTS):
            return []
    parts = _BETWEEN.split(key)
    found = (
        "".join(part + separator for part, separator in zip(parts, (*separators, ""), strict=True))
        for separators in product(_SEPARATORS, repeat=len(places))
    )
    return [other for other in found if other != key]


def hyphenations(key: str) -> list[str]:
    """Return the other keys of a name of few words whose hyphens are spaces, or its spaces hyphens.

    >>> hyphenations("check-valve"), hyphenations("o ring"), hyphenations("valve")
    (['check valve'], ['o-ring'], [])
    """
    if not 0 < key.count(" ") + key.count("-") <= _MOST_HYPHENS:
        return []
    return [other for other in (key.replace("-", " "), key.replace(" ", "-")) if other != key]


def join_digits(form: str) -> str:
    """Return a form with its letters and digits joined: what all its spellings have in common.

    >>> join_digits("T 40") == join_digits("T-40") == "T40"
    True
    """
    return _BETWEEN.sub("", form)
