"""Tell names from verbs and common nouns where names have no capitals."""

from __future__ import annotations

import re
import threading
from enum import Enum, auto

from factoid.entities.articles.names import is_company, split_title
from factoid.entities.linkers.stop_words import ARTICLES, FUNCTION_WORDS, QUESTION_WORDS
from factoid.propositions.syntax.tree import VERB

_AROUND = 200  # characters on each side of a word that show its class
_NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})
# tags of what precedes a verb
_SUBJECTS = frozenset({*_NOUNS, "PRP", "TO", "MD", "WP", "WDT", "EX"})
_DETERMINERS = frozenset({"DT", "PRP$", "CD", "JJ", "JJR", "JJS", "PDT", "POS"})
_AFTER_A_DESCRIPTION = _NOUNS | {"DT", "PRP$"}
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
_ASKING_FOR_A_THING = frozenset({"WDT", "WP$"})  # "what time is it"
_lock = threading.Lock()  # spaCy pipelines add to their vocabulary while they work


class Use(Enum):
    """How a text in lower case uses a word that is a name elsewhere."""

    OPEN = auto()  # it may be the name
    NOUN = auto()  # rather a common noun: "the nature of light"
    VERB = auto()  # "it aims to grow": not the name
    THING = auto()  # "I eat an apple": not the name


def use_of(text: str, start: int, end: int, *, is_acronym: bool) -> Use:
    """Return how a text uses the word at [start, end), by the parser of `SyntaxPropositionizer`.

    A verb follows its subject, "to" or an auxiliary; anything else may be a name that somebody
    typed in lower case. Acronyms have no article and no plural, and a name has nothing "of" it.
    """
    first = max(0, start - _AROUND)
    tags, place = _tags(text[first : end + _AROUND], start - first)
    if place < 0:
        return Use.OPEN
    tag = tags[place]
    before = tags[place - 1] if place else ""
    if before == "TO" or (tag in VERB and before in _SUBJECTS):
        return Use.VERB
    following = text[end:].split(maxsplit=1)
    has_of = following[:1] == ["of"] and text[end : end + 1].isspace()
    if is_acronym and (before in _DETERMINERS or has_of or (tag == "NNS" and before in _NOUNS)):
        return Use.NOUN
    if before in _DETERMINERS and has_of:
        return Use.NOUN
    return Use.OPEN


def bears_a_name(title: str) -> bool:
    """Return whether a title is a proper name whose short form may be a common word.

    As are "Nature (journal)", "Apple Inc." and "Reading, Berkshire".
    """
    suffix = split_title(title)[1]
    words = suffix.casefold().split()
    is_place = bool(suffix) and not title.endswith(")")
    return is_place or is_company(title) or not _NAMED_KINDS.isdisjoint(words)


def use_of_short_name(text: str, start: int, end: int) -> Use:
    """Return how a text uses the word at [start, end), in lower case the short form of a name.

    A name has no article, number or adjective, unless it describes the next noun ("a python
    script"). It is typed in lower case in questions, commands and queries, not in statements.
    """
    first = max(0, start - _AROUND)
    tags, place = _tags(text[first : end + _AROUND], start - first)
    sentence, _ = _sentence(text, start, end)
    is_english = not _ENGLISH.isdisjoint(sentence)
    if place < 0 or not is_english:
        return Use.OPEN
    before = tags[place - 1] if place else ""
    if before == "TO" or (tags[place] in VERB and before in _SUBJECTS):
        return Use.VERB
    if not asks(text, start, end) and not _FINITE.isdisjoint(tags):
        return Use.THING
    if place + 1 < len(tags) and tags[place + 1] in _NOUNS:
        return Use.NOUN
    if before in _DETERMINERS or before in _ASKING_FOR_A_THING:
        return Use.THING
    return Use.OPEN


def asks(text: str, start: int, end: int) -> bool:
    """Return whether the sentence around [start, end) is a question, or a command to answer."""
    sentence, is_question = _sentence(text, start, end)
    return is_question or sentence[0] in _FIRST_OF_QUESTIONS or not _ASKING.isdisjoint(sentence)


def describes(text: str, start: int, end: int) -> bool:
    """Return whether a noun or an article follows the word at [start, end): "shell scripts"."""
    first = max(0, start - _AROUND)
    tags, place = _tags(text[first : end + _AROUND], start - first)
    return 0 <= place < len(tags) - 1 and tags[place + 1] in _AFTER_A_DESCRIPTION


def _sentence(text: str, start: int, end: int) -> tuple[list[str], bool]:
    """Return the words of the sentence around a place, and whether a question mark ends it."""
    first = 0
    for match in _SENTENCE_END.finditer(text, max(0, start - _AROUND), start):
        first = match.end()
    stop = _SENTENCE_END.search(text, end, end + _AROUND)
    last = stop.start() if stop else end + _AROUND
    is_question = stop is not None and stop[0] == "?"
    return _WORD.findall(text[max(first, start - _AROUND) : last].casefold()), is_question


def _tags(text: str, at: int) -> tuple[list[str], int]:
    """Return the tags of a text's tokens, and the number of the token at a place.

    -1 if no token begins there.
    """
    from factoid.propositions.syntax.tree import load_parser

    with _lock:
        doc = load_parser()(text)
        tags = [token.tag_ for token in doc]
        place = next((token.i for token in doc if token.idx == at), -1)
    return tags, place
