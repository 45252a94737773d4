"""What is said about a noun on the side, as a statement of its own: relative clauses, participles, appositions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from factoid.propositions.syntax.phrases import agrees, copula, is_identified, is_set_off, repeatable
from factoid.propositions.syntax.render import Item
from factoid.propositions.syntax.tree import Tree

RELATIVE_TAGS = frozenset({"WP", "WDT", "WP$", "WRB"})
_RELATIVES = frozenset({"who", "which", "that", "whom", "whose", "where"})
# "X is a name given to …" says nothing without the clause.
_GENERIC = frozenset(
    "name term word process method way part type kind form place thing one group set number state".split()
)
_BRACKETS = frozenset({"(", "[", "-LRB-"})


@dataclass(frozen=True, slots=True)
class Statement:
    """What is to be stated of a noun.

    Attributes:
        subject: To put before the described subtree.
        swap: Tokens of the subtree to replace.
        items: The whole statement, where the subtree stays in its sentence as well.
    """

    subject: Sequence[Item] = ()
    swap: dict[int, list[Item]] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)

    @property
    def swapped(self) -> list[Item]:
        """What the replaced tokens are replaced by."""
        return [item for items in self.swap.values() for item in items]


def describe(
    tree: Tree, head: int, noun: int, child: int, cut: Collection[int], subject: Sequence[Item]
) -> Statement | None:
    """Return the statement that a dependent of a noun makes about it, or None.

    Args:
        tree: The sentence.
        head: The predicate of the clause that the noun stands in.
        noun: The noun.
        child: Its dependent.
        cut: Heads of subtrees that have been taken out already.
        subject: The clause's subject, where that is not among its own tokens.
    """
    if tree.deps[child] == "acl:relcl":
        return _relative(tree, head, noun, child, cut, subject)
    if tree.deps[child] == "appos":
        return _apposition(tree, head, noun, child, cut)
    if tree.deps[child] == "acl" and tree.tags[child] == "VBN":
        return _participle(tree, head, noun, child, cut, subject)
    return None


def _relative(
    tree: Tree, head: int, noun: int, verb: int, cut: Collection[int], subject: Sequence[Item]
) -> Statement | None:
    """State "X, who won, …" and "X is a river that flows …" as "X won" and "X flows …"."""
    pronoun = next(
        (index for index in tree.subtree(verb) if tree.words[index].lower() in _RELATIVES and index <= verb), None
    )
    if pronoun is None or not tree.is_clause(verb):
        return None
    word = tree.words[pronoun].lower()
    if is_set_off(tree, verb):
        if not is_identified(tree, noun) or (word in ("who", "which", "that") and not agrees(tree, noun, verb)):
            return None
        if word == "which" and not _is_next_to(tree, noun, verb):
            return None  # "transit to the Moon, which …": either noun may be meant
        antecedent = repeatable(tree, noun, {*cut, verb})
    elif _is_indefinite(tree, head, noun) and word != "where" and tree.words[noun].lower() not in _GENERIC:
        antecedent = _shared_subject(tree, head, cut, subject)
    else:
        return None
    if not antecedent:
        return None
    if tree.deps[pronoun] in ("obj", "obl") and word not in ("where", "whose") and tree.child(pronoun, "case") is None:
        return None  # an object or a stranded preposition: the words would come in the wrong order
    if word == "where":
        return Statement(swap={pronoun: ["in", *antecedent]})
    return Statement(swap={pronoun: [*antecedent, "'s"] if word == "whose" else antecedent})


def _participle(
    tree: Tree, head: int, noun: int, verb: int, cut: Collection[int], subject: Sequence[Item]
) -> Statement | None:
    """State "X, located in Y, …" and "X is a city located in Y" as "X is located in Y"."""
    if len(tree.subtree(verb)) < 3 or tree.words[noun].lower() in _GENERIC:
        return None  # too little to be a fact; more often a past tense that the tagger took for a participle
    if is_set_off(tree, verb) and not _is_indefinite(tree, head, noun):
        if not is_identified(tree, noun):
            return None
        shared, number = repeatable(tree, noun, {*cut, verb}), noun
    elif _is_indefinite(tree, head, noun):
        shared, number = _shared_subject(tree, head, cut, subject), noun
    else:
        return None
    return Statement([*shared, copula(tree, head, number)]) if shared else None


def _apposition(tree: Tree, head: int, noun: int, other: int, cut: Collection[int]) -> Statement | None:
    """State "X, a chemist, …" as "X is a chemist", and "his wife, Anna, …" as "Anna is his wife"."""
    if not is_set_off(tree, other) or not tree.is_noun(other) or not tree.is_noun(noun):
        return None
    reverse = tree.is_proper(other)  # then the apposition is the name
    name, role = (other, noun) if reverse else (noun, other)
    article = tree.child(role, "det")
    determined = tree.child(role, "nmod:poss") is not None or (
        article is not None and tree.words[article].lower() in ("a", "an", "the")
    )
    bare_role = tree.tags[role] == "NN" and tree.is_proper(name) and tree.child(role, "nmod") is not None
    if tree.is_proper(role) or not (determined or bare_role):
        return None  # "Paris, France" describes nothing
    if not is_identified(tree, name):
        return None
    if tree.is_plural(name) or tree.is_plural(role) or any(map(str.isdigit, tree.words[role])):
        return None  # plural appositions are mostly lists that the parser took for one
    if reverse and noun < head and tree.child(noun, "case", "mark") is not None:
        return None  # "After his death, Stalin …": the name is the subject of what follows
    if tree.child(role, "nummod") is not None or (reverse and is_set_off(tree, other, _BRACKETS)):
        return None  # "(WHO)" is another name
    subject = repeatable(tree, name, () if reverse else {*cut, other})
    if not subject:
        return None
    verb = copula(tree, head, name)
    if not reverse:
        return Statement([*subject, verb])
    description = repeatable(tree, role, {*cut, other})
    return Statement(items=[*subject, verb, *description]) if description else None


def _is_next_to(tree: Tree, noun: int, clause: int) -> bool:
    """Tell whether nothing but the noun's own name stands between a noun and the comma of a clause."""
    first = tree.subtree(clause)[0]
    end = first - 1 if tree.deps[first] != "punct" else first
    return all(tree.heads[token] == noun and tree.deps[token] in ("flat", "punct") for token in range(noun + 1, end))


def _is_indefinite(tree: Tree, head: int, noun: int) -> bool:
    """Tell whether a noun is the predicate of "X is a …": what holds for it holds for X."""
    article = tree.child(noun, "det")
    subject = tree.subject(head)
    return (
        noun == head
        and tree.child(noun, "cop") is not None
        and article is not None
        and tree.words[article].lower() in ("a", "an")
        and (subject is None or tree.words[subject].lower() not in ("it", "there", "this", "that"))
    )


def _shared_subject(tree: Tree, head: int, cut: Collection[int], subject: Sequence[Item]) -> list[Item]:
    own = tree.subject(head)
    if subject or own is None:
        return list(subject)
    return repeatable(tree, own, cut)
