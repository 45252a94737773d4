"""One sentence into the clauses and descriptions that it asserts (Dense X Retrieval, §2: distinct and minimal).

Split off, each as a statement of its own:

* coordinated clauses and verb phrases, the subject (and auxiliary) repeated;
* non-restrictive relative clauses, and restrictive ones after "X is a …";
* appositions and parentheticals, as "X is …";
* participial clauses set off by commas, as "X was …", and contrasting adverbial clauses.

Left alone is whatever is not asserted by itself: conditions, reported speech, alternatives, the scope of a negation. What
a rule does not recognise stays in the clause that it stands in, so that every word of the sentence is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from factoid.propositions.syntax.adverbials import adverbial
from factoid.propositions.syntax.atoms import atoms
from factoid.propositions.syntax.descriptions import RELATIVE_TAGS, describe
from factoid.propositions.syntax.phrases import (
    agrees,
    content_words,
    copula,
    is_whole,
    nouns,
    repeatable,
    stands_alone,
    strip,
    without_loose_commas,
)
from factoid.propositions.syntax.relatives import nearest_relative
from factoid.propositions.syntax.render import Item
from factoid.propositions.syntax.scope import unsaid
from factoid.propositions.syntax.tree import Tree

_CONTRAST = frozenset({"although", "though", "whereas", "while"})
_ALTERNATIVE = frozenset({"or", "nor", "either", "neither"})
_NEGATION = frozenset({"not", "n't", "n’t", "never", "neither", "nor", "no"})
_SUBORDINATORS = frozenset(
    "although though while when if as once because unless until since than where whereas".split()
)
_TURNS = frozenset("but yet later then after afterwards subsequently before until soon eventually finally now".split())
_DO = frozenset({"do", "does", "did", "to"})
_MOVABLE = ("obl", "obl:unmarked", "advmod")


@dataclass(slots=True)
class Splitter:
    """Collects the statements of one sentence, in the order in which they are met."""

    tree: Tree
    min_words: int
    names: Mapping[int, int]
    atomic: bool = False
    found: list[list[Item]] = field(default_factory=list)
    heads: list[int | None] = field(default_factory=list)  # the predicate of each; None for a finished fact

    def clause(
        self,
        head: int,
        subject: Sequence[Item] = (),
        swap: dict[int, list[Item]] | None = None,
        dropped: Collection[int] = (),
    ) -> None:
        """State a clause, and all that can be split off from it.

        Args:
            head: Its predicate.
            subject: What to put before it, if it lacks a subject of its own.
            swap: Tokens to replace, such as a relative pronoun by its antecedent.
            dropped: Tokens to leave out with what hangs on them, such as a conjunction.
        """
        place = len(self.found)
        self.found.append([])
        self.heads.append(head)
        cut: set[int] = set(dropped)
        swap = swap or {}
        own = self.tree.subject(head)
        given = subject or (swap.get(own, []) if own is not None else [])
        if self.atomic:
            self._relatives(head, cut)
        self._describe(head, cut, given)
        shared = given or (repeatable(self.tree, own, cut) if own is not None else [])
        self._adverbial(head, cut, shared)
        self._coordinate(head, cut, shared)
        kept = without_loose_commas(self.tree, self.tree.subtree(head, cut))
        kept = strip(self.tree, kept, head, keep_opening=not subject)
        self.found[place] = [*subject, *(item for token in kept for item in swap.get(token, [token]))]

    def _describe(self, head: int, cut: set[int], subject: Sequence[Item]) -> None:
        """State the relative clauses, appositions and parentheticals of the nouns in a clause."""
        for noun in nouns(self.tree, head):
            for child in self.tree.children[noun]:
                if child in cut or child < noun or not is_whole(self.tree, child):
                    continue
                statement = describe(self.tree, head, noun, child, cut, subject)
                if statement is None:
                    continue
                if statement.items:
                    self.found.append(statement.items)
                    self.heads.append(None)
                elif self._is_worth(head, child, cut, subject, statement.subject or statement.swapped):
                    self._cut(noun, child, cut)
                    self.clause(child, statement.subject, statement.swap)

    def _relatives(self, head: int, cut: set[int]) -> None:
        """State the relative clauses of names and definite phrases in a clause."""
        for verb in self.tree.subtree(head, cut):
            if verb == head or not is_whole(self.tree, verb) or any(verb in self.tree.subtree(gone) for gone in cut):
                continue
            swap = nearest_relative(self.tree, verb)
            if swap is not None:
                self._cut(self.tree.heads[verb], verb, cut)
                self.clause(verb, (), swap)

    def _coordinate(self, head: int, cut: set[int], subject: Sequence[Item]) -> None:
        tree = self.tree
        for joined in tree.all(head, "conj", "parataxis"):
            if not is_whole(tree, joined) or not self._is_separable(head, joined):
                continue
            if tree.subject(joined) is not None or tree.child(joined, "expl") is not None:
                if tree.is_clause(joined) and self._is_worth(head, joined, cut):
                    self._cut(head, joined, cut)
                    self.clause(joined)
            elif subject and tree.deps[joined] == "conj":
                opening = self._shared_opening(head, joined)
                own = tree.subject(head)
                if own is not None and not agrees(tree, own, joined):
                    continue  # the parser hung it on the wrong verb
                if opening is None or not self._is_worth(head, joined, cut, subject, subject):
                    continue
                self._cut(head, joined, cut)
                lead = [token for token in self._fronted(head, joined) if token not in cut]
                self.clause(
                    joined, [*(word for token in lead for word in tree.subtree(token, cut)), *subject, *opening]
                )

    def _is_separable(self, head: int, joined: int) -> bool:
        """Tell whether a conjunct states something by itself."""
        tree = self.tree
        marks = [*tree.all(joined, "cc", "cc:preconj"), *tree.all(head, "cc", "cc:preconj")]
        if any(tree.words[mark].lower() in _ALTERNATIVE for mark in marks) or tree.child(joined, "mark") is not None:
            return False
        if any(tree.tags[token] in RELATIVE_TAGS for token in tree.subtree(joined) if token < joined):
            return False  # "…, of which 29 are …": it means something outside itself
        if tree.deps[joined] == "parataxis":  # not "X, he said"
            return tree.is_clause(joined) and tree.subject(joined) is not None and self._after_break(joined)
        verbal = tree.is_verb(joined) or tree.is_clause(joined) or bool(tree.auxiliaries(joined))
        if not verbal and (tree.is_verb(head) or tree.child(head, "cop") is None):
            return False
        negated = any(tree.words[child].lower() in _NEGATION for child in tree.children[head] if child < head)
        return not negated or bool(tree.auxiliaries(joined)) or tree.subject(joined) is not None

    def _after_break(self, joined: int) -> bool:
        first = self.tree.subtree(joined)[0]
        return any(self.tree.words[index] in (";", ":", "–", "—", "--") for index in (first, first - 1) if index >= 0)

    def _shared_opening(self, head: int, joined: int) -> list[Item] | None:
        """Return what a conjunct without subject takes over: auxiliaries or copula and article; None if unclear."""
        tree = self.tree
        before = [aux for aux in tree.auxiliaries(head) if aux < joined]
        if tree.auxiliaries(joined) or tree.tags[joined] in ("VBD", "VBZ", "VBP"):
            return []
        if tree.tags[joined] in ("VBN", "VBG", "VB"):
            bare = tree.tags[joined] == "VB"
            fits = any((tree.tags[aux] == "MD" or tree.words[aux].lower() in _DO) == bare for aux in before)
            if fits and (bare or tree.tags[joined] == tree.tags[head]):
                return list(before)
            # A participle beside a finite verb is a past tense that the tagger took for one.
            return [] if tree.tags[joined] == "VBN" and tree.tags[head] == "VBD" else None
        copula = tree.child(head, "cop")
        if tree.child(head, "case") is not None or tree.tags[joined][:2] != tree.tags[head][:2]:
            return None  # "in Dublin and Cork"
        own = tree.subject(head)
        cleft = own is not None and tree.words[own].lower() in ("it", "there", "this", "that")
        if copula is None or cleft or tree.is_verb(joined) or tree.child(joined, "obj") is not None:
            return None
        opening: list[Item] = list(before)
        article = tree.child(head, "det")
        if (
            tree.is_noun(joined)
            and not tree.is_proper(joined)
            and tree.child(joined, "det", "nmod:poss", "nummod") is None
        ):
            if article is not None and tree.words[article].lower() in ("a", "an"):
                first = tree.words[strip(tree, tree.subtree(joined), joined)[0]]
                opening.append("an" if first[0].lower() in "aeiou" else "a")
            elif article is not None:
                opening.append(tree.words[article].lower())
        return opening

    def _fronted(self, head: int, joined: int) -> list[int]:
        """Return adverbials before the subject ("In 1990, …") that hold for a coordinated verb phrase as well."""
        subject = self.tree.subject(head)
        words = {self.tree.words[token].lower() for token in self.tree.subtree(joined)}
        if words & _TURNS or any(word.isdigit() and len(word) == 4 for word in words):
            return []  # it has a time of its own, or is set against what came before
        return [child for child in self.tree.all(head, *_MOVABLE) if subject is not None and child < subject]

    def _adverbial(self, head: int, cut: set[int], subject: Sequence[Item]) -> None:
        tree = self.tree
        for child in tree.all(head, "advcl", "acl", *(("xcomp",) if self.atomic else ())):
            if child in cut or not is_whole(tree, child):
                continue
            if self.atomic and (stated := adverbial(tree, head, child, subject)):
                self._cut(head, child, cut)
                for verb, form in stated.verbs.items():
                    tree.inflect(verb, form)
                self.clause(child, stated.subject, dropped=stated.dropped)
                continue
            mark = tree.child(child, "mark")
            word = tree.words[mark].lower() if mark is not None else ""
            own = tree.subject(child)
            if word in _CONTRAST and own is not None and tree.is_clause(child) and self._is_worth(head, child, cut):
                self._cut(head, child, cut)
                place = len(self.found)
                self.clause(child)
                self.found[place] = [item for item in self.found[place] if item != mark]
            elif (
                subject
                and own is None
                and tree.tags[child] == "VBN"
                and self._is_free(child)
                and self._is_worth(head, child, cut, (), subject)
            ):
                self._cut(head, child, cut)
                self.clause(child, [*subject, copula(tree, head, tree.subject(head))])

    def _is_free(self, participle: int) -> bool:
        """Tell whether a participle is an adjunct of its own: "Born in Oslo, she …", not "when asked"."""
        tree = self.tree
        first = tree.subtree(participle)[0]
        opener = tree.words[first].lower()
        return (
            first == 0
            and not tree.auxiliaries(participle)
            and tree.tags[first] != "IN"
            and opener not in _SUBORDINATORS
        )

    def _is_worth(
        self, head: int, child: int, cut: set[int], before: Sequence[Item] = (), subject: Sequence[Item] = ()
    ) -> bool:
        """Tell whether a split leaves enough content words in the clause and what is `before` it, and in the other part."""
        rest = content_words(self.tree, [*before, *self.tree.subtree(head, cut | {child})], self.names)
        own = content_words(self.tree, [*subject, *self.tree.subtree(child, cut)], self.names)
        return min(rest, own) >= self.min_words

    def _cut(self, head: int, child: int, cut: set[int]) -> None:
        """Take a subtree out of its clause, with the conjunction that joins it where that hangs on the head."""
        cut.add(child)
        first = self.tree.subtree(child)[0]
        cut.update(mark for mark in self.tree.all(head, "cc") if head < mark < first and first - mark <= 2)


def split_clauses(
    tree: Tree, *, min_words: int = 0, names: Mapping[int, int] = MappingProxyType({}), atomic: bool = False
) -> list[list[Item]]:
    """Return the statements of a sentence as items to render; the first is what remains of the main clause.

    Args:
        tree: The sentence.
        min_words: A split that would leave a statement with fewer content words than this is not made.
        names: For tokens that a name will stand for, the number of its words.
        atomic: Go on to the smallest facts (see `atoms`); changes the tree's words where verbs become finite.
    """
    splitter = Splitter(tree, min_words, names, atomic)
    splitter.clause(tree.root)
    if atomic:
        return [
            fact
            for head, items in zip(splitter.heads, splitter.found, strict=True)
            if items
            for fact in ([items] if head is None else _sound(tree, items, atoms(tree, head, items)))
        ]
    return [items for items in splitter.found if items]


def _sound(tree: Tree, items: list[Item], facts: Iterable[list[Item]]) -> list[list[Item]]:
    found = [fact for fact in facts if stands_alone(tree, fact, words=2)]
    return [*found, items] if unsaid(tree, items, found) else found
