"""Rank passages, or sentences, propositions and any spans in them, by the token vectors of whole passages (AGRaME, §3.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from operator import attrgetter
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from factoid.encode import EMBED_TEMPLATE, check_template, with_heading
from factoid.errors import InvalidInputError
from factoid.inner_products import products
from factoid.late_interaction.align import align
from factoid.late_interaction.encoder import LateInteractionEncoder, TokenEncoder, TokenVectors
from factoid.late_interaction.score import ALPHA, Mask, blend, span_scores, token_mask
from factoid.propositions import Propositionizer, Report
from factoid.propositions.decompose import decompose
from factoid.sentences import Span
from factoid.split import split_sentences
from factoid.store.search import whole_number
from factoid.units import Document, Granularity, Hit, Unit

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

Parents = Literal["passage", "unit"]
Place = tuple[Unit, list[Span]]  # a unit, and where the tokens stand that it is scored by

UNALIGNED = "unaligned proposition"
_BATCH = 128  # passages whose token vectors are in memory at once


@dataclass(frozen=True, slots=True)
class SpanHit(Hit):
    """A ranked unit. `parts` says what its score is made of: the unit's own, by its granularity, and the passage's.

    Attributes:
        passage: The passage that was encoded.
        position: Where that passage stands among those that were given.
    """

    passage: Unit = field(kw_only=True)
    position: int = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class RankReport:
    """Counts of what became of the passages of one call.

    Attributes:
        passages: Number of passages.
        windowed: Passages above the model's limit, which were read in several windows.
        units: Number of units scored.
        unaligned: Propositions that share no word with their sentence; they are scored by the whole sentence.
        unscored: Units without any token that the model scores, such as a line of punctuation; they are left out.
        whole: Passages without a unit that can be scored, which are ranked as a whole.
        propositions: What became of the passages in the propositionizer, where one was used.
    """

    passages: int = 0
    windowed: int = 0
    units: int = 0
    unaligned: int = 0
    unscored: int = 0
    whole: int = 0
    propositions: Report | None = None


def ranked_granularity(granularity: str) -> Granularity:
    """Return the granularity of this name, if it can be ranked.

    Raises:
        InvalidInputError: There is no such granularity, or it is "document".
    """
    kind = Granularity(granularity)
    if kind is Granularity.DOCUMENT:
        message = "a document is ranked as a passage: use granularity='passage'"
        raise InvalidInputError(message)
    return kind


class AnyGranularityRanker:
    """Ranks at a finer granularity than it encodes: passages are encoded, their sentences or propositions ranked.

    A span's score is `S(q, span) + α·S(q, passage)` (§3.2): MaxSim over the span's own tokens, with the query under the marker
    m'_q if the model has one, and MaxSim over the whole passage, with the query under m_q. Passages are ranked by the latter.

    Args:
        model: What `LateInteractionEncoder` takes, such as "colbert-ir/colbertv2.0" or a local folder; or any `TokenEncoder`,
            such as a `LateInteractionEncoder` with other options. It is loaded on first use.
        alpha: Weight of the passage's score, 1 as in §2 (see `factoid.late_interaction.blend`).
        propositionizer: Makes the propositions; None for `SyntaxPropositionizer()`.
        template: What is encoded of a passage, ending in {text}; "{text}" leaves out title and section.

    Attributes:
        last_report: A `RankReport` on the latest call that has ended; None before the first.

    Raises:
        InvalidInputError: The template does not end in {text}, or alpha is no finite number.
    """

    def __init__(
        self,
        model: str | PathLike[str] | MultiVectorEncoder | TokenEncoder,
        *,
        alpha: float = ALPHA,
        propositionizer: Propositionizer | None = None,
        template: str = EMBED_TEMPLATE,
    ) -> None:
        if not check_template(template).endswith("{text}"):
            message = f"the template of a ranker must end in {{text}}, got {template!r}"
            raise InvalidInputError(message)
        if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not np.isfinite(alpha):
            message = f"alpha must be a finite number, got {alpha!r}"
            raise InvalidInputError(message)
        self.encoder: TokenEncoder = model if isinstance(model, TokenEncoder) else LateInteractionEncoder(model)
        self.alpha = float(alpha)
        self.template = template
        self.last_report: RankReport | None = None
        self._propositionizer = propositionizer

    def rank(
        self,
        query: str,
        passages: Iterable[Unit | Document | str],
        granularity: Granularity | str = Granularity.SENTENCE,
        *,
        k: int | None = None,
        parents: Parents = "unit",
        query_span: Span | None = None,
    ) -> list[SpanHit]:
        """Return the best units of some passages, or the passages with the best unit of each, best first.

        Equal scores keep the order of the passages. A passage without a unit that can be scored is ranked as a whole.

        Args:
            query: The query.
            passages: Texts, documents, or units whose text stands at their span. Each is one passage, however long.
            granularity: "sentence", "proposition" or "passage".
            k: How many hits; None for all.
            parents: "unit" for the units; "passage" for the passages by their own score, with their best unit in `matches`.
            query_span: The part of the query to rank by, in characters; all of the query gives it context (§4.2).

        Raises:
            InvalidInputError: Another granularity, k or parents than these, a proposition as a passage, or a part of the query
                that holds no token.
            MissingDependencyError: Sentence Transformers is absent.
        """
        kind = ranked_granularity(granularity)
        if parents not in get_args(Parents):
            message = f"parents must be 'passage' or 'unit', got {parents!r}"
            raise InvalidInputError(message)
        limit = None if k is None else whole_number("k", k)
        if isinstance(passages, str | Document | Unit):
            message = f"expected a list of passages, got a single {type(passages).__name__}"
            raise InvalidInputError(message)
        units = [_passage(passage) for passage in passages]
        if not units:
            self.last_report = RankReport()
            return []
        places, report = self._places(units, kind)
        scorer = _Scorer(self.encoder, query, query_span, self.alpha)
        hits: list[SpanHit] = []
        for start in range(0, len(units), _BATCH):
            batch = units[start : start + _BATCH]
            for position, encoded in enumerate(self._encode(batch), start):
                passage = units[position]
                of_passage, counts = scorer.hits(kind, passage, position, encoded, places[position])
                if parents == "passage" and kind is not Granularity.PASSAGE:
                    of_passage = [_rolled_up(of_passage)]
                hits += of_passage
                report = replace(report, **{key: getattr(report, key) + number for key, number in counts.items()})
        self.last_report = report
        return sorted(hits, key=attrgetter("score"), reverse=True)[:limit]

    async def arank(
        self,
        query: str,
        passages: Iterable[Unit | Document | str],
        granularity: Granularity | str = Granularity.SENTENCE,
        **options: Any,
    ) -> list[SpanHit]:
        """Do as `rank` in another thread, so that the event loop is not blocked."""
        return await asyncio.to_thread(self.rank, query, passages, granularity, **options)

    def score_spans(
        self, query: str, passage: Unit | Document | str, spans: Sequence[Span], *, query_span: Span | None = None
    ) -> list[float]:
        """Return the score of any spans of a passage, in characters of its own text.

        A span without a token that the model scores has the score minus infinity.

        Raises:
            InvalidInputError: A span that does not lie in the passage, or as `rank`.
        """
        unit = _passage(passage)
        for start, end in spans:
            if not 0 <= start <= end <= len(unit.text):
                message = f"expected spans within the {len(unit.text)} characters of the passage, got {(start, end)}"
                raise InvalidInputError(message)
        [tokens] = self._encode([unit])
        masks = [token_mask(tokens.spans, [span]) for span in spans]
        _, _, scores = _Scorer(self.encoder, query, query_span, self.alpha).scores(tokens, masks)
        return scores

    def _encode(self, passages: Sequence[Unit]) -> list[TokenVectors]:
        """Return the tokens of passages, with spans in characters of the passage's own text; equal texts are encoded once."""
        texts = [with_heading(passage, self.template) for passage in passages]
        distinct = list(dict.fromkeys(texts))
        encoded = dict(zip(distinct, self.encoder.encode_passages(distinct), strict=True))
        return [
            _shifted(encoded[text], len(text) - len(passage.text))
            for text, passage in zip(texts, passages, strict=True)
        ]

    def _places(self, passages: Sequence[Unit], kind: Granularity) -> tuple[list[list[Place]], RankReport]:
        """Return the units of each passage with the spans of their tokens, in characters of the document."""
        report = RankReport(passages=len(passages))
        if kind is Granularity.PASSAGE:
            return [[] for _ in passages], report
        sentences = [split_sentences(passage) for passage in passages]
        if kind is Granularity.SENTENCE:
            return [[(unit, [(unit.start, unit.end)]) for unit in units] for units in sentences], report
        if self._propositionizer is None:
            from factoid.propositions import SyntaxPropositionizer

            self._propositionizer = SyntaxPropositionizer()
        distinct = {passage.id: passage for passage in passages}
        decomposition = decompose(list(distinct.values()), self._propositionizer)
        propositions: dict[str, list[Unit]] = {}
        for unit in decomposition.units:
            propositions.setdefault(unit.parent_id, []).append(unit)
        places = [
            [_aligned(unit, passage, units) for unit in propositions.get(passage.id, ())]
            for passage, units in zip(passages, sentences, strict=True)
        ]
        unaligned = sum(unit.metadata.get("fallback") == UNALIGNED for units in places for unit, _ in units)
        return places, replace(report, unaligned=unaligned, propositions=decomposition.report)


class _Scorer:
    """A query under both markers, and the part of it that counts."""

    def __init__(self, encoder: TokenEncoder, query: str, part: Span | None, alpha: float) -> None:
        self._alpha = alpha
        self._query = query
        self._tokens = _both(encoder, query)
        self._sides = [(tokens.vectors, _part(tokens, query, part and [part])) for tokens in self._tokens]

    def limited_to(self, parts: Sequence[Span]) -> _Scorer:
        """Return a scorer by other parts of the query, which is not encoded again."""
        scorer = copy(self)
        scorer._sides = [(tokens.vectors, _part(tokens, self._query, parts)) for tokens in self._tokens]
        return scorer

    def reads(self, parts: Sequence[Span]) -> bool:
        """Tell whether some parts of the query hold a token."""
        return bool(token_mask(self._tokens[0].spans, parts).any())

    def passage_score(self, tokens: TokenVectors) -> float:
        """Return the score of a whole passage, with the query under m_q."""
        vectors, query_mask = self._sides[0]
        whole = np.ones(len(tokens.spans), bool)
        return float(span_scores(products(vectors, tokens.vectors.T), [whole], query_mask=query_mask)[0])

    def scores(self, tokens: TokenVectors, masks: Sequence[Mask]) -> tuple[float, list[float], list[float]]:
        """Return the score of the passage, those of spans by themselves, and those of spans with the passage."""
        similarities = [products(vectors, tokens.vectors.T) for vectors, _ in self._sides]
        coarse, finer = similarities[0], similarities[-1]
        whole = np.ones(len(tokens.spans), bool)
        [passage] = span_scores(coarse, [whole], query_mask=self._sides[0][1]).tolist()
        alone = span_scores(finer, masks, query_mask=self._sides[-1][1])
        return passage, alone.tolist(), blend(alone, passage, self._alpha).tolist()

    def hits(
        self, kind: Granularity, passage: Unit, position: int, tokens: TokenVectors, places: Sequence[Place]
    ) -> tuple[list[SpanHit], dict[str, int]]:
        """Return the hits of one passage, and what to count."""
        counts = {"windowed": int(tokens.windows > 1)}
        masks = [
            token_mask(tokens.spans, [(start - passage.start, end - passage.start) for start, end in spans])
            for _, spans in places
        ]
        scored = [(unit, mask) for (unit, _), mask in zip(places, masks, strict=True) if mask.any()]
        counts |= {"units": len(scored), "unscored": len(places) - len(scored)}
        if not scored:
            scored = [(passage, np.ones(len(tokens.spans), bool))]
            counts |= {"units": 1, "whole": int(kind is not Granularity.PASSAGE)}
        whole, alone, together = self.scores(tokens, [mask for _, mask in scored])
        of: dict[str, Any] = {"passage": passage, "position": position}
        if kind is Granularity.PASSAGE:
            return [SpanHit(passage, whole, parts={kind.value: whole}, **of)], counts
        rows = zip(scored, alone, together, strict=True)
        around = Granularity.PASSAGE.value
        return [
            SpanHit(unit, score, parts={kind.value: own, around: whole}, **of) for (unit, _), own, score in rows
        ], counts


def _both(encoder: TokenEncoder, query: str) -> list[TokenVectors]:
    """Return the query under m_q and, where the model has one, under m'_q."""
    coarse = encoder.encode_query(query)
    if isinstance(encoder, LateInteractionEncoder) and not encoder.has_finer_marker():
        return [coarse]
    return [coarse, encoder.encode_query(query, finer=True)]


def _part(tokens: TokenVectors, query: str, parts: Sequence[Span] | None) -> Mask | None:
    if parts is None:
        return None
    mask = token_mask(tokens.spans, parts)
    if not mask.any():
        message = f"expected a part of the query that holds a token, got {tuple(parts[0])} of {query!r:.80}"
        raise InvalidInputError(message)
    return mask


def _passage(passage: Unit | Document | str) -> Unit:
    document = Document(passage) if isinstance(passage, str) else passage
    if isinstance(document, Document):  # a passage under the document's own id
        place = (document.id, document.id, 0, len(document.text), document.title, document.section, document.metadata)
        return Unit(document.id, document.text, Granularity.PASSAGE, *place)
    if not isinstance(document, Unit):
        message = f"expected texts, documents or units as passages, got one with {type(document).__name__}"
        raise InvalidInputError(message)
    if document.end - document.start != len(document.text):
        message = (
            f"expected passages whose text stands at their span, got the {document.granularity} {document.text!r:.60} at "
            f"{document.start}–{document.end}: give the passage that it came from"
        )
        raise InvalidInputError(message)
    return document


def _shifted(tokens: TokenVectors, heading: int) -> TokenVectors:
    """Return tokens with spans after a heading; those in the heading stand for no text of the passage."""
    if not heading:
        return tokens
    spans = np.maximum(tokens.spans - heading, 0)
    spans[spans[:, 1] == 0] = 0
    return replace(tokens, spans=spans)


def _aligned(unit: Unit, passage: Unit, sentences: Sequence[Unit]) -> Place:
    """Return a proposition with the spans of its words in its sentence, or in all sentences that its own span touches."""
    touched = [sentence for sentence in sentences if sentence.start < unit.end and sentence.end > unit.start]
    start, end = (touched[0].start, touched[-1].end) if touched else (passage.start, passage.end)
    spans = align(unit.text, passage.text[start - passage.start : end - passage.start])
    if spans:
        return unit, [(start + first, start + last) for first, last in spans]
    return replace(unit, metadata={**unit.metadata, "fallback": UNALIGNED}), [(start, end)]


def _rolled_up(hits: Sequence[SpanHit]) -> SpanHit:
    """Return a passage's hit by the passage's own score, with its best unit."""
    best = max(hits, key=attrgetter("score"))
    score = best.parts[Granularity.PASSAGE.value]
    matches = () if best.unit is best.passage else (best,)
    return replace(best, unit=best.passage, score=score, matches=matches, parts={Granularity.PASSAGE.value: score})
