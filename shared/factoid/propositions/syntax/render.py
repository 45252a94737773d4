"""Render tokens and inserted words as a sentence that reads well."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from factoid.propositions.syntax.tree import Item, Tree
from factoid.text.sentence_ends import CITATION

_NO_SPACE_BEFORE = frozenset(", . ; : ! ? % ) ] } ’ ” 's ’s n't n’t '".split())
_NO_SPACE_AFTER = frozenset("([{“‘$£€")
_LOOSE = re.compile(
    r" (?=[:!?])|(?<![ ,;:–—])[ ,;:–—]+(?=[,;]|\.(?!\w))"
)  # spaces and marks before another mark
_SPACES = re.compile(r"\s+")
_MIXED_CASE = re.compile(r"[a-z]+[A-Z]")  # "camelCase", "iPhone"
_CLOSED = re.compile(rf"[.!?](?:[\"”’)]|(?:\s?{CITATION})+)?\Z", re.VERBOSE)
_FULL = {"'re": "are", "'ll": "will", "'ve": "have"}
_PERFECT = frozenset(
    "arrived become been come gone got gotten had happened".split()
)  # after "it's": "it has"
_CODE = re.compile(r"(`[^`]*`)")
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"))


@dataclass(frozen=True, slots=True)
class Mention:
    """The referent of a referring expression."""

    entity: str  # its name; within one proposition only its first mention is written out
    text: str  # what to write, e.g. the name or its possessive
    covers: range = range(0)  # the tokens after the first that the text also replaces


def render(tree: Tree, items: Sequence[Item], mentions: Mapping[int, Mention]) -> str:
    """Return items as a sentence.

    The sentence is spaced, capitalised and closed; mentions are given by their first token.
    """
    text = ""
    covered = range(0)  # tokens that the last mention written out replaces
    before: Item = -1
    previous = ""  # the word of the item before
    written_out = -1  # the pronoun before, if it was
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
        is_next = written_out >= 0 and item == written_out + 1
        if is_next and (verb := _full_verb(tree, written_out + 1)):
            word = verb  # "it's" is no possessive
            spaced = True
        if isinstance(before, str) and isinstance(item, int) and word in ("'s", "’s"):
            word = _full_verb(tree, item) or word  # "an app that's …"
            spaced = spaced or word not in ("'s", "’s")
        before, previous = item, word
        written_out = -1
        if (
            item == 0
            and text
            and not tree.tags[0].startswith("NNP")
            and not word[1:].isupper()
            and word != "I"
        ):
            word = word[0].lower() + word[1:]  # it no longer opens the sentence
        if mention and mention.entity.casefold() not in text.casefold():
            word, covered = mention.text, mention.covers
            written_out = item if isinstance(item, int) else -1
        text += " " + word if spaced and text else word
    return _tidy(text, tree.source)


def _full_verb(tree: Tree, token: int) -> str:
    """Return the verb that a token is short for, "" if it is none."""
    word = tree.lower[token].replace("’", "'")
    if tree.tags[token] == "POS":
        return ""
    if word != "'s":
        return _FULL.get(word, "")
    head = tree.heads[token]
    perfect = tree.tags[head] == "VBN" and (
        tree.deps[token] == "aux" or tree.lower[head] in _PERFECT
    )
    return "has" if perfect else "is"


def _tidy(text: str, source: str) -> str:
    """Repair punctuation left over by a cut, capitalise the first letter and close the sentence."""
    parts = _CODE.split(text)  # code at odd places, where every character counts
    prose = "".join(parts[::2])
    for opening, closing in _PAIRS:
        is_numbered = source.count(opening) != source.count(closing)  # "a) If …"
        if prose.count(opening) != prose.count(closing) and not is_numbered:
            parts[::2] = [part.replace(opening, "").replace(closing, "") for part in parts[::2]]
    if prose.count('"') % 2:
        parts[::2] = [part.replace('"', "") for part in parts[::2]]
    parts[::2] = [_LOOSE.sub("", _SPACES.sub(" ", part)) for part in parts[::2]]
    text = "".join(parts).strip(" ,;:–—")
    if text and not _CLOSED.search(text):
        text += "."
    if text.endswith("..") and not text.endswith("..."):
        text = text[:-1]  # "Acme Inc."
    if _MIXED_CASE.match(text):
        return text
    return text[:1].upper() + text[1:]
