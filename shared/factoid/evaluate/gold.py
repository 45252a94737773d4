"""Find the gold of questions in a corpus, and tell what results and contexts hold of it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import PurePath

from factoid.evaluate.answers import dpr_tokens
from factoid.evaluate.questions import Question, Quote
from factoid.evaluate.words_needed import words_needed
from factoid.sections import outline
from factoid.units import Document, Unit

COVERED = 0.5
"""The share of a span's characters that a right result covers."""

_BETWEEN = r"[\s*_`]+"  # two words of a quote: marks of emphasis are not quoted


@dataclass(frozen=True, slots=True)
class Place:
    """Characters `[start, end)` of a document."""

    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Gold:
    """The content of a right result for one question.

    Attributes:
        places: Where quotes and spans stand.
        answers: Short answers; any of them will do.
        quotes: The texts of the places.
        document_ids: The named documents; of any of them, a result is looked at. Empty for all.
        group: See `Question`.
    """

    places: tuple[Place, ...] = ()
    answers: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    group: str = ""

    @property
    def is_of_documents(self) -> bool:
        """Whether only documents were judged, which cannot tell one granularity from another."""
        return not (self.places or self.answers)

    def first_ranks(self, results: Sequence[Unit]) -> list[int | None]:
        """Return for each piece of gold the rank of the first result that holds it.

        Ranks start at 1; None where no result does. Pieces are the places; without those all
        answers together are one; without answers the documents are.
        """
        if self.places:
            return [_first(results, place) for place in self.places]
        if self.answers:
            return [self._first_answer(results)]
        rank_of_document: dict[str, int] = {}
        for rank, unit in enumerate(results, start=1):
            rank_of_document.setdefault(unit.document_id, rank)
        return list(map(rank_of_document.get, self.document_ids))

    def _first_answer(self, results: Sequence[Unit]) -> int | None:
        """Return the rank, from 1, of the first result that holds an answer."""
        tokens_of_answers = map(dpr_tokens, self.answers)
        needles = [f" {tokens} " for tokens in tokens_of_answers if tokens]
        for rank, unit in enumerate(results, start=1):
            if self._answers(unit, needles):
                return rank
        return None

    def _answers(self, unit: Unit, needles: Iterable[str]) -> bool:
        """Tell whether a unit of a named document holds an answer, as `has_answer_dpr` does."""
        if self.document_ids and unit.document_id not in self.document_ids:
            return False
        tokens = _padded_tokens(unit.search_text)
        return any(needle in tokens for needle in needles)

    def words_needed(self, context: str) -> int | None:
        """Return how many first words of a context answer the question; None if the whole does not.

        See `factoid.evaluate.words_needed`.
        """
        return words_needed(context, self.answers, self.quotes)


def _first(results: Sequence[Unit], place: Place) -> int | None:
    for rank, unit in enumerate(results, start=1):
        if unit.document_id != place.document_id:
            continue
        overlap = min(unit.end, place.end) - max(unit.start, place.start)
        if overlap >= COVERED * (place.end - place.start):
            return rank
    return None


@lru_cache(maxsize=1 << 15)
def _padded_tokens(text: str) -> str:
    """Return a text's tokens between spaces: one passage is looked at for many questions."""
    return f" {dpr_tokens(text)} "


class GoldFinder:
    """Finds the gold of questions in some documents.

    Args:
        documents: The corpus.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents: dict[str, Document] = {}
        self._by_name: dict[str, list[str]] = {}
        self._ids: list[str] = []
        texts = []
        for document in documents:
            self._documents[document.id] = document
            self._ids.append(document.id)
            texts.append(document.text.casefold())
            source = str(document.metadata.get("source", ""))
            path = PurePath(source)
            names = {document.id, document.title, source, path.name, path.stem}
            for name in filter(None, map(_folded, names)):
                self._by_name.setdefault(name, []).append(document.id)
        self._has_headings = False
        # All texts in one, in which an answer is found at the speed of memory.
        self._starts = [0, *accumulate(len(text) + 1 for text in texts)]
        self._all = "\0".join(texts)

    def find(self, question: Question) -> Gold | None:
        """Return the gold of a question, or None if the corpus does not hold it."""
        document_ids = self._named(question.documents)
        places = [*self._spans(question), *self._quotes(question.quotes)]
        quotes = tuple(map(self._text, places))
        if not places and not question.answers and not document_ids:
            return None
        is_lost = bool(question.documents) and not document_ids
        if not places and (is_lost or (question.quotes and not question.answers)):
            return None
        holder = ""
        if places:
            holder = places[0].document_id
        elif question.answers:
            holder = self._holder(question.answers, document_ids)
            if not holder:
                return None
        group = question.group or holder or document_ids[0]
        return Gold(tuple(places), question.answers, quotes, tuple(document_ids), group)

    def _text(self, place: Place) -> str:
        return self._documents[place.document_id].text[place.start : place.end]

    def _named(self, names: Iterable[str]) -> list[str]:
        """Return the ids of the documents with some names."""
        ids: list[str] = []
        for name in names:
            if name in self._documents:
                ids.append(name)
                continue
            folded = _folded(name)
            if folded not in self._by_name:
                self._read_headings()
            last = _folded(PurePath(name).name)  # of a path on another machine
            ids += self._by_name.get(folded) or self._by_name.get(last, [])
        return list(dict.fromkeys(ids))

    def _read_headings(self) -> None:
        """Learn the titles that documents have as their first heading."""
        if self._has_headings:
            return
        self._has_headings = True
        for document in self._documents.values():
            title, _ = outline(document)
            if title and title != document.title:
                self._by_name.setdefault(_folded(title), []).append(document.id)

    def _spans(self, question: Question) -> Iterable[Place]:
        for span in question.spans:
            for document_id in self._named([span.document]):
                if span.end <= len(self._documents[document_id].text):
                    yield Place(document_id, span.start, span.end)

    def _quotes(self, quotes: Iterable[Quote]) -> Iterable[Place]:
        for quote in quotes:
            ids = self._ids
            if quote.document:
                ids = self._named([quote.document])
            place = self._exact(quote.text, ids) or self._near(quote.text, ids)
            if place is not None:
                yield place

    def _exact(self, quote: str, document_ids: Iterable[str]) -> Place | None:
        for document_id in document_ids:
            start = self._documents[document_id].text.find(quote)
            if start >= 0:
                return Place(document_id, start, start + len(quote))
        return None

    def _near(self, quote: str, document_ids: Iterable[str]) -> Place | None:
        """Return where a quote stands in other case, or with other spaces or marks of emphasis."""
        words = map(re.escape, quote.split())
        pattern = re.compile(_BETWEEN.join(words), re.IGNORECASE)
        for document_id in document_ids:
            match = pattern.search(self._documents[document_id].text)
            if match is not None:
                return Place(document_id, *match.span())
        return None

    def _holder(self, answers: Sequence[str], document_ids: Sequence[str]) -> str:
        """Return the id of the first document that holds an answer, or "".

        If documents are named, it is one of those.
        """
        for answer in answers:
            folded = answer.casefold()
            at = self._all.find(folded)
            while at >= 0:
                number = bisect_right(self._starts, at) - 1
                if not document_ids or self._ids[number] in document_ids:
                    return self._ids[number]
                at = self._all.find(folded, self._starts[number + 1])
        return ""


def _folded(name: str) -> str:
    return " ".join(name.replace("_", " ").casefold().split())
