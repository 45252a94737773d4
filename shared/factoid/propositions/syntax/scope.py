"""Where a part of a statement need not be true by itself: what is left whole, and what goes together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from factoid.propositions.syntax.render import Item
from factoid.propositions.syntax.tree import Tree

_NEGATIONS = frozenset("not n't n’t never no hardly rarely neither nor few none nobody nothing".split())
_CONDITIONS = frozenset("if unless whether only except than but respectively otherwise each together".split())
_UNTIL = frozenset({"to", "until", "till", "through"})
_CONTENT = ("NN", "VB", "JJ", "CD")
_COPULAS = frozenset({"be", "is", "are", "was", "were", "been", "being", "has", "have", "had", "having"})


def is_indivisible(tree: Tree, tokens: Collection[int]) -> bool:
    """Tell whether something holds of a statement as a whole only: a negation, a condition, a comparison, "respectively"."""
    return any(tree.words[token].lower() in _NEGATIONS or tree.words[token].lower() in _CONDITIONS for token in tokens)


def is_negated(tree: Tree, head: int) -> bool:
    """Tell whether a clause is negated."""
    return any(tree.words[child].lower() in _NEGATIONS for child in tree.children[head])


def bracketed(tree: Tree) -> set[int]:
    """Return the tokens between brackets: an aside is taken or left whole."""
    found: set[int] = set()
    depth = 0
    for token, word in enumerate(tree.words):
        depth = max(0, depth - (word in (")", "]")))
        if depth:
            found.add(token)
        depth += word in ("(", "[")
    return found


def end_of_range(tree: Tree, phrase: int, present: Collection[int]) -> int | None:
    """Return the phrase with "to" or "until" that belongs to a phrase with "from"."""
    case = tree.child(phrase, "case", "mark")
    if case is None or tree.words[case].lower() != "from":
        return None
    for token in sorted(present):
        mark = tree.child(token, "case", "mark")
        if token > phrase and mark is not None and mark > phrase and tree.words[mark].lower() in _UNTIL:
            return token
    return None


def unsaid(tree: Tree, items: Sequence[Item], facts: Iterable[Sequence[Item]]) -> bool:
    """Tell whether a content word of a statement is in none of its facts."""
    said: set[str] = set()
    for fact in facts:
        for item in fact:
            said.update((item if isinstance(item, str) else tree.words[item]).lower().split())
    for item in items:
        if not isinstance(item, int) or tree.tags[item][:2] not in _CONTENT:
            continue
        words = set(tree.words[item].lower().split())
        if not (words <= said or words & _COPULAS or any(word.rstrip("s") in said for word in words)):
            return True
    return False
