"""Adverbial clauses as statements: "…, winning the cup", "after retiring in 1996", "when she was cast as X"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from factoid.propositions.syntax.inflect import past_tense
from factoid.propositions.syntax.phrases import is_set_off
from factoid.propositions.syntax.render import Item
from factoid.propositions.syntax.scope import is_negated
from factoid.propositions.syntax.tree import Tree

_FACTUAL = frozenset("when while after before because since as where whereas although though".split())
_TEMPORAL = frozenset("after before while since upon when".split())
# What these say holds of the event, not of its subject.
_OF_EVENTS = frozenset(
    "leading resulting causing making allowing enabling prompting including involving meaning giving".split()
)


@dataclass(frozen=True, slots=True)
class Adverbial:
    """A statement made from an adverbial clause.

    Attributes:
        subject: What to put before the clause.
        dropped: Tokens to leave out, such as the conjunction.
        verbs: New forms for its verbs.
    """

    subject: Sequence[Item] = ()
    dropped: frozenset[int] = frozenset()
    verbs: dict[int, str] = field(default_factory=dict)


def adverbial(tree: Tree, head: int, child: int, subject: Sequence[Item]) -> Adverbial | None:
    """Return the statement of an adverbial clause, or None where it is not stated as a fact.

    Args:
        tree: The sentence.
        head: The predicate of the clause above.
        child: The predicate of the adverbial clause.
        subject: The subject of the clause above.
    """
    mark = tree.child(child, "mark") or _opening(tree, child)
    word = tree.words[mark].lower() if mark is not None else ""
    dropped = frozenset(() if mark is None else tree.subtree(mark))
    if is_negated(tree, head):
        return None  # "did not come because …"
    if tree.subject(child) is not None:
        return Adverbial((), dropped) if word in _FACTUAL and tree.is_clause(child) else None
    perfect = any(tree.words[aux].lower() == "having" for aux in tree.auxiliaries(child))
    if not subject or (word and word not in _TEMPORAL) or not (perfect or _was(tree, head)):
        return None
    if not word and not (is_set_off(tree, child) or tree.subtree(child)[0] == 0):
        return None
    own = tree.subject(head)
    plural = own is not None and (tree.is_plural(own) or tree.words[own].lower() in ("they", "we"))
    verbs = _past(tree, child, plural=plural, have="had" if tree.is_past(head) else "have" if plural else "has")
    if verbs is None or (not word and tree.words[child].lower() in _OF_EVENTS):
        return None
    return Adverbial(subject, dropped, verbs)


def _opening(tree: Tree, child: int) -> int | None:
    first = tree.subtree(child)[0]
    return first if tree.heads[first] == child and tree.tags[first] in ("WRB", "IN") and first != child else None


def _was(tree: Tree, head: int) -> bool:
    """Tell whether a clause is about the past: a past tense, or a perfect."""
    if tree.is_past(head):
        return True
    return any(tree.words[aux].lower() in ("has", "have") for aux in tree.auxiliaries(head))


def _past(tree: Tree, verb: int, *, plural: bool, have: str) -> dict[int, str] | None:
    """Return finite forms for a participle and those that are coordinated with it."""
    found: dict[int, str] = {}
    for part in (verb, *tree.all(verb, "conj")):
        forms = {token: tree.words[token].lower() for token in tree.auxiliaries(part)}
        if "having" in forms.values():
            found |= {token: have for token, form in forms.items() if form == "having"}
        elif "being" in forms.values():
            found |= {token: "were" if plural else "was" for token, form in forms.items() if form == "being"}
        elif tree.tags[part] == "VBG" and not forms and (past := past_tense(tree.words[part])):
            found[part] = past
        elif part == verb:
            return None
    return found
