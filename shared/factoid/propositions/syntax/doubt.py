"""Detect wrong parses by statements that no careful reader would have cut out of their sentence.

A small parser fails on citations, names and code, and its cuts show it: words are lost, names, hyphenated words, brackets or
quotation marks are torn apart, or a phrase is spliced to one that it does not belong to. Such a sentence stays whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from factoid.propositions.syntax.phrases import RELATIVE_TAGS
from factoid.propositions.syntax.tree import PROPER, Item, Tree, tokens

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
    groups = _groups(tree)
    if groups is None:
        return True
    for items, present in zip(statements, presents, strict=True):
        torn = any(not group.isdisjoint(present) and not group <= present for group in groups)
        if torn or not _has_predicate(tree, items, present):
            return True
    return False


def _groups(tree: Tree) -> list[set[int]] | None:
    """Return the tokens that belong together, in brackets, in a word or in a name; None if a bracket has no partner."""
    groups: list[set[int]] = []
    open_marks: list[int] = []
    for token, word in enumerate(tree.words):
        if word not in _MARKS:
            continue
        if open_marks and tree.words[open_marks[-1]] == _OPENING.get(word):
            inside = range(open_marks.pop() + 1, token)
            groups.append({at for at in inside if tree.deps[at] != "punct" and tree.tags[at] not in RELATIVE_TAGS})
        else:
            open_marks.append(token)
    for left, right in pairwise(range(len(tree.words))):
        first, second = tree.words[left], tree.words[right]
        tags = tree.tags[left], tree.tags[right]
        joined = not tree.spaces[left] and all(mark.isalnum() or mark in _JOINTS for mark in (first[-1], second[0]))
        capitals = first[0].isupper() and second[0].isupper() and not PROPER.isdisjoint(tags)
        if joined or (capitals and all(tag.startswith(_CONTENT) for tag in tags)):
            groups.append({left, right})
    return None if open_marks else groups


def _has_predicate(tree: Tree, items: Sequence[Item], present: set[int]) -> bool:
    """Return whether a statement has a finite verb outside its subordinate clauses."""
    if not {"is", "are", "was", "were"}.isdisjoint(items):
        return True
    for token in present:
        if tree.is_finite(token):
            head = tree.heads[token] if token in tree.auxiliaries[tree.heads[token]] else token
            if tree.child(head, "mark") not in present:
                return True
    return False
