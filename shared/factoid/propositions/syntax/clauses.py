"""Split a sentence into the clauses and descriptions that it asserts.

Each is distinct and minimal (Dense X Retrieval, §2).

These become statements of their own:

* coordinated clauses and verb phrases, the subject (and auxiliary) repeated;
* non-restrictive relative clauses, and restrictive ones after "X is a …";
* appositions and parentheticals, as "X is …";
* participial clauses set off by commas, as "X was …", and contrasting adverbial clauses.

A part that speaks of something that only another part names stays with it (`dangling`), unless the
name is written out.

Anything not asserted on its own stays: conditions, reported speech, alternatives, the scope of a
negation or of a phrase in front ("Until May, entry is free and parking costs EUR 2"), clauses whose
verb is said elsewhere ("but printers are not"). Anything that no rule recognises stays in its
clause, so that every word of the sentence is kept. A sentence that a parse cuts in doubtful places
stays whole (`doubt`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from types import MappingProxyType

from factoid.propositions.syntax.asides import ASIDES, describe
from factoid.propositions.syntax.dangling import (
    POSSESSIVES,
    dangles,
    is_bare_definite,
    points_at_text,
)
from factoid.propositions.syntax.doubt import is_doubtful, loses_negation
from factoid.propositions.syntax.lexicon import LEXICON
from factoid.propositions.syntax.phrases import (
    RELATIVE_TAGS,
    SAYING,
    agrees,
    content_words,
    copula,
    is_quoted,
    is_stand_in,
    is_whole,
    nouns,
    repeatable,
    rests_on_clause_before,
    strip,
    without_loose_commas,
)
from factoid.propositions.syntax.tree import NOUN, PROPER, VERB, Item, Tree, tokens

_CONTRAST = frozenset({"although", "though", "whereas", "while"})
_NEGATION = frozenset("not n't n’t never neither nor no".split())
_ALTERNATIVE = frozenset({"or", "nor", "either", "neither"})
_SUBORDINATORS = frozenset(
    "although though while when if as once because unless until since than where whereas".split()
)
_TURNS = frozenset(
    "but yet later then after afterwards subsequently before until soon eventually finally "
    "now".split()
)
_CONTRASTS = frozenset({"but", "yet"})  # turn away from a time in stories only
_ADVERBIALS = ("obl", "obl:unmarked", "advcl")
# What stands before a verb that shares the subject of another one, apart from adverbs and
# auxiliaries, shows a wrong parse.
_BEFORE_VERBS = frozenset(
    "obl obl:unmarked obj nsubj nsubj:pass csubj expl advcl ccomp mark parataxis vocative "
    "discourse".split()
)
_PHRASE = 2  # words of a phrase that may stand there all the same, such as "in turn"
_COMPARISONS = frozenset({"than", "rather", "as", "well", "please"})
_PERSONS = LEXICON["men"] | LEXICON["women"] | LEXICON["either"]
_ADVISING = frozenset("recommend suggest advise propose require encourage".split())
_NOUN_ENDINGS = ("er", "or", "ness", "tude", "ity", "ment", "tion", "sion", "ism", "ware", "acro")
# Relations of what two verbs may share, as in "Anna wrote and sang a song".
_SHAREABLE = ("obj", "obl", "obl:agent", "xcomp", "ccomp")
_DASHES = frozenset({"–", "—", "--", "-", ":", "|"})
_DO = frozenset({"do", "does", "did", "to"})
_NO_CONJUNCTIONS = frozenset({"/", "plus", "vs", "vs.", "&"})  # of clauses
# Tags before "and" where both verbs share what follows.
_STRANDED = frozenset({"IN", "TO", "DT", "PRP$"})
_BREAKS = (";", "–", "—", "--")  # behind a colon the propositionizer parses again
_DASH_BREAKS = frozenset({"–", "—", "--"})
_CONDITIONS = frozenset("if unless when whenever once where provided".split())
_TRAILING_CONDITIONS = _CONDITIONS | {"until"}
# Adverbs before a verb that do not end in "ly".
_ADVERBS = frozenset(
    "also then not n't n’t never still now often always only just so therefore thus even already "
    "soon hence too ever again later sometimes instead further rather either thereby typically "
    "otherwise almost yet perhaps".split()
)
_ASSUMING = frozenset(
    "assuming provided providing supposing given granted depending considering".split()
)
_PERIODS = frozenset(
    "age autumn beginning birth childhood century centuries day days death decade decades dynasty "
    "end era evening fall first last later morning night period reign same season spring start "
    "summer time times today war weekend winter youth".split()
)
_PLACES = frozenset({"where", "whereby", "wherein"})
_SCOPES = frozenset("sure ensure ensures check checks verify verifies assume assumes".split())
_ALWAYS_LIMITING = frozenset({"if", "unless", "whenever", "until"})
_TIMES = frozenset({"when", "once", "where"})  # of what has happened, they limit nothing
_LEADING_TAGS = ("DT", "PRP", "PRP$", "EX", "RB", "JJ", "IN", "NNP", "VBG", "CD")
_FINITE_OR_BASE = ("VB", "VBD", "VBP", "VBZ", "MD")
_ARROWS = ("->", "=>", "→", "⇒")
# Verbs with which references describe a function: "Returns lists and …".
_DESCRIBING = frozenset(
    "adds checks converts creates gets handles makes parses reads removes returns sends sets takes "
    "writes".split()
)
_ORDERS = frozenset("remember note see consider make keep check try".split())
_NO_SOMETHING = ("it", "there", "this", "that")  # subjects that name nothing


@dataclass(slots=True)
class _Splitter:
    """Collect the statements of one sentence, in the order in which they are found."""

    tree: Tree
    min_words: int
    names: Mapping[int, int]
    statements: list[list[Item]] = field(default_factory=list)
    is_doubtful: bool = False  # a split has shown that the parse is wrong

    def clause(
        self,
        head: int,
        subject: Sequence[Item] = (),
        swap: Mapping[int, list[Item]] = MappingProxyType({}),
    ) -> None:
        """State a clause by its predicate, and everything that can be split off from it.

        The subject is put before it; `swap` replaces tokens, such as a relative pronoun by its
        antecedent.
        """
        tree = self.tree
        items: list[Item] = [*subject]
        self.statements.append(items)
        cut: set[int] = set()
        subject_head = tree.subjects[head]
        antecedent = subject
        if not antecedent and subject_head is not None:
            antecedent = swap.get(subject_head, [])
        self._describe(head, cut, antecedent)
        shared = antecedent
        is_oblique = subject_head is not None and tree.child(subject_head, "case") is not None
        if not shared and subject_head is not None and not is_oblique:
            shared = repeatable(tree, subject_head, cut)
        self._adverbial(head, cut, shared)
        before = {*cut}
        self._coordinate(head, cut, shared)
        rest = strip(
            tree,
            without_loose_commas(tree, tree.subtree(head, cut)),
            head,
            keep_opening=not subject,
        )
        for token in rest:
            items += swap.get(token, (token,))
        starts = self._starts_of_split(head, cut, cut - before)
        if starts:
            first = min(starts)
            behind = [token for token in rest if token > first]
            # What follows the last conjunct belongs to it as well.
            self.is_doubtful |= any(tree.words[token].isalnum() for token in behind)
        finite = [token for token in rest if tree.is_finite(token)]
        has_main = tree.has_dep(finite, ("ROOT", "parataxis", "aux"))
        remaining = [other for other in tree.all(head, "conj") if other not in cut]
        auxiliaries = tree.auxiliaries[head]
        takes_infinitive = tree.has_tag(auxiliaries, ("MD",)) or tree.has_word(auxiliaries, _DO)
        if tree.has_tag(remaining, ("VB",)) and not takes_infinitive:
            self.is_doubtful |= tree.tags[head] not in ("VB", "VBG")
        if not (tree.is_clause(head) or subject or swap or has_main):
            self.is_doubtful |= len(self.statements) > 1

    def _starts_of_split(self, head: int, cut: set[int], conjuncts: set[int]) -> list[int]:
        """Return where the conjuncts and asides begin that were split off from a clause."""
        tree = self.tree
        starts = []
        for joined in tree.all(head, "conj", "parataxis"):
            if joined in conjuncts:
                starts.append(tree.subtree(joined)[0])
        if not tree.is_clause(head):
            return starts
        for noun in nouns(tree, head):
            if noun < head:
                continue
            for child in tree.all(noun, *ASIDES):
                if child in cut and "(" not in tree.words[child - 3 : child]:
                    starts.append(tree.subtree(child)[0])
        return starts

    def _describe(self, head: int, cut: set[int], subject: Sequence[Item]) -> None:
        """State the relative clauses, appositions and parentheticals of the nouns in a clause."""
        tree = self.tree
        for noun in nouns(tree, head):
            for child in tree.children[noun]:
                if (
                    tree.deps[child] not in ASIDES
                    or child in cut
                    or child < noun
                    or not is_whole(tree, child)
                ):
                    continue
                statement = describe(tree, head, noun, child, cut, subject)
                if statement is None:
                    continue
                if statement.items:
                    others = tokens(statement.items) - {*self.names}
                    if not tree.has_word(others, POSSESSIVES):
                        self.statements.append([*statement.items])
                    continue
                if noun == head and self.openings(head):
                    continue  # "In chemistry, X is a thing that …": what is said of X is limited
                about = statement.subject or list(chain.from_iterable(statement.swap.values()))
                if self._is_worth(head, child, cut, subject, about):
                    self._split_off(child, cut, statement.subject, swap=statement.swap)

    def openings(self, head: int) -> list[int]:
        """Return the adverbials before a subject that say where, when or whether a clause holds."""
        tree = self.tree
        subject = tree.subjects[head]
        if subject is None:
            return []
        openings = [child for child in tree.all(head, *_ADVERBIALS) if child < subject]
        return [child for child in openings if not self._is_connective(child)]

    def _coordinate(self, head: int, cut: set[int], subject: Sequence[Item]) -> None:
        tree = self.tree
        for joined in tree.all(head, "conj", "parataxis"):
            if not is_whole(tree, joined) or not self._is_separable(head, joined):
                continue
            if tree.subjects[joined] is not None or tree.child(joined, "expl") is not None:
                if self._is_conditional(head, joined) or self._is_about_nobody(joined):
                    continue
                limited = any(token not in cut for token in self._fronted(head, joined))
                if self._may_be_reported(head, joined):
                    continue
                if tree.is_clause(joined) and not limited and self._is_worth(head, joined, cut):
                    self._split_off(joined, cut)
            elif subject and tree.deps[joined] == "conj":
                opening: list[Item] | None = None
                if self._shares_subject(head, joined):
                    opening = self._shared_opening(head, joined)
                subject_head = tree.subjects[head]
                if opening is None or (
                    subject_head is not None and not agrees(tree, subject_head, joined)
                ):
                    continue  # unclear, or attached to the wrong verb by the parser
                if self._is_cut_short(head, joined):
                    continue
                if self._is_worth(head, joined, cut, subject, subject):
                    lead: list[int] = []
                    for token in self._fronted(head, joined):
                        if token not in cut:
                            lead += tree.subtree(token, cut)
                    limits = [at for at in range(head) if tree.lower[at] in _ALWAYS_LIMITING]
                    if not set(limits) <= set(lead):
                        continue  # the condition would be lost
                    if lead and tree.words[lead[-1] + 1] == ",":
                        lead.append(lead[-1] + 1)
                    self._split_off(joined, cut, [*lead, *subject, *opening])

    def _is_about_nobody(self, joined: int) -> bool:
        """Return whether the subject of a later clause is "we", "you", "it" or "there".

        Such a clause mostly comments on the one before it.
        """
        subject = self.tree.subjects[joined]
        if self.tree.child(joined, "expl") is not None:
            return True  # "there are no plans to do more"
        return subject is None or (
            self.tree.tags[subject] in ("PRP", "EX") and subject not in self.names
        )

    def _may_be_reported(self, head: int, joined: int) -> bool:
        """Return whether a clause may belong to what the one before it says.

        It may in "She said that it was late and the shop was closed".
        """
        tree = self.tree
        first = tree.subtree(joined)[0]
        if self._reports_by_itself(joined):
            return False
        for clause in tree.all(head, "ccomp"):
            if head < clause < first and tree.is_clause(clause):
                is_said = tree.lower[head] in SAYING
                return is_said or not self._follows_break(first)
        return False

    def _reports_by_itself(self, joined: int) -> bool:
        """Return whether a clause says what its own subject says, as in "and Bo says that …"."""
        tree = self.tree
        if tree.subjects[joined] is None:
            return False
        reported = tree.all(joined, "ccomp")
        return any(tree.has_word(tree.all(clause, "mark"), ("that",)) for clause in reported)

    def _is_cut_short(self, head: int, joined: int) -> bool:
        """Return whether a second verb says nothing alone, or less than beside the first one.

        "He went to Spain, but failed" says what failed. In "is cheaper and lasts longer than wood"
        and "within 20 days, and pays within 30" one of the verbs lacks words of the other.
        """
        tree = self.tree
        phrase = tree.subtree(joined)
        if tree.tags[joined] in VERB and content_words(tree, phrase, self.names) < 2:
            return True
        if tree.lower[joined] in ("more", "else"):
            return True  # "is full of pumps, lamps and much more"
        is_compared = tree.has_tag([head, *tree.children[head]], ("JJR", "RBR"))
        if is_compared and "than" not in tree.lower[head : phrase[0]]:
            return tree.has_word(phrase, ("than",))
        last = [token for token in phrase if tree.is_word(token)][-1]
        is_base = tree.tags[joined] in ("VB", "VBP") and not tree.auxiliaries[joined]
        if is_base and "to" in tree.lower[max(head, phrase[0] - 3) : phrase[0]]:
            return True  # "can be used to read and print": which verb?
        is_number = tree.tags[last] == "CD" and tree.tags[last - 1] == "IN"
        return is_number and len(tree.words[last]) < 4

    def _is_separable(self, head: int, joined: int) -> bool:
        """Return whether a conjunct states something on its own."""
        tree = self.tree
        marks = [*tree.all(joined, "cc", "cc:preconj"), *tree.all(head, "cc", "cc:preconj")]
        if tree.has_word(marks, _ALTERNATIVE) or tree.child(joined, "mark") is not None:
            return False
        if any(tree.has_tag(tree.children[mark], NOUN) for mark in marks):
            return False  # "To change the name, the page, and the word, you write …"
        if self._is_told(head, joined) or _is_example(tree):
            return False
        if rests_on_clause_before(tree, joined):
            self.is_doubtful = True  # which of the clauses before it does it mean?
            return False
        if not self._is_joined(head, joined):
            return False
        subtree = tree.subtree(joined)
        content = [token for token in subtree if tree.deps[token] not in ("cc", "punct")]
        around = tree.words[max(0, content[0] - 1) : content[0] + 2 : 2]
        if around == ["(", ")"]:
            return False  # "… and (i) the fee was not paid"
        if {"cc", "punct", "fixed"}.isdisjoint((tree.deps[subtree[0]], tree.deps[subtree[0] - 1])):
            # "calls are free and reports | cost EUR 5": nothing joins it, so the parse is wrong
            return False
        before = [token for token in subtree if token < joined]
        if tree.has_tag(before, RELATIVE_TAGS):
            return False  # "…, of which 29 are …": it means something outside itself
        if tree.deps[joined] == "parataxis":  # not "X, he said"
            return (
                self._follows_break(subtree[0])
                and tree.is_clause(joined)
                and tree.subjects[joined] is not None
            )
        verbal = (
            tree.tags[joined] in VERB or tree.is_clause(joined) or bool(tree.auxiliaries[joined])
        )
        if not verbal and (tree.tags[head] in VERB or tree.child(head, "cop") is None):
            return False
        before_head = [child for child in tree.children[head] if child < head]
        negated = tree.has_word(before_head, _NEGATION)
        return not negated or bool(tree.auxiliaries[joined]) or tree.subjects[joined] is not None

    def _is_told(self, head: int, joined: int) -> bool:
        """Return whether a clause is quoted, or stands behind a colon that leads to it."""
        tree = self.tree
        if ":" in tree.words[head : tree.subtree(joined)[0]]:
            return True
        return is_quoted(tree, joined) or is_quoted(tree, head)

    def _follows_break(self, first: int) -> bool:
        """Return whether a clause begins at a semicolon or a dash.

        The second of two dashes closes an aside.
        """
        for token in range(max(first - 1, 0), first + 1):
            mark = self.tree.words[token]
            if mark in _DASH_BREAKS and not _DASH_BREAKS.isdisjoint(self.tree.words[:token]):
                return False
            if mark in _BREAKS:
                return True
        return False

    def _is_joined(self, head: int, joined: int) -> bool:
        """Return whether a conjunction or a mark surely joins a clause to that of its head.

        It could also join two words of one clause.
        """
        tree = self.tree
        first = tree.subtree(joined)[0]
        before_head = [child for child in tree.children[head] if child < head]
        opened = tree.has_tag(before_head, ("WRB",)) or tree.has_word(before_head, ("if",))
        if opened and "?" not in tree.words[-1:]:
            return False  # "when an employee is assigned": the main clause was taken for a conjunct
        conjuncts = tree.all(head, "conj")
        earlier = [other for other in conjuncts if other < joined]
        if tree.has_tag(earlier, ("VBG",)) and tree.tags[head] != "VBG":
            return False
        near = range(max(0, first - 2), min(first + 2, joined))
        conjunctions = []
        for token in near:
            if tree.deps[token] == "cc" and tree.heads[token] in (head, joined):
                conjunctions.append(token)
        if not conjunctions:
            if self._follows_break(first):
                return True
            # "reads, writes and closes": the conjunction stands before a later one.
            later = [other for other in conjuncts if other > joined]
            return any(tree.child(other, "cc") is not None for other in later)
        cc = conjunctions[0]
        is_pair = cc > 1 and tree.tags[cc - 2] == "DT" and tree.lower[cc - 1].endswith("ed")
        if is_pair and tree.tags[joined] in ("VBD", "VBN"):
            return False  # "a revised and signed contract"
        is_misread = tree.tags[joined] == "VBP" and tree.lower[joined].endswith("s")
        if tree.lower[cc] in _NO_CONJUNCTIONS or is_misread:
            return False  # a plural that was read as a verb
        if first > cc + 1 and tree.lower[cc + 1] in _SUBORDINATORS:
            return False  # "but since it is late – and dark – we stay"
        before = tree.lower[tree.subtree(head)[0] : cc]
        for opening in ("between", "either", "both"):
            if opening in before and not {"and", "or"} & set(before[before.index(opening) :]):
                return False  # "the difference between X and Y"
        if ("not", "only") in pairwise(before):
            return False  # "means not only no cash, but nothing of value"
        if before[-1:] == ["here"]:
            return False  # "here and there"
        return tree.subjects[joined] is None or self._joins_clause(cc, head, joined, before)

    def _joins_clause(self, cc: int, head: int, joined: int, before: Sequence[str]) -> bool:
        """Return whether a conjunction surely joins a clause with a subject of its own.

        The words of the clause before the conjunction are `before`.
        """
        tree = self.tree
        follows_comma = before[-1:] == [","]
        if not follows_comma and tree.tags[cc + 1] not in _LEADING_TAGS:
            return False  # 'via the fields "Group" and "Kind" lists …'
        if tree.lower[cc + 1] in ("also", "only", "even", "not"):
            return False  # "but also writes files": the verb was read as a noun
        if not follows_comma and self._may_join_nouns(cc, head, joined):
            return False
        if follows_comma and "," in before[:-1]:
            start = cc - 1 - before[-2::-1].index(",")
            item = range(start, cc - 1)
            if not tree.has_tag(item, _FINITE_OR_BASE):
                return False  # "on the ports A, B, and C is discouraged": a list
        if tree.tags[joined] == "VBD" and not tree.auxiliaries[joined]:
            if tree.tags[head] not in ("VBD", "VBN") and not tree.is_past(head):
                return False  # "includes loans and any monies owed": a participle
            if tree.child(joined, "obl:agent") is not None:
                return False
            if tree.tags[head] == "VBN" and tree.auxiliaries[head] and not tree.is_past(head):
                return False  # "will be waived and no failure consented to"
            for child in tree.children[joined]:
                if child > joined and tree.deps[child] not in ("punct", "parataxis"):
                    return True
            return False
        return True

    def _may_join_nouns(self, cc: int, head: int, joined: int) -> bool:
        """Return whether a conjunction without a comma may join smaller things.

        It does in "accounts that are flagged or suspended …".
        """
        tree = self.tree
        if cc - 1 != head and tree.tags[cc - 1] in VERB:
            return True
        first = cc + 1
        within = range(head + 1, cc)
        if tree.has_dep(within, ("mark",)) or tree.has_tag(within, ("VB",)):
            # "if all counts and the sum have …", "to see the queue and the messages appear"
            return True
        return tree.tags[first] in ("IN", "TO") or (
            tree.tags[first] in ("NN", "NNS") and tree.subjects[joined] == first
        )

    def _shares_subject(self, head: int, joined: int) -> bool:
        """Return whether a conjunct without subject surely has that of the first one.

        Each of the two must also have what follows its verb.
        """
        tree = self.tree
        subtree = tree.subtree(joined)
        between = range(head + 1, subtree[0])
        before_verb = [token for token in subtree if token < joined]
        if tree.has_word(between, (";", ":")):
            return False
        if tree.has_word(range(max(0, subtree[0] - 2), joined), _COMPARISONS):
            return False
        for child in tree.children[joined]:
            if (
                child < joined
                and tree.deps[child] in _BEFORE_VERBS
                and len(tree.subtree(child)) > _PHRASE
            ):
                return False
        if tree.has_dep(before_verb, ("nsubj", "nsubj:pass", "expl", "mark")):
            return False
        for child in tree.all(joined, "advmod"):
            is_adverb = tree.lower[child] in _ADVERBS or tree.lower[child].endswith("ly")
            if child < joined and not is_adverb and tree.tags[child + 1] in ("MD", "VBZ", "VBP"):
                return False  # a name that was read as an adverb
        for child in tree.all(joined, "advcl"):
            opening = tree.lower[tree.subtree(child)[0]]
            if child > joined and opening in _TRAILING_CONDITIONS:
                return False  # "ignores the proxy and goes on if …": both hold only then
        inner = [token for token in between if tree.is_word(token) and tree.deps[token] != "cc"]
        with_subject = [token for token in between if tree.subjects[token] is not None]
        for token in between:
            is_verb = tree.tags[token] in ("VBP", "VBZ", "VBD", "MD")
            if is_verb and tree.deps[token] not in ("conj", "aux", "aux:pass", "cop"):
                return False  # "to ensure you read it and are ready"
        if tree.has_tag(between, RELATIVE_TAGS) or any(map(tree.is_clause, with_subject)):
            # "a bucket that is closed but is configured": which of both verbs is joined?
            return False
        return self._joins_verbs(head, joined, inner)

    def _joins_verbs(self, head: int, joined: int, inner: Sequence[int]) -> bool:
        """Return whether the words around two verbs show that they share a subject.

        The words between the first verb and the second one's phrase are `inner`.
        """
        tree = self.tree
        subtree = tree.subtree(joined)
        before_verb = [token for token in subtree if token < joined]
        auxiliaries = tree.auxiliaries[joined]
        is_order = tree.tags[joined] == "VB" or tree.lower[joined] in _ORDERS
        if is_order and not auxiliaries and "but" in tree.lower[max(0, subtree[0] - 1) : joined]:
            return False  # "The list will be long, but look for the first entry"
        children_before = [token for token in tree.children[joined] if token < joined]
        is_negated = tree.has_word(children_before, ("n't", "n’t"))
        if is_negated and tree.has_word(auxiliaries, ("do",)):
            return False  # "but don't hesitate to ask"
        is_verb = tree.tags[head] in VERB or tree.is_finite(head)
        particles = [token for token in inner if tree.tags[token] == "RP"]
        shares = tree.child(joined, *_SHAREABLE) is not None
        if is_verb and inner == particles and (shares or particles or not self._is_someone(head)):
            return False  # "is reviewed and approved by …", "tracked down and fixed …"
        behind = tree.words[head + 1 : head + 2]
        if is_verb and shares and behind == [","] and tree.has_dep(inner, ("conj",)):
            return False  # "reads, checks and writes the file"
        if inner and inner[-1] in (subtree[0] - 1, subtree[0] - 2) and tree.tags[inner[-1]] in VERB:
            return False  # "what it collects and makes use of"
        if tree.has_word(before_verb, ("ought",)):
            return False
        if tree.child(joined, "compound", "amod", "det", "nummod") in before_verb:
            return False  # "and brand logos": a noun that was read as a verb
        is_base = tree.tags[joined] in ("VB", "VBP")
        marks = [tree.words[token] for token in range(head + 1, subtree[0])]
        if is_base and "," in marks and "," not in marks[-2:]:
            return False  # "it reads tables, lists and block quotes": a list of nouns
        if tree.tags[joined] == "VBZ" and self._may_be_subject(joined):
            return False  # "and writes to the disk are rejected": a noun
        if is_base and tree.lower[head] in _ADVISING and "ing" in "".join(tree.lower[head:joined]):
            return False  # "We recommend opening a page for each and include the notes"
        for clause in tree.all(head, "advcl"):
            if head < clause < joined and tree.subjects[clause] is not None:
                return False  # "leaves out the name, as it is long and is no longer used"
        word = tree.lower[joined]
        is_like_noun = tree.tags[joined] in ("VBG", "VB", "VBP")
        if is_like_noun and tree.lower[joined + 1 : joined + 2] == ["of"]:
            return False  # "refers to vapours and chewing of leaves", "the look and feel of it"
        if tree.tags[joined] == "VBG" and word in tree.lower[head + 1 : joined]:
            return False  # "telling it to open using a key, and using the handle"
        if is_base and word.endswith(_NOUN_ENDINGS) and word not in LEXICON["verbs like nouns"]:
            return False  # "for a device and folder in the list"
        others = [token for token in before_verb if tree.tags[token] in NOUN]
        if tree.tags[joined] in VERB and (
            len(others) > 1 or tree.tags[joined - 1] in ("DT", "PRP", "CD", "NNS")
        ):
            return False  # "and both have …"
        subject_head = tree.subjects[head]
        if subject_head is not None:
            label = tree.words[subject_head + 1 : max(subject_head + 1, head)]
            if sum(word in _DASHES for word in label) == 1:
                return False  # "Talks – we discuss it and decide": a label as the subject
        if inner and tree.tags[inner[-1]] in _STRANDED:
            return False  # "governed by and construed in accordance with …"
        # "cause it to emit a message and then wait": the nearest infinitive
        is_base_form = tree.tags[joined] in ("VB", "VBP") and tree.lower[joined] != "are"
        return not is_base_form or bool(auxiliaries) or not tree.has_tag(inner, ("VB",))

    def _may_be_subject(self, joined: int) -> bool:
        """Return whether a verb may be the noun that a later verb says something of."""
        tree = self.tree
        reported = tree.child(joined, "ccomp")
        if reported is not None and tree.child(reported, "mark", "expl") is None:
            opening = tree.subtree(reported)[0]
            return tree.lower[joined] not in SAYING or tree.tags[opening] == "IN"
        for token in tree.subtree(joined):
            head = tree.heads[token]
            is_said_of = tree.deps[token] in ("cop", "aux:pass") and tree.subjects[head] is None
            if is_said_of and token > joined and tree.child(head, "mark") is None:
                return tree.lower[token] in ("is", "are", "was", "were")
        return False

    def _is_someone(self, head: int) -> bool:
        """Return whether the subject of a clause is likely a person who acts."""
        subject = self.tree.subjects[head]
        return subject is not None and (
            self.tree.lower[subject] in ("he", "she") or self.tree.lower[subject] in _PERSONS
        )

    def _shared_opening(self, head: int, joined: int) -> list[Item] | None:
        """Return what a conjunct without subject inherits.

        It inherits auxiliaries or a copula. The result is None if this is unclear.
        """
        tree = self.tree
        before: list[Item] = [aux for aux in tree.auxiliaries[head] if aux < joined]
        tag = tree.tags[joined]
        if tree.auxiliaries[joined] or tag == "VBZ":
            has_modal = tree.has_tag(tokens(before), ("MD",))
            if has_modal and not tree.auxiliaries[joined]:
                return None  # "will match their names and offsets": a noun
            return [] if tree.is_clause(joined) else None  # not "to help and be fair"
        if tag == "VBD":  # beside another tense, or an auxiliary, it is a participle, or no verb
            return [] if tree.is_past(head) and (not before or self._is_someone(head)) else None
        if tag == "VBP":
            return [] if not before else None
        is_passive = tree.child(head, "aux:pass") is not None
        if tag == "VB" and tree.has_word(tokens(before), ("be", "been")):
            if is_passive:
                return None  # "can be noted in a list and allow checks": what allows them?
            modals: list[Item] = [aux for aux in tokens(before) if tree.tags[aux] == "MD"]
            return sorted(modals, key=str) if len(modals) == 1 else None  # "can be fast and use …"
        if is_passive and tag == "VBN" and tree.child(joined, "obj") is not None:
            return None  # "was shown the film and destroyed it": a past tense
        if tag in ("VBN", "VBG", "VB"):
            takes_infinitive = set()
            for aux in tokens(before):
                takes_infinitive.add(tree.tags[aux] == "MD" or tree.lower[aux] in _DO)
            if (tag == "VB") in takes_infinitive and tag in ("VB", tree.tags[head]):
                return before
            return None
        if tree.child(head, "case") is not None or tag[:2] != tree.tags[head][:2] or tag in NOUN:
            return None  # "in Dublin and Cork", "a singer and actor"
        subject_head = tree.subjects[head]
        if subject_head is not None and tree.lower[subject_head] in _NO_SOMETHING:
            return None
        return before

    def _fronted(self, head: int, joined: int) -> list[int]:
        """Return adverbials before the subject that also apply to a coordinated clause.

        Such are "In 1990, …" and "If it rains, …". A condition always does.
        """
        tree = self.tree
        subject = tree.subjects[head]
        joined_subject = tree.subjects[joined]
        conditions = self.conditions(head)
        if subject is None or conditions:
            return conditions
        further = [other for other in tree.all(joined, "conj") if tree.subjects[other] is not None]
        phrase = tree.subtree(joined, further)
        has_time = False  # of its own, or it contrasts with the text before
        for token in phrase:
            word = tree.lower[token]
            is_turn = word in _TURNS and (word not in _CONTRASTS or tree.is_past(head))
            has_time |= is_turn or (word.isdigit() and len(word) == 4)
        # Nor do adverbials reach a clause in another tense, or with an adverbial in front.
        if joined_subject is not None:
            if tree.is_past(head) and not tree.is_past(joined):
                return []
            if min(tree.all(joined, *_ADVERBIALS), default=joined_subject) < joined_subject:
                return []
            opening = [token for token in phrase if token < min(joined_subject, joined)]
            if tree.has_dep(opening, ("case",)):
                return []
        fronted = []
        for child in tree.all(head, *_ADVERBIALS, "advmod"):
            if child > subject or self._is_connective(child):
                continue
            if not has_time or not self._is_time(child):
                fronted.append(child)
        return fronted

    def _is_time(self, adverbial: int) -> bool:
        """Return whether an adverbial says when something was, as in "In May, …"."""
        tree = self.tree
        if tree.deps[adverbial] in ("advmod", "obl:unmarked"):
            return True
        named = LEXICON["times"] | LEXICON["periods"] | _PERIODS
        phrase = tree.subtree(adverbial)
        has_digit = any(tree.words[token][0].isdigit() for token in phrase)
        return has_digit or tree.has_word(phrase, named)

    def _is_conditional(self, head: int, joined: int) -> bool:
        """Return whether a clause with a subject of its own may hold only on a condition before it.

        Neither may its subject be an infinitive behind it: "… and is easy to clean".
        """
        tree = self.tree
        subject = tree.subjects[joined]
        is_base = tree.tags[joined] in ("VB", "VBP") and not tree.auxiliaries[joined]
        if is_base and subject is not None and tree.lower[subject] in LEXICON["periods"]:
            return True  # "and three days leave": a noun
        for child in tree.all(joined, "obl", "obl:unmarked", "obj", "dislocated"):
            is_bare = tree.child(child, "case") is None and tree.tags[child] in ("NN", "NNS")
            is_first = subject is not None and child < subject
            if is_first and is_bare and tree.lower[child] not in LEXICON["periods"]:
                return True  # "but ways we can share …": no clause
        if subject is not None and subject > joined and tree.deps[subject] == "csubj":
            return tree.child(joined, "expl") is None
        start = tree.subtree(joined)[0]
        if tree.lower[start] == "then" and not _TRAILING_CONDITIONS.isdisjoint(tree.lower[:start]):
            return True
        if tree.deps[joined] == "parataxis":
            return False
        scope = tree.lower[head:start]
        if not _SCOPES.isdisjoint(scope) and not {";", "."} & set(scope):
            return True  # "make sure A, and B"
        if tree.lower[:2] == ["not", "only"] or ("as", "long") in pairwise(tree.lower[:start]):
            return True
        first = start
        while tree.deps[first] in ("cc", "punct") and first < joined:
            first += 1
        if tree.lower[first] == "that" and "that" in tree.lower[:start]:
            return True  # "Note that A, and that B"
        if first > start and not _PLACES.isdisjoint(tree.lower[head:start]):
            return True  # "a mode where all is closed, and you open what is needed"
        if "," in tree.words[:start] and "so" in tree.lower[head:start]:
            so = tree.lower.index("so", head)
            if tree.deps[so] in ("cc", "mark"):
                return True  # "It is short, so you can read it, and others can"
        for token in range(start):
            word = tree.lower[token]
            if word == "when" and token > head and "," not in tree.words[token:start]:
                return True  # "even when it is broken and cannot be started"
            if word in _ALWAYS_LIMITING or (word in _CONDITIONS and token < head):
                return not (word in _TIMES and tree.is_past(head))
        return False

    def conditions(self, head: int) -> list[int]:
        """Return the clauses before a verb that say when it holds."""
        tree = self.tree
        subject = tree.subjects[head]
        start = head if subject is None else min(head, subject)
        conditions = []
        for child in tree.all(head, "advcl"):
            opening = tree.lower[tree.subtree(child)[0]]
            if child > start or opening not in _CONDITIONS:
                continue
            if opening in _TIMES and tree.is_past(head):
                continue
            conditions.append(child)
        return conditions

    def _is_connective(self, adverbial: int) -> bool:
        """Return whether an adverbial only relates its clause to the text before.

        It then does not limit what the clause says.
        """
        tree = self.tree
        if tree.lower[adverbial] in _ASSUMING or tree.child(adverbial, "det") is not None:
            return False  # "In this example, …", "Given the example above, …"
        if tree.deps[adverbial] == "advcl":
            mark = tree.child(adverbial, "mark")
            if mark is not None:
                is_time = tree.subjects[adverbial] is None  # "While upgrading, …"
                return tree.lower[mark] in _CONTRAST and not is_time
            return tree.tags[tree.subtree(adverbial)[0]] == "VBN"  # "Starting in May, …" limits
        return tree.lower[adverbial] in LEXICON["connectives"]

    def _adverbial(self, head: int, cut: set[int], subject: Sequence[Item]) -> None:
        tree = self.tree
        for child in tree.all(head, "advcl", "acl"):
            if child in cut or not is_whole(tree, child):
                continue
            mark = tree.child(child, "mark")
            if tree.subjects[child] is not None:
                if mark is None or tree.lower[mark] not in _CONTRAST or not tree.is_clause(child):
                    continue
                if tree.lower[mark - 1] in ("even", "as", "just") or _is_example(tree):
                    continue
                if _is_entangled(tree, head, child):
                    continue
                start = tree.subtree(child)[0]
                if child > head and "," not in tree.words[start - 1 : start + 1]:
                    continue  # "it changed while we read it": a time
                if tree.lower[mark] == "while" and self._is_in_progress(head, child):
                    continue  # "while the pump is running, it …": a time
                phrase = tree.subtree(child)
                if phrase[0] < head and "," not in tree.words[phrase[-1] : phrase[-1] + 2]:
                    continue  # it is not known where it ends
                if any(tree.subjects[other] is None for other in tree.all(child, "conj")):
                    continue  # which of both verbs is joined?
                if phrase[0] > head:
                    if not {"if", "when", "unless"}.isdisjoint(tree.lower[: phrase[0]]):
                        continue
                    rest = [token for token in tree.subtree(head) if token > phrase[-1]]
                    if any(tree.words[token].isalnum() for token in rest):
                        continue
                if not self._fronted(head, child) and self._is_worth(head, child, cut):
                    self._split_off(child, cut, swap={mark: []})
                continue
            # "Born in Oslo, she …", not "when asked".
            opens = (
                tree.subtree(child)[0] == 0
                and (child == 0 or tree.tags[0] == "RB")
                and tree.tags[0] != "IN"
                and tree.lower[0] not in _SUBORDINATORS
            )
            opens = opens and tree.lower[child] not in (
                "given",
                "provided",
                "compared",
                "based",
                "granted",
                "fixed",  # as a list of changes says it
            )
            free = opens and tree.tags[child] == "VBN" and not tree.auxiliaries[child]
            free = free and not self._holds_more(child) and self._ends_with_comma(child)
            subject_head = tree.subjects[head]
            if subject_head is None or tree.lower[subject_head] in _NO_SOMETHING:
                continue
            has_modal = tree.has_tag(tree.auxiliaries[head], ("MD",))
            if has_modal or tree.lower[subject_head] in ("you", "we", "i"):
                continue  # "Combined with it, your code will be tidy": a means
            if subject and free and self._is_worth(head, child, cut, (), subject):
                self._split_off(child, cut, [*subject, copula(tree, head, tree.subjects[head])])

    def _ends_with_comma(self, child: int) -> bool:
        end = self.tree.subtree(child)[-1]
        return "," in self.tree.words[end : end + 2]

    def _holds_more(self, participle: int) -> bool:
        """Return whether an opening phrase may reach beyond, or begin before, its participle.

        It may in "Faced with costs, trainer Ann …", and in "Thus, and without help given, …".
        """
        tree = self.tree
        phrase = tree.subtree(participle)
        if tree.has_tag(range(participle), ("CC",)):
            return True
        for token in phrase[:-1]:
            follows_comma = tree.words[token] == "," and token > participle
            if follows_comma and tree.tags[token + 1] not in PROPER:
                return True
        return False

    def _is_in_progress(self, *heads: int) -> bool:
        """Return whether one of some clauses says what is going on."""
        tree = self.tree
        return any(tree.tags[head] == "VBG" and tree.auxiliaries[head] for head in heads)

    def _is_worth(
        self,
        head: int,
        child: int,
        cut: set[int],
        before: Sequence[Item] = (),
        subject: Sequence[Item] = (),
    ) -> bool:
        """Return whether a split leaves enough in both parts to understand each alone.

        Each has enough content words, and names what its pronouns mean. One part is the clause with
        what is `before` it.
        """
        tree = self.tree
        rest: list[Item] = [*before, *tree.subtree(head, cut | {child})]
        part: list[Item] = [*subject, *tree.subtree(child, cut)]
        for items in (rest, part):
            if content_words(tree, items, self.names) < self.min_words:
                return False
        if dangles(tree, rest, tokens(part), self.names, head):
            return False
        return not dangles(tree, part, tokens(rest), self.names, child)

    def _split_off(
        self,
        child: int,
        cut: set[int],
        subject: Sequence[Item] = (),
        swap: Mapping[int, list[Item]] = MappingProxyType({}),
    ) -> None:
        """Remove a subtree from its clause, with a conjunction before it, and state it."""
        cut.add(child)
        phrase = self.tree.subtree(child)
        if phrase[-1] - phrase[0] >= len(phrase):
            self.is_doubtful = True  # other words stand between its own
        head = self.tree.heads[child]
        first = phrase[0]
        for mark in self.tree.all(head, "cc"):
            if head < mark < first and first - mark <= 2:
                cut.add(mark)
        self.clause(child, subject, swap)


def _is_example(tree: Tree) -> bool:
    """Return whether all clauses of a sentence make up one example."""
    return tree.lower[:2] in (["for", "example"], ["for", "instance"])


def _is_entangled(tree: Tree, head: int, child: int) -> bool:
    """Return whether a contrasting clause in front may not be all of what is contrasted.

    It is not in "while it is small, and is fast, it …" and "while it rains, if it is cold, it …".
    """
    phrase = tree.subtree(child)
    if child > head:
        return False
    if not {"if", "unless", "when", "until"}.isdisjoint(tree.lower[phrase[0] : phrase[-1] + 1]):
        return True
    after = phrase[-1] + 1
    while after < len(tree.words) and not tree.is_word(after):
        after += 1
    subject = tree.subjects[head]
    if subject is None or tree.child(subject, "case") is not None:
        return True
    between = [token for token in range(after, tree.subtree(subject)[0]) if tree.is_word(token)]
    return any(tree.tags[token] != "RB" or tree.lower[token] == "hence" for token in between)


def _begins_beyond(tree: Tree, names: Mapping[int, int]) -> bool:
    """Return whether the subject of a sentence was named before it: "This node", "The flag".

    Its parts would say even less alone than the sentence does.
    """
    subject = tree.subjects[tree.root]
    if subject is None:
        return False
    phrase = tree.subtree(subject)
    if any(token in names for token in phrase):
        return False
    return points_at_text(tree, subject) or is_bare_definite(tree, subject)


def _speaks_of_others(tree: Tree) -> bool:
    """Return whether a clause beside the main one leaves out of what its subject is.

    Such is "others need a filter"; "most of the pumps need a filter" is not.
    """
    for head, subject in enumerate(tree.subjects):
        if subject is None or tree.deps[head] not in ("ROOT", "conj", "advcl", "parataxis"):
            continue
        if is_stand_in(tree, subject):
            return True
    return False


def limits_what_follows(tree: Tree) -> bool:
    """Return whether a clause begins with a phrase that may hold for the clauses after it, too.

    It does in "By default, reads are consistent; a flag makes them fast".
    """
    splitter = _Splitter(tree, 0, {})
    return bool(splitter.openings(tree.root) or splitter.conditions(tree.root))


def split_clauses(
    tree: Tree, *, min_words: int = 0, names: Mapping[int, int] = MappingProxyType({})
) -> list[list[Item]]:
    """Return the statements of a sentence as items to render.

    The first is what remains of the main clause.

    No split leaves a statement with fewer content words than `min_words`; `names` has the number of
    words of the names that will replace tokens.
    """
    splitter = _Splitter(tree, min_words, names)
    splitter.clause(tree.root)
    doubtful = splitter.is_doubtful or is_doubtful(tree, splitter.statements)
    doubtful |= tree.lower[0] in ("e.g.", "i.e.") or "respectively" in tree.lower
    doubtful |= tree.lower[:2] == ["the", "reason"]  # "The reason it is red, and the reason …"
    doubtful |= tree.lower[0] in ("whether", "how", "why")  # a clause is the subject
    subject = tree.subjects[tree.root]
    is_verb = tree.tags[0] == "NNS" and tree.tags[tree.root] == "VBZ"
    is_verb |= tree.lower[0] in _DESCRIBING
    doubtful |= is_verb and subject == 0  # "Handles quotes well and understands brackets"
    doubtful |= tree.words[-1] == ":"  # what is meant stands below
    doubtful |= tree.words[-1] == "?" or any(arrow in tree.source for arrow in _ARROWS)
    is_split = len(splitter.statements) > 1
    doubtful |= _speaks_of_others(tree) or _begins_beyond(tree, names)
    if (is_split and doubtful) or loses_negation(tree, splitter.statements):
        return [list(range(len(tree.words)))]
    return splitter.statements
