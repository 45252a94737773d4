"""The part of an article that answers a question best, instead of its first words; beyond the paper."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from factoid.context import pack_context
from factoid.encode import Encoder, Vectors
from factoid.entities.articles.article import Article
from factoid.errors import InvalidInputError
from factoid.products import products
from factoid.propositions import Propositionizer, SyntaxPropositionizer, propositionize
from factoid.split import split_passages, split_sentences
from factoid.units import Document, Granularity, Hit, Unit
from factoid.words import count_words

_REMEMBERED = 256  # articles whose units and vectors are kept


class _Encoded(NamedTuple):
    units: list[Unit]
    vectors: Vectors


@dataclass
class BestUnits:
    """Chooses the units of an article that are nearest to a question. Safe to use from several threads.

    Args:
        granularity: Passages, sentences or propositions.
        encoder: Encodes the question and the units; an article's are remembered.
        propositionizer: Makes the propositions; None for the syntactic one.

    Raises:
        InvalidInputError: Another granularity, or no encoder.
    """

    granularity: Granularity
    encoder: Encoder
    propositionizer: Propositionizer | None = None
    _kept: OrderedDict[str, _Encoded] = field(default_factory=OrderedDict, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self.granularity = Granularity(self.granularity)
        if self.granularity is Granularity.DOCUMENT:
            message = "granularity must be passage, sentence or proposition, got document"
            raise InvalidInputError(message)
        if not hasattr(self.encoder, "encode_units"):
            message = f"granularity={str(self.granularity)!r} needs an encoder, got {self.encoder!r}: give encoder=..."
            raise InvalidInputError(message)

    def best(self, query: Vectors, article: Article, words: int) -> tuple[str, list[Hit]]:
        """Return the best units, as one text of at most `words` words in the article's order, and as hits, best first.

        Units are taken best first until one more would not fit; the first is cut where it is too long.

        Args:
            query: The question's vector. Shape: (dim,).
            article: The article. One without text has no units.
            words: The budget.
        """
        units, vectors = self._encoded(article)
        if not units:
            return "", []
        scores = products(vectors, query)
        ranked = [Hit(units[at], float(scores[at])) for at in np.argsort(-scores, kind="stable")]
        taken: list[Hit] = []
        left = words
        for hit in ranked:
            length = count_words(hit.unit.text)
            if length > left and taken:
                break
            taken.append(hit)
            left -= length
        in_order = sorted(taken, key=lambda hit: (hit.unit.start, hit.unit.end))
        return pack_context(in_order, words=words, separator=" "), taken

    def query(self, question: str) -> Vectors:
        """Return a question's vector. Shape: (dim,)."""
        vector: Vectors = np.asarray(self.encoder.encode_queries([question]), np.float32)[0]
        return vector

    def _encoded(self, article: Article) -> _Encoded:
        with self._lock:
            if article.title in self._kept:
                self._kept.move_to_end(article.title)
                return self._kept[article.title]
        passages = split_passages(Document(article.text, article.title))
        units = self._units(passages)
        vectors = np.asarray(self.encoder.encode_units([unit.text for unit in units]), np.float32) if units else None
        made = _Encoded(units, vectors if vectors is not None else np.empty((0, 0), np.float32))
        with self._lock:
            self._kept[article.title] = made
            while len(self._kept) > _REMEMBERED:
                self._kept.popitem(last=False)
        return made

    def _units(self, passages: list[Unit]) -> list[Unit]:
        if self.granularity is Granularity.PASSAGE:
            return passages
        if self.granularity is Granularity.SENTENCE:
            return [sentence for passage in passages for sentence in split_sentences(passage)]
        return propositionize(passages, self.propositionizer or SyntaxPropositionizer())
