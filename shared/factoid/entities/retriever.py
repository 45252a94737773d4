"""Entity Retrieval: the entities in a question, their articles, the first words of those (Shavarani and Sarkar, 2024, §3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from factoid.encode import Encoder
from factoid.entities.articles.article import Article
from factoid.entities.articles.store import ArticleStore
from factoid.entities.granular import BestUnits
from factoid.entities.linkers.titles import TitleLinker
from factoid.entities.mention import EntityLinker, Mention, link_all
from factoid.errors import InvalidInputError
from factoid.propositions import Propositionizer
from factoid.store.options import whole_number
from factoid.units import Granularity, Hit, Unit, check_text, content_id
from factoid.words import cut_words, stands_in

Ambiguous = Literal["first", "all", "skip"]
Fallback = Callable[[str, int], Sequence[Hit]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EntityHit(Hit):
    """The article of an entity, as a hit whose unit's text is the article's first words, or its best units.

    Attributes:
        mention: Where the question names the entity, and which other entities it may mean.
        named: The text of the mention.
    """

    mention: Mention = field(kw_only=True)
    named: str = field(kw_only=True)

    @property
    def text(self) -> str:
        """What a model reads: the article's title, a line break and the unit's text (§3)."""
        return f"{self.unit.title}\n{self.unit.text}"

    def fields(self, start: str, end: str) -> dict[str, Any]:
        """Return what a framework's document tells of the hit in its metadata; `start` and `end` name places of matches."""
        told: dict[str, Any] = {"title": self.unit.title, "score": self.score, "mention": self.named}
        told |= {"mention_start": self.mention.start, "mention_end": self.mention.end}
        told |= {name: [] for name in ("candidates", "matches") if name in self.unit.metadata}  # not to pass for ours
        if self.mention.ambiguous:
            told["candidates"] = [candidate.title for candidate in self.mention.candidates]
        if self.matches:
            told["matches"] = [
                {
                    "text": match.unit.text,
                    "id": match.unit.id,
                    "score": match.score,
                    start: match.unit.start,
                    end: match.unit.end,
                    "granularity": match.unit.granularity.value,
                }
                for match in self.matches
            ]
        return told


class EntityRetriever:
    """Retrieves the articles of the entities that a question names (Entity Retrieval, §3 and Appendix A.3).

    The entities come in order of the text, each once. Their articles are cut to their first words, line breaks and all;
    entities without an article are passed over. The score of a hit is its mention's, the id of its unit that of
    the document that the article was made of, where it was made of one.

    Args:
        articles: Where the articles are: a store, or its path.
        linker: Finds the entities; None for `TitleLinker(articles, encoder=encoder)`.
        words: Words of each article, 100 as in the paper, which also tries 50, 300 and 1000.
        k: Most documents, 4 as in the paper.
        granularity: "document" for the first words of an article; "passage", "sentence" or "proposition" for those of
            its units that are nearest to the question, up to `words` words; then the hit's `matches` are these units.
        encoder: For the other granularities, and for the linker where it is the default one.
        propositionizer: For propositions; None for the syntactic one.
        fallback: Called with the question and a number k when no entity has an article; gives hits.
        hybrid: Call `fallback` also when there are fewer than k articles: its hits follow, up to k in all.
        ambiguous: What to do with a mention of which nothing tells whom it means: take the "first" candidate, and say so
            in the hit's mention; take "all", the others after the first ones of all mentions; or "skip" the mention.

    Raises:
        InvalidInputError: A number is below 1, an option has another value or type, the granularity lacks an encoder, or
            hybrid a fallback.
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
    ) -> None:
        whole_number("words", words)
        whole_number("k", k)
        if ambiguous not in get_args(Ambiguous):
            message = f"ambiguous must be one of {', '.join(get_args(Ambiguous))}, got {ambiguous!r}"
            raise InvalidInputError(message)
        if hybrid and fallback is None:
            message = "hybrid=True fills up with what a fallback gives: give fallback=..."
            raise InvalidInputError(message)
        if fallback is not None and not callable(fallback):
            message = (
                f"a fallback is called with a question and a number, and {type(fallback).__name__} cannot be called"
            )
            raise InvalidInputError(message)
        if linker is not None and (isinstance(linker, type) or not hasattr(linker, "link")):
            message = f"linker must be an object with a method link(text), got {linker!r}"
            raise InvalidInputError(message)
        self.articles = articles if isinstance(articles, ArticleStore) else ArticleStore(articles)
        self.linker: EntityLinker = linker if linker is not None else TitleLinker(self.articles, encoder=encoder)
        self.words, self.k, self.hybrid, self.fallback, self.ambiguous = words, k, hybrid, fallback, ambiguous
        self.granularity = Granularity(granularity)
        self._best: BestUnits | None = None
        if self.granularity is not Granularity.DOCUMENT:
            self._best = BestUnits(self.granularity, encoder, propositionizer)  # type: ignore[arg-type]  # it checks

    def retrieve(self, question: str, *, k: int | None = None, words: int | None = None) -> list[Hit]:
        """Return at most k hits: those of entities, `EntityHit`s, before those of the fallback.

        Args:
            question: The question.
            k: Most hits; None for the retriever's.
            words: Words of each article; None for the retriever's.

        Raises:
            InvalidInputError: The question is no string or holds lone surrogates, or a number is below 1.
        """
        return self.retrieve_batch([question], k=k, words=words)[0]

    def retrieve_batch(
        self, questions: Sequence[str], *, k: int | None = None, words: int | None = None
    ) -> list[list[Hit]]:
        """Return the hits of each question; linkers that can link them at once."""
        if isinstance(questions, str):
            message = f"expected several questions, got the string {questions[:60]!r}"
            raise InvalidInputError(message)
        for question in questions:
            check_text(question, "question")
        linked = link_all(self.linker, questions)
        pairs = zip(questions, linked, strict=True)
        return [self._filled(question, self._hits(question, mentions, k, words), k) for question, mentions in pairs]

    def entity_hits(self, question: str, *, k: int | None = None, words: int | None = None) -> list[EntityHit]:
        """Return the hits of `retrieve` without those of any fallback."""
        check_text(question, "question")
        return self._hits(question, self.linker.link(question), k, words)

    def _hits(self, question: str, mentions: Sequence[Mention], k: int | None, words: int | None) -> list[EntityHit]:
        most = whole_number("k", self.k if k is None else k)
        budget = whole_number("words", self.words if words is None else words)
        hits: dict[int, EntityHit] = {}
        query = None
        for mention in self._meant(mentions):
            name = self.articles.resolve(mention.title)
            if name is None or name.article_id in hits:
                continue
            article = self.articles.article(name.article_id)
            matches: list[Hit] = []
            if self._best is None:
                text = cut_words(article.text, budget).strip()
            else:
                query = self._best.query(question) if query is None else query
                text, matches = self._best.best(query, article, budget)
            named = question[mention.start : mention.end]
            unit = _unit(article, text)
            hits[name.article_id] = EntityHit(unit, mention.score, tuple(matches), mention=mention, named=named)
            if len(hits) == most:
                break
        return list(hits.values())

    def wants_more(self, found: int, k: int | None = None) -> bool:
        """Tell whether the fallback is to be asked, after so many hits of entities."""
        if self.fallback is None or not self.hybrid:
            return self.fallback is not None and not found
        return found < (self.k if k is None else k)

    def _filled(self, question: str, found: Sequence[Hit], k: int | None) -> list[Hit]:
        most = self.k if k is None else k
        asks = self.fallback is not None and self.wants_more(len(found), k)
        more = self.fallback(question, most) if self.fallback is not None and asks else ()
        return with_fallback(found, more, _text_of)[:most]

    def _meant(self, mentions: Sequence[Mention]) -> list[Mention]:
        """Return a mention for each entity to look up, in the order in which they are wanted."""
        if self.ambiguous == "skip":
            return [mention for mention in mentions if not mention.ambiguous]
        if self.ambiguous == "first":
            return list(mentions)
        others = [
            replace(mention, title=candidate.title, score=min(mention.score, candidate.score))
            for mention in mentions
            for candidate in mention.candidates
            if mention.ambiguous and candidate.title != mention.title
        ]
        return [*mentions, *others]


def with_fallback(entities: Sequence[T], more: Iterable[T], text_of: Callable[[T], str]) -> list[T]:
    """Return what was found for entities, then of a fallback what does not stand in something before it.

    Entities are told apart by their articles, so that all of them stay. A fallback may search the same articles: a passage
    of one is left out where the entity's text holds it, and not where that was cut before it.
    """
    kept = list(entities)
    for each in more:
        if not any(stands_in(text_of(each), text_of(other)) for other in kept):
            kept.append(each)
    return kept


def _text_of(hit: Hit) -> str:
    return hit.text if isinstance(hit, EntityHit) else hit.unit.text


def _unit(article: Article, text: str) -> Unit:
    own = article.document_id or content_id("article", article.title)
    return Unit(
        own, text, Granularity.DOCUMENT, own, own, 0, len(article.text), article.title, metadata=article.metadata
    )
