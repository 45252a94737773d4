"""Relative clauses as statements about the phrase that they follow: "X, which premiered in 2016" as "X premiered in 2016"."""

from __future__ import annotations

from factoid.propositions.syntax.phrases import repeatable
from factoid.propositions.syntax.render import Item
from factoid.propositions.syntax.tree import Tree

_PRONOUNS = frozenset({"which", "who", "whom", "whose", "where", "when", "that"})
_DEPS = frozenset({"acl:relcl", "advcl:relcl", "advcl", "parataxis", "acl", "ccomp", "conj"})


def nearest_relative(tree: Tree, verb: int) -> dict[int, list[Item]] | None:
    """Return what to put for the pronoun of a relative clause: the name or definite phrase right before it.

    Parsers hang such clauses anywhere; where they stand is surer. None where that is no such phrase.
    """
    if tree.deps[verb] not in _DEPS or not tree.is_clause(verb):
        return None
    tokens = tree.subtree(verb)
    while tokens and tree.deps[tokens[0]] == "punct":
        tokens = tokens[1:]
    opening = [token for token in tokens[:3] if tree.words[token].lower() in _PRONOUNS and token < verb]
    if not opening:
        return None
    pronoun = opening[0]
    word = tree.words[pronoun].lower()
    lead = tokens[: tokens.index(pronoun)]
    if any(tree.tags[token] not in ("IN", "TO") for token in lead) or tokens[0] == 0:
        return None
    before = tokens[0] - 1
    comma = tree.words[before] == ","
    if comma:
        before -= 1
    if before < 0 or (word == "that" and not comma and not tree.is_proper(before)):
        return None
    antecedent = _phrase(tree, before, verb)
    if word == "when":
        return {pronoun: []}
    if not antecedent:
        return None
    if word in ("which", "who", "that", "whom") and not lead and tree.subject(verb) not in (pronoun, None):
        return None  # an object: the words would come in the wrong order
    if word == "where":
        return {pronoun: ["in", *antecedent]}
    return {pronoun: [*antecedent, "'s"] if word == "whose" else antecedent}


def _phrase(tree: Tree, last: int, verb: int) -> list[Item]:
    """Return the name, or the definite phrase, that ends with a token."""
    if tree.is_proper(last):
        start = last
        while start > 0 and (tree.is_proper(start - 1) or tree.words[start - 1].lower() == "the"):
            start -= 1
            if tree.words[start].lower() == "the":
                break
        return list(range(start, last + 1))
    noun = last
    while not tree.is_noun(noun):
        if tree.heads[noun] == noun or noun - tree.heads[noun] > 6:
            return []
        noun = tree.heads[noun]
    det = tree.child(noun, "det")
    definite = tree.child(noun, "nmod:poss") is not None or (
        det is not None and tree.words[det].lower() in ("the", "this")
    )
    phrase = repeatable(tree, noun, {verb})
    return phrase if definite and phrase and phrase[-1] == last else []
