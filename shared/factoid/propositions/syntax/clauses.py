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

from collections.abc import Sequence
from dataclasses import dataclass, field

from factoid.propositions.syntax.render import Item
from factoid.propositions.syntax.tree import Tree

_CONTRAST = frozenset({"although", "though", "whereas", "while"})
_ALTERNATIVE = frozenset({"or", "nor", "either", "neither"})
_NEGATION = frozenset({"not", "n't", "n’t", "never", "neither", "nor", "no"})
_RELATIVES = frozenset({"who", "which", "that", "whom", "whose", "where"})
_SUBORDINATORS = frozenset(
    "although though while when if as once because unless until since than where whereas".split()
)
_DO = frozenset({"do", "does", "did", "to"})
_OPENERS = frozenset({",", "(", "[", "–", "—", "--", "-LRB-"})
_LONGEST_SUBJECT = 15  # words; a longer one would drown the fact that it is repeated for
# What may stand in a noun phrase that is repeated.
_NOMINAL = frozenset(
    "det det:predet amod compound flat fixed nummod nmod nmod:poss nmod:unmarked nmod:desc obl conj cc punct acl "
    "acl:relcl advmod case:poss goeswith dep quantmod".split()
)
_CLAUSAL = frozenset({"conj", "cc", "acl", "acl:relcl", "obl", "advmod", "punct"})
_MOVABLE = ("obl", "obl:unmarked", "advmod")


@dataclass(slots=True)
class Splitter:
    """Collects the statements of one sentence, in the order in which they are met."""

    tree: Tree
    found: list[list[Item]] = field(default_factory=list)

    def split(self) -> list[list[Item]]:
        """Return the statements as items to render; the first is what remains of the main clause."""
        self.clause(self.tree.root)
        return [items for items in self.found if items]

    def clause(self, head: int, subject: Sequence[Item] = (), swap: dict[int, list[Item]] | None = None) -> None:
        """State a clause, and all that can be split off from it.

        Args:
            head: Its predicate.
            subject: What to put before it, if it lacks a subject of its own.
            swap: Tokens to replace, such as a relative pronoun by its antecedent.
        """
        place = len(self.found)
        self.found.append([])
        cut: set[int] = set()
        own = self.tree.subject(head)
        swap = swap or {}
        self._describe(head, cut, subject or (swap.get(own, []) if own is not None else []))
        shared = subject or self._subject(own, cut, swap)
        self._adverbial(head, cut, shared)
        self._coordinate(head, cut, shared, swap)
        kept = self._strip(self._without_loose_commas(self.tree.subtree(head, cut)), head, keep_opening=not subject)
        self.found[place] = [*subject, *(item for token in kept for item in swap.get(token, [token]))]

    # Coordination

    def _coordinate(self, head: int, cut: set[int], subject: Sequence[Item], swap: dict[int, list[Item]]) -> None:
        tree = self.tree
        for joined in tree.all(head, "conj", "parataxis"):
            if not self._is_whole(joined) or not self._is_separable(head, joined):
                continue
            if tree.subject(joined) is not None or tree.child(joined, "expl") is not None:
                if not tree.is_clause(joined):
                    continue
                self._cut(head, joined, cut)
                self.clause(joined, swap={})
            elif subject and tree.deps[joined] == "conj":
                opening = self._shared_opening(head, joined, cut, swap)
                if opening is None:
                    continue
                self._cut(head, joined, cut)
                lead = [token for token in self._fronted(head) if token not in cut]
                self.clause(
                    joined, [*(word for token in lead for word in tree.subtree(token, cut)), *subject, *opening]
                )

    def _is_separable(self, head: int, joined: int) -> bool:
        """Tell whether a conjunct states something by itself."""
        tree = self.tree
        marks = [*tree.all(joined, "cc", "cc:preconj"), *tree.all(head, "cc", "cc:preconj")]
        if any(tree.words[mark].lower() in _ALTERNATIVE for mark in marks) or tree.child(joined, "mark") is not None:
            return False
        if tree.deps[joined] == "parataxis":  # not "X, he said"
            return tree.is_clause(joined) and tree.subject(joined) is not None and self._after_break(joined)
        if not (tree.is_verb(joined) or tree.auxiliaries(joined) or tree.child(head, "cop") is not None):
            return False
        if tree.is_verb(head) and not (tree.is_verb(joined) or tree.auxiliaries(joined)):
            return False
        negated = any(tree.words[child].lower() in _NEGATION for child in tree.children[head] if child < head)
        return not negated or bool(tree.auxiliaries(joined)) or tree.subject(joined) is not None

    def _after_break(self, joined: int) -> bool:
        first = self.tree.subtree(joined)[0]
        return any(self.tree.words[index] in (";", ":", "–", "—", "--") for index in (first, first - 1) if index >= 0)

    def _shared_opening(self, head: int, joined: int, cut: set[int], swap: dict[int, list[Item]]) -> list[Item] | None:
        """Return what a conjunct without subject takes over: auxiliaries or copula and article; None if unclear."""
        tree = self.tree
        before = [aux for aux in tree.auxiliaries(head) if aux < joined]
        if tree.auxiliaries(joined) or tree.tags[joined] in ("VBD", "VBZ", "VBP"):
            return []
        if tree.tags[joined] in ("VBN", "VBG", "VB"):
            bare = tree.tags[joined] == "VB"
            if any((tree.tags[aux] == "MD" or tree.words[aux].lower() in _DO) == bare for aux in before):
                return list(before)
            # A participle beside a finite verb is a past tense that the tagger took for one.
            return [] if tree.tags[joined] == "VBN" and tree.tags[head] == "VBD" else None
        copula = tree.child(head, "cop")
        if copula is None or tree.is_verb(joined) or tree.child(joined, "obj") is not None:
            return None
        opening: list[Item] = list(before)
        article = tree.child(head, "det")
        if (
            tree.is_noun(joined)
            and not tree.is_proper(joined)
            and tree.child(joined, "det", "nmod:poss", "nummod") is None
        ):
            if article is not None and tree.words[article].lower() in ("a", "an"):
                first = tree.words[self._strip(tree.subtree(joined), joined)[0]]
                opening.append("an" if first[0].lower() in "aeiou" else "a")
            elif article is not None:
                opening.append(tree.words[article].lower())
        return opening

    def _fronted(self, head: int) -> list[int]:
        """Return adverbials before the subject ("In 1990, …"), which hold for coordinated verb phrases as well."""
        subject = self.tree.subject(head)
        return [child for child in self.tree.all(head, *_MOVABLE) if subject is not None and child < subject]

    # Descriptions of a noun

    def _describe(self, head: int, cut: set[int], subject: Sequence[Item]) -> None:
        """State relative clauses, appositions and parentheticals of the nouns in a clause."""
        tree = self.tree
        for noun in self._nouns(head):
            for child in tree.children[noun]:
                if child in cut or child < noun or not self._is_whole(child):
                    continue
                dep = tree.deps[child]
                if dep == "acl:relcl":
                    self._relative(head, noun, child, cut, subject)
                elif dep == "appos":
                    self._apposition(head, noun, child, cut)
                elif dep == "acl" and tree.tags[child] == "VBN":
                    self._participle(head, noun, child, cut, subject)

    def _nouns(self, head: int) -> list[int]:
        """Return the nouns of a clause that no other clause stands between."""
        found = []
        pending = [head]
        while pending:
            index = pending.pop()
            if self.tree.is_noun(index) or self.tree.tags[index] in ("CD", "PRP"):
                found.append(index)
            pending.extend(
                child
                for child in self.tree.children[index]
                if self.tree.deps[child] not in ("acl:relcl", "appos", "advcl", "ccomp", "parataxis", "csubj")
                and not (self.tree.deps[child] == "conj" and (self.tree.is_verb(child) or self.tree.auxiliaries(child)))
            )
        return sorted(found)

    def _relative(self, head: int, noun: int, verb: int, cut: set[int], subject: Sequence[Item]) -> None:
        tree = self.tree
        tokens = tree.subtree(verb)
        pronoun = next((index for index in tokens if tree.words[index].lower() in _RELATIVES and index <= verb), None)
        if pronoun is None or not tree.is_clause(verb):
            return
        word = tree.words[pronoun].lower()
        antecedent: list[Item]
        if self._set_off(verb):
            antecedent = self._phrase(noun, cut | {verb})
            if not antecedent:
                return
        elif self._is_indefinite(head, noun) and word != "where":
            # "X is a river that …": what holds for the river holds for X.
            shared = subject or self._subject(tree.subject(head), cut, {})
            if not shared:
                return
            antecedent = list(shared)
        else:
            return
        place: list[Item] = ["in", *antecedent] if word == "where" else antecedent
        if word == "whose":
            place = [*antecedent, "'s"]
        role = tree.deps[pronoun]
        if word in ("which", "whom", "that", "who") and role in ("obj", "obl") and tree.child(pronoun, "case") is None:
            return  # an object or a stranded preposition: leave the clause where it is
        self._cut(noun, verb, cut)
        self.clause(verb, swap={pronoun: place})

    def _participle(self, head: int, noun: int, verb: int, cut: set[int], subject: Sequence[Item]) -> None:
        """State "X, located in Y, …" and "X is a city located in Y" as "X is located in Y"."""
        if self._set_off(verb):
            subject = self._phrase(noun, cut | {verb})
        elif not self._is_indefinite(head, noun):
            return
        if subject:
            self._cut(noun, verb, cut)
            self.clause(verb, [*subject, self._be(head, noun)])

    def _apposition(self, head: int, noun: int, other: int, cut: set[int]) -> None:
        tree = self.tree
        if not self._set_off(other) or not tree.is_noun(other):
            return
        name, role = noun, other
        if tree.is_proper(other) and not tree.is_proper(noun):
            name, role = other, noun  # "his wife, Mary": the name is the subject
        elif tree.is_proper(other):
            return  # "Paris, France" describes nothing
        determined = tree.child(role, "det", "nmod:poss") is not None
        if not determined and not (tree.is_proper(name) and tree.tags[role] == "NN" and role == other):
            return
        subject = self._phrase(name, cut | {other} if name == noun else set())
        description = self._phrase(role, cut | {other})
        if not subject or not description:
            return
        if role == other:
            self._cut(noun, other, cut)
            self.clause(other, [*subject, self._be(head, noun)])
        else:
            self.found.append([*subject, self._be(head, other), *description])

    def _is_indefinite(self, head: int, noun: int) -> bool:
        """Tell whether a noun is the predicate of "X is a …"."""
        article = self.tree.child(noun, "det")
        return (
            noun == head
            and self.tree.child(noun, "cop") is not None
            and article is not None
            and self.tree.words[article].lower() in ("a", "an")
        )

    def _is_whole(self, child: int) -> bool:
        """Tell whether a subtree can be taken out without tearing quotation marks or brackets apart."""
        words = [self.tree.words[token] for token in self.tree.subtree(child)]
        return (
            words.count('"') % 2 == 0 and words.count("“") == words.count("”") and words.count("(") == words.count(")")
        )

    def _set_off(self, child: int) -> bool:
        """Tell whether a phrase stands behind a comma, a dash or a bracket."""
        first = self.tree.subtree(child)[0]
        return self.tree.words[first] in _OPENERS or (first > 0 and self.tree.words[first - 1] in _OPENERS)

    # Adverbial clauses

    def _adverbial(self, head: int, cut: set[int], subject: Sequence[Item]) -> None:
        tree = self.tree
        for child in tree.all(head, "advcl", "acl"):
            if child in cut or not self._is_whole(child):
                continue
            mark = tree.child(child, "mark")
            word = tree.words[mark].lower() if mark is not None else ""
            own = tree.subject(child)
            if word in _CONTRAST and own is not None and tree.is_clause(child):
                self._cut(head, child, cut)
                place = len(self.found)
                self.clause(child)
                self.found[place] = [item for item in self.found[place] if item != mark]
            elif subject and own is None and tree.tags[child] == "VBN" and self._is_free(head, child):
                self._cut(head, child, cut)
                self.clause(child, [*subject, self._be(head, tree.subject(head))])

    def _is_free(self, head: int, participle: int) -> bool:
        """Tell whether a participle is an adjunct of its own: "Born in Oslo, she …", not "when asked" or "(located …)"."""
        tree = self.tree
        first = tree.subtree(participle)[0]
        if tree.auxiliaries(participle) or tree.tags[first] == "IN" or tree.words[first].lower() in _SUBORDINATORS:
            return False
        return first == 0 or tree.words[first] == "," or tree.words[first - 1] == ","

    # Parts

    def _subject(self, own: int | None, cut: set[int], swap: dict[int, list[Item]]) -> list[Item]:
        """Return the subject of a clause as it is repeated for another one; nothing if it is too long or no noun."""
        if own is None:
            return []
        if own in swap:
            return list(swap[own])
        return self._phrase(own, cut)

    def _phrase(self, noun: int, cut: set[int]) -> list[Item]:
        """Return a noun phrase without its preposition and without asides; nothing if that is too long to repeat."""
        tree = self.tree
        left_out = {child for child in tree.children[noun] if tree.deps[child] not in _NOMINAL}
        left_out |= {
            child
            for child in tree.subtree(noun)
            if child != noun and (tree.deps[child] in ("appos", "parataxis") or self._is_aside(child))
        }
        if tree.child(noun, "cop") is not None:  # a predicate: what holds for its clause is not part of the phrase
            left_out |= {child for child in tree.children[noun] if tree.deps[child] in _CLAUSAL}
        tokens = self._strip(tree.subtree(noun, cut | left_out), noun)
        return list(tokens) if len(tokens) <= _LONGEST_SUBJECT else []

    def _is_aside(self, child: int) -> bool:
        return self.tree.deps[child] in ("acl", "acl:relcl") and self._set_off(child)

    def _be(self, head: int, noun: int | None) -> str:
        plural = noun is not None and self.tree.is_plural(noun)
        if self.tree.is_past(head):
            return "were" if plural else "was"
        return "are" if plural else "is"

    def _cut(self, head: int, child: int, cut: set[int]) -> None:
        """Take a subtree out of its clause, with the conjunction that joins it where that hangs on the head."""
        cut.add(child)
        first = self.tree.subtree(child)[0]
        cut.update(mark for mark in self.tree.all(head, "cc") if head < mark < first and first - mark <= 2)

    def _without_loose_commas(self, tokens: list[int]) -> list[int]:
        """Drop the commas beside a gap: they set off what is no longer there."""
        kept = set(tokens)
        last = len(self.tree.words) - 1
        return [
            token
            for token in tokens
            if self.tree.words[token] != ","
            or ((token == 0 or token - 1 in kept) and (token == last or token + 1 in kept))
        ]

    def _strip(self, tokens: list[int], head: int, *, keep_opening: bool = False) -> list[int]:
        """Drop conjunctions and punctuation at both ends of a phrase."""
        tree = self.tree
        start, end = 0, len(tokens)
        while start < end - 1 and (
            (tree.deps[tokens[start]] in ("punct", "cc") and tokens[start] != head)
            and not (keep_opening and tree.words[tokens[start]] in "\"“(['‘")
        ):
            start += 1
        while end - 1 > start and tree.words[tokens[end - 1]] in {",", ";", ":", "–", "—", "-", "("}:
            end -= 1
        return tokens[start:end]


def split_clauses(tree: Tree) -> list[list[Item]]:
    """Return the statements of a sentence, the main clause first."""
    return Splitter(tree).split()
