"""What a phrase says about a name on the side: "the drama series X" that X is a drama series."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence

from factoid.propositions.syntax.inflect import article
from factoid.propositions.syntax.lists import mended, replaced, tokens, without
from factoid.propositions.syntax.render import Item
from factoid.propositions.syntax.tree import Tree

# What is published, so that a year in brackets is the year of that.
_WORKS = frozenset(
    "album book comedy drama ep film game memoir movie musical novel opera play serial series show single sitcom song "
    "soundtrack thriller".split()
)
_CALLED = frozenset({"called", "titled", "named", "entitled", "dubbed"})
_YEAR = re.compile(r" \((\d{4})\)$")
_BEFORE = frozenset({"compound", "amod", "nmod:unmarked", "nummod", "nmod", "nmod:desc", "flat", "obl:unmarked"})
_UNCHANGED = frozenset({"series", "species"})
_NAME_DEPS = frozenset(
    {"flat", "compound", "appos", "conj", "nmod:unmarked", "nmod:desc", "nmod", "amod", "nummod", "xcomp", "obj", "obl"}
)


def naming(tree: Tree, items: Sequence[Item]) -> tuple[list[Item], list[list[Item]]]:
    """Return a statement with its names alone, and what it says that they are."""
    rest = list(items)
    facts: list[list[Item]] = []
    for token in sorted(tokens(items)):
        found = _named(tree, rest, token)
        if found is None:
            continue
        kind, name = found
        work = tree.words[token].lower()
        noun = singular(work) if tree.tags[token] == "NNS" else tree.words[token]
        owner = [item for item in kind if tree.tags[item] in ("PRP$", "POS") or tree.deps[item] == "nmod:poss"]
        words: list[Item] = [
            item for item in kind if (item < token and tree.tags[item] not in ("CD", "DT", "PDT")) or item in owner
        ]
        years = [item for item in kind if tree.tags[item] == "CD" and len(tree.words[item]) == 4]
        plain, released = _dated(tree, name)
        if singular(work) not in _WORKS:
            plain, released = list(name), []
            words = [item for item in kind if (item < token and tree.tags[item] not in ("DT", "PDT")) or item in owner]
        elif years:
            released = [tree.words[years[0]]]
        facts.append([*plain, "is", *([*words, noun] if owner else _indefinite(tree, [*words, noun]))])
        if released:
            facts.append([*plain, "was", "released", "in", *released])
        if not owner:
            rest = without(rest, set(kind))
            rest = replaced(rest, set(name), plain)
    return rest, facts


_GENERIC = frozenset("name nickname pseudonym alias title term word label moniker number".split())


def _named(tree: Tree, items: Sequence[Item], noun: int) -> tuple[list[int], list[int]] | None:
    """Return the phrase of a common noun and the name that follows it."""
    if (
        tree.tags[noun] not in ("NN", "NNS")
        or tree.words[noun].lower() in _GENERIC
        or noun not in items
        or tree.words[noun][0].isupper()
    ):
        return None
    at = items.index(noun) + 1
    called: list[int] = []
    if at + 1 < len(items) and items[at] == noun + 1:
        word = tree.words[noun + 1].lower()
        if word in _CALLED or (
            word == ","
            and tree.deps[noun + 2] == "appos"
            and tree.tags[noun] == "NN"
            and tree.child(noun, "det") is not None
        ):
            called = [noun + 1]
            at += 1
    name: list[int] = []
    while at < len(items):
        item = items[at]
        if not isinstance(item, int) or not (tree.is_proper(item) or (name and tree.tags[item] == "CD")):
            break
        if name and item != name[-1] + 1:
            break
        name.append(item)
        at += 1
    if not name or not _belongs(tree, noun, name):
        return None
    kind = [noun, *called]
    at = items.index(noun) - 1
    while at >= 0:
        item = items[at]
        if not isinstance(item, int) or item != kind[0] - 1:
            break
        if tree.deps[item] not in _BEFORE | {"det", "nmod:poss", "case"} or tree.tags[item] == "IN":
            break
        kind.insert(0, item)
        at -= 1
        if tree.deps[item] == "det":
            break
    return kind, name


def _belongs(tree: Tree, noun: int, name: Sequence[int]) -> bool:
    """Tell whether the parser put a noun and a name into one phrase."""
    above = {noun, tree.heads[noun]}
    if tree.words[noun + 1].lower() in _CALLED:
        above.add(noun + 1)
    for token in name:
        while tree.deps[token] in _NAME_DEPS and token not in above:
            token = tree.heads[token]
        if token in above:
            return True
    return False


def _dated(tree: Tree, name: Sequence[int]) -> tuple[list[Item], list[str]]:
    """Take the year in brackets off a name."""
    last = tree.words[name[-1]]
    year = _YEAR.search(last)
    if year is None:
        return list(name), []
    return [*name[:-1], last[: year.start()]], [year[1]]


def example_kind(tree: Tree, noun: int, name: Sequence[Item]) -> list[list[Item]]:
    """State that what is named as an example is one of its kind: "films such as X" that X is a film."""
    first = name[0] if name else None
    if not isinstance(first, int) or tree.tags[noun] != "NNS" or tree.words[noun][0].isupper():
        return []
    proper = [item for item in name if isinstance(item, int) and tree.is_proper(item)]
    if not proper or not (tree.is_proper(first) or tree.words[first][0].isupper() or tree.tags[first] == "DT"):
        return []
    modifiers = [
        child
        for child in tree.children[noun]
        if (child < noun and tree.deps[child] == "compound")
        or (tree.deps[child] == "amod" and tree.words[child][0].isupper())
    ]
    kind = singular(tree.words[noun])
    plain, released = _dated(tree, [item for item in name if isinstance(item, int)])
    if kind not in _WORKS:
        plain, released = list(name), []
    facts: list[list[Item]] = [[*plain, "is", *_indefinite(tree, [*modifiers, kind])]]
    if released:
        facts.append([*plain, "was", "released", "in", *released])
    return facts


def _indefinite(tree: Tree, phrase: Sequence[Item]) -> list[Item]:
    """Put "a" or "an" before a phrase."""
    first = phrase[0]
    return [article(first if isinstance(first, str) else tree.words[first]), *phrase]


def singular(noun: str) -> str:
    """Return the singular of a regular plural."""
    word = noun.lower()
    if word in _UNCHANGED or not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies") and word != "movies":
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-1]


def origin(tree: Tree, head: int, items: list[Item]) -> Generator[list[Item], None, list[Item]]:
    """Yield "X is American" for "X is an American actor", and return the statement without that word."""
    cop = tree.child(head, "cop")
    adjectives = [
        child
        for child in tree.all(head, "amod")
        if child in items
        and tree.tags[child] == "JJ"
        and tree.words[child][0].isupper()
        and tree.words[child].isalpha()
    ]
    if cop is None or cop not in items or not adjectives or tree.words[head][0].isupper() or len(adjectives) > 1:
        return items
    own = adjectives[0]
    start = items.index(cop) + 1
    det = tree.child(head, "det")
    if (
        det is None
        or tree.words[det].lower() not in ("a", "an")
        or det not in items
        or tree.child(own, "conj") is not None
    ):
        return items
    yield [*items[:start], own]
    return mended(tree, without(items, {own}))
