"""What kinds of index give on a store's own vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.index import RowIds, Similarity, check_kind, kinds_to_try
from factoid.index.tune import TuneRow, tune
from factoid.store.connections import Connections
from factoid.store.options import whole_number
from factoid.store.snapshot import Snapshot
from factoid.units import Granularity

_HELD_OUT = 10  # at least so many vectors are searched for each that is held out as a query


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneReport:
    """What `UnitStore.tune` measured.

    Attributes:
        granularity: Whose vectors.
        total: Distinct vectors of this granularity in the store.
        vectors: How many of them were indexed.
        dim: Their components.
        similarity: What a score is.
        queries: How many searches were made of each row.
        held_out: Whether the queries were vectors of the store, left out of the index; else they were questions.
        k: How many vectors each was to find.
        refine: Candidates of lossy kinds that were scored again with the exact vectors, for each of the k.
        rows: A row for each kind and setting.
        left_out: Kinds that need more vectors to be trained than there were, and how many.
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
        enough = [row for row in self.rows if row.recall >= recall]
        return min(enough, key=lambda row: row.median_ms, default=None)

    def smallest(self, recall: float) -> TuneRow | None:
        """Return the row of the fewest bytes, and then of the least time, that has at least this recall, or None."""
        enough = [row for row in self.rows if row.recall >= recall]
        return min(enough, key=lambda row: (row.bytes_per_vector, row.median_ms), default=None)


def measure(
    connections: Connections,
    granularity: Granularity,
    questions: Vectors | None,
    *,
    kinds: Sequence[str] | None,
    similarity: Similarity,
    queries: int,
    k: int,
    refine: int,
    limit: int,
    show_progress: bool = False,
) -> TuneReport:
    """Measure kinds of index on a store's vectors. The arguments are those of `UnitStore.tune`, which see.

    Raises:
        InvalidInputError: There are too few vectors, an unknown kind, or a number out of its range.
        EncoderMismatchError: The questions are of another dimension.
    """
    whole_number("queries", queries)
    whole_number("limit", limit)
    whole_number("refine", refine, least=0)
    with connections.reading() as connection:
        snapshot = Snapshot(connection)
        ids = snapshot.vector_rows(granularity)
        if len(ids) < (2 if questions is None else 1):
            message = (
                f"the store holds {len(ids)} distinct vectors of {granularity}s: too few to compare searches of them"
            )
            raise InvalidInputError(message)
        held = min(queries, max(1, len(ids) // (_HELD_OUT + 1))) if questions is None else 0
        random = np.random.default_rng(0)  # the same vectors every time
        chosen = ids[random.choice(len(ids), min(len(ids), held + limit), replace=False)]
        vectors = _read(snapshot, np.sort(chosen[held:]))
        asked = _read(snapshot, chosen[:held]) if questions is None else questions
    known = [check_kind(kind, vectors.shape[1]) for kind in kinds or kinds_to_try(len(vectors), vectors.shape[1])]
    left_out = {kind.name: kind.min_training for kind in known if kind.min_training > len(vectors)}
    able = [kind.name for kind in known if kind.name not in left_out]
    rows = tune(vectors, asked, able, k=k, similarity=similarity, refine=refine, show_progress=show_progress)
    return TuneReport(
        granularity=granularity,
        total=len(ids),
        vectors=len(vectors),
        dim=vectors.shape[1],
        similarity=similarity,
        queries=len(asked),
        held_out=questions is None,
        k=k,
        refine=refine,
        rows=tuple(rows),
        left_out=left_out,
    )


def _read(snapshot: Snapshot, ids: RowIds) -> Vectors:
    """Return vectors by row, read in blocks into one array. Shape: (n, dim)."""
    found = np.empty((len(ids), int(snapshot.get("dim"))), np.float32)
    place = 0
    for _, block in snapshot.vector_blocks(ids):
        found[place : place + len(block)] = block
        place += len(block)
    return found
