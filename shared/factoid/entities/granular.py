"""The part of an article that answers a question best, instead of its first words; beyond the paper."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from dataclasses import replace

import numpy as np

from factoid.context import pack_context
from factoid.encode import Encoder, Vectors, with_heading
from factoid.entities.articles.article import Article
from factoid.errors import InvalidInputError
from factoid.propositions import Propositionizer
from factoid.store import UnitStore
from factoid.units import Document, Granularity, Hit, Unit
from factoid.words import count_words

_REMEMBERED = 256  # articles whose units and vectors stay in memory


class BestUnits:
    """Choose the units of an article that are nearest to a question. Safe to use from several threads."""

    def __init__(
        self, granularity: Granularity, encoder: Encoder | None, propositionizer: Propositionizer | None
    ) -> None:
        if encoder is None or not hasattr(encoder, "encode_units"):
            raise InvalidInputError(f"granularity {granularity!s} needs an encoder, got {encoder!r}: give encoder=...")
        self.granularity, self.encoder, self.propositionizer = granularity, encoder, propositionizer
        self._store = UnitStore(encoder=encoder, granularities=[granularity])
        weakref.finalize(self, self._store.close)
        self._recent: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def best(self, query: Vectors, article: Article, words: int) -> tuple[str, list[Hit]]:
        """Return the best units, as one text of at most `words` words in the article's order, and as hits, best first.

        Units are taken until one more would not fit; the first is cut where it is too long. Query shape: (dim,).
        """
        matches: list[Hit] = []
        shown: list[Unit] = []  # without the article's title, which is not part of its text
        remaining = words
        for hit in self._search(query, article, words) if article.text.strip() else ():
            unit = replace(hit.unit, title="")
            headed = unit.section in [before.section for before in shown]
            remaining -= count_words(unit.text if headed else with_heading(unit))
            if remaining < 0 and matches:
                break
            matches.append(hit)
            shown.append(unit)
        shown.sort(key=lambda unit: (unit.start, unit.end))
        return pack_context(shown, words=words, separator=" "), matches

    def query(self, question: str) -> Vectors:
        """Return a question's vector. Shape: (dim,)."""
        vector: Vectors = np.asarray(self.encoder.encode_queries([question]), np.float32)[0]
        return vector

    def _search(self, query: Vectors, article: Article, limit: int) -> list[Hit]:
        document = Document(article.text, article.title)  # its id changes with its text
        with self._lock:
            if document.id not in self._recent:
                self._store.add_documents([document], propositionizer=self.propositionizer)
                self._recent[document.id] = None
            self._recent.move_to_end(document.id)
            while len(self._recent) > _REMEMBERED:
                self._store.delete([self._recent.popitem(last=False)[0]])
            return self._store.search_by_vector(
                query, limit, granularity=self.granularity, parents="unit", document_ids=[document.id]
            )
