"""What a name names, as far as its words tell: a man, a woman, a person, a thing, one or several.

A wrong name is worse than a pronoun, so that what the words leave open is never guessed: `UNKNOWN` fits "he" and "she"
where nothing speaks against it, and never "it".
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from factoid.propositions.syntax.lexicon import LEXICON


class Kind(Enum):
    """Who or what a name names."""

    MAN = "he"
    WOMAN = "she"
    PERSON = "he or she"
    THING = "it"
    MANY = "they"
    UNKNOWN = ""

    def fits(self, pronoun: str) -> bool:
        """Tell whether "he", "she", "it" or "they" can stand for it."""
        if self is Kind.UNKNOWN or self is Kind.PERSON:
            return pronoun in ("he", "she")
        return str(self.value) == pronoun


HONORIFICS = (
    dict.fromkeys("mr sir lord king prince".split(), Kind.MAN)
    | dict.fromkeys("mrs ms miss dame lady queen princess".split(), Kind.WOMAN)
    | dict.fromkeys("dr prof professor captain pope president senator judge".split(), Kind.PERSON)
)
_FIRST_NAMES = (
    dict.fromkeys(LEXICON["either"], Kind.PERSON)
    | dict.fromkeys(LEXICON["women"], Kind.WOMAN)
    | dict.fromkeys(LEXICON["men"], Kind.MAN)
)
PEOPLE = LEXICON["people"]
_LEGAL = "ab ag bv co corp corporation gmbh inc incorporated limited llc llp ltd nv oy plc pty sa sarl se spa".split()
_NOMINAL = re.compile(r"(?:tion|sion|ment|ness|ance|ence|ship|ism|ology|ware|hood|ics)s?$")
_PLURAL = re.compile(r"(?:^\d+|[^suiy'\d]|[aeo]y|ie|(?:ch|sh|x|ss)e)s$")
_PLURALS = frozenset("people children men women feet teeth mice".split())
_PARTICLES = frozenset("de del della der den di da dos du von van zu bin ibn al el la le ter y of".split())
_NO_NAMES = frozenset("who what when where why how which you your me my we our us it and or not no".split())
_DISTINCTION = re.compile(r"(?<!\s)\s*+\(([^()]*+)\)")
_HEAD = re.compile(r"(?<!\s)\s++(?:of|for|in|on|at|to|from|with|by|under|during|against|between|without)\s.*")


@lru_cache(4096)
def kind(name: str) -> Kind:
    """Return what a name or a phrase names, by its words alone."""
    distinction = _DISTINCTION.search(name)
    plain = " ".join(_DISTINCTION.sub("", name).split())
    words = [word for word in re.split(r"[\s/]+", plain) if word]
    if not words:
        return Kind.UNKNOWN
    first, last = words[0].lower().strip(".,"), words[-1].lower().strip(".,")
    head = head_noun(plain)
    capitals = [word for word in words if word[0].isupper()]
    if (
        len(words) > len(capitals) > 1
        and not PEOPLE.isdisjoint(map(str.lower, words[:-1]))
        and capitals[-1] == words[-1]
    ):
        return Kind.PERSON  # "the French composer Olivier Messiaen"
    if distinction:
        if not (PEOPLE | {"born"}).isdisjoint(re.findall(r"\w+", distinction[1].lower())):
            return Kind.PERSON
        return Kind.THING if kind(plain) is Kind.UNKNOWN else kind(plain)
    if "," in plain and (person := kind(plain.split(",")[0])) in (Kind.MAN, Kind.WOMAN):
        return person  # "William Waldegrave, Baron Waldegrave"
    if not is_name(plain) or last in _LEGAL or any(map(str.isdigit, plain)):
        someone = head in PEOPLE and not re.search(r"['’]s\b", plain)  # "Peter's Daughter" is a title
        return Kind.PERSON if someone else Kind.MANY if is_plural(plain) else Kind.THING
    if first in HONORIFICS and len(words) > 1:
        return HONORIFICS[first]
    if _is_thing(head) or (len(words) > 1 and _is_thing(last)) or first in ("mount", "lake", "the", "a", "an"):
        return Kind.THING
    if first in _FIRST_NAMES:
        return _FIRST_NAMES[first]
    if is_plural(plain):
        return Kind.MANY
    return Kind.THING if _is_thing(first) else Kind.UNKNOWN


def is_name(phrase: str) -> bool:
    """Tell whether a phrase may be a name: one to five capitalised words, but for particles such as "van der"."""
    words = phrase.split()
    return 1 <= len(words) <= 5 and words[0][0].isupper() and all(map(_is_in_names, words))


def _is_in_names(word: str) -> bool:
    if word.lower() in _NO_NAMES or word.endswith(("'s", "’s")) or not re.sub(r"[-.'’]", "", word).isalpha():
        return False
    return word[0].isupper() or word.lower() in _PARTICLES


def head_noun(phrase: str) -> str:
    """Return the noun that a phrase is about: "tower" of "Leaning Tower of Pisa"."""
    words = _HEAD.sub("", phrase).split()
    return words[-1].lower().strip(".,:") if words else ""


def is_plural(phrase: str) -> bool:
    """Tell whether a phrase's head looks like a plural."""
    head = head_noun(phrase)
    return head in _PLURALS or (head not in LEXICON["singulars"] and len(head) > 3 and bool(_PLURAL.search(head)))


def _is_thing(word: str) -> bool:
    return word in LEXICON["things"] or word in _LEGAL or bool(_NOMINAL.search(word))
