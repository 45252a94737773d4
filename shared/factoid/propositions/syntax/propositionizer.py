"""The offline propositionizer: a dependency parse and rules, no key, no GPU, no download."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from factoid.errors import InvalidInputError
from factoid.propositions.syntax.clauses import split_clauses
from factoid.propositions.syntax.phrases import stands_alone
from factoid.propositions.syntax.reading import Reading, read
from factoid.propositions.syntax.reference import Discourse
from factoid.propositions.syntax.render import Item, render
from factoid.propositions.syntax.tree import Tree
from factoid.sentences import sentence_spans
from factoid.units import Unit

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_ENUMERATION = re.compile(r"(?<!\w)\((?:[a-z]|[ivx]+|\d)\)")  # "(a) …; (b) …": the parts mean nothing by themselves
_FENCE = "```"  # code is kept as it stands
_BREAK = re.compile(r"[;:]\s+")
VERSION = 2  # raise when the same text may give other propositions

_UNUSED = ("ner", "lemmatizer", "attribute_ruler", "entity_linker", "textcat", "senter", "sentencizer", "morphologizer")
_WHOLE = 80  # tokens; a longer sentence is no sentence to a parser


class SyntaxPropositionizer:
    """Splits sentences by their dependency parse, and writes out what pronouns and short names stand for.

    Coordinations, relative clauses, appositions, parentheticals and participial clauses become statements of their own,
    in the words of the passage (Dense X Retrieval, §2). A sentence that does not parse as one is kept as it stands.

    Args:
        nlp: A spaCy pipeline with a tagger and a dependency parser, with Universal Dependencies or ClearNLP labels; None
            for the small English one that ships with factoid.

        min_words: No split leaves a proposition with fewer content words (nouns, verbs, adjectives, adverbs, numbers);
            0 splits whatever can be split. Very short facts are close to too many questions for dense retrieval.
        atomic: Go on to the smallest facts, each with one name, place, time or role, as FActScore's annotators do:
            enumerations and adverbials are taken apart, participles become verbs, "the film X" says that X is a film.
            Best for checking and citing; `min_words` does not count then.

    Raises:
        InvalidInputError: On use, if the pipeline has no parser.
    """

    def __init__(self, nlp: Language | None = None, *, min_words: int = 4, atomic: bool = False) -> None:
        self._nlp = nlp
        self.min_words = 0 if atomic else min_words
        self.atomic = atomic
        # spaCy pipelines add to their vocabulary while they work.
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """What a store remembers of how its propositions were made."""
        pipeline = "" if self._nlp is None else f" {self._nlp.meta.get('lang')}_{self._nlp.meta.get('name')}"
        detail = "atomic" if self.atomic else f"min_words={self.min_words}"
        return f"syntax {VERSION} {detail}{pipeline}"

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return the propositions of each passage, sentence by sentence."""
        sentences = [
            [_parts(passage.text[start:end]) for start, end in sentence_spans(passage.text)] for passage in passages
        ]
        with self._lock:
            parsed = self._parse(text for parts in sentences for part in parts for text in part)
            trees = [[[next(parsed) for _ in part] for part in parts] for parts in sentences]
        return [
            [whole for whole, *_ in parts]
            if _FENCE in passage.text
            else _passage(passage.title, parts, found, self.min_words, self.atomic)
            for passage, parts, found in zip(passages, sentences, trees, strict=True)
        ]

    def _parse(self, texts: Iterable[str]) -> Iterator[Tree]:
        nlp = _shipped() if self._nlp is None else self._nlp
        unused = [name for name in nlp.pipe_names if name in _UNUSED]
        under_way: deque[tuple[str, Reading]] = deque()

        def docs() -> Iterator[Doc]:
            for text in texts:
                reading = read(nlp, text, masked=self.atomic)
                under_way.append((text, reading))
                yield _one_sentence(reading.doc)

        for doc in nlp.pipe(docs(), batch_size=256, disable=unused):
            if not doc.has_annotation("DEP"):
                message = (
                    f"the spaCy pipeline {nlp.pipe_names} has no dependency parser: a tagger and a parser are needed"
                )
                raise InvalidInputError(message)
            text, reading = under_way.popleft()
            same = len(doc) == len(reading.words)  # a pipeline may have a tokeniser's mind of its own
            yield Tree.from_doc(doc, reading if same else None, text if same else doc.text)


def _parts(sentence: str) -> list[str]:
    """Return a sentence on one line and, if it has semicolons or colons, the parts between them."""
    text = " ".join(sentence.split())
    parts = [part for part in _BREAK.split(text) if part]
    return [text] if len(parts) < 2 or text.count("(") else [text, *parts]


def _passage(
    title: str, sentences: Sequence[Sequence[str]], trees: Sequence[Sequence[Tree]], min_words: int, atomic: bool
) -> list[str]:
    discourse = Discourse(title)
    found: list[str] = []
    for texts, (whole, *parts) in zip(sentences, trees, strict=True):
        # Parts of a list are no sentences; parts with a verb and a subject each are.
        separate = parts and all(part.is_clause(part.root) and part.subject(part.root) is not None for part in parts)
        for tree in parts if separate else [whole]:
            found.extend(_propositions(tree, texts[0], discourse, min_words, atomic))
    return list(dict.fromkeys(found))


def _propositions(tree: Tree, sentence: str, discourse: Discourse, min_words: int, atomic: bool) -> list[str]:
    mentions = discourse.read(tree)
    whole: list[Item] = list(range(len(tree.words)))
    if len(whole) > _WHOLE or _ENUMERATION.search(sentence):
        return [sentence]
    names = {token: len(mention.text.split()) for token, mention in mentions.items()}
    statements = split_clauses(tree, min_words=min_words, names=names, atomic=atomic)
    if not all(stands_alone(tree, items, words=2 if atomic else 3) for items in statements):
        statements = [whole]
    if len(statements) == 1 and not mentions and tree.source == sentence:
        return [sentence]
    return [text for text in (render(tree, items, mentions) for items in statements) if text]


def _one_sentence(doc: Doc) -> Doc:
    """Keep the parser from ending sentences of its own: it breaks names."""
    for token in doc:
        token.is_sent_start = token.i == 0
    return doc


@cache
def _shipped() -> Language:
    import spacy

    with as_file(files("factoid.propositions.syntax") / "model") as path:
        return spacy.load(path)
