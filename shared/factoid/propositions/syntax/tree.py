"""A dependency tree as plain lists, which the splitting rules read.

Labels follow Universal Dependencies, except spaCy's ROOT.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Sequence
from functools import cache
from importlib.resources import as_file, files
from operator import add
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

# A token by its index, or a word inserted by a rule.
Item = int | str

# Penn Treebank tags.
VERB = frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"})
PROPER = frozenset({"NNP", "NNPS"})
NOUN = frozenset({"NN", "NNS", *PROPER})
SUBJECT = frozenset({"nsubj", "nsubj:pass", "csubj"})
_AUXILIARY = frozenset({"aux", "aux:pass", "cop"})
_FINITE = frozenset({"VBD", "VBZ", "VBP", "MD"})

_CODE = re.compile(r"`[^`]+`")
_STAND_IN = "Hamlet"  # what the parser reads for inline code
_LONGEST = 2000  # characters; a longer text is not a sentence


class Tree:
    """One sentence, from the tokens of `tokenize` after parsing. All lists are indexed by token."""

    def __init__(self, doc: Doc, words: list[str]) -> None:
        self.words = words
        self.lower = [word.lower() for word in self.words]
        self.spaces = [token.whitespace_ for token in doc]  # after each token
        self.source = "".join(map(add, self.words, self.spaces)).strip()  # the sentence
        self.tags: list[str] = [token.tag_ for token in doc]  # of the Penn Treebank
        self.deps: list[str] = [token.dep_ for token in doc]  # Universal Dependencies relations
        self.heads: list[int] = [token.head.i for token in doc]  # a root is its own head
        self.children: list[list[int]] = [[] for _ in self.words]  # in order
        self.subjects: list[int | None] = [None] * len(
            self.words
        )  # of the clause that a token heads
        self.auxiliaries: list[list[int]] = [
            [] for _ in self.words
        ]  # of that clause, with its copula
        for index, (head, dep) in enumerate(zip(self.heads, self.deps, strict=True)):
            if head == index:
                continue
            self.children[head].append(index)
            if dep in _AUXILIARY:
                self.auxiliaries[head].append(index)
            elif dep in SUBJECT and self.subjects[head] is None:
                self.subjects[head] = index
        self.root = next(index for index, head in enumerate(self.heads) if index == head)
        self._subtrees: dict[int, list[int]] = {}
        if "VBN" in self.tags:
            self._mend_tags()

    def _mend_tags(self) -> None:
        """Tag a participle that heads a clause without an auxiliary as past tense.

        Taggers confuse the two.
        """
        for index, tag in enumerate(self.tags):
            if tag != "VBN" or self.auxiliaries[index]:
                continue
            dep, head = self.deps[index], self.heads[index]
            if (
                dep in ("ROOT", "conj", "parataxis", "ccomp")
                and self.child(index, "nsubj") is not None
            ) or (dep == "conj" and not self.auxiliaries[head] and self.is_finite(head)):
                self.tags[index] = "VBD"

    def subtree(self, head: int, without: Collection[int] = ()) -> Sequence[int]:
        """Return a token and all tokens below it in order.

        The subtrees of `without` are left out.
        """
        if not without and head in self._subtrees:
            return self._subtrees[head]
        subtree = []
        pending = [head]
        while pending:
            index = pending.pop()
            if index == head or index not in without:
                subtree.append(index)
                pending += self.children[index]
        subtree.sort()
        if not without:
            self._subtrees[head] = subtree
        return subtree

    def child(self, head: int, *deps: str) -> int | None:
        """Return the first dependent with one of these relations."""
        for child in self.children[head]:
            if self.deps[child] in deps:
                return child
        return None

    def all(self, head: int, *deps: str) -> list[int]:
        """Return the dependents with these relations."""
        return [child for child in self.children[head] if self.deps[child] in deps]

    def has_tag(self, phrase: Iterable[int], tags: Container[str]) -> bool:
        """Return whether a token of a phrase has one of these tags."""
        return any(self.tags[token] in tags for token in phrase)

    def has_dep(self, phrase: Iterable[int], deps: Container[str]) -> bool:
        """Return whether a token of a phrase has one of these relations to its head."""
        return any(self.deps[token] in deps for token in phrase)

    def has_word(self, phrase: Iterable[int], words: Container[str]) -> bool:
        """Return whether a token of a phrase is one of these words in lower case."""
        return any(self.lower[token] in words for token in phrase)

    def is_word(self, token: int) -> bool:
        """Return whether a token ends in a letter or a digit, and is no mark."""
        return self.words[token][-1].isalnum()

    def is_finite(self, index: int) -> bool:
        """Return whether a token is a finite verb."""
        if self.tags[index] == "NNS":  # "it leans": a verb tagged as a plural
            return self.subjects[index] is not None and self.child(index, "det", "cop") is None
        return self.tags[index] in _FINITE

    def finite(self, head: int) -> int:
        """Return the first finite verb of a predicate, or its head if none is finite."""
        for token in self.auxiliaries[head]:
            if self.is_finite(token):
                return token
        return head

    def is_clause(self, head: int) -> bool:
        """Return whether a token heads a finite clause.

        Such a token is a finite verb, or a predicate with a finite auxiliary or copula.
        """
        return self.is_finite(head) or self.has_tag(self.auxiliaries[head], _FINITE)

    def is_past(self, head: int) -> bool:
        """Return whether a clause is in a past tense."""
        tags = [
            self.tags[index]
            for index in (*self.auxiliaries[head], head)
            if self.tags[index] in _FINITE
        ]
        return tags[:1] == ["VBD"]

    def is_plural(self, head: int) -> bool:
        """Return whether a noun phrase is plural."""
        if self.tags[head] in ("NNS", "NNPS"):
            return True
        for joined in self.all(head, "conj"):
            if self.has_word(self.all(joined, "cc"), ("and",)):
                return True
        return False

    def bracketed(self) -> set[int]:
        """Return the tokens between brackets, and the brackets."""
        inside: set[int] = set()
        depth = 0
        for token, word in enumerate(self.words):
            depth += word in ("(", "[")
            if depth:
                inside.add(token)
            depth = max(0, depth - (word in (")", "]")))
        return inside


def tokens(items: Iterable[Item]) -> set[int]:
    """Return the tokens among items."""
    return {item for item in items if isinstance(item, int)}


@cache
def load_parser() -> Language:
    """Return the dependency parser that ships with the package."""
    import spacy

    with as_file(files("factoid.propositions.syntax") / "model") as path:
        return spacy.load(path)


def tokenize(nlp: Language, sentence: str) -> tuple[Doc, list[str]]:
    """Return the tokens of a sentence for the parser, and what to write for each.

    Inline code is a single token, for which the parser reads a name: it trips over the inside of
    code.
    """
    codes: list[tuple[int, int]] = []
    if len(sentence) <= _LONGEST:
        codes = [match.span() for match in _CODE.finditer(sentence)]
    while True:
        plain, copied = "", 0
        starts: list[int] = []  # of the codes, in the plain text
        for start, end in codes:
            plain += sentence[copied:start]
            starts.append(len(plain))
            plain += _STAND_IN
            copied = end
        doc = nlp.make_doc(plain + sentence[copied:])
        names = {token.idx: token.i for token in doc if token.text == _STAND_IN}
        separate = [code for code, start in zip(codes, starts, strict=True) if start in names]
        if len(separate) == len(codes):
            break
        codes = separate  # the others are joined to a word, as in "`Unit`s"
    words = [token.text for token in doc]
    for (start, end), at in zip(codes, starts, strict=True):
        words[names[at]] = sentence[start:end]
    # Sentence ends set by the parser would break names. To say so token by token takes as long as a
    # tenth of the parse.
    sentence_starts = np.full(len(doc), -1, np.int64)
    sentence_starts[:1] = 1
    doc.from_array(["SENT_START"], sentence_starts.view(np.uint64))
    return doc, words
