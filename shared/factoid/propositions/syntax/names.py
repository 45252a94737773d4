"""Find what a phrase says about a name in passing: "the drama series X" says that X is a drama series."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from factoid.propositions.syntax.lexicon import LEXICON, article
from factoid.propositions.syntax.phrases import below, determiner, mended, replaced, strip, without
from factoid.propositions.syntax.tree import PROPER, Item, Tree, text_of, tokens

_GENERIC = frozenset("name nickname pseudonym alias title term word label moniker number".split())
_CALLED = frozenset({"called", "titled", "named", "entitled", "dubbed"})
_YEAR = re.compile(r" \((\d{4})\)$")
_BEFORE = frozenset("compound amod nmod:unmarked nummod nmod nmod:desc flat obl:unmarked det nmod:poss case".split())
_NAME_DEPS = frozenset("flat compound appos conj nmod:unmarked nmod:desc nmod amod nummod xcomp obj obl".split())


def naming(tree: Tree, items: Sequence[Item]) -> tuple[list[Item], list[list[Item]]]:
    """Return a statement with only its names, and statements of what they are."""
    rest = list(items)
    facts: list[list[Item]] = []
    for token in sorted(tokens(items)):
        phrases = _named(tree, rest, token)
        if phrases is None:
            continue
        phrase, name = phrases
        noun = _singular(tree.words[token])
        owned = any(tree.tags[item] in ("PRP$", "POS") or tree.deps[item] == "nmod:poss" for item in phrase)
        years = [item for item in phrase if tree.tags[item] == "CD" and len(tree.words[item]) == 4]
        left_out = ("DT", "PDT", "CD") if noun in LEXICON["works"] else ("DT", "PDT")
        kind: list[Item] = [item for item in phrase if item < token and tree.tags[item] not in left_out]
        kind.append(noun if tree.tags[token] == "NNS" else tree.words[token])
        plain, about = _released(tree, name, noun, tree.words[years[0]] if years else "")
        facts += [[*plain, "is", *(kind if owned else indefinite(tree, kind))], *about]
        if not owned:
            rest = replaced(without(rest, set(phrase)), set(name), plain)
    return rest, facts


def _named(tree: Tree, items: Sequence[Item], noun: int) -> tuple[list[int], list[int]] | None:
    """Return the phrase of a common noun and the name that follows it."""
    common = tree.tags[noun] in ("NN", "NNS") and not tree.words[noun][0].isupper()
    if not common or tree.lower[noun] in _GENERIC or noun not in items:
        return None
    before = items.index(noun)
    at = before + 1
    phrase = [noun]
    if at + 1 < len(items) and items[at] == noun + 1:
        apposed = tree.words[noun + 1] == "," and tree.deps[noun + 2] == "appos" and tree.tags[noun] == "NN"
        if tree.lower[noun + 1] in _CALLED or (apposed and tree.child(noun, "det") is not None):
            phrase.append(noun + 1)
            at += 1
    name: list[int] = []
    for item in items[at:]:
        proper = isinstance(item, int) and (tree.tags[item] in PROPER or (name and tree.tags[item] == "CD"))
        if not proper or (name and item != name[-1] + 1):
            break
        name.append(int(item))
    if not name or not _belongs(tree, noun, name):
        return None
    for item in reversed(items[:before]):
        if not isinstance(item, int) or item != phrase[0] - 1 or tree.deps[item] not in _BEFORE:
            break
        if tree.tags[item] == "IN":
            break
        phrase.insert(0, item)
        if tree.deps[item] == "det":
            break
    return phrase, name


def _belongs(tree: Tree, noun: int, name: Sequence[int]) -> bool:
    """Return whether the parser put a noun and a name into one phrase."""
    above = {noun, tree.heads[noun]}
    if tree.lower[noun + 1] in _CALLED:
        above.add(noun + 1)
    for token in name:
        while tree.deps[token] in _NAME_DEPS and token not in above:
            token = tree.heads[token]
        if token in above:
            return True
    return False


def _released(tree: Tree, name: Sequence[Item], noun: str, year: str = "") -> tuple[list[Item], list[list[Item]]]:
    """Remove the year in brackets from the name of a work, and state that it, or the given year, is that of its release."""
    if noun not in LEXICON["works"]:
        return list(name), []
    plain = list(name)
    last = text_of(tree, name[-1])
    if match := _YEAR.search(last):
        plain[-1] = last[: match.start()]
        year = year or match[1]
    return plain, [[*plain, "was", "released", "in", year]] if year else []


def example_kinds(tree: Tree, noun: int, named: int, present: set[int]) -> Iterator[list[Item]]:
    """State that an example is one of its kind: "films such as X" says that X is a film."""
    if tree.tags[noun] != "NNS" or tree.words[noun][0].isupper():
        return
    adjectives = [child for child in tree.all(noun, "amod") if tree.words[child][0].isupper()]
    modifiers = sorted([*adjectives, *(child for child in tree.all(noun, "compound") if child < noun)])
    kind = _singular(tree.words[noun])
    for head in filter(present.__contains__, (named, *tree.all(named, "conj", "appos"))):
        apart = tree.all(head, "conj", "cc", "case", "punct", "appos")
        gone = set().union(*(tree.subtree(child) for child in apart))
        name = strip(tree, sorted(below(tree, head, present) - gone), head)
        if PROPER.isdisjoint(tree.tags[token] for token in name):
            continue
        if tree.tags[name[0]] in PROPER or tree.words[name[0]][0].isupper() or tree.tags[name[0]] == "DT":
            plain, about = _released(tree, name, kind)
            yield [*plain, "is", *indefinite(tree, [*modifiers, kind])]
            yield from about


def indefinite(tree: Tree, phrase: Sequence[Item]) -> list[Item]:
    """Put "a" or "an" before a phrase."""
    return [article(text_of(tree, phrase[0])), *phrase]


def _singular(noun: str) -> str:
    """Return the singular of a regular plural."""
    word = noun.lower()
    if word in ("series", "species") or not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies") and word != "movies":
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("ches", "shes", "xes", "sses")) else word[:-1]


def origin(tree: Tree, head: int, items: list[Item]) -> tuple[list[Item], list[list[Item]]]:
    """Return "X is an actor" and "X is American" for "X is an American actor"; any other statement unchanged."""
    cop, det = tree.child(head, "cop"), tree.child(head, "det")
    adjectives = [child for child in tree.all(head, "amod") if child in items and tree.tags[child] == "JJ"]
    adjectives = [child for child in adjectives if tree.words[child].isalpha() and tree.words[child][0].isupper()]
    if cop not in items or det not in items or len(adjectives) != 1 or tree.words[head][0].isupper():
        return items, []
    if determiner(tree, head) not in ("a", "an") or tree.child(adjectives[0], "conj") is not None:
        return items, []
    return mended(tree, without(items, set(adjectives))), [[*items[: items.index(cop) + 1], adjectives[0]]]
