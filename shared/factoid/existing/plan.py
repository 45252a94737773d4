"""What a search over a vector store is asked for, checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from factoid.existing.collection import Question
from factoid.existing.contract import Row
from factoid.existing.known import Metric
from factoid.existing.loop import Limits, RowFilter
from factoid.existing.score import Reach
from factoid.existing.words import Passes, Words
from factoid.ranking import Parents, Weights
from factoid.store.options import ParentsOption, SearchOptions
from factoid.units import Granularity

_WIDTH = 50  # candidates, at least
_FACTOR = 4  # candidates for each parent that is wanted
_FIRST = 10  # of them that are fetched first, at least
_FIRST_FACTOR = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked search."""

    question: Question
    k: int
    kinds: Sequence[Granularity]
    parents: ParentsOption
    weights: Weights | None  # None where only ranks are known
    row_filter: RowFilter
    passes: Passes | None  # of the row filter, for the metadata of a document
    limits: Limits
    document_ids: Sequence[str] | None = None
    words: Words | None = None
    metric: Metric | None = None
    lengths: tuple[float, float] = (1.0, 1.0)  # of the query, and the median one of units
    reach: Reach | None = None
    min_score: float | None = None
    options: SearchOptions = field(default_factory=SearchOptions)

    @property
    def ranked(self) -> Parents:
        """What is ranked."""
        if self.parents == "auto":
            return "passage"
        return self.parents

    @property
    def is_blended(self) -> bool:
        """Whether more counts than the nearest unit."""
        if self.weights is None:
            return True
        return bool(self.weights.passage or self.weights.lexical)

    @property
    def is_bounded(self) -> bool:
        """Whether the score of a passage that no search has returned has a known bound.

        Words that are counted among the candidates alone depend on which these are.
        """
        if self.weights is None or not self.is_blended or self.ranked == "unit":
            return False
        return self.words is not None or not self.weights.lexical

    @property
    def counts_passages(self) -> bool:
        """Whether passages have a score of their own beside that of their units."""
        if Granularity.PASSAGE in self.kinds:
            return False
        return self.weights is None or self.weights.passage > 0

    @property
    def counts_words(self) -> bool:
        """Whether words have a share in the score."""
        return self.weights is None or self.weights.lexical > 0

    @property
    def width(self) -> int:
        """How many candidates are wanted."""
        if not self.is_blended:
            return self.k
        return max(_WIDTH, _FACTOR * self.k)

    @property
    def first_width(self) -> int:
        """How many candidates are fetched first, in the hope that no other can be better."""
        return min(self.width, max(_FIRST, _FIRST_FACTOR * self.k))

    def similarities(self, rows: Iterable[Row]) -> dict[str, float]:
        """Return the inner product or cosine of each row; 0 where only ranks are known."""
        scores = {}
        for row in rows:
            score = 0.0
            if self.metric is not None:
                score = self.metric.similarity(row.score, *self.lengths)
            scores[row.id] = score
        return scores
