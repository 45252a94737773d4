"""Turn asides into statements: relative clauses, participles, appositions and adverbial clauses."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from factoid.propositions.syntax.lexicon import LEXICON, past_tense
from factoid.propositions.syntax.phrases import NEGATIONS, agrees, copula, determiner, is_set_off, repeatable
from factoid.propositions.syntax.tree import NOUN, PROPER, Item, Tree

_RELATIVES = frozenset("who which that whom whose where".split())
ASIDES = frozenset({"appos", "acl", "acl:relcl"})  # of nouns
CLAUSES = frozenset("acl:relcl advcl:relcl advcl parataxis acl ccomp conj".split())
# "X is a name given to …" says nothing without the clause.
_GENERIC = frozenset(
    "name term word process method way part type kind form place thing one group set number state".split()
)
_FACTUAL = frozenset("when while after before because since as where whereas although though".split())
_TEMPORAL = frozenset("after before while since upon when".split())
_LOCAL = frozenset("in at within during since until throughout near inside outside".split())  # not before people
# These describe the event, not its subject.
_OF_EVENTS = frozenset(
    "leading resulting causing making allowing enabling prompting including involving meaning giving".split()
)


class Statement(NamedTuple):
    """A statement about a noun or a subject."""

    subject: Sequence[Item] = ()  # put before the subtree
    swap: Mapping[int, list[Item]] = MappingProxyType({})  # tokens of the subtree to replace
    items: Sequence[Item] = ()  # the whole statement, if the subtree also stays in its sentence


def describe(
    tree: Tree, head: int, noun: int, child: int, cut: Collection[int], subject: Sequence[Item]
) -> Statement | None:
    """Return the statement that a dependent (`child`) of a noun in the clause of `head` makes about it, or None.

    The subtrees of `cut` were removed from the clause; its subject is given if it is not among its own tokens.
    """
    if tree.deps[child] == "appos":
        return _apposition(tree, head, noun, child, cut, subject)
    relative = tree.deps[child] == "acl:relcl"
    if not relative and tree.tags[child] != "VBN":
        return None
    # What is true of the predicate of "X is a …" is true of X.
    subject_head = tree.subjects[head]
    predicate = noun == head and tree.child(noun, "cop") is not None and determiner(tree, noun) in ("a", "an")
    if predicate and subject_head is not None:
        predicate = tree.lower[subject_head] not in ("it", "there", "this", "that")
    antecedent: Sequence[Item] = ()
    if is_set_off(tree, child) and (relative or not predicate):
        if _is_identified(tree, noun):
            phrase = repeatable(tree, noun, {*cut, child})
            antecedent = phrase if not phrase or phrase[-1] in range(child) else ()  # not "X, who won, and Y"
    elif predicate and tree.lower[noun] not in _GENERIC:
        antecedent = subject if subject or subject_head is None else repeatable(tree, subject_head, cut)
    if not antecedent:
        return None
    if relative:
        return _relative(tree, noun, child, list(antecedent))
    if len(tree.subtree(child)) < 3 or tree.lower[noun] in _GENERIC:
        return None  # too little for a fact; more often a past tense that was tagged as a participle
    return Statement([*antecedent, copula(tree, head, noun)])


def _relative(tree: Tree, noun: int, verb: int, antecedent: list[Item]) -> Statement | None:
    """State "X, who won, …" and "X is a river that flows …" as "X won" and "X flows …"."""
    clause = tree.subtree(verb)
    pronoun = next((token for token in clause if tree.lower[token] in _RELATIVES and token <= verb), None)
    if pronoun is None or not tree.is_clause(verb):
        return None
    word = tree.lower[pronoun]
    if is_set_off(tree, verb):
        if word in ("who", "which", "that") and not agrees(tree, noun, verb):
            return None
        between = range(noun + 1, clause[0] - (tree.deps[clause[0]] != "punct"))
        named = all(tree.heads[token] == noun and tree.deps[token] in ("flat", "punct") for token in between)
        if (word == "which" and not named) or not _is_meant(tree, word, noun, antecedent):
            return None  # "transit to the Moon, which …": either noun may be meant
    elif word == "where":
        return None
    if tree.deps[pronoun] in ("obj", "obl") and word not in ("where", "whose") and tree.child(pronoun, "case") is None:
        return None  # an object or a stranded preposition: the words would come in the wrong order
    return Statement(swap=_swapped(pronoun, word, antecedent))


def _is_meant(tree: Tree, word: str, noun: int, antecedent: Sequence[Item]) -> bool:
    """Return whether a relative pronoun surely means a noun: "who" is not "in May", "at the office" or one of two people."""
    if tree.lower[noun] in LEXICON["times"] and len(antecedent) == 1:
        return False
    if word not in ("who", "whom"):
        return True
    others = [*tree.all(noun, "nmod"), *([tree.heads[noun]] if tree.deps[noun] == "nmod" else ())]
    case = tree.child(noun, "case")
    return (case is None or tree.lower[case] not in _LOCAL) and not any(
        tree.tags[other] in PROPER or tree.lower[other].removesuffix("s") in LEXICON["people"] for other in others
    )


def _swapped(pronoun: int, word: str, antecedent: list[Item]) -> dict[int, list[Item]]:
    """Return the replacement of a relative pronoun."""
    before, after = ["in"] * (word == "where"), ["'s"] * (word == "whose")
    return {pronoun: [*before, *antecedent, *after]}


def _apposition(
    tree: Tree, head: int, noun: int, child: int, cut: Collection[int], subject: Sequence[Item]
) -> Statement | None:
    """State "X, a chemist, …" as "X is a chemist", and "his wife, Anna, …" as "Anna is his wife"."""
    if not is_set_off(tree, child) or tree.tags[child] not in NOUN or tree.tags[noun] not in NOUN:
        return None
    if tree.subjects[head] is None and not subject and tree.tags[head] in ("VBD", "VBN"):
        return None  # "Added the client, X": it is not known when X was one
    reverse = tree.tags[child] in PROPER  # then the apposition is the name
    name, role = (child, noun) if reverse else (noun, child)
    determined = tree.child(role, "nmod:poss") is not None or determiner(tree, role) in ("a", "an", "the")
    bare_role = tree.tags[role] == "NN" and tree.tags[name] in PROPER and tree.child(role, "nmod") is not None
    if tree.tags[role] in PROPER or not (determined or bare_role) or not _is_identified(tree, name):
        return None  # "Paris, France" describes nothing
    if tree.is_plural(name) or tree.is_plural(role) or any(map(str.isdigit, tree.words[role])):
        return None  # plural appositions are mostly lists that were parsed as one
    if reverse and noun < head and tree.child(noun, "case", "mark") is not None:
        return None  # "After his death, Stalin …": the name is the subject of the next words
    if tree.child(role, "nummod") is not None or (reverse and is_set_off(tree, child, ("(", "["))):
        return None  # "(WHO)" is another name
    subject = repeatable(tree, name, () if reverse else {*cut, child})
    if not subject:
        return None
    subject.append(copula(tree, head, name))
    if not reverse:
        return Statement(subject)
    description = repeatable(tree, role, {*cut, child})
    return Statement(items=[*subject, *description]) if description else None


def _is_identified(tree: Tree, noun: int) -> bool:
    """Return whether a noun phrase names something that a separate statement can be about: not "a report" or "ships"."""
    definite = determiner(tree, noun) in ("the", "this", "that", "these", "those")
    return tree.tags[noun] in PROPER or definite or tree.child(noun, "nmod:poss") is not None


def nearest_relative(tree: Tree, verb: int) -> dict[int, list[Item]] | None:
    """Return the replacement of a relative clause's pronoun: the name or definite phrase directly before it, if any.

    Parsers attach such clauses anywhere; their position is more reliable.
    """
    if not tree.is_clause(verb):
        return None
    clause = tree.subtree(verb)
    while clause and tree.deps[clause[0]] == "punct":
        clause = clause[1:]
    pronoun = next((token for token in clause[:3] if tree.lower[token] in {*_RELATIVES, "when"} and token < verb), None)
    if pronoun is None:
        return None
    word = tree.lower[pronoun]
    lead = clause[: clause.index(pronoun)]
    comma = tree.words[clause[0] - 1] == ","
    last = clause[0] - (2 if comma else 1)
    if last < 0 or any(tree.tags[token] not in ("IN", "TO") for token in lead):
        return None
    if word == "when":
        return {pronoun: []}
    if word == "that" and not comma and tree.tags[last] not in PROPER:
        return None
    if word in ("which", "who", "that", "whom") and not lead and tree.subjects[verb] not in (pronoun, None):
        return None  # an object: the words would come in the wrong order
    antecedent = _phrase_before(tree, last, verb)
    return _swapped(pronoun, word, antecedent) if antecedent else None


def _phrase_before(tree: Tree, last: int, verb: int) -> list[Item]:
    """Return the name, or the definite phrase, that ends with a token."""
    if tree.tags[last] in PROPER:
        start = last
        while (
            start and tree.lower[start] != "the" and (tree.tags[start - 1] in PROPER or tree.lower[start - 1] == "the")
        ):
            start -= 1
        return list(range(start, last + 1))
    noun = last
    while tree.tags[noun] not in NOUN:
        if tree.heads[noun] == noun or noun - tree.heads[noun] > 6:
            return []
        noun = tree.heads[noun]
    phrase = repeatable(tree, noun, {verb})
    definite = tree.child(noun, "nmod:poss") is not None or determiner(tree, noun) in ("the", "this")
    return phrase if definite and phrase and phrase[-1] == last else []


def adverbial(tree: Tree, head: int, child: int, subject: Sequence[Item]) -> tuple[Sequence[Item], set[int]] | None:
    """Return what to put before an adverbial clause, and the tokens to leave out; None if it is not stated as a fact.

    "…, winning the cup", "after retiring in 1996", "when she was cast as X": participles become finite verbs in the tree.
    `head` and `subject` are those of the clause above.
    """
    mark = tree.child(child, "mark")
    first = tree.subtree(child)[0]
    if mark is None and tree.heads[first] == child != first and tree.tags[first] in ("WRB", "IN"):
        mark = first
    word = "" if mark is None else tree.lower[mark]
    dropped = set() if mark is None else set(tree.subtree(mark))
    if any(tree.lower[token] in NEGATIONS for token in tree.children[head]):
        return None  # "did not come because …"
    if tree.subjects[child] is not None:
        return ((), dropped) if word in _FACTUAL and tree.is_clause(child) else None
    auxiliaries = [tree.lower[aux] for aux in tree.auxiliaries[head]]
    past = tree.is_past(head) or "has" in auxiliaries or "have" in auxiliaries
    if not subject or not (past or any(tree.lower[aux] == "having" for aux in tree.auxiliaries[child])):
        return None
    if word not in _TEMPORAL if word else not (is_set_off(tree, child) or first == 0):
        return None
    subject_head = tree.subjects[head]
    plural = subject_head is not None and (tree.is_plural(subject_head) or tree.lower[subject_head] in ("they", "we"))
    have = "had" if tree.is_past(head) else "have" if plural else "has"
    verbs = _past(tree, child, {"having": have, "being": "were" if plural else "was"})
    if not verbs or (not word and tree.lower[child] in _OF_EVENTS):
        return None
    for verb, form in verbs.items():
        tree.write(verb, form, "VBD")
    return subject, dropped


def _past(tree: Tree, verb: int, finite: Mapping[str, str]) -> dict[int, str]:
    """Return finite forms for a participle and those coordinated with it; those of auxiliaries are given."""
    verbs: dict[int, str] = {}
    for part in (verb, *tree.all(verb, "conj")):
        auxiliaries = {token: tree.lower[token] for token in tree.auxiliaries[part]}
        form = next((form for form in finite if form in auxiliaries.values()), None)
        if form:
            verbs |= {token: finite[form] for token, word in auxiliaries.items() if word == form}
        elif tree.tags[part] == "VBG" and not auxiliaries and (past := past_tense(tree.words[part])):
            verbs[part] = past
        elif part == verb:
            return {}
    return verbs
