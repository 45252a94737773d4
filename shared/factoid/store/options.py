"""The options of a search and their checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import (
    Any,
    Final,
    Literal,
    Protocol,
    SupportsFloat,
    TypedDict,
    get_args,
    runtime_checkable,
)

from factoid.encode import TokenVectorEncoder
from factoid.errors import InvalidInputError
from factoid.filters import Filter
from factoid.propositions import PropositionCache, Propositionizer
from factoid.propositions.contextualizer import Contextualizer
from factoid.propositions.decompose import Policy
from factoid.ranking import Parents, Weights
from factoid.text.sentence_ends import SentenceSplitter
from factoid.units import Granularity, Hit, Unit, whole_number
from factoid.vectors.kinds import NAMES

ParentsOption = Literal["auto", "passage", "document", "unit"]
RankedParents = Literal["passage", "unit"]
BY_TOKENS: Final = "tokens"  # of `rerank`, and the part of a hit's score


@runtime_checkable
class Reranker(Protocol):
    """Any object that ranks passages, or the units in them, by a query.

    See `factoid.AnyGranularityRanker`.
    """

    def rank(
        self,
        query: str,
        passages: Sequence[Unit],
        granularity: Granularity,
        *,
        k: int | None = None,
        parents: RankedParents = "unit",
        units: Sequence[Sequence[Unit]] | None = None,
    ) -> Sequence[Hit]:
        """Return the k best units, or passages, best first.

        With units=None the ranker cuts the passages into units.
        """


class CommonSearchKwargs(TypedDict, total=False):
    """The options that every search takes, whatever its front end: see `SearchOptions`."""

    granularity: str | Sequence[str] | None
    filter: Filter | None
    document_ids: Sequence[str] | None
    unit_ids: Sequence[str] | None
    min_score: float | None
    weights: Weights | None
    lexical: float | None
    expand: int
    parameters: Mapping[str, Any] | None
    rerank: Reranker | TokenVectorEncoder | Literal["tokens"] | None
    candidates: int | None


class SearchKwargs(CommonSearchKwargs, total=False):
    """The options of `UnitStore.search`: see `SearchOptions`."""

    parents: ParentsOption
    mmr: float | None
    fetch_k: int


class IndexKwargs(TypedDict, total=False):
    """The options of a store that its front ends share: see `factoid.UnitStore`."""

    embed_metadata: Sequence[str] | None
    embed_template: str | None
    index: str | Mapping[str, str] | None
    similarity: str | None
    language: str | None
    dtype: str | None
    device: str | Sequence[str]
    gpu_shard: bool
    gpu_float16: bool
    mmap: bool
    read_only: bool
    progress: bool | None


class RecipeKwargs(TypedDict, total=False):
    """The options of `UnitStore.add_documents` that say what becomes of a document."""

    propositionizer: Propositionizer | None
    words: int
    min_words: int | None
    join_paragraphs: bool
    sentences: SentenceSplitter | None
    unsupported: Policy
    contextualizer: Contextualizer | None
    cache: PropositionCache | str | Path | None
    source_key: str | Sequence[str] | None


class AddKwargs(RecipeKwargs, total=False):
    """The options of `UnitStore.add_documents`."""

    progress: bool | None


class StoreKwargs(IndexKwargs, RecipeKwargs, total=False):
    """The options of a store that splits documents itself.

    Those of `UnitStore` and of its `add_documents`.
    """

    path: str | Path | None
    granularities: Sequence[str] | None
    late_chunking: bool | None


def _substitute(granularity: Granularity, available: Sequence[Granularity]) -> Granularity:
    """Return a granularity, or the one compared in its place where it has no index.

    That is the other of the two finer ones, else passages.
    """
    if granularity not in SUBSTITUTES:
        return granularity
    for choice in (granularity, SUBSTITUTES[granularity], Granularity.PASSAGE):
        if choice in available:
            return choice
    return granularity


ALL_GRANULARITIES = "mixed"  # of the option `granularity`
# For each fine granularity, the one whose units take the place of missing ones in a passage that
# has none.
SUBSTITUTES = {
    Granularity.SENTENCE: Granularity.PROPOSITION,
    Granularity.PROPOSITION: Granularity.SENTENCE,
}
FINEST_FIRST = (Granularity.PROPOSITION, Granularity.SENTENCE, Granularity.PASSAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of a search besides the query and k.

    Attributes:
        granularity: The units that are compared with the query, and may be matches: one
            granularity, several, or "mixed" for all. None for propositions, else the finest that
            the store searches. A passage without propositions is compared by its sentences, one
            without sentences by its propositions, and one without either as a whole: so is each
            passage of a store that embeds no sentences, unless it was opened with granularities
            that leave them out. How much the passage around a match counts is up to `weights`.
        parents: What to return: the k best distinct passages, each with the units that made it a
            hit in `matches`; the k best distinct documents; or the units themselves. "auto" is
            "passage", but a document that is one passage comes back whole, as it was added: the
            frameworks' default. It does so if its text is stored, nothing was deleted from it, and
            no filter excludes a part.
        filter: Conditions on metadata, applied before the search (see `factoid.filters`). What they
            exclude is in no answer in any form: a passage or document is returned, compared and
            read only if all of its units pass as well. In place of a passage of which a part is
            excluded comes its best unit that passes; in place of such a document its best passage
            that passes as a whole, else its best unit.
        document_ids: Only units of these documents are searched.
        unit_ids: Only these units and those directly under them are searched; their passages and
            neighbours are returned with them, whether they are named or not.
        min_score: Only hits with at least this score.
        weights: How much the passage and the query's words count in a hit's score, beside the
            compared units. None for the store's weights (`Weights()`, unless tuned), without words
            if the query has no text; `Weights(0, 0)` for the units alone.
        lexical: The share of words, overriding that of `weights`: from 0, vectors alone, to 1, BM25
            alone, which needs no encoder and finds passages.
        mmr: Choose by maximal marginal relevance among the `fetch_k` best hits (at least k): weight
            of the similarity to the query, from 0 (only diversity counts) to 1 (it does not). It
            compares vectors, so `lexical=1` makes no use of it.
        fetch_k: See `mmr`.
        expand: Number of sentences to put into `neighbours` before and after each matched fact,
            with those it comes from; for a passage, the number of passages around it.
        parameters: For approximate indexes: {"nprobe": 32} or {"efSearch": 128}; each index takes
            those that it knows.
        rerank: "tokens" compares the best passages with the query token by token, with the store's
            own encoder, and takes the mean of that and the search's score; `parts` has the first as
            "tokens", on the scale of the candidates' scores. It needs an encoder that gives vectors
            of tokens, such as `SentenceTransformerEncoder`, and encodes the passages in each
            search. Such an encoder in place of the word does the same where the store has none.
            Otherwise what ranks the best passages of the search again, or the units of one
            granularity in them; a `factoid.AnyGranularityRanker`. Its scores become those of the
            hits, and `min_score` applies to them; `parts` has them beside those by which the search
            found the passage. Units of a granularity that the store does not search are cut from
            the passages.
        candidates: How many passages `rerank` gets, at least k. None for 50 with "tokens", else
            100.

    Raises:
        InvalidInputError: An option is out of range; the message names it and what it takes.
    """

    granularity: str | Sequence[str] | None = None
    parents: ParentsOption = "passage"
    filter: Filter | None = None
    document_ids: Sequence[str] | None = None
    unit_ids: Sequence[str] | None = None
    min_score: float | None = None
    weights: Weights | None = None
    lexical: float | None = None
    mmr: float | None = None
    fetch_k: int = 20
    expand: int = 0
    parameters: Mapping[str, Any] | None = None
    rerank: Reranker | TokenVectorEncoder | Literal["tokens"] | None = None
    candidates: int | None = None

    def __post_init__(self) -> None:
        if self.parents not in get_args(ParentsOption):
            raise InvalidInputError(
                f"parents must be 'auto', 'passage', 'document' or 'unit', got {self.parents!r}"
            )
        if not isinstance(self.weights, Weights | None):
            raise InvalidInputError(
                f"weights must be factoid.Weights(passage=..., lexical=...), got {self.weights!r}"
            )
        for name, number in (("min_score", self.min_score), ("mmr", self.mmr)):
            # which takes longer to find out for None
            if number is not None and not isinstance(number, SupportsFloat):
                raise InvalidInputError(f"{name} must be a number, got {number!r}")
        if not (self.rerank is None or self.by_tokens or isinstance(self.rerank, Reranker)):
            raise InvalidInputError(
                "rerank must be 'tokens', for the token vectors of the store's encoder, or a "
                f"ranker such as factoid.AnyGranularityRanker(model), got {self.rerank!r}"
            )
        if self.lexical is not None:
            Weights(lexical=self.lexical)  # rejects a value out of range
        if self.mmr is not None and not 0 <= self.mmr <= 1:
            raise InvalidInputError(
                f"mmr must be from 0 (only diversity counts) to 1 (it does not), got {self.mmr!r}"
            )
        for name, least in (("expand", 0), ("fetch_k", 1), ("candidates", 1)):
            if name == "candidates" and self.candidates is None:
                continue
            if type(value := getattr(self, name)) is not int or value < least:
                whole_number(name, value, least=least)
        if self.rerank is not None and self.mmr is not None:
            raise InvalidInputError(
                "rerank and mmr each choose the order of the hits: leave one of them out"
            )
        if self.parameters is not None and (
            not isinstance(self.parameters, Mapping) or self.parameters.keys() - NAMES
        ):
            raise InvalidInputError(
                'parameters must be a dict such as {"nprobe": 32, "efSearch": 128}, '
                f"got {self.parameters!r}"
            )

    @property
    def ranked_parents(self) -> Parents:
        """The parents that are ranked: with parents="auto", passages."""
        if self.parents == "auto":
            return "passage"
        return self.parents

    @property
    def by_tokens(self) -> bool:
        """Whether token vectors of an encoder rank the best passages again."""
        return self.rerank == BY_TOKENS or isinstance(self.rerank, TokenVectorEncoder)

    def checked_weights(self, default: Weights, *, has_texts: bool) -> Weights:
        """Return the weight of each channel; reject a weight of words that cannot be searched."""
        weights = self.weights or default
        requested = self.weights is not None
        if self.lexical is not None:
            weights = replace(weights, lexical=self.lexical)
            requested = True
        if has_texts or not weights.lexical:
            return weights
        if requested:
            raise InvalidInputError(
                f"lexical={weights.lexical} needs the text of the query: give text, or lexical=0"
            )
        return replace(weights, lexical=0)

    def compared_granularities(
        self, available: Sequence[Granularity], *, substitute: bool = False
    ) -> list[Granularity]:
        """Return the granularities to compare: their units may be matches.

        The passages around these are their context. They weigh in the score (`Weights.passage`),
        and are compared themselves only if passages are one of these granularities.

        Args:
            available: Those that have an index.
            substitute: Compare propositions in place of sentences that have no index, and sentences
                in place of propositions, as in a passage that lacks the one or the other.

        Raises:
            InvalidInputError: A granularity has no index, or none is named.
        """
        if self.rerank is not None and not self.by_tokens:
            granularity = self.ranked_granularity(available)
            if granularity in available:
                return [granularity]
            return [min(available, key=FINEST_FIRST.index)]
        if self.granularity is None:
            return [min(available, key=FINEST_FIRST.index)]
        if self.granularity == ALL_GRANULARITIES:
            return list(available)
        names = [self.granularity] if isinstance(self.granularity, str) else self.granularity
        granularities = list(map(Granularity, names))
        if substitute:
            granularities = [_substitute(name, available) for name in granularities]
        granularities = list(dict.fromkeys(granularities))
        missing = [name for name in granularities if name not in available]
        if missing or not granularities:
            remedy = "name one, or several"
            if missing:
                remedy = f"it has no index of {missing[0]}s"
            raise InvalidInputError(f"this store searches {', '.join(available)}: {remedy}")
        return granularities

    def ranked_granularity(self, available: Sequence[Granularity]) -> Granularity:
        """Return the granularity that a ranker ranks."""
        if self.granularity is None:
            return min(available, key=FINEST_FIRST.index)
        if not isinstance(self.granularity, str) or self.granularity in (
            ALL_GRANULARITIES,
            Granularity.DOCUMENT,
        ):
            raise InvalidInputError(
                "rerank ranks units of one granularity, passage, sentence or proposition: got "
                f"{self.granularity!r}"
            )
        return Granularity(self.granularity)
