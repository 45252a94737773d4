"""Tune a store to its content.

Kinds of index by its vectors, and the weights of a search by your questions.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product, starmap

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.inner_products import products
from factoid.progress import tracked
from factoid.ranking import Weights
from factoid.store.indexes.compared import compared_units
from factoid.store.opened import OpenedStore
from factoid.store.options import SearchOptions
from factoid.store.search import prepare_queries, search
from factoid.units import Granularity, Unit, check_text, whole_number
from factoid.vectors import VectorIndex, check_kind, kinds_to_try, normalized
from factoid.vectors.kinds import candidates
from factoid.words import stands_in

_SETTINGS = {"nprobe": (1, 4, 16, 64, 256, 1024), "efSearch": (16, 32, 64, 128, 256, 512)}
_QUERIES = 200
_HELD_OUT = 10  # fewest vectors searched for each one that is held out as a query
_VECTORS = 100_000  # measured, at most

_DEFAULT = Weights()
_PASSAGE = (0.0, 0.25, 0.5, 0.75)
_LEXICAL = (0.0, 0.05, 0.1, 0.2, 0.33, 0.5, 0.7)


def _from_default(weights: Weights) -> float:
    """Return how far weights are from the default."""
    passage = abs(weights.passage - _DEFAULT.passage)
    return passage + abs(weights.lexical - _DEFAULT.lexical)


_GRID = sorted(starmap(Weights, product(_PASSAGE, _LEXICAL)), key=_from_default)
_DEPTH = 20  # passages looked at for each question
_FOLDS = 5
_LEAST = 20  # questions: with fewer, chance decides
_RESAMPLES = 2000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TuneRow:
    """The measurements of one kind with one setting.

    Attributes:
        kind: The FAISS factory string.
        parameters: Parameters of the search.
        recall: Share of the k best vectors that were found; a vector as good as the k-th counts as
            one.
        median_ms: Median time of a single query, with refinement, in milliseconds.
        bytes_per_vector: Size of the index per vector, without the exact vectors that refine it.
        build_s: Time to train it and to add all vectors, in seconds.
    """

    kind: str
    parameters: Mapping[str, int]
    recall: float
    median_ms: float
    bytes_per_vector: float
    build_s: float


def tune(
    store: OpenedStore,
    *,
    granularity: str = Granularity.PROPOSITION,
    kinds: Sequence[str] | None = None,
    questions: Sequence[str] | None = None,
    k: int = 10,
    progress: bool | None = None,
) -> list[TuneRow]:
    """Do what `UnitStore.tune` describes."""
    k = whole_number("k", k)
    granularity = Granularity(granularity)
    queries = None
    if questions is not None:
        if store.encoder is None or not questions:
            raise InvalidInputError(
                "questions need an encoder and at least one question: give both, or no questions"
            )
        for question in questions:
            check_text(question, "question")
        queries = np.asarray(store.encoder.encode_queries(list(questions)[:_QUERIES]), np.float32)
    with store.connections.reading() as snapshot:
        ids = np.empty(0, np.int64)
        if snapshot.has_vectors(granularity):
            ids = compared_units(snapshot, granularity).distinct_vectors()
        least = 1
        if queries is None:
            least = 2  # one of them is the query
        if len(ids) < least:
            raise InvalidInputError(
                f"the store holds {len(ids)} distinct vectors of {granularity}s: too few to "
                "compare searches of them"
            )
        withheld = min(_QUERIES, max(1, len(ids) // (_HELD_OUT + 1))) if queries is None else 0
        random = np.random.default_rng(0)  # the same vectors every time
        chosen = ids[random.choice(len(ids), min(len(ids), withheld + _VECTORS), replace=False)]
        vectors = np.concatenate(
            [block for _, block in snapshot.vector_blocks(np.sort(chosen[withheld:]))]
        )
        if queries is None:
            queries = snapshot.vectors(chosen[:withheld])
    count, dim = vectors.shape
    # Prepared for the store's similarity, and from here on compared by the inner product.
    queries = VectorIndex(dim, similarity=store.similarity).normalized_queries(queries)
    vectors = normalized(vectors, store.similarity)
    k = min(k, count)
    exact = VectorIndex(dim)
    exact.add(np.arange(count), vectors)
    scores, _ = exact.search(queries, k)
    thresholds = scores[:, -1]
    rows: list[TuneRow] = []
    for kind in tracked(kinds or kinds_to_try(count), show=progress, unit=" kinds"):
        needed = check_kind(kind, dim).min_training
        if needed > count:
            logger.warning(
                "%s is left out: it needs %s vectors to be trained, and there are %s",
                kind,
                needed,
                count,
            )
        else:
            rows += _measured(kind, vectors, queries, thresholds, k)
    return rows


def _measured(
    kind: str, vectors: Vectors, queries: Vectors, least: Vectors, k: int
) -> Iterator[TuneRow]:
    """Build an index, and search it with each setting worth trying.

    `least` is the k-th score of each query.
    """
    start = time.perf_counter()
    index = VectorIndex(vectors.shape[1], kind=kind)
    index.train(vectors)
    index.add(np.arange(len(vectors)), vectors)
    build_s = time.perf_counter() - start
    ability = index.ability
    size = index.nbytes / len(vectors)
    count = k
    if ability.lossy:
        count = candidates(k)
    count = min(count, len(vectors))
    settings = []
    for name, values in _SETTINGS.items():
        if name in ability.parameters:
            for value in values:
                settings.append({name: value})
    for parameters in settings or [{}]:
        if parameters.get("nprobe", 0) > ability.lists:
            continue
        # the first search starts threads and is not timed
        index.search(queries[:1], k, parameters=parameters)
        hits = 0
        times = []
        for query, threshold in zip(queries, least, strict=True):
            start = time.perf_counter()
            _, ids = index.search(query[None], count, parameters=parameters)
            scores = products(vectors[ids[0][ids[0] >= 0]], query)
            if ability.lossy:
                scores = -np.sort(-scores, kind="stable")[:k]
            times.append(time.perf_counter() - start)
            # The same product may be rounded differently.
            hits += int((scores >= threshold - 1e-5 * max(1.0, abs(float(threshold)))).sum())
        yield TuneRow(
            kind,
            parameters,
            hits / (k * len(queries)),
            float(np.median(times)) * 1000,
            size,
            build_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsReport:
    """The result of `UnitStore.tune_weights`.

    MRR is the mean of 1 / the rank of the first right passage among twenty, or 0.

    Attributes:
        answerable: Questions for which some search found a right passage.
        current: The store's weights before.
        best: The best weights on all questions.
        current_mrr: With the current weights.
        held_out_mrr: With weights fitted to four fifths of the questions, on the other fifth, in
            turn.
        gain: 95 % interval of `held_out_mrr - current_mrr`, by paired bootstrap.
        applied: Whether the store uses the best weights from now on.
    """

    questions: int
    answerable: int
    current: Weights
    best: Weights
    current_mrr: float
    held_out_mrr: float
    gain: tuple[float, float]
    applied: bool


def tune_weights(
    store: OpenedStore,
    questions: Iterable[tuple[str, Sequence[str]]],
    *,
    granularity: str | Sequence[str] | None = None,
    keep: bool = True,
    progress: bool | None = None,
) -> WeightsReport:
    """Do what `UnitStore.tune_weights` describes."""
    if keep:
        store.connections.check_writable()
    if store.encoder is None:
        raise InvalidInputError(
            "this store has no encoder for questions: give UnitStore the one that it was built with"
        )
    pairs = []
    for question, answers in questions:
        if isinstance(answers, str):
            answers = [answers]
        pairs.append((question, answers))
    texts = [question for question, _ in pairs]
    vectors = np.asarray(store.encoder.encode_queries(texts), np.float32)
    current = store.weights
    choices = [current, *_GRID]
    ranks = np.zeros((len(choices), len(pairs)))
    for row, weights in zip(ranks, tracked(choices, show=progress, unit=" weights"), strict=True):
        options = SearchOptions(granularity=granularity, weights=weights)
        results = search(store, prepare_queries(store, texts, vectors, _DEPTH, options))
        for column, (hits, (_, answers)) in enumerate(zip(results, pairs, strict=True)):
            row[column] = next(
                (1 / rank for rank, hit in enumerate(hits, start=1) if _holds(hit.unit, answers)),
                0.0,
            )
    answerable = int((ranks > 0).any(axis=0).sum())
    if answerable < _LEAST:
        raise InvalidInputError(
            f"{answerable} of {len(pairs)} questions have an answer among the passages found: "
            f"give at least {_LEAST} whose answers are in the store's texts"
        )
    before = ranks[0]
    fitted = ranks[1:].round(9)
    fold = np.random.default_rng(0).permutation(len(pairs)) % _FOLDS
    held_out = np.empty(len(pairs))
    # of equally good weights, the grid has those nearest to the default first
    for number in range(_FOLDS):
        inside = fold == number
        held_out[inside] = fitted[fitted[:, ~inside].mean(axis=1).argmax(), inside]
    samples = np.random.default_rng(0).integers(0, len(pairs), (_RESAMPLES, len(pairs)))
    low, high = np.percentile((held_out - before)[samples].mean(axis=1), [2.5, 97.5])
    best = _GRID[int(fitted.mean(axis=1).argmax())]
    is_better = keep and bool(low > 0)
    if is_better:
        store.keep_weights(best)
    return WeightsReport(
        questions=len(pairs),
        answerable=answerable,
        current=current,
        best=best,
        current_mrr=float(before.mean()),
        held_out_mrr=float(held_out.mean()),
        gain=(float(low), float(high)),
        applied=is_better,
    )


def _holds(unit: Unit, answers: Sequence[str]) -> bool:
    text = f"{unit.title}\n{unit.section}\n{unit.text}".casefold()
    return any(stands_in(answer.casefold(), text) for answer in answers)
