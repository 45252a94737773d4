"""Tune a store to its content: kinds of index by its vectors, and the weights of a search by your questions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.index import Similarity, VectorIndex, check_kind, kinds_to_try, prepare
from factoid.inner_products import products
from factoid.progress import progress
from factoid.search import LEXICAL, Weights
from factoid.units import Granularity, Hit, check_text, whole_number
from factoid.words import stands_in

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore

_SETTINGS = {"nprobe": (1, 4, 16, 64, 256, 1024), "efSearch": (16, 32, 64, 128, 256, 512)}
_HELD_OUT = 10  # fewest vectors searched for each one that is held out as a query

# The best passages by these weights are ranked again with others.
_POOL = (Weights(0.4, 0.01), Weights(0.4, 0.2), Weights(0.4, 0.6))
_DEPTH = 50
_STEPS = [Weights(passage / 10, words / 20) for passage, words in product(range(11), range(17))]
_FOLDS = 5
_LEAST = 20  # questions: with fewer, chance decides
_RESAMPLES = 2000

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class TuneRow:
    """The measurements of one kind with one setting."""

    kind: str  # the factory string
    parameters: Mapping[str, int]  # search parameters
    recall: float  # share of the k best vectors that were found; a vector as good as the k-th counts as one
    median_ms: float  # median time of a single query, with refinement, in milliseconds
    p95_ms: float  # 95th percentile of the times of single queries, in milliseconds
    bytes_per_vector: float  # size of the index per vector, without the exact vectors that refine it
    build_s: float  # time to train it and to add all vectors, in seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneReport:
    """What `UnitStore.tune` measured: a row for each kind and setting, with the same number of queries each.

    Of `total` distinct vectors in the store, `vectors` were indexed. The queries were vectors of the store that were `held_out`
    of the index, or else questions. `left_out` has the kinds that need more vectors for training, and how many.
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
        """Return the row with the least median time among those with at least this recall, or None."""
        return min((row for row in self.rows if row.recall >= recall), key=lambda row: row.median_ms, default=None)

    def smallest(self, recall: float) -> TuneRow | None:
        """Return the row with the fewest bytes, then the least time, among those with at least this recall, or None."""
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
    """Measure kinds of index on the vectors of this store: recall against exact search, time and bytes.

    Nothing in the store is changed. Memory is needed for `limit` vectors and an index of them.

    Args:
        store: The store.
        granularity: The units whose vectors are searched.
        kinds: FAISS factory strings; None for those worth trying for that many vectors.
        questions: Questions of users, which are encoded. None for vectors of the store itself, chosen at random and left out of
            the search. Questions are farther from facts than these, so their recall may be lower.
        queries: Maximum number of searches.
        k: Number of vectors that each search should find.
        refine: Candidates of lossy kinds that are scored again with the exact vectors, for each of the k.
        limit: Maximum number of vectors to measure on; of more, this many are chosen at random.
        show_progress: Show a progress bar over kinds.

    Raises:
        InvalidInputError: There are too few vectors, questions without an encoder, an unknown kind, or a number out of range.
        StoreError: The store is closed.
    """
    queries, limit, k = whole_number("queries", queries), whole_number("limit", limit), whole_number("k", k)
    whole_number("refine", refine, least=0)
    granularity = Granularity(granularity)
    vectors = None
    if questions is not None:
        if store.encoder is None or not questions:
            raise InvalidInputError("questions need an encoder and at least one question: give both, or no questions")
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
    known = [check_kind(kind, dim) for kind in kinds or kinds_to_try(count)]
    left_out = {kind.name: kind.min_training for kind in known if kind.min_training > count}
    able = [kind.name for kind in known if kind.name not in left_out]
    # Prepared for the store's similarity, and from here on compared by the inner product.
    vectors = VectorIndex(dim, similarity=store.similarity).prepare(vectors)
    indexed, best = prepare(indexed, store.similarity), min(k, count)
    exact = VectorIndex(dim)
    exact.add(np.arange(count), indexed)
    least = exact.search(vectors, best)[0][:, -1]
    rows: list[TuneRow] = []
    for kind in progress(able, show=show_progress, unit=" kinds"):
        rows += _measured(kind, indexed, vectors, least, best, refine)
    return TuneReport(
        granularity=granularity,
        total=len(ids),
        vectors=count,
        dim=dim,
        similarity=store.similarity,
        queries=len(vectors),
        held_out=questions is None,
        k=k,
        refine=refine,
        rows=tuple(rows),
        left_out=left_out,
    )


def _measured(kind: str, vectors: Vectors, queries: Vectors, least: Vectors, k: int, refine: int) -> Iterator[TuneRow]:
    """Build an index, and search it with each setting worth trying; `least` is the k-th score of each query."""
    start = time.perf_counter()
    index = VectorIndex(vectors.shape[1], kind=kind)
    index.train(vectors)
    index.add(np.arange(len(vectors)), vectors)
    build_s = time.perf_counter() - start
    ability = index.ability
    size = index.nbytes / len(vectors)
    factor = max(refine, 1) if ability.lossy else 1
    settings = [{name: value} for name, values in _SETTINGS.items() if name in ability.parameters for value in values]
    for parameters in settings or [{}]:
        if parameters.get("nprobe", 0) > ability.lists:
            continue
        index.search(queries[:1], k, parameters=parameters)  # the first search starts threads and is not timed
        hits, times = 0, []
        for query, threshold in zip(queries, least, strict=True):
            start = time.perf_counter()
            _, ids = index.search(query[None], k * factor, parameters=parameters)
            scores = products(vectors[ids[0][ids[0] >= 0]], query)
            if factor > 1:
                scores = -np.sort(-scores, kind="stable")[:k]
            times.append(time.perf_counter() - start)
            # The same product may be rounded differently.
            hits += int((scores >= threshold - 1e-5 * max(1.0, abs(float(threshold)))).sum())
        median, p95 = (float(np.percentile(times, share)) * 1000 for share in (50, 95))
        yield TuneRow(kind, parameters, hits / (k * len(queries)), median, p95, size, build_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsReport:
    """What `UnitStore.tune_weights` found.

    Attributes:
        questions: Number of questions asked.
        answerable: Number of questions for which some retrieved passage holds an answer.
        current: The store's weights before.
        best: The best weights on all questions.
        current_mrr: Mean reciprocal rank with the current weights: 1 / the rank of the first passage that holds an answer, 0 if
            none does.
        held_out_mrr: The same with weights fitted to four fifths of the questions, on the other fifth, in turn.
        gain: 95 % interval of `held_out_mrr - current_mrr` by paired bootstrap.
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
    store: UnitStore,
    questions: Mapping[str, Sequence[str]] | Iterable[tuple[str, Sequence[str]]],
    *,
    granularity: str | Sequence[str] | None = None,
    keep: bool = True,
    show_progress: bool = False,
) -> WeightsReport:
    """Fit the weights of passage and words to questions with answers, and keep them if they are significantly better.

    A passage is right if it holds an answer as whole words, ignoring case. Five-fold cross-validation measures the gain of
    fitting on unseen questions; weights are kept if the whole 95 % interval of that gain is above 0.

    Args:
        store: The store, with its encoder.
        questions: Questions, each with its answers.
        granularity: The units that searches will compare; None for the default of searches.
        keep: Whether to keep better weights in the store, for every search that names none.
        show_progress: Show a progress bar over questions.

    Raises:
        InvalidInputError: Fewer than twenty questions have an answer in the store, or the store has no encoder.
        MissingDependencyError: tantivy is not installed.
        StoreError: The store is closed, or is read-only and would have to change.
    """
    if keep:
        store.connections.check_writable()
    items = questions.items() if isinstance(questions, Mapping) else questions
    pairs = [(question, [answers] if isinstance(answers, str) else answers) for question, answers in items]
    pools = [_pool(store, text, granularity) for text, _ in progress(pairs, show=show_progress, unit=" questions")]
    right = [
        np.array([any(stands_in(answer.casefold(), text) for answer in answers) for text in texts])
        for (_, answers), (texts, _) in zip(pairs, pools, strict=True)
    ]
    answerable = sum(bool(marks.any()) for marks in right)
    if answerable < _LEAST:
        raise InvalidInputError(
            f"{answerable} of {len(pairs)} questions have an answer among the passages found: give at least {_LEAST} whose "
            "answers are in the store's texts"
        )
    current = store.weights
    ranks = np.array(
        [_reciprocal_ranks(parts, marks, [current, *_STEPS]) for (_, parts), marks in zip(pools, right, strict=True)]
    )
    before, fitted = ranks[:, 0], ranks[:, 1:]
    fold = np.random.default_rng(0).permutation(len(pairs)) % _FOLDS
    held_out = np.empty(len(pairs))
    for number in range(_FOLDS):
        held_out[fold == number] = fitted[fold == number, _best(fitted[fold != number])]
    samples = np.random.default_rng(0).integers(0, len(pairs), (_RESAMPLES, len(pairs)))
    low, high = np.percentile((held_out - before)[samples].mean(axis=1), [2.5, 97.5])
    best = _STEPS[_best(fitted)]
    is_better = keep and bool(low > 0)
    if is_better:
        store.weights = best
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


def _pool(store: UnitStore, question: str, granularity: str | Sequence[str] | None) -> tuple[list[str], Array]:
    """Return the texts of the best passages by several weights, and the parts of their scores.

    Returns:
        Texts, and the parts of units, passage and words on one scale. Shape: (n, 3).
    """
    hits: dict[str, Hit] = {}
    scale: float = 1.0
    for weights in _POOL:
        for hit in store.search(question, _DEPTH, granularity=granularity, weights=weights):
            hits.setdefault(hit.unit.id, hit)
            if hit.parts.get(LEXICAL):
                dense = (1 - weights.lexical) * (np.array([1 - weights.passage, weights.passage]) @ _parts(hit)[:2])
                scale = float((hit.score - dense) / (weights.lexical * hit.parts[LEXICAL]))
    texts = [f"{hit.unit.title}\n{hit.unit.section}\n{hit.unit.text}".casefold() for hit in hits.values()]
    parts = np.array([_parts(hit) for hit in hits.values()]).reshape(-1, 3)
    return texts, parts * [1, 1, scale]


def _parts(hit: Hit) -> Array:
    parts = dict(hit.parts)
    words, passage = parts.pop(LEXICAL, 0.0), parts.pop(Granularity.PASSAGE, None)
    units = float(np.mean(list(parts.values()))) if parts else None
    known = units if units is not None else passage
    return np.array([known, passage if passage is not None else known, words])


def _reciprocal_ranks(parts: Array, right: Array, choices: Sequence[Weights]) -> Array:
    """Return 1 / the rank of the first right passage, 0 without one, for each choice of weights. Shape: (choices,)."""
    if not right.any():
        return np.zeros(len(choices))
    passage, lexical = np.array([(choice.passage, choice.lexical) for choice in choices]).T
    scores = np.column_stack([(1 - passage) * (1 - lexical), passage * (1 - lexical), lexical]) @ parts.T
    first = scores[:, right].max(axis=1, keepdims=True)
    ranks: Array = 1 / (1 + (scores > first).sum(axis=1))
    return ranks


def _best(ranks: Array) -> int:
    """Return the best choice; of equal ones, the one nearest to the default."""
    default = Weights()
    distances = [abs(step.passage - default.passage) + abs(step.lexical - default.lexical) for step in _STEPS]
    return int(np.lexsort((distances, -ranks.mean(axis=0).round(9)))[0])
