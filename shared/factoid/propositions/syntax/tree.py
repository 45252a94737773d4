"""A dependency tree as plain lists: what the splitting rules read, whichever parser made it.

Labels follow Universal Dependencies. ClearNLP's labels (spaCy's English pipelines) are renamed where only the name
differs. Where the structure differs (a preposition above its noun, a copula above its predicate) the rules work on whole
subtrees, which are the same in both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Doc

    from factoid.propositions.syntax.reading import Reading

_FROM_CLEARNLP = {
    "ROOT": "root",
    "nsubjpass": "nsubj:pass",
    "csubjpass": "csubj",
    "auxpass": "aux:pass",
    "dobj": "obj",
    "dative": "iobj",
    "pobj": "obl",
    "prep": "obl",
    "agent": "obl",
    "npadvmod": "obl:unmarked",
    "relcl": "acl:relcl",
    "poss": "nmod:poss",
    "prt": "compound:prt",
    "neg": "advmod",
    "nn": "compound",
    "num": "nummod",
    "infmod": "acl",
    "partmod": "acl",
}
SUBJECTS = ("nsubj", "nsubj:pass", "csubj")
AUXILIARIES = ("aux", "aux:pass", "cop")
_FINITE = ("VBD", "VBZ", "VBP", "MD")


@dataclass(frozen=True, slots=True)
class Tree:
    """One sentence. All lists are indexed by token.

    Attributes:
        words: The tokens' texts.
        spaces: White space after each token.
        tags: Penn Treebank tags.
        deps: Universal Dependencies relations.
        heads: Index of the head; a root is its own head.
        children: Indices of the dependents, in order.
        source: The sentence as it stands.
        places: For tokens that are places within places, their names from the smallest on.
        times: Tokens that are dates.
    """

    words: list[str]
    spaces: list[str]
    tags: list[str]
    deps: list[str]
    heads: list[int]
    children: list[list[int]]
    source: str
    places: Mapping[int, Sequence[str]] = field(default_factory=dict)
    times: Collection[int] = ()

    @classmethod
    def from_doc(cls, doc: Doc, reading: Reading | None = None, source: str = "") -> Tree:
        """Read a parsed document of one sentence.

        Args:
            doc: The document.
            reading: What its tokens stand for; None if that is their text.
            source: The sentence as it stands, if that is not the document's text.
        """
        heads = [token.head.i for token in doc]
        children: list[list[int]] = [[] for _ in heads]
        for index, head in enumerate(heads):
            if head != index:
                children[head].append(index)
        tree = cls(
            reading.words if reading else [token.text for token in doc],
            [token.whitespace_ for token in doc],
            [token.tag_ for token in doc],
            [_FROM_CLEARNLP.get(token.dep_, token.dep_) for token in doc],
            heads,
            children,
            source or doc.text.strip(),
            reading.places if reading else {},
            reading.times if reading else (),
        )
        tree._mend_tags()
        return tree

    def inflect(self, index: int, word: str) -> None:
        """Make a token a past tense."""
        self.words[index] = word
        self.tags[index] = "VBD"

    def _mend_tags(self) -> None:
        """Call a participle that heads a clause without an auxiliary a past tense: taggers mix them up."""
        for index, tag in enumerate(self.tags):
            if tag != "VBN" or self.auxiliaries(index):
                continue
            above = self.heads[index]
            own = self.deps[index] in ("root", "conj", "parataxis", "ccomp") and self.child(index, "nsubj") is not None
            shared = self.deps[index] == "conj" and not self.auxiliaries(above) and self.is_finite(above)
            if own or shared:
                self.tags[index] = "VBD"

    @property
    def root(self) -> int:
        """The first token that heads itself."""
        return next(index for index, head in enumerate(self.heads) if head == index)

    def subtree(self, head: int, without: Collection[int] = ()) -> list[int]:
        """Return a token and all below it in order, leaving out the subtrees of some."""
        found = []
        pending = [head]
        while pending:
            index = pending.pop()
            found.append(index)
            pending.extend(child for child in self.children[index] if child not in without)
        return sorted(found)

    def child(self, head: int, *deps: str) -> int | None:
        """Return the first dependent with one of these relations."""
        return next((child for child in self.children[head] if self.deps[child] in deps), None)

    def all(self, head: int, *deps: str) -> list[int]:
        """Return the dependents with these relations."""
        return [child for child in self.children[head] if self.deps[child] in deps]

    def subject(self, head: int) -> int | None:
        """Return the subject of a clause."""
        return self.child(head, *SUBJECTS)

    def auxiliaries(self, head: int) -> list[int]:
        """Return auxiliaries and copula of a clause."""
        return self.all(head, *AUXILIARIES)

    def is_verb(self, index: int) -> bool:
        """Tell whether a token is a verb form."""
        return self.tags[index].startswith("VB")

    def is_noun(self, index: int) -> bool:
        """Tell whether a token is a common or proper noun."""
        return self.tags[index].startswith("NN")

    def is_proper(self, index: int) -> bool:
        """Tell whether a token is a proper noun."""
        return self.tags[index].startswith("NNP")

    def is_finite(self, index: int) -> bool:
        """Tell whether a token is a finite verb.

        A noun with a subject, but without article and copula, is a verb that the tagger took for a plural ("it leans").
        """
        if self.tags[index] == "NNS":
            return self.subject(index) is not None and self.child(index, "det", "cop") is None
        return self.tags[index] in _FINITE

    def is_clause(self, head: int) -> bool:
        """Tell whether a token heads a finite clause: a finite verb, or a predicate with a finite auxiliary or copula."""
        return self.is_finite(head) or any(self.tags[aux] in _FINITE for aux in self.auxiliaries(head))

    def is_past(self, head: int) -> bool:
        """Tell whether a clause is in a past tense."""
        finite = [index for index in (*self.auxiliaries(head), head) if self.tags[index] in _FINITE]
        return bool(finite) and self.tags[finite[0]] == "VBD"

    def is_plural(self, head: int) -> bool:
        """Tell whether a noun phrase is plural."""
        if self.tags[head] in ("NNS", "NNPS"):
            return True
        return any(
            self.words[cc].lower() == "and" for joined in self.all(head, "conj") for cc in self.all(joined, "cc")
        )
