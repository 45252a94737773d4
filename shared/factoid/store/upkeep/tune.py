"""What kinds of index give on a store's own vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from factoid.errors import InvalidInputError
from factoid.index import Similarity, check_kind, kinds_to_try
from factoid.index.tune import TuneRow
from factoid.index.tune import tune as tune_kinds
from factoid.store.options import whole_number
from factoid.units import Granularity, check_text

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore

_HELD_OUT = 10  # at least so many vectors are searched for each that is held out as a query


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneReport:
    """What `UnitStore.tune` measured: a row for each kind and setting, with so many queries each.

    Of `total` distinct vectors in the store, `vectors` were indexed. The queries were vectors of the store that were
    `held_out` of the index, or else questions. `left_out` are kinds that need more vectors to be trained, and how many.
    """

    granularity: Granularity
    total: int
    vectors: int
    dim: int
    similarity: Similarity
    queries: int
    held_out: bool
    k: int
    refine: int
    rows: tuple[TuneRow, ...]
    left_out: Mapping[str, int]

    def fastest(self, recall: float) -> TuneRow | None:
        """Return the row of the least median time that has at least this recall, or None."""
        return min((row for row in self.rows if row.recall >= recall), key=lambda row: row.median_ms, default=None)

    def smallest(self, recall: float) -> TuneRow | None:
        """Return the row of the fewest bytes, and then of the least time, that has at least this recall, or None."""
        enough = [row for row in self.rows if row.recall >= recall]
        return min(enough, key=lambda row: (row.bytes_per_vector, row.median_ms), default=None)


def tune(
    store: UnitStore,
    *,
    granularity: str = Granularity.PROPOSITION,
    kinds: Sequence[str] | None = None,
    questions: Sequence[str] | None = None,
    queries: int = 200,
    k: int = 10,
    refine: int = 10,
    limit: int = 100_000,
    show_progress: bool = False,
) -> TuneReport:
    """Measure what kinds of index give on the vectors of this store: recall against exact search, time and bytes.

    Nothing in the store is changed. Memory is needed for `limit` vectors, and for an index of them.

    Args:
        store: The store.
        granularity: Of which units.
        kinds: FAISS factory strings; None for those that are worth a try for so many vectors.
        questions: What users ask, encoded here. None for vectors of the store itself, taken at random and left out of
            what is searched; questions lie farther from facts than these do, so their recall may be lower.
        queries: How many searches to make, at most.
        k: How many vectors each of them is to find.
        refine: Candidates of lossy kinds that are scored again with the exact vectors, for each of the k.
        limit: Vectors to measure on, at most; of more, so many are taken at random.
        show_progress: Show a progress bar over kinds.

    Raises:
        InvalidInputError: There are too few vectors, questions without an encoder, an unknown kind, or a number out
            of its range.
        StoreError: The store is closed.
    """
    whole_number("queries", queries)
    whole_number("limit", limit)
    whole_number("refine", refine, least=0)
    granularity = Granularity(granularity)
    vectors = None
    if questions is not None:
        if store.encoder is None:
            message = "this store has no encoder for questions: give UnitStore an encoder, or no questions"
            raise InvalidInputError(message)
        questions = list(questions)[:queries]
        for question in questions:
            check_text(question, "question")
        vectors = np.asarray(store.encoder.encode_queries(questions), np.float32)
    with store.connections.reading() as snapshot:
        ids = snapshot.columns(granularity).distinct_vectors()
        if len(ids) < (2 if vectors is None else 1):
            raise InvalidInputError(
                f"the store holds {len(ids)} distinct vectors of {granularity}s: too few to compare searches of them"
            )
        withheld = min(queries, max(1, len(ids) // (_HELD_OUT + 1))) if vectors is None else 0
        random = np.random.default_rng(0)  # the same vectors every time
        chosen = ids[random.choice(len(ids), min(len(ids), withheld + limit), replace=False)]
        indexed = np.concatenate([block for _, block in snapshot.vector_blocks(np.sort(chosen[withheld:]))])
        if vectors is None:
            vectors = snapshot.vectors(chosen[:withheld])
    count, dim = indexed.shape
    known = [check_kind(kind, dim) for kind in kinds or kinds_to_try(count, dim)]
    left_out = {kind.name: kind.min_training for kind in known if kind.min_training > count}
    able = [kind.name for kind in known if kind.name not in left_out]
    options: dict[str, Any] = {"k": k, "similarity": store.similarity, "refine": refine}
    return TuneReport(
        granularity=granularity,
        total=len(ids),
        vectors=count,
        dim=dim,
        queries=len(vectors),
        held_out=questions is None,
        rows=tuple(tune_kinds(indexed, vectors, able, show_progress=show_progress, **options)),
        left_out=left_out,
        **options,
    )
