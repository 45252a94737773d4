"""One statement into atomic facts, each with a single name, place, time or role (FActScore's sense of atomic)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from factoid.propositions.syntax.lists import below, conjuncts, examples
from factoid.propositions.syntax.names import example_kinds, naming, origin
from factoid.propositions.syntax.phrases import NEGATIONS, bracketed, tokens, without
from factoid.propositions.syntax.tree import NOUN, VERB, Item, Tree

_MOST = 32  # facts from one statement; a longer enumeration of enumerations is left whole
_PHRASES = ("obl", "obl:unmarked", "obl:tmod", "advcl", "nmod", "nmod:unmarked")
_INSEPARABLE = frozenset("of than between among without except if unless to".split())
_TIME_CASES = frozenset("in on since during until from by".split())
_RANKS = frozenset("first second third last only youngest oldest".split())
_FILLERS = frozenset({"also", "additionally", "furthermore", "moreover"})
# What holds of a statement as a whole only.
_INDIVISIBLE = NEGATIONS | frozenset(
    "if unless whether only except than but respectively otherwise each together".split()
)


def atoms(tree: Tree, head: int, items: Sequence[Item]) -> Iterator[list[Item]]:
    """Yield the facts that a statement with this predicate holds, as items to render."""
    yield from _places(tree, items)
    fillers = {item for item in tokens(items) if tree.deps[item] == "advmod" and tree.lower[item] in _FILLERS}
    pending = [without(items, fillers)]
    done = 0
    while pending:
        statement = pending.pop(0)
        present = tokens(statement)
        if any(tree.lower[token] in _INDIVISIBLE for token in present):
            yield statement
            continue
        parts = None
        if done + len(pending) < _MOST:
            if split := examples(tree, statement):
                parts, noun, named = split
                yield from example_kinds(tree, noun, named, present)
            else:
                parts = conjuncts(tree, statement)
        if parts:
            pending[:0] = parts
            continue
        done += 1
        statement, kinds = naming(tree, statement)
        statement, origins = origin(tree, head, statement)
        yield from [*kinds, *origins, *_phrases(tree, head, statement)]


def _places(tree: Tree, items: Sequence[Item]) -> Iterator[list[Item]]:
    """State that a place is in another, and name the smallest of them alone from then on."""
    for item in items:
        if isinstance(item, int) and item in tree.places:
            for inner, outer in pairwise(tree.places[item]):
                yield [inner, "is", "in", outer]
            tree.write(item, tree.places[item][0])


def _phrases(tree: Tree, head: int, items: list[Item]) -> Iterator[list[Item]]:
    """Yield a statement without its prepositional phrases and adverbials, and with each of them alone."""
    present = tokens(items)
    phrases: dict[int, list[int]] = {}  # each with those that it stands in
    _collect(tree, head, below(tree, head, present) - bracketed(tree), [], phrases)
    extent = {phrase: below(tree, phrase, present) for phrase in phrases}
    for phrase in list(phrases):
        end = _end_of_range(tree, phrase, present)
        if end is not None and phrase in phrases:  # "from May to June" goes together with all between
            last = max(below(tree, end, present))
            extent[phrase] |= {token for token in present if phrase <= token <= last}
            for inner in extent[phrase].intersection(phrases) - {phrase}:
                del phrases[inner], extent[inner]
    objects = [child for child in tree.all(head, "obj", "iobj", "xcomp", "ccomp") if child in present]
    intransitive = tree.tags[head] in VERB and not objects
    if not phrases or (tree.tags[head] in NOUN and _is_ranked(tree, head)) or (intransitive and len(phrases) == 1):
        yield items
        return
    every = set().union(*extent.values())
    if not intransitive:
        yield without(items, every)
    rest = {
        phrase: extent[phrase].difference(*(extent[inner] for inner, above in phrases.items() if phrase in above))
        for phrase in phrases
    }
    for phrase, above in phrases.items():
        outer = [] if _is_time(tree, phrase) else [rest[outer_phrase] for outer_phrase in above if outer_phrase in rest]
        yield without(items, every - rest[phrase].union(*outer))


def _collect(tree: Tree, head: int, inside: set[int], above: list[int], phrases: dict[int, list[int]]) -> None:
    for child in tree.children[head]:
        if child not in inside:
            continue
        if _is_separable(tree, child):
            phrases[child] = above
            _collect(tree, child, inside, [*above, child], phrases)
        elif tree.deps[child] in ("obj", "xcomp", "nmod"):
            _collect(tree, child, inside, above, phrases)


def _is_separable(tree: Tree, phrase: int) -> bool:
    if tree.deps[phrase] not in _PHRASES:
        return False
    case = tree.child(phrase, "case", "mark")
    if case is None:
        return tree.deps[phrase] in ("obl:unmarked", "obl:tmod")
    return tree.lower[case] not in _INSEPARABLE


def _end_of_range(tree: Tree, phrase: int, present: Collection[int]) -> int | None:
    """Return the phrase with "to" or "until" that belongs to a phrase with "from"."""
    case = tree.child(phrase, "case", "mark")
    if case is None or tree.lower[case] != "from":
        return None
    for token in sorted(present):
        mark = tree.child(token, "case", "mark")
        if (
            token > phrase
            and mark is not None
            and mark > phrase
            and tree.lower[mark] in ("to", "until", "till", "through")
        ):
            return token
    return None


def _is_time(tree: Tree, phrase: int) -> bool:
    case = tree.child(phrase, "case")
    if case is None or tree.lower[case] not in _TIME_CASES:
        return False
    return phrase in tree.times or (tree.tags[phrase] == "CD" and tree.words[phrase][:4].isdigit())


def _is_ranked(tree: Tree, noun: int) -> bool:
    """Tell whether a noun phrase is a superlative, which holds of the whole phrase only."""
    before = (child for child in tree.subtree(noun) if noun - 6 < child < noun)
    return any(tree.tags[child] in ("JJS", "RBS") or tree.lower[child] in _RANKS for child in before)
