"""Find what the headings above a passage name.

A heading names an entity, an aspect of one, or nothing that a pronoun may mean.

A wrong name is worse than a pronoun, so what the words of a name leave open is never guessed:
`EntityKind.UNKNOWN` fits "he" and "she" if nothing speaks against it, but never "it".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from factoid.propositions.syntax.lexicon import LEXICON


class EntityKind(Enum):
    """The kind of person or thing that a name denotes."""

    MAN = "he"
    WOMAN = "she"
    PERSON = "he or she"
    THING = "it"
    MANY = "they"
    UNKNOWN = ""

    def fits(self, pronoun: str) -> bool:
        """Return whether "he", "she", "it" or "they" can stand for it."""
        if self is EntityKind.UNKNOWN or self is EntityKind.PERSON:
            return pronoun in ("he", "she")
        return str(self.value) == pronoun


THINGS = (EntityKind.THING, EntityKind.MANY)  # what no person is
GENDERED = (EntityKind.MAN, EntityKind.WOMAN)

HONORIFICS = (
    dict.fromkeys("mr sir lord king prince pope".split(), EntityKind.MAN)
    | dict.fromkeys("mrs ms miss dame lady queen princess".split(), EntityKind.WOMAN)
    | dict.fromkeys("dr prof professor captain president senator judge".split(), EntityKind.PERSON)
)
_FIRST_NAMES = (
    dict.fromkeys(LEXICON["either"], EntityKind.PERSON)
    | dict.fromkeys(LEXICON["women"], EntityKind.WOMAN)
    | dict.fromkeys(LEXICON["men"], EntityKind.MAN)
)
PEOPLE = LEXICON["people"]
# What somebody is called by who is of one sex: "husband", "actress".
MALE = LEXICON["male"]
FEMALE = LEXICON["female"]
_SOMEBODY = PEOPLE | LEXICON["relatives"] | MALE | FEMALE
# "General Anna Berg", "Chef Anna Berg": a first name follows that tells more than they do.
_EITHER_TITLES = LEXICON["titles"] | PEOPLE
_POSSESSIVE = re.compile(r"['’]s?\s")
_LEGAL = (
    "ab ag bv co corp corporation gmbh inc incorporated limited "
    "llc llp ltd nv oy plc pty sa sarl se spa"
).split()
_NOMINAL_THING = re.compile(r"(?:tion|sion|ment|ness|ance|ence|ship|ism|ology|ware|hood|ics)s?$")
_PLURAL = re.compile(r"(?:^\d+|[^suiy'\d]|[aeo]y|ie|(?:ch|sh|x|ss)e)s$")
_PLURALS = frozenset("people children men women feet teeth mice".split())
_PARTICLES = frozenset(
    "de del della der den di da dos du von van zu bin ibn al el la le ter y of".split()
)
_NO_NAMES = frozenset(
    "who what when where why how which you your me my we our us it and or not no".split()
)
_DISTINCTION = re.compile(r"(?<!\s)\s*+\(([^()]*+)\)")
_HEAD = re.compile(
    r"(?<!\s)\s++"
    r"(?:of|for|in|on|at|to|from|with|by|under|during|against|between|without|per|via)\s.*"
)


@lru_cache(4096)
def entity_kind(name: str) -> EntityKind:
    """Return what kind of entity a name or a phrase denotes, judged only by its words."""
    distinction = _DISTINCTION.search(name)
    plain = " ".join(_DISTINCTION.sub("", name).split())
    words = re.findall(r"[^\s/]+", plain)
    if not words:
        return EntityKind.UNKNOWN
    first = words[0].lower().strip(".,")
    last = words[-1].lower().strip(".,")
    head = head_noun(plain)
    if _is_described_person(words):
        return _described_kind(words)  # "the French composer Olivier Messiaen"
    if distinction:
        if not (PEOPLE | {"born"}).isdisjoint(re.findall(r"\w+", distinction[1].lower())):
            return EntityKind.PERSON
        plain_kind = entity_kind(plain)
        return EntityKind.THING if plain_kind is EntityKind.UNKNOWN else plain_kind
    if "," in plain:
        before_comma = entity_kind(plain.split(",")[0])
        if before_comma in (EntityKind.MAN, EntityKind.WOMAN):
            return before_comma  # "William Waldegrave, Baron Waldegrave"
    if not is_name(plain) or last in _LEGAL or any(map(str.isdigit, plain)):
        if head in PEOPLE and not re.search(r"['’]s\b", plain):  # "Peter's Daughter" is a title
            return _noun_kind(head)
        return EntityKind.MANY if is_plural(plain) else EntityKind.THING
    if first in HONORIFICS and len(words) > 1:
        return _titled_kind(words)
    if (
        _is_thing(head)
        or (len(words) > 1 and _is_thing(last))
        or first in ("mount", "lake", "the", "a", "an")
    ):
        return EntityKind.THING
    if first in _FIRST_NAMES:
        return _FIRST_NAMES[first]
    if first in _EITHER_TITLES and len(words) > 2:
        second = words[1].lower().strip(".,")
        if second in _FIRST_NAMES:
            return _FIRST_NAMES[second]
    if is_plural(plain):
        return EntityKind.MANY
    return EntityKind.THING if _is_thing(first) else EntityKind.UNKNOWN


def _is_described_person(words: Sequence[str]) -> bool:
    """Return whether a name follows what somebody is: "the French composer Olivier Messiaen"."""
    capitals = [word for word in words if word[0].isupper()]
    is_name_last = len(words) > len(capitals) > 1 and capitals[-1] == words[-1]
    if not is_name_last:
        return False
    is_described = not PEOPLE.isdisjoint(map(str.lower, words[:-1]))
    return is_described or not _SOMEBODY.isdisjoint(words[:-1])


def _described_kind(words: Sequence[str]) -> EntityKind:
    """Return the kind of somebody whose name is last, and follows what he or she is.

    The first name tells more than the noun before it: "the chairman Anna Berg".
    """
    nouns = [word for word in words if word in _SOMEBODY]
    start = len(words)
    while start > 1 and words[start - 1][0].isupper():
        start -= 1
    kind = entity_kind(" ".join(words[start:]))
    if kind in GENDERED:
        return kind
    return _noun_kind(nouns[-1]) if nouns else EntityKind.PERSON


def _noun_kind(noun: str) -> EntityKind:
    """Return the kind of somebody who is called by a noun such as "husband" or "painter"."""
    if noun in MALE:
        return EntityKind.MAN
    return EntityKind.WOMAN if noun in FEMALE else EntityKind.PERSON


def _titled_kind(words: Sequence[str]) -> EntityKind:
    """Return the kind of somebody with a title: a first name tells more than "Professor".

    "Mrs. John Smith" is a woman all the same, but "Lord Mayor Anna Berg" is no man.
    """
    plain = [word.lower().strip(".,") for word in words]
    count = 1
    while count < len(plain) and (plain[count] in HONORIFICS or plain[count] in _EITHER_TITLES):
        count += 1
    title = HONORIFICS.get(plain[count - 1], EntityKind.PERSON)
    if title in GENDERED or count == len(plain):
        return title
    return _FIRST_NAMES.get(plain[count], EntityKind.PERSON)


def may_be_owner(name: str, who: str) -> bool:
    """Return whether "he" or "she" may be somebody else in a phrase that names two persons.

    "Anna's sister Mary" and "Tom's cousin Robin" name two who may both be meant.
    """
    owner, *owned = _POSSESSIVE.split(name)
    if not owned:
        return False
    owner_kind = entity_kind(owner)
    is_relative = not LEXICON["relatives"].isdisjoint(owned[-1].lower().split())
    if owner_kind in THINGS or (owner_kind is EntityKind.UNKNOWN and not is_relative):
        return False  # "Norway's king Harald"
    return entity_kind(name) not in GENDERED or owner_kind.fits(who)


def is_name(phrase: str) -> bool:
    """Return whether a phrase may be a name.

    A name has one to five capitalised words, apart from particles such as "van der".
    """
    words = phrase.split()
    if not (1 <= len(words) <= 5 and words[0][0].isupper()):
        return False
    for word in words:
        if (
            word.lower() in _NO_NAMES
            or word.endswith(("'s", "’s"))
            or not re.sub(r"[-.'’]", "", word).isalpha()
        ):
            return False
        if not word[0].isupper() and word.lower() not in _PARTICLES:
            return False
    return True


def head_noun(phrase: str) -> str:
    """Return the noun that a phrase is about: "tower" of "Leaning Tower of Pisa"."""
    words = _HEAD.sub("", phrase).split()
    return words[-1].lower().strip(".,:") if words else ""


def is_plural(phrase: str) -> bool:
    """Return whether a phrase's head looks like a plural."""
    head = head_noun(phrase)
    return head in _PLURALS or (
        head not in LEXICON["singulars"] and len(head) > 3 and bool(_PLURAL.search(head))
    )


def _is_thing(word: str) -> bool:
    return word in LEXICON["things"] or word in _LEGAL or bool(_NOMINAL_THING.search(word))


_LONGEST = 8  # words; a longer text is a sentence
_COUNTERS = "chapter|section|part|article|appendix|annex|step|clause"
_NUMBERING = re.compile(
    rf"^(?:(?:{_COUNTERS})\s+)?"
    r"(?:(?:\d+(?:\.\d+)*|[A-Z]|[IVXLC]+)(?:[.):]\s+|\s+[-–—]\s+)|\d+(?:\.\d+)+\s+|§+\s*\d+\s+)",
    re.IGNORECASE,
)
_FILE = re.compile(r"^(?=\S+$)\S*?(?:_|\.\w{2,5}$|://)")
# Topics, numbers and verb phrases, in lower case
_NO_ENTITY = re.compile(
    rf"^(?:(?:{_COUNTERS}|page)\b|(?:list|table|history|outline|timeline|index|comparison|glossary"
    rf"|culture|geography|economy)\s+of\b|"
    r"(?:how|what|why|when|where|who|which|if|can|could|do|does|did|is|are|was|were|should|will|to"
    r"|before|after|add|apply|ask|"
    r"avoid|build|buy|cancel|change|check|choose|clean|close|configure|connect|contact|create"
    r"|deploy|download|enable|empty|"
    r"fill|find|fit|get|give|insert|install|keep|know|learn|let|make|mount|move|open|prepare|read"
    r"|remove|replace|request|"
    r"reset|return|run|see|select|send|set|sign|start|stop|store|switch|take|test|turn|understand"
    r"|update|upgrade|use|view|"
    r"your|our|my|we|you|i|it|this|that|these|those|no|not|all|more|other|"
    r"(?!(?:working|operating|opening|parking|building|training|meeting"
    r"|living)\b)\w+ing(?=\s+\w+s$)|"
    r"\w+ing\s+(?:a|an|the|your|up|out|in|on|off|with|to|and|from|for))\b)"
)
_GERUND = re.compile(
    r"(?!(?:working|operating|opening|parking|building|training|meeting|living|king|string|spring"
    r"|ring|wing|ceiling|evening|morning|landing|rolling|flying|leaning|running|sleeping|washing"
    r"|sewing|printing|mining|shipping|engineering|marketing|accounting|banking|planning)\b)\w+ing$"
)
_THINGS = (
    "building|ceiling|spring|ring|wing|king|string|manual"
    "|terminal|pedal|signal|gallery|battery|machinery"
)
_ABSTRACT = re.compile(
    rf"\b(?!(?i:{_THINGS})$)\w*(?:tion|sion|ment|ance|ence|ity|ing|al|sis|ery)s?$"
)
_JOINING = frozenset(("and", "or", "&", "vs", "vs.", "/"))
_ASPECTS = LEXICON["aspects"]
_DOCUMENTS = LEXICON["documents"]
_BINDING = frozenset(
    "agreement act charter code contract plan policy program programme".split()
)  # called "it"
_UNTOLD = "?"  # a boundary between headings that is unclear
_AFTER_COMMA = frozenset("inc inc. ltd ltd. llc jr jr. sr sr. co. gmbh corp. plc".split())
_ABBREVIATIONS = (" Inc.", " Ltd.", " Co.", " Corp.", " Jr.", " Sr.")


class Role(Enum):
    """The role of a heading for the text under it."""

    ENTITY = auto()  # the text is about the entity that it names
    FRAME = auto()  # the text is about the entity of the heading above
    ASPECT = auto()  # a topic, a question, a form: nothing that "it" can mean
    UNCLEAR = auto()


class Heading(NamedTuple):
    """A heading, and what it names."""

    name: str
    role: Role
    kind: EntityKind


class Headings(NamedTuple):
    """The headings above a passage."""

    path: Sequence[Heading]  # nearest first
    entities: Sequence[Heading]  # those that name something, up to the first unclear one
    # Full names of persons (and of mountains and lakes) by their last parts.
    surnames: Mapping[str, str]

    def named_by(self, pronoun: str) -> Heading | None:
        """Return the heading that a pronoun means at the beginning of a passage.

        The pronoun is "he", "she", "it" or "they"; None unless the heading is certain.
        """
        meant = None
        for heading in self.path:
            if heading.role is Role.UNCLEAR:
                return None
            if pronoun in ("it", "they"):
                if heading.role is Role.FRAME:
                    continue
                if heading.role is Role.ENTITY and heading.kind.fits(pronoun):
                    return heading
                return None
            if heading.role is not Role.ENTITY or heading.kind in THINGS:
                continue
            if meant:  # "Later Triumph" under a person's name may be anything
                if heading.kind is not EntityKind.UNKNOWN and heading.kind.fits(pronoun):
                    return None
                return meant
            if not heading.kind.fits(pronoun):
                return None
            meant = heading
            if heading.kind is not EntityKind.UNKNOWN:
                return meant
        return meant


@lru_cache(256)
def headings(title: str, section: str) -> Headings:
    """Read a title and the path of headings below it, joined by ", "."""
    top = _plain(title)
    sections_are_parts = (
        bool(top) and head_noun(top) not in _DOCUMENTS and entity_kind(top) is not EntityKind.MANY
    )
    person = is_name(top) and " " in top and entity_kind(top) not in THINGS
    names = _path(section)
    if title.strip():
        names.insert(0, title)
    path = []
    for index, name in enumerate(names):
        path.append(_heading(name, index > 0 and sections_are_parts, person))
    path.reverse()
    clear = takewhile(lambda heading: heading.role is not Role.UNCLEAR, path)
    entities = [heading for heading in clear if heading.role is Role.ENTITY]
    top_heading = path[-1] if top else None
    surnames: dict[str, str] = {}
    for heading in reversed(entities):
        if _is_full_name(heading, heading is top_heading):
            surnames[heading.name.split()[-1]] = heading.name
    return Headings(path, entities, surnames)


def _is_full_name(heading: Heading, is_title: bool) -> bool:
    """Return whether a heading is somebody's full name.

    A name that nobody knows is one only as a title: "Unsafe Rust" is none.
    """
    name = heading.name
    is_person = heading.kind in (EntityKind.MAN, EntityKind.WOMAN, EntityKind.PERSON)
    known = is_person or name.startswith(("Mount ", "Lake "))
    words = name.split()
    may_be_one = not any(word.isupper() and len(word) > 1 for word in words) and not words[
        0
    ].endswith("ing")
    someone = known or (is_title and heading.kind is EntityKind.UNKNOWN and may_be_one)
    return someone and is_name(name) and " " in name and " of " not in name


def _path(section: str) -> list[str]:
    """Return the headings of a section; a comma within one is recognised by the text after it.

    "Boots, shoes" continues in lower case, "Acme, Inc." with a suffix. "Paris, France" may be one
    heading or two.
    """
    names: list[list[str]] = []  # the parts of each
    for part in filter(str.strip, section.split(", ")):
        if names and part.lower().startswith(("and ", "or ")):
            names[-1] = [_UNTOLD]  # "Changes, History, and Operations": a list is no path
        elif names and (part[0].islower() or part.lower() in _AFTER_COMMA):
            names[-1].append(part)
        elif names and len(names[-1]) == 1 and all(map(_may_be_half, (*names[-1], part))):
            names[-1] = [_UNTOLD]
        else:
            names.append([part])
    return [", ".join(parts) for parts in names]


def _may_be_half(heading: str) -> bool:
    return (
        heading.isalpha() and entity_kind(heading) not in THINGS and _role(heading) is Role.ENTITY
    )


def _plain(heading: str) -> str:
    return _NUMBERING.sub("", " ".join(_DISTINCTION.sub("", heading).split())).strip(" :–—-")


def _heading(text: str, is_part: bool, person_above: bool) -> Heading:
    name = _plain(text)
    role = _role(name)
    distinction = _DISTINCTION.search(text)
    named = entity_kind(name + distinction[0] if distinction else name)
    if role is Role.ENTITY:
        unnamed = person_above and not (is_name(name) and " " in name)
        if is_part and named is not EntityKind.MANY and (unnamed or _ABSTRACT.search(name)):
            role = Role.ASPECT
        if named is EntityKind.UNKNOWN and " " not in name:
            named = (
                EntityKind.THING
            )  # "Surtsey", "Filter"; people have two names or one of the common ones
    return Heading(name, role, named)


def _role(name: str) -> Role:
    words = name.lower().split()
    if len(words) == 2 and _GERUND.match(words[0]) and not is_plural(name):
        return Role.ASPECT  # "Halting Execution"
    if not words or len(words) > _LONGEST or _FILE.match(name) or name == _UNTOLD:
        return Role.UNCLEAR
    head = head_noun(name)
    if head in LEXICON["frames"]:
        return Role.FRAME
    if (name.endswith(("?", "!", ".")) and not name.endswith(_ABBREVIATIONS)) or _NO_ENTITY.match(
        " ".join(words)
    ):
        return Role.ASPECT
    if head not in _ASPECTS:
        joined = re.split(r",? and ", name)
        if len(joined) == 2 and all(map(is_plural, joined)):
            return Role.ENTITY  # "Fees and fines"
    alone = len(words) == 1
    if head in _ASPECTS or (head in _DOCUMENTS - _BINDING and (alone or not is_plural(name))):
        return Role.ASPECT
    if alone and (head in LEXICON["aspects alone"] or _ABSTRACT.search(head)):
        return Role.ASPECT
    has_comma = any(word.endswith(",") for word in words)
    if not has_comma and _JOINING.isdisjoint(words):
        return Role.ENTITY
    # One company or place all the same: "Smith & Sons Ltd", "Oslo, Norway"
    proper = all(word[0].isupper() or word in ("and", "&", "of") for word in name.split())
    is_proper = proper or words[-1].strip(".,") in _AFTER_COMMA
    if is_proper and entity_kind(name) is EntityKind.THING:
        return Role.ENTITY
    return Role.ASPECT
