"""Tell names from verbs and common nouns where names have no capitals."""

from __future__ import annotations

import threading
from enum import Enum, auto

from factoid.propositions.syntax.tree import VERB

_AROUND = 200  # characters on each side of a word that show its class
_NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})
# tags of what precedes a verb
_SUBJECTS = frozenset({*_NOUNS, "PRP", "TO", "MD", "WP", "WDT", "EX"})
_DETERMINERS = frozenset({"DT", "PRP$", "CD", "JJ", "JJR", "JJS", "PDT", "POS"})
_lock = threading.Lock()  # spaCy pipelines add to their vocabulary while they work


class Use(Enum):
    """How a text in lower case uses a word that is a name elsewhere."""

    OPEN = auto()  # it may be the name
    NOUN = auto()  # rather a common noun: "the nature of light"
    VERB = auto()  # "it aims to grow": not the name


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
