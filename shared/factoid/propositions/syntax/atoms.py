"""One statement into atomic facts, each with a single name, place, time or role (FActScore's sense of atomic)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from factoid.propositions.syntax.lists import below, conjuncts, examples, tokens, without
from factoid.propositions.syntax.names import example_kind, naming, origin
from factoid.propositions.syntax.phrases import strip
from factoid.propositions.syntax.render import Item
from factoid.propositions.syntax.scope import bracketed, end_of_range, is_indivisible
from factoid.propositions.syntax.tree import Tree

_MOST = 32  # facts from one statement; a longer enumeration of enumerations is left whole
_PHRASES = ("obl", "obl:unmarked", "obl:tmod", "advcl", "nmod", "nmod:unmarked")
_INSEPARABLE = frozenset({"of", "than", "between", "among", "without", "except", "if", "unless", "to"})
_TIME_CASES = frozenset("in on since during until from by".split())
_SUPERLATIVES = frozenset({"JJS", "RBS"})
_RANKS = frozenset("first second third last only youngest oldest".split())


def atoms(tree: Tree, head: int, items: Sequence[Item]) -> Iterator[list[Item]]:
    """Yield the facts that a statement holds, as items to render.

    Args:
        tree: The sentence.
        head: The predicate of the statement.
        items: The statement, as `split_clauses` gives it.
    """
    yield from _places(tree, items)
    pending = [[item for item in items if not (isinstance(item, int) and _is_filler(tree, item))]]
    done = 0
    while pending:
        statement = pending.pop(0)
        parts = None
        if is_indivisible(tree, tokens(statement)):
            yield statement
            continue
        if done + len(pending) < _MOST:
            if found := examples(tree, statement):
                parts, noun, named = found
                yield from _kinds(tree, noun, named, tokens(statement))
            else:
                parts = conjuncts(tree, statement)
        if parts:
            pending[:0] = parts
            continue
        done += 1
        statement, facts = naming(tree, statement)
        yield from facts
        statement = yield from origin(tree, head, statement)
        yield from _phrases(tree, head, statement)


def _is_filler(tree: Tree, token: int) -> bool:
    """Tell whether a word only ties a sentence to the one before."""
    return tree.deps[token] == "advmod" and tree.words[token].lower() in (
        "also",
        "additionally",
        "furthermore",
        "moreover",
    )


def _kinds(tree: Tree, noun: int, named: int, present: Collection[int]) -> Iterator[list[Item]]:
    for name in (named, *tree.all(named, "conj", "appos")):
        if name in present:
            gone = [t for c in tree.all(name, "conj", "cc", "case", "punct", "appos") for t in tree.subtree(c)]
            yield from example_kind(
                tree, noun, strip(tree, [t for t in sorted(below(tree, name, present)) if t not in gone], name)
            )


def _places(tree: Tree, items: Sequence[Item]) -> Iterator[list[Item]]:
    """State that a place is in another, and name the smallest of them alone from then on."""
    for item in items:
        names = tree.places.get(item, ()) if isinstance(item, int) else ()
        for inner, outer in pairwise(names):
            yield [inner, "is", "in", outer]
        if names and isinstance(item, int):
            tree.words[item] = names[0]


def _phrases(tree: Tree, head: int, items: list[Item]) -> Iterator[list[Item]]:
    """Yield a statement without its prepositional phrases and adverbials, and with each of them alone."""
    present = tokens(items)
    phrases: dict[int, list[int]] = {}  # each with those that it stands in
    _collect(tree, head, below(tree, head, present) - bracketed(tree), [], phrases)
    if not phrases:
        yield items
        return
    extent = {phrase: below(tree, phrase, present) for phrase in phrases}
    for phrase in list(phrases):
        end = end_of_range(tree, phrase, present)
        if end is not None and phrase in phrases:  # "from May to June" goes together with all between
            extent[phrase] |= {token for token in present if phrase <= token <= max(below(tree, end, present))}
            for other in [other for other in phrases if other != phrase and other in extent[phrase]]:
                del phrases[other], extent[other]
    own = {
        phrase: extent[phrase] - set().union(*(extent[other] for other, above in phrases.items() if phrase in above))
        for phrase in phrases
    }
    every = set().union(*extent.values())
    if tree.is_noun(head) and _is_ranked(tree, head):
        yield items
        return
    intransitive = tree.is_verb(head) and not any(
        tree.deps[child] in ("obj", "iobj", "xcomp", "ccomp") and child in present for child in tree.children[head]
    )
    if intransitive and len(phrases) == 1:
        yield items
        return
    if not intransitive:
        yield without(items, every)
    for phrase, above in phrases.items():
        kept = set(own[phrase])
        if not _is_time(tree, phrase):
            kept = kept.union(*(own[other] for other in above if other in own))  # not if a range took it in
        yield without(items, every - kept)


def _collect(tree: Tree, head: int, inside: set[int], above: list[int], found: dict[int, list[int]]) -> None:
    for child in tree.children[head]:
        if child not in inside:
            continue
        if _is_separable(tree, child):
            found[child] = list(above)
            _collect(tree, child, inside, [*above, child], found)
        elif tree.deps[child] in ("obj", "xcomp", "nmod"):
            _collect(tree, child, inside, above, found)


def _is_separable(tree: Tree, phrase: int) -> bool:
    if tree.deps[phrase] not in _PHRASES:
        return False
    case = tree.child(phrase, "case", "mark")
    if case is None:
        return tree.deps[phrase] in ("obl:unmarked", "obl:tmod")
    return tree.words[case].lower() not in _INSEPARABLE


def _is_time(tree: Tree, phrase: int) -> bool:
    case = tree.child(phrase, "case")
    if case is None or tree.words[case].lower() not in _TIME_CASES:
        return False
    return phrase in tree.times or (tree.tags[phrase] == "CD" and tree.words[phrase][:4].isdigit())


def _is_ranked(tree: Tree, noun: int) -> bool:
    """Tell whether a noun phrase is a superlative, which holds of the whole phrase only."""
    return any(
        tree.tags[child] in _SUPERLATIVES or tree.words[child].lower() in _RANKS
        for child in tree.subtree(noun)
        if child < noun and noun - child < 6
    )
