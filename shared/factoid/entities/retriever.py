"""Entity Retrieval: from the entities in a question to the first words of their articles (Shavarani and Sarkar, 2024, §3)."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from factoid.context import pack_context
from factoid.encode import Encoder, Vectors, with_heading
from factoid.entities.articles.article import Article
from factoid.entities.articles.store import ArticleStore
from factoid.entities.linkers.titles import TitleLinker
from factoid.entities.mention import EntityLinker, Mention
from factoid.errors import InvalidInputError
from factoid.filters import Filter
from factoid.metadata import hit_fields
from factoid.propositions import Propositionizer
from factoid.store import UnitStore
from factoid.units import Document, Granularity, Hit, Unit, check_text, content_id, whole_number
from factoid.words import count_words, cut_words, stands_in

Ambiguous = Literal["first", "all", "skip"]
Fallback = Callable[[str, int], Sequence[Hit]]
T = TypeVar("T")
_VIEWS = 256  # filters whose views of the articles are kept
_REMEMBERED = 256  # articles whose units and vectors stay in memory


@dataclass(frozen=True, slots=True)
class EntityHit(Hit):
    """An entity's article as a hit; the text of its unit is the article's first words, or its best units."""

    mention: Mention = field(kw_only=True)
    named: str = field(kw_only=True)  # the text of the mention

    @property
    def text(self) -> str:
        """The text for a model: the article's title, a line break and the unit's text (§3)."""
        return f"{self.unit.title}\n{self.unit.text}"

    def fields(self, start: str, end: str) -> dict[str, Any]:
        """Return the hit's fields for the metadata of a framework's document; `start` and `end` name a match's span."""
        fields: dict[str, Any] = {"title": self.unit.title, "score": self.score, "mention": self.named}
        fields |= {"mention_start": self.mention.start, "mention_end": self.mention.end}
        # The user's own fields of these names are hidden.
        fields |= {name: [] for name in ("candidates", "matches") if name in self.unit.metadata}
        if self.mention.ambiguous:
            fields["candidates"] = [candidate.title for candidate in self.mention.candidates]
        return fields | hit_fields(self, start, end)


class EntityRetriever:
    """Retrieve the articles of the entities that a question names (Entity Retrieval, §3 and Appendix A.3).

    Entities come in the order of the text, each once. Their articles are cut to their first words, with their line breaks.
    Entities without an article are skipped. A hit has its mention's score, and the id of the document that its article was
    made of, if any.

    Args:
        articles: An article store, or its path.
        linker: Finds the entities; None for `TitleLinker(articles, encoder=encoder)`. A `TitleLinker` looks only for articles
            that pass the filter; mentions of other linkers are skipped if their article does not pass.
        words: The number of words of each article, 100 as in the paper, which also tries 50, 300 and 1000.
        k: The largest number of documents, 4 as in the paper.
        granularity: "document" for the first words of an article; "passage", "sentence" or "proposition" for those of
            its units that are nearest to the question, up to `words` words; then the hit's `matches` are these units. This
            needs FAISS: factoid[cpu].
        encoder: For the other granularities, and for the default linker.
        propositionizer: For propositions; None for the syntactic one.
        fallback: Called with the question and a number k when no entity has an article; returns hits.
        hybrid: Call `fallback` also when there are fewer than k articles: its hits follow, up to k in all.
        ambiguous: What to do with an ambiguous mention: take the "first" candidate, and say so in the hit's mention; take
            "all", the others after the first ones of all mentions; or "skip" the mention.
        filter: Condition on the metadata of articles, as `UnitStore.search` takes it; other articles are not even linked to.
            For a store of several tenants, see `duplicates="keep"` of `build_articles`.

    Raises:
        InvalidInputError: An option is out of range or of another type, the granularity lacks an encoder, or hybrid a fallback.
        UnreadableFileError, StoreFormatError: There is no article store under the path.
    """

    def __init__(
        self,
        articles: ArticleStore | str | Path,
        linker: EntityLinker | None = None,
        *,
        words: int = 100,
        k: int = 4,
        granularity: str = Granularity.DOCUMENT,
        encoder: Encoder | None = None,
        propositionizer: Propositionizer | None = None,
        fallback: Fallback | None = None,
        hybrid: bool = False,
        ambiguous: Ambiguous = "first",
        filter: Filter | None = None,
    ) -> None:
        whole_number("words", words)
        whole_number("k", k)
        if ambiguous not in get_args(Ambiguous):
            raise InvalidInputError(f"ambiguous must be one of {', '.join(get_args(Ambiguous))}, got {ambiguous!r}")
        if hybrid and fallback is None:
            raise InvalidInputError("hybrid=True fills up with hits of a fallback: give fallback=...")
        if fallback is not None and not callable(fallback):
            raise InvalidInputError(f"a fallback is called with question and number, {fallback!r} cannot be called")
        if linker is not None and (isinstance(linker, type) or not hasattr(linker, "link")):
            raise InvalidInputError(f"linker must be an object with a method link(text), got {linker!r}")
        self.articles = articles if isinstance(articles, ArticleStore) else ArticleStore(articles)
        self.linker: EntityLinker = linker if linker is not None else TitleLinker(self.articles, encoder=encoder)
        self._views: dict[str, tuple[ArticleStore, EntityLinker]] = {}
        self.filter = filter
        self._view(filter)  # refuses a bad filter
        self.words, self.k, self.hybrid, self.fallback, self.ambiguous = words, k, hybrid, fallback, ambiguous
        self.granularity = Granularity(granularity)
        self._best: BestUnits | None = None
        if self.granularity is not Granularity.DOCUMENT:
            self._best = BestUnits(self.granularity, encoder, propositionizer)

    def retrieve(
        self, question: str, *, k: int | None = None, words: int | None = None, filter: Filter | None = None
    ) -> list[Hit]:
        """Return at most k hits: `EntityHit`s before those of the fallback. Options that are None are the retriever's."""
        return self.retrieve_batch([question], k=k, words=words, filter=filter)[0]

    def retrieve_batch(
        self, questions: Sequence[str], *, k: int | None = None, words: int | None = None, filter: Filter | None = None
    ) -> list[list[Hit]]:
        """Return the hits of each question; linkers with `link_batch` link all questions at once."""
        if isinstance(questions, str):
            raise InvalidInputError(f"expected several questions, got the string {questions[:60]!r}")
        for question in questions:
            check_text(question, "question")
        articles, linker = self._view(filter)
        link_batch = getattr(linker, "link_batch", None) or (lambda texts: [linker.link(text) for text in texts])
        filled = []
        for question, mentions in zip(questions, link_batch(questions), strict=True):
            hits: list[Hit] = [*self._hits(articles, question, mentions, k, words)]
            if self.fallback is not None and self.wants_more(len(hits), k):
                limit = self.k if k is None else k
                more = self.fallback(question, limit)
                hits = with_fallback(hits, more, lambda hit: getattr(hit, "text", hit.unit.text))[:limit]
            filled.append(hits)
        return filled

    def entity_hits(
        self, question: str, *, k: int | None = None, words: int | None = None, filter: Filter | None = None
    ) -> list[EntityHit]:
        """Return the hits of `retrieve` without those of any fallback."""
        check_text(question, "question")
        articles, linker = self._view(filter)
        return self._hits(articles, question, linker.link(question), k, words)

    def _view(self, condition: Filter | None) -> tuple[ArticleStore, EntityLinker]:
        """Return the articles that pass a filter, or the retriever's, and a linker of those."""
        condition = self.filter if condition is None else condition
        if condition is None:
            return self.articles, self.linker
        key = repr(condition)  # for a function, its address; the view keeps the function alive
        view = self._views.get(key)
        if view is None:
            articles = self.articles.filtered(condition)
            linker = self.linker.over(articles) if isinstance(self.linker, TitleLinker) else self.linker
            view = self._views[key] = articles, linker
            for oldest in list(self._views)[:-_VIEWS]:
                self._views.pop(oldest, None)  # another thread may do the same
        return view

    def _hits(
        self, articles: ArticleStore, question: str, mentions: Sequence[Mention], k: int | None, words: int | None
    ) -> list[EntityHit]:
        limit = whole_number("k", self.k if k is None else k)
        budget = whole_number("words", self.words if words is None else words)
        hits: dict[int, EntityHit] = {}
        query = None
        for number, mention in self._meant(articles, mentions):
            article = None if number in hits else articles.find(number)
            if article is None:  # chosen already, or deleted since it was linked
                continue
            matches: list[Hit] = []
            if self._best is None:
                text = cut_words(article.text, budget).strip()
            else:
                query = self._best.query(question) if query is None else query
                text, matches = self._best.best(query, article, budget)
            named = question[mention.start : mention.end]
            id_ = article.document_id or content_id("article", article.title)
            span, metadata = (0, len(article.text)), article.metadata
            unit = Unit(id_, text, Granularity.DOCUMENT, id_, id_, *span, article.title, metadata=metadata)
            hits[number] = EntityHit(unit, mention.score, tuple(matches), mention=mention, named=named)
            if len(hits) == limit:
                break
        return list(hits.values())

    def wants_more(self, count: int, k: int | None = None) -> bool:
        """Tell whether the fallback is to be asked after this number of entity hits."""
        limit = self.k if k is None else k
        return self.fallback is not None and count < (limit if self.hybrid else 1)

    def _meant(self, articles: ArticleStore, mentions: Sequence[Mention]) -> Iterator[tuple[int, Mention]]:
        """Yield the numbers of the articles to read, each with its mention, in the order of the hits."""
        others = [
            replace(mention, title=candidate.title, score=min(mention.score, candidate.score))
            for mention in mentions
            for candidate in mention.candidates
            if self.ambiguous == "all" and mention.ambiguous and candidate.title != mention.title
        ]
        for mention in (*mentions, *others):
            if mention.ambiguous and self.ambiguous == "skip":
                continue
            numbers = articles.articles_titled(mention.title)
            if len(numbers) > 1 and self.ambiguous != "all":
                numbers = numbers[:1] if self.ambiguous == "first" else []
            yield from ((number, mention) for number in numbers)


class BestUnits:
    """Chooses the units of an article that are nearest to a question; beyond the paper. Safe to use from several threads."""

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
        """Return the best units, as one text of at most `words` words in the article's order, and as hits, best first."""
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


def with_fallback(entities: Sequence[T], more: Iterable[T], text_of: Callable[[T], str]) -> list[T]:
    """Return the hits of entities, then those of a fallback whose text is not part of an earlier one."""
    hits = list(entities)
    for hit in more:
        if not any(stands_in(text_of(hit), text_of(earlier)) for earlier in hits):
            hits.append(hit)
    return hits
