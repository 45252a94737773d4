"""Cite an answer fact by fact, as PropCite does (AGRaME, §4.3).

A sentence of the answer is encoded as one query. Its propositions are token masks on that query,
and each is scored by MaxSim against the whole of every passage: the sentence gives a proposition
its context, and the proposition says what to look for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from operator import attrgetter
from typing import Literal, NamedTuple

from factoid.late_interaction.align import align
from factoid.late_interaction.answer import Stretch, claims_something
from factoid.late_interaction.citations import Citation, CitedSentence, CiteReport
from factoid.late_interaction.markers import with_markers
from factoid.late_interaction.rank import (
    AnyGranularityRanker,
    Passages,
    PlacedUnit,
    QueryScorer,
    Similarities,
    SpanHit,
    as_passage,
    as_passages,
)
from factoid.propositions import Propositionizer
from factoid.propositions.decompose import decompose
from factoid.sentences import Span
from factoid.store.token_cache import TokenVectors
from factoid.units import Granularity, Unit

Method = Literal["proposition", "bare proposition", "sentence"]


@dataclass(frozen=True, slots=True)
class CiteOptions:
    """The options of `factoid.PropCite`."""

    ranker: AnyGranularityRanker
    propositionizer: Propositionizer
    method: Method
    passages_per_claim: int
    min_margin: float | None
    overwrite: bool


class _Claim(NamedTuple):
    """What is looked up in the passages: a proposition of a sentence, or the whole sentence."""

    text: str
    spans: Sequence[Span]  # of its words, in characters of the sentence without markers
    scorer: QueryScorer


class _MarkedSentence(NamedTuple):
    """A sentence with the markers of its citations, and where it stands in the cited answer."""

    text: str
    start: int  # in characters of the cited answer
    markers_start: int  # in characters of the sentence
    markers_length: int  # with the space before them

    @property
    def end(self) -> int:
        """Return where the sentence ends in the cited answer."""
        return self.start + len(self.text)

    def in_answer(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Return spans of the sentence without markers as spans of the cited answer.

        What stands behind the markers moves; a span around their place holds the markers, too.
        """
        moved = []
        for start, end in spans:
            if start >= self.markers_start:
                start += self.markers_length
            if end > self.markers_start:
                end += self.markers_length
            moved.append((self.start + start, self.start + end))
        return tuple(moved)


class AnswerCiter:
    """Cites the sentences of one answer in order; its passages are encoded once."""

    def __init__(self, options: CiteOptions, passages: Passages) -> None:
        self._options = options
        self._ranker = options.ranker
        self._passages = as_passages(passages)
        self._counts: Counter[str] = Counter()
        self._tokens: list[TokenVectors] | None = None  # of each passage, once they are encoded
        self._sentences: dict[int, list[PlacedUnit]] = {}  # of cited passages, by their position
        self._propositions: dict[str, list[Unit]] = {}  # by their sentence
        self._length = 0  # of the cited answer so far

    @property
    def report(self) -> CiteReport:
        """Return the counts so far."""
        return CiteReport(**self._counts)

    def encode(self) -> list[TokenVectors]:
        """Return the tokens of the passages, which are encoded on the first call."""
        if self._tokens is None:
            tokens: list[TokenVectors] = []
            if self._passages:
                tokens = self._ranker.tokens(self._passages)
            self._tokens = tokens  # not before: after an error, the next call tries again
        return self._tokens

    def add_propositions(self, stretches: Iterable[Stretch]) -> None:
        """Make the propositions of all sentences in one call.

        Some propositionizers work in batches.
        """
        if self._options.method == "sentence" or not self._passages:
            return
        sentences: dict[str, None] = {}
        for stretch in stretches:
            if self._should_cite(stretch):
                sentences[stretch.plain] = None
        units = {}
        for unit in map(as_passage, sentences):
            if unit.text not in self._propositions:
                units[unit.id] = unit
        if not units:
            return
        propositionizer = self._options.propositionizer
        decomposition = decompose(list(units.values()), propositionizer, log=False)
        for unit in units.values():
            self._propositions[unit.text] = []
        for proposition in decomposition.units:
            sentence = units[proposition.parent_id].text
            self._propositions[sentence].append(proposition)

    def cite_sentence(self, stretch: Stretch) -> CitedSentence:
        """Return the next sentence of the answer with its citations."""
        self.add_propositions([stretch])  # of a stream; those of a whole answer are there
        claims = self._claims(stretch)
        citations: list[Citation] = []
        for claim in claims:
            citations += self._citations(claim)
        self._count(stretch, claims)

        marked = self._marked(stretch, citations)
        placed = []
        for citation in citations:
            placed.append(replace(citation, spans=marked.in_answer(citation.spans)))

        # The sentence takes its place between what surrounds it, and the answer has grown.
        text = stretch.text[: stretch.start] + marked.text + stretch.text[stretch.end :]
        self._length += len(text)
        return CitedSentence(text, stretch.plain, marked.start, marked.end, tuple(placed))

    def _count(self, stretch: Stretch, claims: Sequence[_Claim]) -> None:
        has_sentence = bool(stretch.sentence)
        is_silent = has_sentence and not self._should_cite(stretch)
        self._counts.update(sentences=has_sentence, silent=is_silent, claims=len(claims))

    def _marked(self, stretch: Stretch, citations: Iterable[Citation]) -> _MarkedSentence:
        """Return the sentence of a stretch with the marker of each cited passage, once."""
        unmarked = stretch.plain
        if self._keeps_markers(stretch):
            unmarked = stretch.sentence
        numbers = dict.fromkeys(citation.number for citation in citations)
        text, markers_start = with_markers(unmarked, list(numbers))
        return _MarkedSentence(
            text,
            start=self._length + stretch.start,
            markers_start=markers_start,
            markers_length=len(text) - len(unmarked),
        )

    def _keeps_markers(self, stretch: Stretch) -> bool:
        return not self._options.overwrite and stretch.plain != stretch.sentence

    def _should_cite(self, stretch: Stretch) -> bool:
        return (
            stretch.is_prose
            and claims_something(stretch.plain)
            and not self._keeps_markers(stretch)
        )

    def _claims(self, stretch: Stretch) -> list[_Claim]:
        """Return the claims for which a sentence is cited, in the way that `method` names."""
        if not self._should_cite(stretch) or not self._passages:
            return []
        sentence = stretch.plain
        if self._options.method == "sentence":
            whole = [(0, len(sentence))]
            return [_Claim(sentence, whole, self._scorer(sentence))]
        if self._options.method == "bare proposition":
            return self._bare_claims(sentence)
        return self._claims_in_context(sentence)

    def _scorer(self, query: str) -> QueryScorer:
        return QueryScorer(self._ranker.encoder, query, self._ranker.alpha)

    def _bare_claims(self, sentence: str) -> list[_Claim]:
        """Return each proposition as a query of its own."""
        claims = []
        for proposition in self._propositions[sentence]:
            spans = align(proposition.text, sentence) or [(0, len(sentence))]
            claims.append(_Claim(proposition.text, spans, self._scorer(proposition.text)))
        return claims

    def _claims_in_context(self, sentence: str) -> list[_Claim]:
        """Return each proposition as a part of the sentence, which is encoded once.

        Of several that have the same words in it, only the first counts.
        """
        scorer = self._scorer(sentence)
        claims: dict[tuple[Span, ...], _Claim] = {}
        for proposition in self._propositions[sentence]:
            spans, part = self._part(proposition, sentence, scorer)
            if part is not None:
                claims.setdefault(tuple(spans), _Claim(proposition.text, spans, part))
        return list(claims.values())

    def _part(
        self, proposition: Unit, sentence: str, scorer: QueryScorer
    ) -> tuple[Sequence[Span], QueryScorer | None]:
        """Return the words of a proposition in its sentence, and the scorer of their tokens.

        The whole sentence counts where none of its tokens is the proposition's. The scorer is None
        if the sentence has no tokens.
        """
        if "fallback" not in proposition.metadata:
            spans = align(proposition.text, sentence)
            part = scorer.limited_to(spans)
            if part is not None:
                return spans, part
        self._counts["whole"] += 1
        whole = [(0, len(sentence))]
        return whole, scorer.limited_to(whole)

    def _citations(self, claim: _Claim) -> Iterator[Citation]:
        """Yield the citations of a claim, best first, with the claim's spans in the sentence."""
        # -- Score the claim against every passage --
        tokens = self.encode()
        similarities = claim.scorer.similarities(tokens)
        scores = []
        for tokens_of_passage, similarities_of_passage in zip(tokens, similarities, strict=True):
            scores.append(claim.scorer.passage_score(tokens_of_passage, similarities_of_passage))
        best_first = sorted(range(len(scores)), key=lambda position: (-scores[position], position))

        # -- Cite the best ones, each with its margin and the sentence that matches best --
        for rank, position in enumerate(best_first[: self._options.passages_per_claim]):
            score = scores[position]
            if not isfinite(score):
                return
            following = -inf
            if rank + 1 < len(best_first):
                following = scores[best_first[rank + 1]]
            margin = score - following
            if self._options.min_margin is not None and margin < self._options.min_margin:
                self._counts["below_margin"] += 1
                return
            support = self._support(claim, position, similarities[position])
            yield Citation(position, score, margin, claim.text, tuple(claim.spans), support)

    def _support(self, claim: _Claim, position: int, similarities: Similarities) -> SpanHit:
        """Return the sentence of a passage that matches a claim best."""
        kind = Granularity.SENTENCE
        passage = self._passages[position]
        if position not in self._sentences:
            [self._sentences[position]] = self._ranker.placed_units([passage], kind)
        hits = claim.scorer.hits(
            kind,
            passage,
            position,
            self.encode()[position],
            self._sentences[position],
            similarities,
        )
        return max(hits, key=attrgetter("score"))
