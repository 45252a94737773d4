"""Enumerations taken apart: "films such as A and B" gives films, A and B, in a statement each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from factoid.propositions.syntax.inflect import article
from factoid.propositions.syntax.phrases import strip
from factoid.propositions.syntax.render import Item
from factoid.propositions.syntax.tree import Tree

_EXAMPLE_MARKS = frozenset({"including", "such", "like", "namely"})
_RECIPROCAL = frozenset({"between", "among", "amongst"})
_JOINING = frozenset({"and", "&", "both", "as", "well"})
# What stays of a phrase when its noun is replaced by another: prepositions, and what makes it a clause.
_FRAME = frozenset("case mark cop aux aux:pass nsubj nsubj:pass expl advcl advmod obl".split())
_JOINABLE = frozenset({"CD", "JJ", "VBG", "VBN"})


def examples(tree: Tree, items: Sequence[Item]) -> tuple[list[list[Item]], int, int] | None:
    """Take a statement about "films such as A and B" apart.

    Returns:
        The statement about films and the one about A and B, the general noun and the first example; None if there are
        no examples in it.
    """
    present = tokens(items)
    for token in sorted(present):
        mark = tree.child(token, "case", "mark")
        noun = tree.heads[token]
        if mark not in present or noun not in present or noun >= token or mark is None:
            continue
        word = tree.words[mark].lower()
        if word not in _EXAMPLE_MARKS or (word in ("such", "like") and not tree.is_plural(noun)):
            continue
        named = below(tree, token, present)
        of_mark = set(tree.subtree(mark))
        statements = [
            without(items, named),
            replaced(
                items,
                below(tree, noun, present) - frame(tree, noun, present),
                strip(tree, sorted(named - of_mark), token),
            ),
        ]
        return statements, noun, token
    return None


def conjuncts(tree: Tree, items: Sequence[Item]) -> list[list[Item]] | None:
    """Return one statement for each part of "A, B and C"; None if there is no such list that can be told apart.

    Alternatives, reciprocal phrases ("between A and B") and coordinated subjects are left whole.
    """
    present = tokens(items)
    for first in sorted(present):
        others = [other for other in tree.all(first, "conj") if other in present]
        if not others or not _is_distributive(tree, first, others):
            continue
        rest = set().union(*(below(tree, other, present) for other in others))
        rest |= {mark for mark in tree.all(first, "cc", "cc:preconj") if mark in present}
        own = below(tree, first, present) - rest
        commas = {token for token in own if tree.words[token] == "," and not {token - 1, token + 1} <= own}
        found = [without(items, rest | commas)]
        for other in others:
            part = below(tree, other, present)
            part -= {token for mark in tree.all(other, "cc", "cc:preconj", "punct") for token in tree.subtree(mark)}
            phrase: list[Item] = list(strip(tree, sorted(part), other))
            kept = frame(tree, first, present)
            if tree.child(other, "case") is not None:
                kept -= {token for case in tree.all(first, "case") for token in tree.subtree(case)}
            found.append(mended(tree, replaced(items, (own | rest) - kept, _determined(tree, first, other, phrase))))
        return found
    return None


def _is_distributive(tree: Tree, first: int, others: Sequence[int]) -> bool:
    if not all(tree.is_noun(token) or tree.tags[token] in _JOINABLE for token in (first, *others)):
        return False
    if tree.deps[first] in ("nsubj", "nsubj:pass") or any(tree.auxiliaries(other) for other in others):
        return False
    if any(not _is_alike(tree, first, other) for other in others):
        return False
    marks = [mark for token in (first, *others) for mark in tree.all(token, "cc", "cc:preconj")]
    words = {tree.words[mark].lower() for mark in marks}
    case = tree.child(first, "case")
    reciprocal = case is not None and tree.words[case].lower() in _RECIPROCAL
    return bool(words & {"and", "&"}) and words <= _JOINING and not reciprocal


def _is_alike(tree: Tree, first: int, other: int) -> bool:
    """Tell whether two parts of a list are of one kind, so that each can stand in the other's place."""
    article = tree.child(other, "det")
    if tree.is_proper(first) and (
        tree.child(other, "nmod:poss") is not None
        or (article is not None and tree.words[article].lower() in ("a", "an") and not tree.is_proper(other))
    ):
        return False  # "Anna Berg, a nurse, and …", "the town of Elm and its hospital"
    if tree.child(other, "case") is not None and tree.child(first, "case") is None:
        return False  # "minister of finance in 2001 and of defence in 2004"
    if "CD" in (tree.tags[first], tree.tags[other]):
        return all(tree.words[token][:4].isdigit() and tree.child(token, "nmod") is None for token in (first, other))
    verbal = tree.tags[first].startswith("VB"), tree.tags[other].startswith("VB")
    return verbal[0] == verbal[1] and (not verbal[0] or tree.tags[first] == tree.tags[other])


def _determined(tree: Tree, first: int, other: int, phrase: list[Item]) -> list[Item]:
    """Give a part of a list the article or possessive that stands before the first: "a singer and (a) dancer"."""
    if not tree.is_noun(other) or tree.child(other, "det", "nmod:poss", "nummod") is not None or not phrase:
        return phrase
    owner = tree.child(first, "nmod:poss")
    if owner is not None and owner < first and not tree.is_proper(other):
        return [*tree.subtree(owner), *phrase]
    det = tree.child(first, "det")
    if det is None or det > first or tree.is_proper(other):
        return phrase
    word = tree.words[det].lower()
    if word in ("a", "an"):
        if tree.tags[other] != "NN":
            return phrase
        word = article(_text(tree, phrase[0]))
    return [word, *phrase]


def tokens(items: Iterable[Item]) -> set[int]:
    """Return the tokens among items."""
    return {item for item in items if isinstance(item, int)}


def below(tree: Tree, head: int, present: Collection[int]) -> set[int]:
    """Return what is present of a subtree."""
    return {token for token in tree.subtree(head) if token in present}


def frame(tree: Tree, noun: int, present: Collection[int]) -> set[int]:
    """Return what around a noun belongs to its place in the clause and not to the noun itself."""
    return {
        token
        for child in tree.children[noun]
        if tree.deps[child] in _FRAME and child in present
        for token in tree.subtree(child)
        if token in present
    }


def without(items: Sequence[Item], gone: Collection[int]) -> list[Item]:
    """Leave tokens out."""
    return [item for item in items if isinstance(item, str) or item not in gone]


def replaced(items: Sequence[Item], gone: Collection[int], phrase: Sequence[Item]) -> list[Item]:
    """Put a phrase where the first of some tokens stood, and leave out the others."""
    found: list[Item] = []
    placed = False
    for item in items:
        if isinstance(item, str) or item not in gone:
            found.append(item)
        elif not placed:
            found.extend(phrase)
            placed = True
    return found


def mended(tree: Tree, items: Sequence[Item]) -> list[Item]:
    """Write "a" or "an" as the word that has come to stand behind it wants it."""
    found = list(items)
    for at, (item, following) in enumerate(pairwise(items)):
        if isinstance(item, int) and tree.words[item].lower() in ("a", "an") and following != item + 1:
            found[at] = article(_text(tree, following))
    return found


def _text(tree: Tree, item: Item) -> str:
    return item if isinstance(item, str) else tree.words[item]
