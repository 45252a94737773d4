"""Entity Retrieval.

From the entities in a question to the first words of their articles (Shavarani and Sarkar, 2024,
§3).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, get_args

import numpy as np

from factoid.encode import Encoder, Vectors
from factoid.entities.articles.article import Article
from factoid.entities.articles.store import ArticleStore
from factoid.entities.linkers.titles import TitleLinker
from factoid.entities.mention import EntityLinker, Mention
from factoid.errors import InvalidInputError
from factoid.filters import Filter, matches, parse_filter
from factoid.forks import Exclusion, at_work
from factoid.heading_template import with_heading
from factoid.metadata import hit_fields
from factoid.packing import pack_context
from factoid.propositions import Propositionizer
from factoid.store import UnitStore
from factoid.units import Document, Granularity, Hit, Unit, check_text, content_id, whole_number
from factoid.words import count_words, cut_words, stands_in

Ambiguous = Literal["first", "all", "skip"]
Fallback = Callable[[str, int], Sequence[Hit]]
T = TypeVar("T")

_REMEMBERED = 256  # articles whose units and vectors stay in memory


@dataclass(frozen=True, slots=True)
class EntityHit(Hit):
    """An entity's article as a hit.

    The text of its unit is the article's first words, or its best units.

    Attributes:
        named: The text of the mention.
    """

    mention: Mention = field(kw_only=True)
    named: str = field(kw_only=True)

    @property
    def text(self) -> str:
        """The text for a model: the article's title, a line break and the unit's text (§3)."""
        return f"{self.unit.title}\n{self.unit.text}"

    def fields(self, start: str, end: str) -> dict[str, Any]:
        """Return the hit's fields for the metadata of a framework's document.

        `start` and `end` name a match's span.
        """
        fields: dict[str, Any] = {
            "title": self.unit.title,
            "score": self.score,
            "mention": self.named,
        }
        fields |= {"mention_start": self.mention.start, "mention_end": self.mention.end}
        if self.mention.ambiguous:
            fields["candidates"] = [candidate.title for candidate in self.mention.candidates]
        return fields | hit_fields(self, start, end)


class EntityKwargs(TypedDict, total=False):
    """The options of an `EntityRetriever` that the frameworks share."""

    words: int
    k: int
    granularity: str
    propositionizer: Propositionizer | None
    hybrid: bool
    ambiguous: Ambiguous


class EntityRetriever:
    """Retrieve the articles of entities that a question names (Entity Retrieval, §3).

    Entities come in the order of the text, each once. Their articles are cut to their first words,
    with their line breaks. Entities without an article are skipped. A hit has its mention's score,
    and the id of the document that its article was made of, if any.

    Args:
        articles: An article store, or its path.
        linker: Finds the entities; None for `TitleLinker(articles, encoder=encoder)`. A
            `TitleLinker` looks only for articles that pass the filter; mentions of other linkers
            are skipped if their article does not pass.
        words: The number of words of each article, 100 as in the paper, which also tries 50, 300
            and 1000.
        k: The largest number of documents, 4 as in the paper.
        granularity: "document" for the first words of an article; "passage", "sentence" or
            "proposition" for those of its units that are nearest to the question, up to `words`
            words; then the hit's `matches` are these units. This needs FAISS: factoid[cpu].
        encoder: For the other granularities, and for the default linker.
        propositionizer: For propositions; None for the syntactic one.
        fallback: Called with the question and a number k when no entity has an article; returns
            hits.
        hybrid: Call `fallback` also when there are fewer than k articles: its hits follow, up to k
            in all.
        ambiguous: What to do with an ambiguous mention: take the "first" candidate, and say so in
            the hit's mention; take "all", the others after the first ones of all mentions; or
            "skip" the mention.
        filter: Condition on the metadata of articles, as `UnitStore.search` takes it; other
            articles are not even linked to. For a store of several tenants, see `duplicates="keep"`
            of `build_articles`. Results of a fallback whose metadata do not pass are left out; a
            fallback that has a filter of its own should have the same, and then finds others
            instead.

    Raises:
        InvalidInputError: An option is out of range or of another type, the granularity lacks an
            encoder, or hybrid a fallback.
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
            raise InvalidInputError(
                f"ambiguous must be one of {', '.join(get_args(Ambiguous))}, got {ambiguous!r}"
            )
        if hybrid and fallback is None:
            raise InvalidInputError(
                "hybrid=True fills up with hits of a fallback: give fallback=..."
            )
        self.articles = articles if isinstance(articles, ArticleStore) else ArticleStore(articles)
        self.linker: EntityLinker = (
            linker if linker is not None else TitleLinker(self.articles, encoder=encoder)
        )
        self._view = self._filtered(filter)
        self._filter = filter
        self.words = words
        self.k = k
        self.hybrid = hybrid
        self.fallback = fallback
        self.ambiguous = ambiguous
        self.granularity = Granularity(granularity)
        self.propositionizer = propositionizer
        if self.granularity is not Granularity.DOCUMENT:
            if encoder is None:
                raise InvalidInputError(
                    f"granularity {granularity!s} needs an encoder: give encoder=..."
                )
            self._encode = encoder.encode_queries
            self._units = UnitStore(encoder=encoder, granularities=[self.granularity])
            self._in_units: dict[str, None] = {}  # ids of articles, the oldest first
            self._alone = Exclusion()
            weakref.finalize(self, self._units.close)

    def retrieve(
        self,
        question: str,
        *,
        k: int | None = None,
        words: int | None = None,
        filter: Filter | None = None,
    ) -> list[Hit]:
        """Return at most k hits: `EntityHit`s before those of the fallback.

        Options that are None are the retriever's.
        """
        hits: list[Hit] = [*self.entity_hits(question, k=k, words=words, filter=filter)]
        limit = self.k if k is None else k
        if self.fallback is not None and self.wants_more(len(hits), k):
            more = self.passing(self.fallback(question, limit), _metadata, filter)
            hits = with_fallback(hits, more, lambda hit: getattr(hit, "text", hit.unit.text))[
                :limit
            ]
        return hits

    def entity_hits(
        self,
        question: str,
        *,
        k: int | None = None,
        words: int | None = None,
        filter: Filter | None = None,
    ) -> list[EntityHit]:
        """Return the hits of `retrieve` without those of any fallback."""
        check_text(question, "question")
        articles, linker = self._view
        if filter is not None:
            articles, linker = self._filtered(filter)
        if k is None:
            k = self.k
        if words is None:
            words = self.words
        limit = whole_number("k", k)
        budget = whole_number("words", words)
        hits: dict[int, EntityHit] = {}
        query: Vectors | None = None
        mentions = _in_text_order(linker.link(question), question)
        for number, mention in self._meant(articles, mentions):
            if number in hits:
                continue
            article = articles.find(number)
            if article is None:  # deleted since it was linked
                continue
            best: list[Hit] = []
            if self.granularity is Granularity.DOCUMENT:
                text = cut_words(article.text, budget).strip()
            else:
                if query is None:
                    [query] = np.asarray(self._encode([question]))
                text, best = self._best_units(query, article, budget)
            named = question[mention.start : mention.end]
            id_ = article.document_id or content_id("article", article.title)
            span = (0, len(article.text))
            metadata = article.metadata
            unit = Unit(
                id_, text, Granularity.DOCUMENT, id_, id_, *span, article.title, metadata=metadata
            )
            hits[number] = EntityHit(unit, mention.score, tuple(best), mention=mention, named=named)
            if len(hits) == limit:
                break
        return list(hits.values())

    def passing(
        self,
        results: Iterable[T],
        metadata_of: Callable[[T], Iterable[Mapping[str, Any]]],
        filter: Filter | None = None,
    ) -> list[T]:
        """Return the results of a fallback of which all metadata pass the filter.

        It is that of a call, or else of this retriever.
        """
        condition = self._filter
        if filter is not None:
            condition = filter
        if condition is None:
            return list(results)
        if callable(condition):
            test = condition
        else:
            test = partial(matches, parse_filter(condition))
        passing = []
        for result in results:
            if all(test(dict(metadata)) for metadata in metadata_of(result)):
                passing.append(result)
        return passing

    def _filtered(self, condition: Filter | None) -> tuple[ArticleStore, EntityLinker]:
        """Return the articles that pass a filter, and a linker of those."""
        if condition is None:
            return self.articles, self.linker
        articles = self.articles.filtered(condition)
        if isinstance(self.linker, TitleLinker):
            return articles, self.linker.over(articles)
        return articles, self.linker

    def wants_more(self, count: int, k: int | None = None) -> bool:
        """Tell whether the fallback is to be asked after this number of entity hits."""
        if self.fallback is None:
            return False
        limit = 1
        if self.hybrid:
            limit = self.k
            if k is not None:
                limit = k
        return count < limit

    def _meant(
        self, articles: ArticleStore, mentions: Sequence[Mention]
    ) -> Iterator[tuple[int, Mention]]:
        """Yield the numbers of the articles to read, each with its mention.

        They come in the order of the hits.
        """
        others: list[Mention] = []
        for mention in mentions:
            if self.ambiguous == "all" and mention.ambiguous:
                others += _other_mentions(mention)
        for mention in (*mentions, *others):
            if mention.ambiguous and self.ambiguous == "skip":
                continue
            numbers = articles.articles_titled(mention.title)
            if len(numbers) > 1 and self.ambiguous == "first":
                numbers = numbers[:1]
            elif len(numbers) > 1 and self.ambiguous == "skip":
                numbers = []
            for number in numbers:
                yield number, mention

    def _best_units(self, query: Vectors, article: Article, words: int) -> tuple[str, list[Hit]]:
        """Return an article's units that are nearest to a question.

        They come as one text in the article's order, and as hits.
        """
        document = Document(article.text, article.title)  # its id changes with its text
        with at_work(), self._alone.lock:
            if document.id not in self._in_units:
                self._units.add_documents([document], propositionizer=self.propositionizer)
                self._in_units[document.id] = None
                if len(self._in_units) > _REMEMBERED:
                    oldest = next(iter(self._in_units))
                    self._units.delete(document_ids=[oldest])
                    del self._in_units[oldest]
            hits = self._units.search_by_vector(
                query,
                words,
                granularity=self.granularity,
                parents="unit",
                document_ids=[document.id],
            )
        best: list[Hit] = []
        shown: list[Unit] = []  # without the article's title, which is not part of its text
        remaining = words
        for hit in hits:
            unit = replace(hit.unit, title="")
            headed = unit.section in [before.section for before in shown]
            text = unit.text
            if not headed:
                text = with_heading(unit)
            remaining -= count_words(text)
            if remaining < 0 and best:
                break
            best.append(hit)
            shown.append(unit)
        shown.sort(key=lambda unit: (unit.start, unit.end))
        return pack_context(shown, words=words, separator=" "), best


def _metadata(hit: Hit) -> Iterator[Mapping[str, Any]]:
    """Yield the metadata of all units in a hit."""
    yield hit.unit.metadata
    for neighbour in hit.neighbours:
        yield neighbour.metadata
    for match in hit.matches:
        yield from _metadata(match)


def with_fallback(entities: Sequence[T], more: Iterable[T], text_of: Callable[[T], str]) -> list[T]:
    """Return the hits of entities, then those of a fallback.

    A text that is part of an earlier one is left out.
    """
    hits = list(entities)
    for hit in more:
        if not any(stands_in(text_of(hit), text_of(earlier)) for earlier in hits):
            hits.append(hit)
    return hits


def _in_text_order(mentions: Iterable[Mention], text: str) -> list[Mention]:
    """Return mentions in the order of the text, whatever the linker returned (Appendix A.3).

    One that spans the whole text says nothing about its place, and comes last.
    """

    def place(mention: Mention) -> tuple[bool, int, int]:
        is_whole = mention.end - mention.start >= len(text)
        return is_whole, mention.start, mention.end

    return sorted(mentions, key=place)


def _other_mentions(mention: Mention) -> list[Mention]:
    """Return a mention with each of its other candidates."""
    others = []
    for candidate in mention.candidates:
        if candidate.title != mention.title:
            score = min(mention.score, candidate.score)
            others.append(replace(mention, title=candidate.title, score=score))
    return others
