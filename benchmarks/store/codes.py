"""Kinds of index on many real vectors: time to build and to search, and recall of the best
candidates scored again.

    python -m benchmarks.store.codes ../shared/data --count 500000 --into docs/store-benchmarks.md

Vectors are sentences by all-MiniLM-L6-v2, augmented (`benchmarks.store.real_vectors`); queries are
real questions. Exact vectors lie in a file that is mapped into memory, as in a store. All kinds
take turns, query by query, one query at a time. Times of searches are those of the processor, which
depend less on other work on the machine than those of the clock.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path

import faiss
import numpy as np

from benchmarks.store.corpus import Floats, Integers
from benchmarks.store.real_vectors import KEPT, augmented, real_vectors, widened
from benchmarks.store.report import fill, markdown
from factoid.vectors import VectorIndex

K = 10
KINDS = ("Flat", "IVF1,RaBitQfs", "RaBitQ", "IVF1024,RaBitQfs")
CANDIDATES = (200, 400, 600, 800)
_BLOCK = 20_000
_PROBES = 64


@dataclass
class Measured:
    """An index, the seconds that it took to build, and for each number of candidates the seconds
    and recall of each query.
    """

    name: str
    index: VectorIndex
    build: float
    first: float = 0.0
    seconds: dict[int, list[float]] = field(default_factory=dict)
    recalls: dict[int, list[float]] = field(default_factory=dict)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder of the corpora")
    parser.add_argument("--count", type=int, default=500_000, help="vectors")
    parser.add_argument("--dim", type=int, default=384, help="384, 768 or 1536")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--kinds", nargs="+", default=KINDS, metavar="KIND")
    parser.add_argument("--candidates", nargs="+", type=int, default=CANDIDATES, metavar="N")
    parser.add_argument("--sentences", type=int, default=40_000, help="that are encoded")
    parser.add_argument(
        "--into", type=Path, metavar="PAGE", help="write the table between the markers of this page"
    )
    arguments = parser.parse_args()
    real = real_vectors(arguments.data, count=arguments.sentences)
    sentences = widened(real.sentences, arguments.dim, seed=2)
    questions = widened(real.questions, arguments.dim, seed=3)[: arguments.questions]
    file = KEPT / f"augmented-{arguments.count}-{arguments.dim}.f32"
    vectors = mapped(file, sentences, arguments.count)
    truth = best(vectors, questions)
    print(
        f"{len(sentences):,} sentences, {len(questions):,} questions, {len(vectors):,} vectors",
        flush=True,
    )
    measured = []
    for kind in arguments.kinds:
        measured.append(build(kind, vectors))
        print(f"  {kind}: built in {measured[-1].build:.1f} s", flush=True)
    for one in measured:
        one.first = timed(one, vectors, questions[0], arguments.candidates[-1])[0]
    for number, question in enumerate(questions):
        for one in measured:
            for count in arguments.candidates if one.index.lossy else [K]:
                seconds, ids = timed(one, vectors, question, count)
                one.seconds.setdefault(count, []).append(seconds)
                one.recalls.setdefault(count, []).append(
                    len(np.intersect1d(ids, truth[number])) / K
                )
    text = table(measured)
    print(text)
    file.unlink()
    if arguments.into:
        fill(arguments.into, f"codes-{arguments.count}-{arguments.dim}", text)


def mapped(file: Path, sentences: Floats, count: int) -> Floats:
    """Write augmented vectors to a file, and return them mapped from it. Shape: (count, dim)."""
    with file.open("wb") as out:
        for block in augmented(sentences, count):
            block.tofile(out)
    return np.memmap(file, np.float32, "r").reshape(-1, sentences.shape[1])


def best(vectors: Floats, questions: Floats) -> Integers:
    """Return the K best vectors for each question by exact search, block by block.

    Shape: (questions, K).
    """
    scores = np.empty((len(questions), 0), np.float32)
    ids = np.empty((len(questions), 0), np.int64)
    for start in range(0, len(vectors), _BLOCK):
        values, found = faiss.knn(
            questions, vectors[start : start + _BLOCK], K, metric=faiss.METRIC_INNER_PRODUCT
        )
        scores = np.hstack([scores, values])
        ids = np.hstack([ids, found + start])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :K]
        scores = np.take_along_axis(scores, order, axis=1)
        ids = np.take_along_axis(ids, order, axis=1)
    return ids


def build(kind: str, vectors: Floats) -> Measured:
    index = VectorIndex(vectors.shape[1], kind=kind)
    began = time.perf_counter()
    if not index.trained:
        chosen = np.random.default_rng(0).choice(
            len(vectors), min(index.ability.max_training, len(vectors)), replace=False
        )
        index.train(vectors[np.sort(chosen)])
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        index.add(np.arange(start, start + len(block)), block)
    return Measured(kind, index, time.perf_counter() - began)


def timed(one: Measured, vectors: Floats, question: Floats, count: int) -> tuple[float, Integers]:
    """Search one index for K vectors by this many candidates; return the seconds and the ids."""
    parameters = (
        {"nprobe": min(_PROBES, one.index.ability.lists)} if one.index.ability.lists else {}
    )
    began = time.process_time()
    ids = one.index.search(question[None], count, parameters=parameters)[1][0]
    ids = ids[ids >= 0]
    if one.index.lossy:
        scores = vectors[ids] @ question
        ids = ids[np.argsort(-scores)[:K]]
    return time.process_time() - began, ids


def table(measured: list[Measured]) -> str:
    head = [
        "kind",
        "candidates",
        "build, s",
        "bytes/vector",
        "first, CPU ms",
        "p50, CPU ms",
        "p99, CPU ms",
        f"recall@{K}",
    ]
    rows = []
    for one in measured:
        for count, seconds in one.seconds.items():
            p50, p99 = np.percentile(seconds, [50, 99])
            rows.append(
                [
                    f"`{one.name}`",
                    str(count) if one.index.lossy else "–",
                    f"{one.build:.1f}",
                    f"{one.index.nbytes / len(one.index):,.0f}",
                    f"{1000 * one.first:.1f}",
                    f"{1000 * p50:.2f}",
                    f"{1000 * p99:.2f}",
                    f"{np.mean(one.recalls[count]):.4f}",
                ]
            )
    return markdown(head, rows)


if __name__ == "__main__":
    main()
