"""Detect wrong parses by statements that no careful reader would have cut out of their sentence.

A small parser fails on citations, names and code, and its cuts show it: words are lost, names, hyphenated words, brackets or
quotation marks are torn apart, or a phrase is spliced to one that it does not belong to. Such a sentence stays whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from factoid.propositions.syntax.phrases import RELATIVE_TAGS
from factoid.propositions.syntax.tree import PROPER, VERB, Item, Tree, tokens

_CONTENT = ("NN", "JJ", "VB", "CD", "FW")
_OPENING = {")": "(", "]": "[", "”": "“", '"': '"', "`": "`"}
_MARKS = frozenset({*_OPENING, *_OPENING.values()})
_JOINTS = frozenset("-‐‑/_@#+=")


def is_doubtful(tree: Tree, statements: Sequence[Sequence[Item]]) -> bool:
    """Return whether the statements of a sentence show that its parse is wrong."""
    presents = [tokens(items) for items in statements]
    lost = set(range(len(tree.words))).difference(*presents)
    if any(tree.tags[token].startswith(_CONTENT) and tree.deps[token] not in ("mark", "cc") for token in lost):
        return True
    pairs = _pairs(tree)
    return pairs is None or any(
        _is_torn(tree, present, pairs) or _is_spliced(tree, items) or not _has_predicate(tree, items, present)
        for items, present in zip(statements, presents, strict=True)
    )


def _pairs(tree: Tree) -> list[tuple[int, int]] | None:
    """Return the pairs of brackets and quotation marks, or None if some have no partner."""
    pairs = []
    open_marks: list[int] = []
    for token, word in enumerate(tree.words):
        if word not in _MARKS:
            continue
        if open_marks and tree.words[open_marks[-1]] == _OPENING.get(word):
            pairs.append((open_marks.pop(), token))
        else:
            open_marks.append(token)
    return None if open_marks else pairs


def _is_torn(tree: Tree, present: set[int], pairs: Iterable[tuple[int, int]]) -> bool:
    """Return whether a statement holds one part of a word, of a name or of a text in brackets, but not the other."""
    for opening, closing in pairs:
        inside = {token for token in range(opening + 1, closing) if tree.deps[token] != "punct"}
        inside = {token for token in inside if tree.tags[token] not in RELATIVE_TAGS}
        if not inside.isdisjoint(present) and not inside <= present:
            return True
    for left, right in pairwise(range(len(tree.words))):
        if (left in present) == (right in present):
            continue
        first, second = tree.words[left], tree.words[right]
        tags = tree.tags[left], tree.tags[right]
        if not tree.spaces[left] and all(mark.isalnum() or mark in _JOINTS for mark in (first[-1], second[0])):
            return True
        capitals = first[0].isupper() and second[0].isupper() and not PROPER.isdisjoint(tags)
        if capitals and all(tag.startswith(_CONTENT) for tag in tags):
            return True
    return False


def _is_spliced(tree: Tree, items: Sequence[Item]) -> bool:
    """Return whether a phrase in commas has lost the one before: "The dump, made by X, 2022, was" as "The dump 2022, was"."""
    for at, (item, following) in enumerate(pairwise(items)):
        if not isinstance(item, int) or not isinstance(following, int):
            continue
        if following <= item + 1 or tree.words[item + 1] != ",":
            continue
        for token, behind in pairwise(items[at + 1 :]):
            if isinstance(token, str) or tree.tags[token] in VERB or tree.tags[token] == "MD":
                break
            if tree.words[token] == ",":
                if isinstance(behind, int) and tree.is_finite(behind):
                    return True
                break
    return False


def _has_predicate(tree: Tree, items: Sequence[Item], present: set[int]) -> bool:
    """Return whether a statement has a finite verb outside its subordinate clauses."""
    if not {"is", "are", "was", "were"}.isdisjoint(items):
        return True
    for token in present:
        if tree.is_finite(token):
            head = tree.heads[token] if token in tree.auxiliaries(tree.heads[token]) else token
            if tree.child(head, "mark") not in present:
                return True
    return False
