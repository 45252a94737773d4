"""Other spellings of names ("T 40", "T-40", "t40s"; "nodejs" and "Node.js"), and names with a letter wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from factoid._optional import require
from factoid.entities.articles.names import NameKind, canonical_title, squeeze, squeezed_key, without_accents
from factoid.entities.articles.store import ArticleStore
from factoid.entities.linkers.stop_words import ARTICLES, FUNCTION_WORDS

_SPACED_DIGIT = re.compile(r"(?<!\w)(\w++)[ -](?=\d)|(?<=\d)[ -](\w++)")
_INSIDE = re.compile(r"[-./'&0-9]")  # why an ASCII name may be squeezed, beside "and"
_NO_PARTS = (FUNCTION_WORDS | ARTICLES) - frozenset("bcdefghjklmnopqrstuvwxyz")  # not "a 4"
_CODE_IN_PLURAL = re.compile(r"(?:(?=[\W\d_]*+[^\W\d_].).*\d|\d*[1-9]\d{2}|\d{2,}[1-9])s")  # not "1990s"
_KINDS = (NameKind.TITLE, NameKind.REDIRECT, NameKind.ALIAS, NameKind.UNACCENTED, NameKind.BASE)
_SHORTEST, _LONG = 5, 9  # least length of names in which one, and two, characters may be wrong
_NO_DIGIT = re.compile(r"\D+")


def respelled_keys(key: str, *, spaces: bool) -> list[str]:
    """Return the keys of other spellings: without accents, without marks inside ("tern40" of "tern-40"), joined words.

    Marks stay where a function word stands beside a number ("in 1984", "a 4 mm screw"), or an apostrophe in the name.
    """
    if not spaces and is_plain(key):
        return []  # most keys, at once
    plain = without_accents(key)
    keys = [plain] if plain else []
    if "'" in key or not (squeezed := squeezed_key(key, spaces=spaces)):
        return keys
    beside = (match[1] or match[2] for match in _SPACED_DIGIT.finditer(key))
    return [*keys, squeezed] if _NO_PARTS.isdisjoint(beside) else keys


def is_plain(key: str) -> bool:
    """Tell whether a key has no other spelling: no accent, no mark, no digit, no "and"."""
    return key.isascii() and _INSIDE.search(key) is None and " and " not in key


def is_respelled(name: str, form: str) -> bool:
    """Tell whether two forms have the same letters and digits, and except for the first letter the same capitals."""
    plain = (squeeze(canonical_title(without_accents(text) or text)) for text in (name, form))
    return len(set(plain)) == 1


def singulars(key: str) -> list[str]:
    """Return the keys whose English plural a key may be, by its last letters; codes ("t40s") count, decades do not."""
    last = key.rpartition(" ")[2]
    if is_plural_of_code(last):
        return [key[:-1]]
    if not last.endswith("s") or len(last) < 4 or not last.isalpha() or last.endswith(("ss", "us", "is")):
        return []  # "gas" and "bus" are not plurals
    if last.endswith("ies"):
        return [key[:-1], key[:-3] + "y"]
    return [key[:-1], key[:-2]] if last.endswith(("sses", "shes", "ches", "xes", "zes")) else [key[:-1]]


def is_plural_of_code(form: str) -> bool:
    """Tell whether a word is a number or code with a plural's "s" in lower case: "T40s", but not "T40S"."""
    return form[-1:] == "s" and form[-2:-1].isdigit() and _CODE_IN_PLURAL.fullmatch(form) is not None


class Misspellings:
    """Finds the names of a store that are nearest to a misspelt one.

    An extra, missing, different or transposed letter is one mistake: names of at least five characters may have one, of at
    least nine two. Digits may have none: "Tern 60" is not "Tern 40". All names are read on first use and stay in memory, about
    100 bytes each; each look-up compares with all of them (some milliseconds for 100,000 names).
    """

    def __init__(self, store: ArticleStore) -> None:
        self._store = store
        self._extract: Callable[..., Iterable[Any]] = require("rapidfuzz.process", extra="fuzzy").extract
        self._distance = require("rapidfuzz.distance", extra="fuzzy").OSA.distance
        self._read: tuple[int, list[str]] | None = None

    def nearest(self, key: str) -> list[str]:
        """Return the keys of the names nearest to a misspelt key; none if all have too many mistakes."""
        limit = 0 if len(key) < _SHORTEST else 1 if len(key) < _LONG else 2
        if not limit:
            return []
        digits = _NO_DIGIT.sub("", key)
        version = self._store.version
        if self._read is None or self._read[0] != version:
            self._read = version, [key for key in self._store.keys(_KINDS) if len(key) >= _SHORTEST]
        nearest = self._extract(key, self._read[1], scorer=self._distance, score_cutoff=limit, limit=None)
        near = [(distance, name) for name, distance, _ in nearest if _NO_DIGIT.sub("", name) == digits]
        return [name for distance, name in near if distance == near[0][0]]
