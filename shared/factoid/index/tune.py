"""What each kind of index gives on one's own vectors: recall against exact search, time and memory."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.index.files import write_part
from factoid.index.kinds import check_kind
from factoid.index.scan import scan
from factoid.index.vector_index import Similarity, VectorIndex, check_k, check_vectors, prepare
from factoid.inner_products import products
from factoid.progress import progress

_SETTINGS = {"nprobe": (1, 4, 16, 64, 256, 1024), "efSearch": (16, 32, 64, 128, 256, 512)}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TuneRow:
    """What one kind gave with one setting."""

    kind: str  # the factory string
    parameters: Mapping[str, int]  # what the searches were told
    recall: float  # share of the k best vectors that was found; a vector as good as the k-th counts as one
    median_ms: float  # median time of a single query, with refinement, in milliseconds
    p95_ms: float  # time that 95 % of the single queries stay below, in milliseconds
    bytes_per_vector: float  # size of the index for each vector, without the exact vectors that refine it
    build_s: float  # time to train it and to add all vectors, in seconds


def tune(
    vectors: Vectors,
    queries: Vectors,
    kinds: Sequence[str],
    *,
    k: int = 10,
    similarity: Similarity = Similarity.INNER_PRODUCT,
    refine: int = 4,
    show_progress: bool = False,
) -> list[TuneRow]:
    """Build an index of each kind and search it with each setting that is worth a try.

    Kinds that need more vectors to be trained are left out, with a line in the log. Lossy ones are asked for `refine` times k,
    which are scored again with the exact vectors; 0 for not. Shapes: (n, dim) and (m, dim).

    Raises:
        InvalidInputError: There are no vectors or no queries, or a kind does not exist.
        EncoderMismatchError: A vector is not finite, or queries and vectors differ in their dimensions.
    """
    if not len(vectors) or not len(queries):
        raise InvalidInputError(f"expected vectors and queries, got {len(vectors)} and {len(queries)}")
    check_k(k)
    for array in (vectors, queries):
        check_vectors(array, vectors.shape[1])
    checked = [check_kind(kind, vectors.shape[1]) for kind in kinds]
    vectors, queries = prepare(vectors, similarity), prepare(queries, similarity)
    wanted = min(k, len(vectors))
    least = scan(vectors, queries, wanted)[0][:, -1]
    rows = []
    for kind in progress(checked, show=show_progress, unit=" kinds"):
        if len(vectors) < kind.min_training:
            logger.warning("%r needs %d vectors, there are %d: left out", kind.name, kind.min_training, len(vectors))
            continue
        start = time.perf_counter()
        index = VectorIndex(kind.dim, kind=kind.name)  # prepared already
        index.train(vectors)
        index.add(np.arange(len(vectors)), vectors)
        build_s = time.perf_counter() - start
        size = _size(index) / len(vectors)
        settings = [{name: value} for name, values in _SETTINGS.items() if name in kind.parameters for value in values]
        for parameters in settings or [{}]:
            if parameters.get("nprobe", 0) > kind.lists:
                continue
            factor = max(refine, 1) if kind.lossy else 1
            index.search(queries[:1], wanted, parameters=parameters)  # the first one starts threads, and is not timed
            hits, times = 0, []
            for query, threshold in zip(queries, least, strict=True):
                start = time.perf_counter()
                _, ids = index.search(query[None], wanted * factor, parameters=parameters)
                scores = products(vectors[ids[0][ids[0] >= 0]], query)
                if factor > 1:
                    scores = -np.sort(-scores, kind="stable")[:wanted]
                times.append(time.perf_counter() - start)
                # The same product may be rounded another way.
                hits += int((scores >= threshold - 1e-5 * max(1.0, abs(float(threshold)))).sum())
            median, p95 = (float(np.percentile(times, share)) * 1000 for share in (50, 95))
            rows.append(TuneRow(kind.name, parameters, hits / (wanted * len(queries)), median, p95, size, build_s))
    return rows


def _size(index: VectorIndex) -> int:
    sizes: list[int] = []
    write_part(index.parts[0], lambda data: sizes.append(len(data)))
    return sum(sizes)
