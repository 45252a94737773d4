"""Render tokens and inserted words as a sentence that reads well."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from factoid.propositions.syntax.tree import Item, Tree
from factoid.text.sentence_ends import CITATION

_NO_SPACE_BEFORE = frozenset(", . ; : ! ? % ) ] } ’ ” 's ’s n't n’t '".split())
_NO_SPACE_AFTER = frozenset("([{“‘$£€")
_LOOSE = re.compile(r" (?=[:!?])|(?<![ ,;:–—])[ ,;:–—]+(?=[,.;])")  # spaces and marks before another mark
_CLOSED = re.compile(rf"[.!?](?:[\"”’)]|(?:\s?{CITATION})+)?\Z", re.VERBOSE)
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"))


@dataclass(frozen=True, slots=True)
class Mention:
    """The referent of a referring expression."""

    entity: str  # its name; within one proposition only its first mention is written out
    text: str  # what to write, e.g. the name or its possessive
    covers: range = range(0)  # the tokens after the first that the text also replaces


def render(tree: Tree, items: Sequence[Item], mentions: Mapping[int, Mention]) -> str:
    """Return items as a sentence: spaced, capitalised, closed; mentions are given by their first token."""
    text = ""
    covered = range(0)  # tokens that the last mention written out replaces
    before: Item = -1
    previous = ""  # the word of the item before
    for item in items:
        word = item if isinstance(item, str) else tree.words[item]
        mention = mentions.get(item) if isinstance(item, int) else None
        if item in covered:
            before, previous = item, word
            continue
        if isinstance(item, int) and isinstance(before, int) and before == item - 1:
            spaced = bool(tree.spaces[before])
        else:
            spaced = word not in _NO_SPACE_BEFORE and previous not in _NO_SPACE_AFTER
        before, previous = item, word
        if item == 0 and text and not tree.tags[0].startswith("NNP") and not word[1:].isupper() and word != "I":
            word = word[0].lower() + word[1:]  # it no longer opens the sentence
        if mention and mention.entity.casefold() not in text.casefold():
            word, covered = mention.text, mention.covers
        text += " " + word if spaced and text else word
    return _tidy(text)


def _tidy(text: str) -> str:
    """Repair punctuation left over by a cut, capitalise the first letter and close the sentence."""
    for opening, closing in _PAIRS:
        if text.count(opening) != text.count(closing):
            text = text.replace(opening, "").replace(closing, "")
    if text.count('"') % 2:
        text = text.replace('"', "")
    text = _LOOSE.sub("", " ".join(text.split())).strip(" ,;:–—")
    if text and not _CLOSED.search(text):
        text += "."
    return text[:1].upper() + text[1:]
