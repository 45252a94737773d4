"""Rank passages, and spans in them, by their token vectors (AGRaME, §3.2)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from math import inf
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError, StoreFormatError
from factoid.heading_template import EMBED_TEMPLATE, check_template, with_heading
from factoid.inner_products import products
from factoid.late_interaction.align import align
from factoid.late_interaction.encoder import LateInteractionEncoder, TokenEncoder
from factoid.late_interaction.score import Mask, span_scores, token_mask
from factoid.progress import progress_bar
from factoid.propositions import Propositionizer, SyntaxPropositionizer
from factoid.propositions.decompose import decompose
from factoid.sentences import MAX_CHARS, Span
from factoid.split import split_sentences
from factoid.store.options import RankedParents
from factoid.store.token_cache import TokenVectorCache, TokenVectors
from factoid.units import Document, Granularity, Hit, Unit, whole_number

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

Passages = Iterable[Unit | Document | str]
PlacedUnit = tuple[Unit, list[Span]]  # a unit, and the spans in the document whose tokens score it

UNALIGNED = "unaligned proposition"
# Characters: a proposition comes from one or two sentences, else the whole passage scores it.
_LONGEST_ALIGNED = 2 * MAX_CHARS
_BATCH = 128  # passages whose token vectors are in memory at once


@dataclass(frozen=True, slots=True)
class SpanHit(Hit):
    """A ranked unit. `parts` holds the unit's score, under its granularity, and the passage's.

    Attributes:
        passage: The encoded passage.
        position: Index of that passage in the input.
    """

    passage: Unit = field(kw_only=True)
    position: int = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class RankReport:
    """Counts of one call.

    Attributes:
        windowed: Passages longer than the model's limit, read in several windows.
        unaligned: Propositions that share no word with their sentence; the whole sentence scores
            them.
        whole: Passages ranked as a whole, because no unit of theirs has a scored token.
        encoded: Passages that the model read in this call.
        stored: Passages whose token vectors came from the cache.
    """

    passages: int = 0
    windowed: int = 0
    unaligned: int = 0
    whole: int = 0
    encoded: int = 0
    stored: int = 0


def ranked_granularity(granularity: str) -> Granularity:
    """Return the granularity with this name, which is any except "document".

    Raises:
        InvalidInputError: It is "document", or unknown.
    """
    granularity = Granularity(granularity)
    if granularity is Granularity.DOCUMENT:
        raise InvalidInputError("a document is ranked as a passage: use granularity='passage'")
    return granularity


class AnyGranularityRanker:
    """Rank at a finer granularity than is encoded.

    Passages are encoded, their sentences or propositions are ranked. A span's score is `S(q, span)
    + α·S(q, passage)` (§3.2): MaxSim over the span's own tokens, with the query under the marker
    m'_q if the model has one, and MaxSim over the whole passage, with the query under m_q. Passages
    are ranked by the latter.

    Args:
        model: A model for `LateInteractionEncoder`, such as "colbert-ir/colbertv2.0" or a local
            folder; or any `TokenEncoder`, such as a `LateInteractionEncoder` with other options. It
            is loaded on first use.
        alpha: Weight of the passage's score. The model learns to compare the spans of one passage;
            the passage's score makes spans of different passages comparable. The paper gives no
            value; §2 adds the two, so it is 1 here. 0 compares spans alone.
        propositionizer: Makes the propositions; None for `SyntaxPropositionizer()`.
        template: Template of the text that is encoded for a passage, ending in {text}, with keys of
            the metadata as further fields; "{text}" leaves out title and section. In a search of a
            store, what its `embed_metadata` names stands before the title.
        cache: Stores the token vectors of passages, so that ranking a known passage encodes only
            the query: a `TokenVectorCache`, a file, or the folder of a store. None encodes passages
            in each call.

    Attributes:
        last_report: The `RankReport` of the latest finished call; None before the first.

    Raises:
        InvalidInputError: The template does not end in {text}.
    """

    def __init__(
        self,
        model: str | PathLike[str] | MultiVectorEncoder | TokenEncoder,
        *,
        alpha: float = 1.0,
        propositionizer: Propositionizer | None = None,
        template: str = EMBED_TEMPLATE,
        cache: TokenVectorCache | str | Path | None = None,
    ) -> None:
        if not check_template(template).endswith("{text}"):
            raise InvalidInputError(
                f"the template of a ranker must end in {{text}}, got {template!r}"
            )
        self.encoder: TokenEncoder = (
            model if isinstance(model, TokenEncoder) else LateInteractionEncoder(model)
        )
        self.alpha = alpha
        self.propositionizer = (
            SyntaxPropositionizer() if propositionizer is None else propositionizer
        )
        self.template = template
        self.cache = (
            cache if isinstance(cache, TokenVectorCache | None) else TokenVectorCache(cache)
        )
        self.last_report: RankReport | None = None

    def rank(
        self,
        query: str,
        passages: Passages,
        granularity: Granularity | str = Granularity.SENTENCE,
        *,
        k: int | None = None,
        parents: RankedParents = "unit",
        units: Sequence[Sequence[Unit]] | None = None,
    ) -> list[SpanHit]:
        """Return the best units, or the passages with their best unit, best first.

        Equal scores keep the order of the passages. A passage without a scored unit is ranked as a
        whole.

        Args:
            query: The query.
            passages: Texts, documents, or units whose text is at their span. Each is one passage,
                however long.
            granularity: "sentence", "proposition" or "passage".
            k: Number of hits; None for all.
            parents: "unit" for the units; "passage" for the passages by their own score, with their
                best unit in `matches`.
            units: The units of each passage to rank, of this granularity, such as those in a store;
                None cuts the passages. Their spans count characters of the document, as the
                passage's does.

        Raises:
            InvalidInputError: granularity, k or parents is invalid, a passage is a proposition, or
                the number of lists of units differs from that of passages.
            MissingDependencyError: Sentence Transformers is absent.
        """
        granularity = ranked_granularity(granularity)
        if parents not in get_args(RankedParents):
            raise InvalidInputError(f"parents must be 'passage' or 'unit', got {parents!r}")
        if k is not None:
            k = whole_number("k", k)
        whole = as_passages(passages)
        if units is not None and len(units) != len(whole):
            raise InvalidInputError(
                f"expected a list of units for each of {len(whole)} passages, got {len(units)}"
            )
        placed = self.placed_units(whole, granularity, units)
        counts = Counter(passages=len(whole), unaligned=0)
        for unit, _ in chain.from_iterable(placed):
            counts["unaligned"] += unit.metadata.get("fallback") == UNALIGNED
        scorer = QueryScorer(self.encoder, query, self.alpha)
        hits: list[SpanHit] = []
        for start in range(0, len(whole), _BATCH):
            batch = self.tokens(whole[start : start + _BATCH])
            counts.update(_token_counts(batch))
            pairs = zip(batch, scorer.similarities(batch), strict=True)
            for position, (tokens, similarities) in enumerate(pairs, start):
                row = scorer.hits(
                    granularity, whole[position], position, tokens, placed[position], similarities
                )
                if granularity is not Granularity.PASSAGE:
                    counts["whole"] += row[0].unit is row[0].passage
                    if parents == "passage":
                        row = [_rolled_up(row)]
                hits += row
        self.last_report = RankReport(**counts)
        return sorted(hits, key=attrgetter("score"), reverse=True)[:k]

    async def arank(
        self,
        query: str,
        passages: Passages,
        granularity: Granularity | str = Granularity.SENTENCE,
        **options: Any,
    ) -> list[SpanHit]:
        """Run `rank` in another thread."""
        return await asyncio.to_thread(self.rank, query, passages, granularity, **options)

    def encode_passages(self, passages: Passages, *, progress: bool | None = None) -> RankReport:
        """Fill the cache with the token vectors of passages before they are ranked.

        They may be all those of a store. Passages are read as needed, and each batch is stored when
        it is ready, so that a second call continues after an interrupted one. The report counts the
        encoded passages and those stored before.

        Raises:
            InvalidInputError: The ranker has no cache, or as for `rank`.
            StoreError: The cache cannot be read.
        """
        if self.cache is None:
            raise InvalidInputError(
                "there is no cache to fill: AnyGranularityRanker(model, cache=...)"
            )
        counts: Counter[str] = Counter()
        units = map(as_passage, passages)
        with progress_bar(show=progress, unit=" passages") as bar:
            while batch := list(islice(units, _BATCH)):
                counts["passages"] += len(batch)
                counts.update(_token_counts(self.tokens(batch)))
                bar.update(len(batch))
        self.last_report = RankReport(**counts)
        return self.last_report

    def tokens(self, passages: Sequence[Unit]) -> list[TokenVectors]:
        """Return the tokens of passages, from the cache or encoded.

        Their spans are in characters of the passage's own text. Equal texts are encoded once. With
        a cache, vectors are rounded to its dtype on the first call too.

        Raises:
            StoreError: The cache cannot be read.
        """
        texts = [with_heading(passage, self.template) for passage in passages]
        bodies = {text: passage.text for text, passage in zip(texts, passages, strict=True)}
        model = ""
        tokens: dict[str, TokenVectors] = {}
        if self.cache:
            model = self.encoder.fingerprint()  # type: ignore[attr-defined]
            tokens |= self.cache.get(model, bodies)
        missing = [text for text in bodies if text not in tokens]
        if missing:
            encoded = dict(zip(missing, self.encoder.encode_passages(missing), strict=True))
            if self.cache:
                entries = {text: (bodies[text], new) for text, new in encoded.items()}
                encoded = self.cache.put(model, entries)
            tokens |= encoded
        relative = []
        for text, passage in zip(texts, passages, strict=True):
            relative.append(_without_heading(tokens[text], len(text) - len(passage.text)))
        return relative

    def placed_units(
        self,
        passages: Sequence[Unit],
        granularity: Granularity,
        units: Sequence[Sequence[Unit]] | None = None,
    ) -> list[list[PlacedUnit]]:
        """Return the units of each passage with the spans that score them."""
        if granularity is Granularity.PASSAGE:
            return [[] for _ in passages]
        sentences = list(map(split_sentences, passages))
        if granularity is Granularity.SENTENCE:
            return list(map(_in_place, units or sentences, sentences))
        if units is None:
            distinct = {passage.id: passage for passage in passages}
            propositions: dict[str, list[Unit]] = {passage_id: [] for passage_id in distinct}
            for unit in decompose(list(distinct.values()), self.propositionizer).units:
                propositions[unit.parent_id].append(unit)
            units = [propositions[passage.id] for passage in passages]
        placed = []
        for row, passage, around in zip(units, passages, sentences, strict=True):
            placed.append([_aligned(unit, passage, around) for unit in row])
        return placed


class Similarities(NamedTuple):
    """The inner products of a query's tokens with those of one passage.

    Shape of each: (query tokens, passage tokens).
    """

    for_passage: Vectors  # with the query under m_q, which whole passages are scored by
    for_spans: Vectors  # with the query under m'_q; equal to the other if the model has none


class QueryScorer:
    """Scores passages, with the query marked by m_q, and spans of them.

    For spans the query is marked by m'_q; by m_q, too, if the model has no other marker.
    """

    def __init__(self, encoder: TokenEncoder, query: str, alpha: float) -> None:
        self._alpha = alpha
        self._query = encoder.encode_query(query)
        self._finer_query = self._query
        if not isinstance(encoder, LateInteractionEncoder) or encoder.has_finer_marker():
            self._finer_query = encoder.encode_query(query, finer=True)
        self._mask: Mask | None = None  # of the query's tokens that count; None for all
        self._finer_mask: Mask | None = None

    def limited_to(self, spans: Sequence[Span]) -> QueryScorer | None:
        """Return a scorer for parts of the query, which is not encoded again.

        None if they hold no token.
        """
        mask = token_mask(self._query.spans, spans)
        finer_mask = token_mask(self._finer_query.spans, spans)
        if not mask.any() or not finer_mask.any():
            return None
        scorer = copy(self)
        scorer._mask = mask
        scorer._finer_mask = finer_mask
        return scorer

    def similarities(self, passages: Sequence[TokenVectors]) -> list[Similarities]:
        """Return for each passage the products of its tokens with the query's.

        One product for all passages is much faster than one for each.

        Raises:
            StoreFormatError: Vectors have another number of components than the query's.
        """
        dim = self._query.vectors.shape[1]
        others = {tokens.vectors.shape[1] for tokens in passages} - {dim}
        if others:
            raise StoreFormatError(
                f"the query's token vectors have {dim} components, and those of a passage "
                f"{others.pop()}: delete the cache of token vectors, and passages are encoded "
                "again"
            )
        ends = np.cumsum([len(tokens.vectors) for tokens in passages])[:-1]
        vectors = np.concatenate([tokens.vectors for tokens in passages])
        for_passages = np.split(products(self._query.vectors, vectors.T), ends, axis=1)
        for_spans = for_passages
        if self._finer_query is not self._query:
            for_spans = np.split(products(self._finer_query.vectors, vectors.T), ends, axis=1)
        return list(map(Similarities, for_passages, for_spans))

    def passage_score(self, tokens: TokenVectors, similarities: Similarities) -> float:
        """Return the score of a whole passage, with the query under m_q.

        Minus infinity if its text has no token.
        """
        if not tokens.spans.any():
            return -inf
        every_token = np.ones(len(tokens.spans), bool)
        [score] = span_scores(similarities.for_passage, [every_token], query_mask=self._mask)
        return float(score)

    def hits(
        self,
        granularity: Granularity,
        passage: Unit,
        position: int,
        tokens: TokenVectors,
        placed: Sequence[PlacedUnit],
        similarities: Similarities,
    ) -> list[SpanHit]:
        """Return the hits of one passage: its units with a token, or the passage if there are none.

        A unit's score is `S(q, span) + α·S(q, passage)` (§3.2).
        """
        whole = self.passage_score(tokens, similarities)
        scored = []
        for unit, spans in placed:
            inside = [(start - passage.start, end - passage.start) for start, end in spans]
            mask = token_mask(tokens.spans, inside)
            if mask.any():
                scored.append((unit, mask))
        if not scored:
            scored = [(passage, np.ones(len(tokens.spans), bool))]
        masks = [mask for _, mask in scored]
        alone = span_scores(similarities.for_spans, masks, query_mask=self._finer_mask).tolist()
        hits = []
        for (unit, _), score in zip(scored, alone, strict=True):
            is_whole = granularity is Granularity.PASSAGE or whole == -inf
            total = whole if is_whole else score + self._alpha * whole
            parts = {granularity.value: score, Granularity.PASSAGE.value: whole}
            hits.append(SpanHit(unit, total, parts=parts, passage=passage, position=position))
        return hits


def _token_counts(batch: Sequence[TokenVectors]) -> dict[str, int]:
    stored = sum(tokens.stored for tokens in batch)
    return {
        "windowed": sum(tokens.windows > 1 for tokens in batch),
        "encoded": len(batch) - stored,
        "stored": stored,
    }


def _without_heading(tokens: TokenVectors, heading: int) -> TokenVectors:
    """Return tokens with spans relative to the end of a heading.

    It has `heading` characters; its own tokens get (0, 0).
    """
    if not heading:
        return tokens
    spans = np.maximum(tokens.spans - heading, 0)
    spans[spans[:, 1] == 0] = 0
    return replace(tokens, spans=spans)


def as_passages(passages: Passages) -> list[Unit]:
    """Return passages as units.

    Raises:
        InvalidInputError: It is a single text instead of a list, or as for `as_passage`.
    """
    if isinstance(passages, str):
        raise InvalidInputError("expected a list of passages, got a single text")
    return list(map(as_passage, passages))


def as_passage(passage: Unit | Document | str) -> Unit:
    """Return a text, document or unit as the unit of one passage.

    Raises:
        InvalidInputError: It is a unit whose text is not at its span, such as a proposition.
    """
    if isinstance(passage, str):
        passage = Document(passage)
    if isinstance(passage, Document):
        return Unit(
            id=passage.id,
            text=passage.text,
            granularity=Granularity.PASSAGE,
            document_id=passage.id,
            parent_id=passage.id,
            start=0,
            end=len(passage.text),
            title=passage.title,
            section=passage.section,
            metadata=passage.metadata,
        )
    if not passage.is_text_at_span():
        raise InvalidInputError(
            f"expected passages whose text is at their span, got the {passage.granularity} "
            f"{passage.text!r:.60} at {passage.start}–{passage.end}: give the passage that it "
            "comes from"
        )
    return passage


def _aligned(unit: Unit, passage: Unit, sentences: Sequence[Unit]) -> PlacedUnit:
    """Return a proposition with the spans of its words.

    They are in the sentences that its own span touches.
    """
    touched = []
    for sentence in sentences:
        if sentence.start < unit.end and sentence.end > unit.start:
            touched.append(sentence)
    start, end = (touched[0].start, touched[-1].end) if touched else (passage.start, passage.end)
    is_near = end - start <= _LONGEST_ALIGNED
    spans = []
    if is_near:
        spans = align(unit.text, passage.text[start - passage.start : end - passage.start])
    if spans:
        return unit, [(start + first, start + last) for first, last in spans]
    return replace(unit, metadata={**unit.metadata, "fallback": UNALIGNED}), [(start, end)]


def _rolled_up(hits: Sequence[SpanHit]) -> SpanHit:
    """Return a passage's hit by the passage's own score, with its best unit."""
    best = max(hits, key=attrgetter("score"))
    score = best.parts[Granularity.PASSAGE.value]
    matches = () if best.unit is best.passage else (best,)
    return replace(
        best,
        unit=best.passage,
        score=score,
        matches=matches,
        parts={Granularity.PASSAGE.value: score},
    )


def _in_place(units: Sequence[Unit], sentences: Sequence[Unit]) -> list[PlacedUnit]:
    """Return units with their own spans; those of a row of a table with its columns' names, too.

    "Oslo | 240" says nothing without them.
    """
    names: dict[int, Span] = {}  # by where a row begins
    header = None
    for sentence in sentences:
        [read] = sentence.sentences
        if read.block.is_header:
            header = sentence
        elif read.block.kind != "row":
            header = None
        elif header is not None:
            names[sentence.start] = (header.start, header.end)
    placed = []
    for unit in units:
        spans = [(unit.start, unit.end)]
        if unit.start in names:
            spans.append(names[unit.start])
        placed.append((unit, spans))
    return placed
