"""PropCite: add citations to a finished answer, fact by fact (AGRaME, §4.3).

A sentence of the answer is encoded as one query. Its propositions are token masks on that query,
and each is scored by MaxSim against the whole of every passage: the sentence gives a proposition
its context, and the proposition says what to look for.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from itertools import chain
from math import inf, isfinite
from operator import attrgetter
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, get_args

from factoid.errors import InvalidInputError
from factoid.late_interaction.align import align
from factoid.late_interaction.answer import GrowingAnswer, Stretch, claims_something
from factoid.late_interaction.encoder import TokenEncoder
from factoid.late_interaction.markers import with_markers
from factoid.late_interaction.rank import (
    AnyGranularityRanker,
    Passages,
    QueryScorer,
    SpanHit,
    as_passage,
    as_passages,
)
from factoid.propositions import Propositionizer, SyntaxPropositionizer
from factoid.propositions.decompose import decompose
from factoid.propositions.protocol import check_propositionizer
from factoid.sentences import Span
from factoid.store.token_cache import TokenVectors
from factoid.units import Granularity, Unit, check_text, whole_number

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

Method = Literal["proposition", "bare proposition", "sentence"]


class CitationFields(TypedDict):
    """A citation as LangChain's messages and LlamaIndex's responses carry it.

    Places are half-open, in characters.
    """

    number: int  # of the source, from 1, as in the markers
    source_id: str  # of the cited document or node, or ""
    title: str  # of the source, or ""
    url: str  # of the source, or ""
    start_index: int  # of the claim in the cited answer
    end_index: int
    cited_text: str  # the sentence of the source that supports the claim
    cited_start_index: int  # of that sentence in the source's text
    cited_end_index: int
    claim: str  # the fact that the answer states
    score: float  # MaxSim of the claim with the source
    margin: float  # how far the score is above that of the next source; infinite if there is none


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that is cited for a claim of a sentence.

    Attributes:
        position: Index of the passage in the input, from 0; its number in markers is one more.
        score: MaxSim of the claim with the whole passage; it grows with the number of the claim's
            tokens.
        margin: How far the score is above that of the next passage; infinite if there is none.
        claim: Text of the proposition, or the sentence.
        spans: Where the claim's words are, in characters of the cited answer.
        support: The sentence of the passage that matches the claim best, with its span in the
            passage's document.
    """

    position: int
    score: float
    margin: float
    claim: str
    spans: tuple[Span, ...]
    support: SpanHit

    @property
    def number(self) -> int:
        """Return the passage's number in markers, from 1."""
        return self.position + 1

    @property
    def passage(self) -> Unit:
        """Return the cited passage."""
        return self.support.passage

    def fields(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return the citation as JSON fields.

        `title` and `url` are of the cited document's metadata if they are strings.
        """
        support = self.support.unit
        fields: dict[str, Any] = {"number": self.number}
        for key in ("title", "url"):
            if isinstance(metadata.get(key), str):
                fields[key] = metadata[key]
        fields |= {
            "start_index": self.spans[0][0],
            "end_index": self.spans[-1][1],
            "cited_text": support.text,
            "cited_start_index": support.start,
            "cited_end_index": support.end,
            "claim": self.claim,
            "score": self.score,
        }
        if isfinite(self.margin):
            fields["margin"] = self.margin
        return fields


def citation_fields(record: Mapping[str, Any], source_id: str | None) -> CitationFields:
    """Return the fields that `Citation.fields` made, with those that may be absent filled in."""
    return CitationFields(
        number=record["number"],
        source_id=source_id or "",
        title=record.get("title", ""),
        url=record.get("url", ""),
        start_index=record["start_index"],
        end_index=record["end_index"],
        cited_text=record["cited_text"],
        cited_start_index=record["cited_start_index"],
        cited_end_index=record["cited_end_index"],
        claim=record["claim"],
        score=record["score"],
        margin=record.get("margin", inf),
    )


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of an answer with its citations.

    The texts of all sentences add up to the cited answer.

    Attributes:
        text: The sentence with its markers, after the text between it and the sentence before.
        plain: The sentence alone, without markers, as the model read it.
        start: Start of the sentence with its markers, in characters of the cited answer.
        end: End of the sentence; equal to the start if there is no sentence, as in white space.
        citations: The citations, in the order of the claims.
    """

    text: str
    plain: str
    start: int
    end: int
    citations: tuple[Citation, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of the cited passages in the order of their markers."""
        return tuple(dict.fromkeys(citation.number for citation in self.citations))


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer with markers, such as `[2]`, and the citations behind them.

    That is the marker of the second passage.
    """

    sentences: tuple[CitedSentence, ...] = ()

    @property
    def text(self) -> str:
        """Return the answer with markers."""
        return "".join(sentence.text for sentence in self.sentences)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Return the citations of all sentences, in order."""
        return tuple(chain.from_iterable(sentence.citations for sentence in self.sentences))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class CiteReport:
    """Counts of one answer.

    Attributes:
        silent: Sentences that are not cited: they claim nothing, or keep their own markers
            (`overwrite=False`).
        claims: Queries: propositions and whole sentences.
        whole: Propositions in whose place the whole sentence was the query, since they are a
            fallback or share no word with it; a sentence may count several times.
        below_margin: Claims without a citation because of `min_margin`.
    """

    sentences: int = 0
    silent: int = 0
    claims: int = 0
    whole: int = 0
    below_margin: int = 0


class PropCite:
    """Add citations to any model's answer: for each proposition the passage that matches it best.

    Existing markers are removed; new ones go before a sentence's final punctuation. Sentences
    without a claim, such as headings, code, lead-ins of lists and refusals, are not cited. Nothing
    else in the answer changes.

    Args:
        model: An `AnyGranularityRanker`, the name or folder of a late-interaction model, or a
            `TokenEncoder`.
        propositionizer: Splits the answer's sentences into propositions; None for
            `SyntaxPropositionizer()`.
        method: "proposition" is PropCite. Its ablations (Table 9) are "bare proposition" (i), which
            encodes a proposition as a query of its own, without its sentence, and "sentence"
            (ii, iii), which takes each sentence as one query.
        passages_per_claim: The number of best passages that are cited for each claim: 2 with
            sentences is row iii.
        min_margin: Least margin of a citation, in units of its score: 1.0 in the paper's variant
            with higher precision (footnote 5). None always cites the best passage. Two passages
            with the same text have no margin between them.
        overwrite: False leaves sentences with markers unchanged.

    Attributes:
        last_report: The `CiteReport` of the latest finished answer; None before the first.

    Raises:
        InvalidInputError: An option is out of range.
    """

    def __init__(
        self,
        model: str | PathLike[str] | MultiVectorEncoder | TokenEncoder | AnyGranularityRanker,
        *,
        propositionizer: Propositionizer | None = None,
        method: Method = "proposition",
        passages_per_claim: int = 1,
        min_margin: float | None = None,
        overwrite: bool = True,
    ) -> None:
        if method not in get_args(Method):
            raise InvalidInputError(
                f"method must be one of {', '.join(get_args(Method))}, got {method!r}"
            )
        whole_number("passages_per_claim", passages_per_claim)
        if passages_per_claim > 1 and min_margin is not None:
            raise InvalidInputError(
                "min_margin decides about the best passage: leave it out where several are cited"
            )
        if not isinstance(model, AnyGranularityRanker):
            model = AnyGranularityRanker(model)
        if propositionizer is None:
            propositionizer = SyntaxPropositionizer()
        check_propositionizer(propositionizer)
        self.ranker = model
        self.propositionizer = propositionizer
        self.passages_per_claim = passages_per_claim
        self.method = method
        self.min_margin = min_margin
        self.overwrite = overwrite
        self.last_report: CiteReport | None = None

    def cite(self, answer: str, passages: Passages) -> CitedAnswer:
        """Return an answer with its citations.

        Args:
            answer: The answer, plain or Markdown.
            passages: The answer's sources, numbered in this order; as in
                `AnyGranularityRanker.rank`.

        Raises:
            InvalidInputError: The answer is not a string, or as for `AnyGranularityRanker.rank`.
            MissingDependencyError: Sentence Transformers is absent.
        """
        check_text(answer, "answer")
        citer = _AnswerCiter(self, passages)
        stretches = GrowingAnswer(answer).finish()
        citer.add_propositions(stretches)
        sentences = tuple(map(citer.cite_sentence, stretches))
        self.last_report = citer.report
        return CitedAnswer(sentences)

    async def acite(self, answer: str, passages: Passages) -> CitedAnswer:
        """Run `cite` in another thread."""
        return await asyncio.to_thread(self.cite, answer, passages)

    def stream(
        self, chunks: Iterable[str], passages: Passages
    ) -> Generator[CitedSentence, None, None]:
        """Yield each sentence of an answer with its citations when the next begins.

        The last one comes at the end. However the answer is cut into chunks, the sentences are
        nearly always those of `cite`. Closing this generator also closes the generator of chunks.

        Args:
            chunks: The answer in parts.
            passages: As in `cite`, whose errors are raised too; they are encoded when the first
                sentence that claims something is cited.
        """
        citer = _AnswerCiter(self, passages)
        growing = GrowingAnswer()
        try:
            for chunk in chunks:
                check_text(chunk, "chunk")
                yield from map(citer.cite_sentence, growing.feed(chunk))
            yield from map(citer.cite_sentence, growing.finish())
        finally:
            if isinstance(chunks, Generator):
                chunks.close()
        self.last_report = citer.report

    async def astream(
        self, chunks: AsyncIterable[str], passages: Passages
    ) -> AsyncGenerator[CitedSentence, None]:
        """Stream as `stream` does, splitting and encoding in another thread.

        Passages are encoded while the answer begins.
        """
        citer = _AnswerCiter(self, passages)
        growing = GrowingAnswer()
        # A model takes seconds to begin its answer: passages are encoded meanwhile.
        encoding = asyncio.ensure_future(asyncio.to_thread(citer.encode))
        try:
            async for chunk in chunks:
                check_text(chunk, "chunk")
                for stretch in await asyncio.to_thread(growing.feed, chunk):
                    await encoding
                    yield await asyncio.to_thread(citer.cite_sentence, stretch)
            await encoding  # its errors are raised even if no sentence was cited
            for stretch in await asyncio.to_thread(growing.finish):
                yield await asyncio.to_thread(citer.cite_sentence, stretch)
        finally:
            # Nobody may be waiting for it any more: it ends here, and its error was raised above.
            encoding.cancel()
            await asyncio.gather(encoding, return_exceptions=True)
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()
        self.last_report = citer.report


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


class _AnswerCiter:
    """Cites the sentences of one answer in order; its passages are encoded once."""

    def __init__(self, prop_cite: PropCite, passages: Passages) -> None:
        self._prop_cite = prop_cite  # its options
        self._ranker = prop_cite.ranker
        self._passages = as_passages(passages)
        self._counts: Counter[str] = Counter()
        self._tokens: list[TokenVectors] | None = None  # of each passage, once they are encoded
        self._propositions: dict[str, list[Unit]] = {}  # by their sentence
        self._length = 0  # of the cited answer so far

    @property
    def report(self) -> CiteReport:
        """Return the counts so far."""
        return CiteReport(**self._counts)

    def encode(self) -> list[TokenVectors]:
        """Return the tokens of the passages, which are encoded on the first call."""
        if self._tokens is None:
            self._tokens = []
            if self._passages:
                self._tokens = self._ranker.tokens(self._passages)
        return self._tokens

    def add_propositions(self, stretches: Iterable[Stretch]) -> None:
        """Make the propositions of all sentences in one call.

        Some propositionizers work in batches.
        """
        if self._prop_cite.method == "sentence" or not self._passages:
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
        propositionizer = self._prop_cite.propositionizer
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
        return not self._prop_cite.overwrite and stretch.plain != stretch.sentence

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
        if self._prop_cite.method == "sentence":
            whole = [(0, len(sentence))]
            return [_Claim(sentence, whole, self._scorer(sentence))]
        if self._prop_cite.method == "bare proposition":
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
        whole = [(0, len(sentence))]
        scorer = self._scorer(sentence)
        claims: dict[tuple[Span, ...], _Claim] = {}
        for proposition in self._propositions[sentence]:
            spans = whole
            part = None
            if "fallback" not in proposition.metadata:
                spans = align(proposition.text, sentence)
                part = scorer.limited_to(spans)
            if part is None:  # no token of the sentence is the proposition's
                spans = whole
                part = scorer.limited_to(whole)
                self._counts["whole"] += 1
            if part is not None:
                claims.setdefault(tuple(spans), _Claim(proposition.text, spans, part))
        return list(claims.values())

    def _citations(self, claim: _Claim) -> Iterator[Citation]:
        """Yield the citations of a claim, best first, with the claim's spans in the sentence."""
        scorer = claim.scorer
        tokens = self.encode()
        similarities = scorer.similarities(tokens)
        scores = []
        for tokens_of_passage, similarities_of_passage in zip(tokens, similarities, strict=True):
            scores.append(scorer.passage_score(tokens_of_passage, similarities_of_passage))
        order = sorted(range(len(scores)), key=lambda position: (-scores[position], position))
        kind = Granularity.SENTENCE
        for rank, position in enumerate(order[: self._prop_cite.passages_per_claim]):
            score = scores[position]
            if not isfinite(score):
                return
            following = -inf
            if rank + 1 < len(order):
                following = scores[order[rank + 1]]
            margin = score - following
            if self._prop_cite.min_margin is not None and margin < self._prop_cite.min_margin:
                self._counts["below_margin"] += 1
                return
            passage = self._passages[position]
            [units] = self._ranker.placed_units([passage], kind)
            hits = scorer.hits(
                kind, passage, position, tokens[position], units, similarities[position]
            )
            support = max(hits, key=attrgetter("score"))
            yield Citation(position, score, margin, claim.text, tuple(claim.spans), support)
