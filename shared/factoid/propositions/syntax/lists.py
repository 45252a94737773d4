"""Enumerations taken apart: "films such as A and B" gives films, A and B, in a statement each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from factoid.propositions.syntax.inflect import article
from factoid.propositions.syntax.phrases import determiner, replaced, strip, text_of, tokens, without
from factoid.propositions.syntax.tree import NOUN, PROPER, VERB, Item, Tree

_EXAMPLE_MARKS = frozenset({"including", "such", "like", "namely"})
_RECIPROCAL = frozenset({"between", "among", "amongst"})
_JOINING = frozenset({"and", "&", "both", "as", "well"})
# What stays of a phrase when its noun is replaced by another: prepositions, and what makes it a clause.
_FRAME = frozenset("case mark cop aux aux:pass nsubj nsubj:pass expl advcl advmod obl".split())
_JOINABLE = frozenset({"CD", "JJ", "VBG", "VBN"})


def examples(tree: Tree, items: Sequence[Item]) -> tuple[list[list[Item]], int, int] | None:
    """Return the statements about films and about A and B in "films such as A and B", with "films" and A; None for others."""
    present = tokens(items)
    for token in sorted(present):
        mark = tree.child(token, "case", "mark")
        noun = tree.heads[token]
        if mark is None or noun >= token or not {mark, noun} <= present:
            continue
        word = tree.lower[mark]
        if word not in _EXAMPLE_MARKS or (word in ("such", "like") and not tree.is_plural(noun)):
            continue
        named = below(tree, token, present)
        general = below(tree, noun, present) - _frame(tree, noun, present)
        phrase = strip(tree, sorted(named.difference(tree.subtree(mark))), token)
        return [without(items, named), replaced(items, general, phrase)], noun, token
    return None


def conjuncts(tree: Tree, items: Sequence[Item]) -> list[list[Item]] | None:
    """Return one statement for each part of "A, B and C"; None if there is no such list that can be told apart.

    Alternatives, reciprocal phrases ("between A and B") and coordinated subjects are left whole.
    """
    present = tokens(items)
    for first in sorted(present):
        conjunct_heads = [joined for joined in tree.all(first, "conj") if joined in present]
        if not conjunct_heads or not _is_distributive(tree, first, conjunct_heads):
            continue
        rest = set().union(*(below(tree, joined, present) for joined in conjunct_heads))
        rest |= present.intersection(tree.all(first, "cc", "cc:preconj"))
        phrase = below(tree, first, present) - rest
        commas = {token for token in phrase if tree.words[token] == "," and not {token - 1, token + 1} <= phrase}
        statements = [without(items, rest | commas)]
        for joined in conjunct_heads:
            marks = tree.all(joined, "cc", "cc:preconj", "punct")
            part = below(tree, joined, present).difference(*(tree.subtree(mark) for mark in marks))
            frame = _frame(tree, first, present)
            if tree.child(joined, "case") is not None:
                frame = frame.difference(*(tree.subtree(case) for case in tree.all(first, "case")))
            conjunct = _determined(tree, first, joined, list(strip(tree, sorted(part), joined)))
            statements.append(mended(tree, replaced(items, (phrase | rest) - frame, conjunct)))
        return statements
    return None


def _is_distributive(tree: Tree, first: int, conjunct_heads: Sequence[int]) -> bool:
    if not all(tree.tags[token] in NOUN or tree.tags[token] in _JOINABLE for token in (first, *conjunct_heads)):
        return False
    if tree.deps[first] in ("nsubj", "nsubj:pass") or any(tree.auxiliaries(joined) for joined in conjunct_heads):
        return False
    if not all(_is_alike(tree, first, joined) for joined in conjunct_heads):
        return False
    words = {tree.lower[mark] for token in (first, *conjunct_heads) for mark in tree.all(token, "cc", "cc:preconj")}
    case = tree.child(first, "case")
    reciprocal = case is not None and tree.lower[case] in _RECIPROCAL
    return bool(words & {"and", "&"}) and words <= _JOINING and not reciprocal


def _is_alike(tree: Tree, first: int, joined: int) -> bool:
    """Tell whether two parts of a list are of one kind, so that each can stand in the other's place."""
    indefinite = determiner(tree, joined) in ("a", "an") and tree.tags[joined] not in PROPER
    if tree.tags[first] in PROPER and (indefinite or tree.child(joined, "nmod:poss") is not None):
        return False  # "Anna Berg, a nurse, and …", "the town of Elm and its hospital"
    if tree.child(joined, "case") is not None and tree.child(first, "case") is None:
        return False  # "minister of finance in 2001 and of defence in 2004"
    tags = tree.tags[first], tree.tags[joined]
    if "CD" in tags:
        return all(tree.words[token][:4].isdigit() and tree.child(token, "nmod") is None for token in (first, joined))
    return tags[0] == tags[1] or not (tree.tags[first] in VERB or tree.tags[joined] in VERB)


def _determined(tree: Tree, first: int, joined: int, phrase: list[Item]) -> list[Item]:
    """Give a part of a list the article or possessive that stands before the first: "a singer and (a) dancer"."""
    if tree.tags[joined] not in NOUN or tree.child(joined, "det", "nmod:poss", "nummod") is not None or not phrase:
        return phrase
    if tree.tags[joined] in PROPER:
        return phrase
    owner, det = tree.child(first, "nmod:poss"), tree.child(first, "det")
    if owner is not None and owner < first:
        return [*tree.subtree(owner), *phrase]
    if det is None or det > first:
        return phrase
    if tree.lower[det] not in ("a", "an"):
        return [tree.lower[det], *phrase]
    return [article(text_of(tree, phrase[0])), *phrase] if tree.tags[joined] == "NN" else phrase


def below(tree: Tree, head: int, present: Collection[int]) -> set[int]:
    """Return what is present of a subtree."""
    return {token for token in tree.subtree(head) if token in present}


def _frame(tree: Tree, noun: int, present: Collection[int]) -> set[int]:
    """Return what around a noun belongs to its place in the clause and not to the noun itself."""
    heads = [child for child in tree.children[noun] if tree.deps[child] in _FRAME and child in present]
    return set().union(*(below(tree, child, present) for child in heads))


def mended(tree: Tree, items: Sequence[Item]) -> list[Item]:
    """Write "a" or "an" as the word that has come to stand behind it wants it."""
    statement = list(items)
    for at, (item, following) in enumerate(pairwise(items)):
        if isinstance(item, int) and tree.lower[item] in ("a", "an") and following != item + 1:
            statement[at] = article(text_of(tree, following))
    return statement
