"""Noun phrases to repeat, and the marks around a phrase."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from factoid.propositions.syntax.render import Item
from factoid.propositions.syntax.tree import AUXILIARIES, Tree

_LONGEST = 15  # words; a longer phrase would drown the fact that it is repeated for
_CONTENT = frozenset({"NN", "VB", "JJ", "RB", "CD", "FW"})
_OPENERS = frozenset({",", "(", "[", "–", "—", "--", "-LRB-"})
_TRAILING = frozenset({",", ";", ":", "–", "—", "-", "("})
# What may stand in a noun phrase that is repeated.
_NOMINAL = frozenset(
    "det det:predet amod compound flat fixed nummod nmod nmod:poss nmod:unmarked nmod:desc obl conj cc punct acl "
    "acl:relcl advmod goeswith dep quantmod".split()
)
# What belongs to the clause where the noun is a predicate ("… is a singer and has …").
_CLAUSAL = frozenset({"conj", "cc", "acl", "acl:relcl", "obl", "advmod", "punct"})


def repeatable(tree: Tree, noun: int, cut: Collection[int]) -> list[Item]:
    """Return a noun phrase without its preposition and asides; nothing if it is too long to repeat, or no noun's.

    Args:
        tree: The sentence.
        noun: The head of the phrase.
        cut: Heads of subtrees that have been taken out of the sentence.
    """
    if tree.is_verb(noun):
        return []
    left_out = {child for child in tree.children[noun] if tree.deps[child] not in _NOMINAL}
    left_out |= {child for child in tree.subtree(noun) if child != noun and _is_aside(tree, child)}
    if tree.child(noun, "cop") is not None:
        left_out |= {child for child in tree.children[noun] if tree.deps[child] in _CLAUSAL}
    tokens = strip(tree, tree.subtree(noun, left_out.union(cut)), noun)
    if any(tree.words[token].lower() == "but" for token in tokens):
        return []  # two phrases set against each other are not one subject
    if tree.tags[tokens[0]] in ("IN", "TO"):
        tokens = tokens[1:]  # a preposition that the parser hung elsewhere
    return list(tokens) if len(tokens) <= _LONGEST else []


def is_identified(tree: Tree, noun: int) -> bool:
    """Tell whether a noun phrase names something that a statement by itself can be about: not "a report" or "ships"."""
    article = tree.child(noun, "det")
    definite = article is not None and tree.words[article].lower() in ("the", "this", "that", "these", "those")
    return tree.is_proper(noun) or definite or tree.child(noun, "nmod:poss") is not None


def agrees(tree: Tree, subject: int, verb: int) -> bool:
    """Tell whether a subject and a finite verb or its auxiliary are of the same number, as far as forms show it."""
    plural = tree.is_plural(subject) or tree.words[subject].lower() in ("they", "we", "you", "i")
    finite = next((token for token in (*tree.auxiliaries(verb), verb) if tree.is_finite(token)), verb)
    word = tree.words[finite].lower()
    if plural:
        return word != "was" and tree.tags[finite] != "VBZ"
    return word != "were" and tree.tags[finite] != "VBP"


def nouns(tree: Tree, head: int) -> list[int]:
    """Return the nouns of a clause that no other clause stands between."""
    found = []
    pending = [head]
    while pending:
        index = pending.pop()
        if tree.is_noun(index) or tree.tags[index] in ("CD", "PRP"):
            found.append(index)
        pending.extend(
            child
            for child in tree.children[index]
            if tree.deps[child] not in ("acl:relcl", "appos", "advcl", "ccomp", "parataxis", "csubj")
            and not (tree.deps[child] == "conj" and (tree.is_verb(child) or tree.auxiliaries(child)))
        )
    return sorted(found)


def content_words(tree: Tree, items: Sequence[Item], names: Mapping[int, int]) -> int:
    """Return how many of some tokens are nouns, verbs, adjectives, adverbs or numbers; auxiliaries do not count.

    Args:
        tree: The sentence.
        items: Tokens and inserted words; the latter do not count.
        names: For tokens that a name will stand for, such as resolved pronouns, the number of its words.
    """
    counted = 0
    for item in items:
        if isinstance(item, int):
            content = tree.tags[item][:2] in _CONTENT and tree.deps[item] not in AUXILIARIES
            counted += names.get(item, int(content))
    return counted


def copula(tree: Tree, head: int, subject: int | None) -> str:
    """Return the form of "be" in the tense of a clause and the number of a subject."""
    plural = subject is not None and tree.is_plural(subject)
    if tree.is_past(head):
        return "were" if plural else "was"
    return "are" if plural else "is"


def is_whole(tree: Tree, child: int) -> bool:
    """Tell whether a subtree can be taken out without tearing quotation marks or brackets apart."""
    words = [tree.words[token] for token in tree.subtree(child)]
    return words.count('"') % 2 == 0 and words.count("“") == words.count("”") and words.count("(") == words.count(")")


def is_set_off(tree: Tree, child: int, openers: Collection[str] = _OPENERS) -> bool:
    """Tell whether a phrase stands behind a comma, a dash or a bracket."""
    first = tree.subtree(child)[0]
    return tree.words[first] in openers or (first > 0 and tree.words[first - 1] in openers)


def stands_alone(tree: Tree, items: Sequence[Item], *, words: int = 3) -> bool:
    """Tell whether items make a statement: a finite verb (or an inserted form of "be"), and at least some words."""
    finite = any(
        item in ("is", "are", "was", "were") if isinstance(item, str) else tree.is_finite(item) for item in items
    )
    texts = (item if isinstance(item, str) else tree.words[item] for item in items)
    return finite and sum(len(text.split()) for text in texts) >= words


def strip(tree: Tree, tokens: list[int], head: int, *, keep_opening: bool = False) -> list[int]:
    """Drop conjunctions and punctuation at both ends of a phrase; opening quotes and brackets only if told to."""
    start, end = 0, len(tokens)
    while start < end - 1 and (
        (tree.deps[tokens[start]] in ("punct", "cc") and tokens[start] != head)
        and not (keep_opening and tree.words[tokens[start]] in "\"“(['‘")
    ):
        start += 1
    while end - 1 > start and tree.words[tokens[end - 1]] in _TRAILING:
        end -= 1
    return tokens[start:end]


def without_loose_commas(tree: Tree, tokens: list[int]) -> list[int]:
    """Drop the commas beside a gap: they set off what is no longer there."""
    kept = set(tokens)
    last = len(tree.words) - 1
    return [
        token
        for token in tokens
        if tree.words[token] != "," or ((token == 0 or token - 1 in kept) and (token == last or token + 1 in kept))
    ]


def _is_aside(tree: Tree, child: int) -> bool:
    if tree.deps[child] in ("acl", "acl:relcl"):
        return is_set_off(tree, child)
    return tree.deps[child] in ("appos", "parataxis")
