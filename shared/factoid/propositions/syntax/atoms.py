"""Split a statement into atomic facts, each with a single name, place, time or role (FActScore's sense of atomic)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from factoid.propositions.syntax.names import example_kinds, indefinite, naming, origin
from factoid.propositions.syntax.phrases import NEGATIONS, below, determiner, mended, replaced, strip, without
from factoid.propositions.syntax.tree import NOUN, PROPER, VERB, Item, Tree, tokens

_MOST = 32  # facts from one statement; a longer enumeration of enumerations is left whole
_PHRASES = ("obl", "obl:unmarked", "advcl", "nmod", "nmod:unmarked")
_INSEPARABLE = frozenset("of than between among without except if unless to".split())
_TIME_CASES = frozenset("in on since during until from by".split())
_RANKS = frozenset("first second third last only youngest oldest".split())
_FILLERS = frozenset({"also", "additionally", "furthermore", "moreover"})
# Words that apply only to a statement as a whole.
_INDIVISIBLE = NEGATIONS | frozenset(
    "if unless whether only except than but respectively otherwise each together".split()
)

_EXAMPLE_MARKS = frozenset({"including", "such", "like", "namely"})
_RECIPROCAL = frozenset({"between", "among", "amongst"})
_JOINING = frozenset({"and", "&", "both", "as", "well"})
# The parts of a phrase that stay when its noun is replaced: prepositions, and what makes it a clause.
_FRAME = frozenset("case mark cop aux aux:pass nsubj nsubj:pass expl advcl advmod obl".split())
_JOINABLE = frozenset({"CD", "JJ", "VBG", "VBN"})


def atoms(tree: Tree, head: int, items: Sequence[Item]) -> Iterator[list[Item]]:
    """Yield the facts that a statement with this predicate holds, as items to render."""
    for place in sorted(tokens(items) & tree.places.keys(), key=items.index):
        for inner, outer in pairwise(tree.places[place]):
            yield [inner, "is", "in", outer]
        tree.write(place, tree.places[place][0])  # only the smallest from then on
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
            if split := _examples(tree, statement):
                parts, noun, named = split
                yield from example_kinds(tree, noun, named, present)
            else:
                parts = _conjuncts(tree, statement)
        if parts:
            pending[:0] = parts
            continue
        done += 1
        statement, kinds = naming(tree, statement)
        statement, origins = origin(tree, head, statement)
        yield from [*kinds, *origins, *_phrases(tree, head, statement)]


def _phrases(tree: Tree, head: int, items: list[Item]) -> Iterator[list[Item]]:
    """Yield a statement without its prepositional phrases and adverbials, and with only each one of them."""
    present = tokens(items)
    phrases: dict[int, list[int]] = {}  # each with those that contain it
    _collect(tree, head, below(tree, head, present) - tree.bracketed(), [], phrases)
    extent = {phrase: below(tree, phrase, present) for phrase in phrases}
    for phrase in list(phrases):
        end = _end_of_range(tree, phrase, present)
        if end is not None and phrase in phrases:  # "from May to June" stays together
            last = max(below(tree, end, present))
            extent[phrase] |= {token for token in present if phrase <= token <= last}
            for inner in extent[phrase].intersection(phrases) - {phrase}:
                del phrases[inner], extent[inner]
    objects = [child for child in tree.all(head, "obj", "iobj", "xcomp", "ccomp") if child in present]
    intransitive = tree.tags[head] in VERB and not objects
    before = (child for child in tree.subtree(head) if head - 6 < child < head)
    # A superlative applies only to the whole phrase.
    ranked = any(tree.tags[child] in ("JJS", "RBS") or tree.lower[child] in _RANKS for child in before)
    if not phrases or (tree.tags[head] in NOUN and ranked) or (intransitive and len(phrases) == 1):
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
        return tree.deps[phrase] == "obl:unmarked"
    return tree.lower[case] not in _INSEPARABLE


def _end_of_range(tree: Tree, phrase: int, present: Collection[int]) -> int | None:
    """Return the phrase with "to" or "until" that belongs to a phrase with "from"."""
    case = tree.child(phrase, "case", "mark")
    if case is None or tree.lower[case] != "from":
        return None
    for token in sorted(present):
        mark = tree.child(token, "case", "mark")
        if mark is not None and min(token, mark) > phrase and tree.lower[mark] in ("to", "until", "till", "through"):
            return token
    return None


def _is_time(tree: Tree, phrase: int) -> bool:
    case = tree.child(phrase, "case")
    if case is None or tree.lower[case] not in _TIME_CASES:
        return False
    return phrase in tree.times or (tree.tags[phrase] == "CD" and tree.words[phrase][:4].isdigit())


def _examples(tree: Tree, items: Sequence[Item]) -> tuple[list[list[Item]], int, int] | None:
    """Return the statements about films and about A and B in "films such as A and B", with "films" and A; None for others."""
    present = tokens(items)
    for token in sorted(present):
        mark, noun = tree.child(token, "case", "mark"), tree.heads[token]
        if mark is None or noun >= token or not {mark, noun} <= present or tree.lower[mark] not in _EXAMPLE_MARKS:
            continue
        if tree.lower[mark] in ("such", "like") and not tree.is_plural(noun):
            continue
        named = below(tree, token, present)
        general = below(tree, noun, present) - _frame(tree, noun, present)
        phrase = strip(tree, sorted(named.difference(tree.subtree(mark))), token)
        return [without(items, named), replaced(items, general, phrase)], noun, token
    return None


def _conjuncts(tree: Tree, items: Sequence[Item]) -> list[list[Item]] | None:
    """Return one statement for each part of "A, B and C"; None if there is no such list that can be separated.

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
    if not {tree.tags[token] for token in (first, *conjunct_heads)} <= NOUN | _JOINABLE:
        return False
    if tree.deps[first] in ("nsubj", "nsubj:pass") or any(tree.auxiliaries[joined] for joined in conjunct_heads):
        return False
    if not all(_is_alike(tree, first, joined) for joined in conjunct_heads):
        return False
    words = {tree.lower[mark] for token in (first, *conjunct_heads) for mark in tree.all(token, "cc", "cc:preconj")}
    case = tree.child(first, "case")
    reciprocal = case is not None and tree.lower[case] in _RECIPROCAL
    return bool(words & {"and", "&"}) and words <= _JOINING and not reciprocal


def _is_alike(tree: Tree, first: int, joined: int) -> bool:
    """Return whether two parts of a list are of one kind, so that each can replace the other."""
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
    """Give a part of a list the article or possessive of the first: "a singer and (a) dancer"."""
    bare = tree.child(joined, "det", "nmod:poss", "nummod") is None
    if not phrase or not bare or tree.tags[joined] not in NOUN - PROPER:
        return phrase
    owner, det = tree.child(first, "nmod:poss"), tree.child(first, "det")
    if owner is not None and owner < first:
        return [*tree.subtree(owner), *phrase]
    if det is None or det > first:
        return phrase
    if tree.lower[det] not in ("a", "an"):
        return [tree.lower[det], *phrase]
    return indefinite(tree, phrase) if tree.tags[joined] == "NN" else phrase


def _frame(tree: Tree, noun: int, present: Collection[int]) -> set[int]:
    """Return the tokens around a noun that belong to its place in the clause, not to the noun itself."""
    heads = [child for child in tree.children[noun] if tree.deps[child] in _FRAME and child in present]
    return set().union(*(below(tree, child, present) for child in heads))
