"""Tell names from verbs and common nouns where names have no capitals."""

from __future__ import annotations

import re
import threading
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING

from factoid.entities.articles.names import is_company, split_title
from factoid.entities.linkers.stop_words import (
    ARTICLES,
    FUNCTION_WORDS,
    PLAIN_WORDS,
    QUESTION_WORDS,
    SHORT_WORDS,
    STOP_WORDS,
)
from factoid.propositions.syntax.tree import VERB

if TYPE_CHECKING:
    from spacy.tokens import Token

_AROUND = 200  # characters on each side of a word that show its class
_NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})
# tags of what precedes a verb
_SUBJECTS = frozenset({*_NOUNS, "PRP", "TO", "MD", "WP", "WDT", "EX"})
_DETERMINERS = frozenset({"DT", "PRP$", "CD", "JJ", "JJR", "JJS", "PDT", "POS"})
_AFTER_A_DESCRIPTION = _NOUNS | {"DT", "PRP$"}
_ADJECTIVES = frozenset({"JJ", "JJR", "JJS"})
_DESCRIBED = _NOUNS | _ADJECTIVES  # tags of what follows an adjective before its noun
_CLAUSE_ENDS = frozenset({"", ".", ",", ":", "CC"})
_OBJECTS = frozenset({"DT", "PRP$", "PRP"})  # tags of the first word of a verb's object
_BEFORE_COMMANDS = frozenset({"", ".", ",", ":", "CC", "UH", "RB"})
_CLAUSAL_SUBJECTS = frozenset({"csubj", "csubj:pass"})  # dependencies
_NAMED_SUBJECTS = _NOUNS | {"PRP"}
_BE = frozenset("is are was were am be been being isn aren wasn weren".split())
_POSSESSIVES = frozenset({"PRP$", "POS"})
_A = frozenset("a an another any each every no some this that these those".split())
_FINITE = frozenset({"VBD", "VBP", "VBZ", "MD"})
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[.!?;:](?!\w)|\n")
_ASKING = QUESTION_WORDS - {"when", "where", "which", "that"}  # also inside a sentence
_ENGLISH = FUNCTION_WORDS | ARTICLES
# that begin a question or its command
_FIRST_OF_QUESTIONS = QUESTION_WORDS | frozenset(
    """
    is are was were am do does did has have had can could will would shall should may might must
    isn aren wasn weren don doesn didn hasn haven
    list name tell give describe explain define find show compare summarize please
    """.split()
)
# What bears a name of its own, after a title in brackets: "Nature (journal)", but not "Seal (part)"
_NAMED_KINDS = frozenset(
    """
    journal magazine newspaper periodical weekly publisher publication book novel play poem comics
    film movie series show episode album song single band group musician singer rapper actor writer
    footballer politician fictional company corporation organization organisation institute
    university school club team party agency association charity bank airline retailer restaurant
    shop store chain manufacturer brand label website app application service platform network
    software program language processor operating framework game city town village river island
    country region planet moon constellation deity god goddess name surname spacecraft
    """.split()
)
# What is no quality: an adjective of the same spelling as "Smart (car)" is not it. In other
# brackets ("Critical (severity)", "Acute (medicine)") it may be.
_THINGS = _NAMED_KINDS | frozenset(
    """
    aircraft airplane animal bird boat boxer car chef cheese dancer dessert director dish dog drink
    drug family fish fruit horse insect king lake lawyer machine mammal manga mineral monarch
    motorcycle mountain musical opera operator painter painting people person philosopher plant poet
    politics president queen restaurant robot rocket satellite scientist sea ship street theater
    theatre tool tree tv vegetable vehicle
    """.split()
)
# Kinds of which terms of a glossary are as well ("Middleware is a program"): a definition by them
# tells no name.
_GENERIC_KINDS = frozenset(
    """
    agency app application association club framework group label name network operating
    organisation organization party platform process processor program service single software store
    team
    """.split()
)
_DEFINITION = re.compile(
    r"(?P<subject>[^\n]{1,150}?)\s(?:is|was|are|were)\s(?:an?|the)\s(?P<kind>[^\n.;:()]{1,150})"
)
_ASKING_FOR_A_THING = frozenset({"WDT", "WP$"})  # "what time is it"
_lock = threading.Lock()  # spaCy pipelines add to their vocabulary while they work


class Use(Enum):
    """How a text in lower case uses a word that is a name elsewhere."""

    OPEN = auto()  # it may be the name
    NOUN = auto()  # rather a common noun: "the nature of light"
    VERB = auto()  # "it aims to grow": not the name
    THING = auto()  # "I eat an apple": not the name
    QUALITY = auto()  # an adjective or a gerund: "a nice house", "reading books helps"


class Usage:
    """The words at [start, end) of a text, as the parser of `SyntaxPropositionizer` reads them.

    Attributes:
        tag: The tag of the first word, "" if no token begins there.
        before: The tag of the token before the words, "" if they are the first.
        after: The tag of the token after the words, "" if they are the last.
    """

    def __init__(self, text: str, start: int, end: int) -> None:
        first = max(0, start - _AROUND)
        self._tokens = _tokens(text[first : end + _AROUND])
        self._first = -1
        self._end = 0
        for token in self._tokens:
            if token.idx == start - first:
                self._first = token.i
            if token.idx < end - first:
                self._end = token.i + 1
        self.is_known = self._first >= 0
        self.tags: list[str] = [token.tag_ for token in self._tokens]
        self.tag = self.before = self.after = ""
        if self.is_known:
            self.tag = self.tags[self._first]
            self.before = self._tag_at(self._first - 1)
            self.after = self._tag_at(self._end)

    @property
    def is_verb(self) -> bool:
        """Whether the word is a verb: after its subject, "to" or an auxiliary, or as a command."""
        if self.before == "TO" or (self.tag in VERB and self.before in _SUBJECTS):
            return True
        if self.tag != "VB" or self.before not in _BEFORE_COMMANDS:
            return False
        return self.after in _OBJECTS and not self._has_a_kind_beside_it

    @property
    def is_gerund(self) -> bool:
        """Whether the word is the gerund of a subject with its object: "reading books helps"."""
        if self.tag != "VBG" or self.after not in _OBJECTS | _NOUNS:
            return False
        dependency = self._tokens[self._first].dep_
        if dependency == "amod" and self.before in _BEFORE_COMMANDS:  # the parser's other reading
            return not _FINITE.isdisjoint(self.tags)
        return dependency in _CLAUSAL_SUBJECTS

    @property
    def is_adjective(self) -> bool:
        """Whether the word is an adjective: "a nice house", "is the pump smart"."""
        if self.tag not in _ADJECTIVES:
            return False
        is_behind_another = self.before in _DETERMINERS or self.before == "RB"
        if is_behind_another and self.after in _DESCRIBED:
            return True
        if self.after not in _CLAUSE_ENDS or self.before in ("IN", "TO"):
            return False
        return self._follows_a_subject()

    @property
    def is_counted(self) -> bool:
        """Whether a word stands before it that no name has: "a red hat", "two turkeys"."""
        if not self._first > 0:
            return False
        return self.before == "CD" or self._tokens[self._first - 1].lower_ in _A

    @property
    def follows_the(self) -> bool:
        """Whether "the" stands before it."""
        return self._first > 0 and self._tokens[self._first - 1].lower_ == "the"

    @property
    def is_owned(self) -> bool:
        """Whether a possessive stands before it: "my cat"."""
        return self.before in _POSSESSIVES

    @property
    def is_described(self) -> bool:
        """Whether an adjective stands before it: "roast turkey"."""
        return self.before in _ADJECTIVES

    @property
    def describes(self) -> bool:
        """Whether a noun follows it: "shell scripts"."""
        return self.after in _NOUNS

    @property
    def _has_a_kind_beside_it(self) -> bool:
        """Whether what looks like its object says what it is: "vasa the ship"."""
        following = self._tokens[self._end : self._end + 3]
        return any(token.lower_ in _THINGS for token in following)

    def _follows_a_subject(self) -> bool:
        """Return whether a form of "be" and a noun or pronoun stand before it."""
        start = self._tokens[self._first].sent.start
        earlier = self._tokens[start : self._first]
        has_be = any(token.lower_ in _BE for token in earlier)
        return has_be and any(token.tag_ in _NAMED_SUBJECTS for token in earlier)

    def _tag_at(self, place: int) -> str:
        if 0 <= place < len(self.tags):
            return self.tags[place]
        return ""


def use_of(text: str, start: int, end: int, *, is_acronym: bool) -> Use:
    """Return how a text uses the word at [start, end).

    A verb follows its subject, "to" or an auxiliary, or begins a command; anything else may be a
    name that somebody typed in lower case. Acronyms have no article and no plural, and a name has
    nothing "of" it.
    """
    usage = Usage(text, start, end)
    if not usage.is_known:
        return Use.OPEN
    if usage.is_verb:
        return Use.VERB
    if usage.is_adjective or usage.is_gerund:
        return Use.QUALITY
    following = text[end:].split(maxsplit=1)
    has_of = following[:1] == ["of"] and text[end : end + 1].isspace()
    is_plural = usage.tag == "NNS" and usage.before in _NOUNS
    if is_acronym and (usage.before in _DETERMINERS or has_of or is_plural):
        return Use.NOUN
    if usage.before in _DETERMINERS and has_of:
        return Use.NOUN
    return Use.OPEN


def use_of_word_like_acronym(text: str, start: int, end: int) -> Use:
    """Return how a text uses the common word at [start, end) that an acronym spells: "aids", "cat".

    It is typed in lower case where the short form of a name is, but not after what only the common
    word has: "my pet dog", "hearing aids".
    """
    usage = Usage(text, start, end)
    if usage.is_owned or usage.before in _NOUNS or usage.before == "VBG":
        return Use.THING
    use = use_of_short_name(text, start, end)
    if use is Use.OPEN and usage.describes:
        return Use.NOUN  # "cat food", which has no function word
    return use


def is_common_word(word: str) -> bool:
    """Return whether most texts have a word of up to five letters, or its singular, as a word."""
    word = word.casefold()
    common = SHORT_WORDS | PLAIN_WORDS | STOP_WORDS
    return word in common or (len(word) > 3 and word.removesuffix("s") in common)


def bears_a_name(title: str) -> bool:
    """Return whether a title is a proper name whose short form may be a common word.

    As are "Nature (journal)", "Apple Inc." and "Reading, Berkshire".
    """
    suffix = split_title(title)[1]
    words = suffix.casefold().split()
    is_place = bool(suffix) and not title.endswith(")")
    return is_place or is_company(title) or not _NAMED_KINDS.isdisjoint(words)


def is_thing(title: str) -> bool:
    """Return whether a title in brackets says that it is no quality: "Smart (car)"."""
    return bears_a_name(title) or not _THINGS.isdisjoint(split_title(title)[1].casefold().split())


def is_defined_as_a_name(name: str, text: str) -> bool:
    """Return whether an article begins as that of a proper name: "Turkey is a country".

    A common noun has an article where it is defined ("A filter is a device").
    """
    match = _DEFINITION.match(text)
    if match is None:
        return False
    subject = _WORD.findall(match["subject"].casefold())
    base = _WORD.findall(split_title(name)[0].casefold())
    if subject[:1] in (["a"], ["an"]) or not set(base).issubset(subject):
        return False
    if len(base) == 1 and subject == ["the", *base]:
        return False
    for phrase in match["kind"].casefold().split(","):
        noun = ""
        for word in _WORD.findall(phrase):
            if word in _ENGLISH:
                break
            noun = word
        if noun in _NAMED_KINDS - _GENERIC_KINDS:
            return True
    return False


def use_of_short_name(text: str, start: int, end: int) -> Use:
    """Return how a text uses the word at [start, end), in lower case the short form of a name.

    A name has no article, number or adjective, unless it describes the next noun ("a python
    script"). It is typed in lower case in questions, commands and queries, not in statements.
    """
    usage = Usage(text, start, end)
    sentence, _ = _sentence(text, start, end)
    is_english = not _ENGLISH.isdisjoint(sentence)
    if usage.is_gerund:
        return Use.QUALITY
    if not usage.is_known or not is_english:
        return Use.OPEN
    if usage.is_verb:
        return Use.VERB
    if usage.is_adjective:
        return Use.QUALITY
    if not asks(text, start, end) and not _FINITE.isdisjoint(usage.tags):
        return Use.THING
    if usage.describes:
        return Use.NOUN
    if usage.before in _DETERMINERS or usage.before in _ASKING_FOR_A_THING:
        return Use.THING
    return Use.OPEN


def use_of_name(text: str, start: int, end: int) -> Use:
    """Return how a text uses the words at [start, end), in lower case a proper name in full.

    Names have no "a" and no number before them ("a red hat"), unless they describe the next noun
    ("a red hat server"), and rarely a possessive or an adjective. Those of one word whose article
    does without "the" rarely have one.
    """
    usage = Usage(text, start, end)
    if usage.is_counted and not usage.describes:
        return Use.THING
    if usage.is_counted or usage.is_owned or usage.is_described:
        return Use.NOUN
    if usage.follows_the and text[start:end].isalpha() and not usage.describes:
        return Use.NOUN
    return Use.OPEN


def asks(text: str, start: int, end: int) -> bool:
    """Return whether the sentence around [start, end) is a question, or a command to answer."""
    sentence, is_question = _sentence(text, start, end)
    return is_question or sentence[0] in _FIRST_OF_QUESTIONS or not _ASKING.isdisjoint(sentence)


def describes(text: str, start: int, end: int) -> bool:
    """Return whether a noun or an article follows the word at [start, end): "shell scripts"."""
    return Usage(text, start, end).after in _AFTER_A_DESCRIPTION


def _sentence(text: str, start: int, end: int) -> tuple[list[str], bool]:
    """Return the words of the sentence around a place, and whether a question mark ends it."""
    first = 0
    for match in _SENTENCE_END.finditer(text, max(0, start - _AROUND), start):
        first = match.end()
    stop = _SENTENCE_END.search(text, end, end + _AROUND)
    last = stop.start() if stop else end + _AROUND
    is_question = stop is not None and stop[0] == "?"
    return _WORD.findall(text[max(first, start - _AROUND) : last].casefold()), is_question


@lru_cache(maxsize=16)  # a question is asked about each of its words
def _tokens(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text with their tags and dependencies."""
    from factoid.propositions.syntax.tree import load_parser

    with _lock:
        return tuple(load_parser()(text))
