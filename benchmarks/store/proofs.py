"""For how many searches by codes of one bit the error bound of RaBitQ proves the k best.

    python -m benchmarks.store.proofs ../shared/data --into docs/store-benchmarks.md

A search takes the candidates with the highest estimated scores, and scores them again exactly. It
is proven if no other vector can have a higher score than the k-th best: its estimate, plus the
bound of its error, is below. RaBitQ (Gao and Long, 2024, Theorem 3.2) bounds the error by

    |r| |q - c| sqrt(1 - a²) / a · t,    r = x - c,    a = <sign(r) / sqrt(d), r> / |r|

where c is the mean of the vectors. With t = 1 the bound is certain, by Cauchy and Schwarz. After a
random rotation, which vectors get here, the error is close to a normal distribution, and the bound
holds with t = ε / sqrt(d - 1) for one vector at a time in almost all cases for the paper's ε = 1.9;
for all vectors of a search at once in 999 of 1,000 cases it takes a larger ε, by the number of
vectors.

This is better than what an index of FAISS can do: it does not rotate vectors unless told, and
rounds queries. Vectors are real ones and mixtures of them (`benchmarks.store.real_vectors`), and
those of `benchmarks.store.hybrid`, of which most is noise.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import NormalDist

import numpy as np

from benchmarks.store.corpus import Floats
from benchmarks.store.hybrid import block
from benchmarks.store.real_vectors import augmented, real_vectors
from benchmarks.store.report import fill, markdown
from factoid.vectors.kinds import candidates

_K = 10
_PAPER = 1.9
_FAILURES = 0.001  # of searches whose bound does not hold for all vectors
_NOISE = 0.05
_DIM = 384


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder of the corpora")
    parser.add_argument("--count", type=int, default=200_000, help="vectors")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--sentences", type=int, default=40_000, help="that are encoded")
    parser.add_argument(
        "--into", type=Path, metavar="PAGE", help="write the table between the markers of this page"
    )
    arguments = parser.parse_args()
    real = real_vectors(arguments.data, count=arguments.sentences)
    mixed = np.concatenate(list(augmented(real.sentences, arguments.count)))
    rows = list(measured("real", mixed, real.questions[: arguments.questions]))
    random = np.random.default_rng(0)
    vectors = synthetic(random, arguments.count)
    near = vectors[random.choice(len(vectors), arguments.questions, replace=False)]
    near = near + random.normal(0, _NOISE, near.shape).astype(np.float32)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    rows += measured("synthetic", vectors, near)
    head = [
        "vectors",
        "the bound holds",
        "ε",
        f"proven by {candidates(_K)} candidates",
        "candidates for a proof, median",
        "9 of 10",
    ]
    text = (
        f"{len(mixed):,} vectors of {_DIM} components, {arguments.questions} queries, the {_K} "
        f"best. Real: {len(real.sentences):,} sentences by all-MiniLM-L6-v2, and mixtures of "
        f"them.\n\n{markdown(head, rows)}"
    )
    print(text)
    if arguments.into:
        fill(arguments.into, "proofs", text)


def synthetic(random: np.random.Generator, count: int) -> Floats:
    """Return vectors of facts and passages as `benchmarks.store.hybrid` draws them."""
    parts = []
    total = 0
    while total < count:
        parts.append(block(random, total, 2_000, _DIM)[1])
        total += len(parts[-1])
    return np.concatenate(parts)[:count]


def measured(name: str, vectors: Floats, queries: Floats) -> Iterator[list[str]]:
    """Yield a row of the table for each bound."""
    rotation, _ = np.linalg.qr(np.random.default_rng(5).standard_normal((_DIM, _DIM)))
    rotation = rotation.astype(np.float32)
    center = vectors.mean(axis=0) @ rotation
    residuals = vectors @ rotation - center
    lengths = np.linalg.norm(residuals, axis=1)
    signs = np.where(residuals > 0, np.float32(1), np.float32(-1)) / np.float32(_DIM**0.5)
    aligned = np.einsum("ij,ij->i", signs, residuals) / lengths
    centered = queries @ rotation - center
    # <x, q> is <r, q - c> and what does not depend on the code.
    exact = vectors @ queries.T
    known = exact - residuals @ centered.T
    estimates = known + (lengths / aligned)[:, None] * (signs @ centered.T)
    spread = lengths * np.sqrt(1 - aligned**2) / aligned
    errors = spread[:, None] * np.linalg.norm(centered, axis=1)
    at_once = NormalDist().inv_cdf(1 - _FAILURES / len(vectors))
    bounds = {
        "for almost any vector": _PAPER,
        "for all vectors of a search, 999 times of 1,000": at_once,
        "for certain": (_DIM - 1) ** 0.5,
    }
    for holds, epsilon in bounds.items():
        proven = 0
        needed = []
        for number in range(len(queries)):
            tenth = np.partition(exact[:, number], -_K)[-_K]
            highest = estimates[:, number] + errors[:, number] * (epsilon / (_DIM - 1) ** 0.5)
            candidate = highest >= tenth  # those that have to be scored for a proof
            needed.append(int(candidate.sum()))
            best = np.argpartition(-estimates[:, number], candidates(_K))[: candidates(_K)]
            proven += int(candidate[best].sum() == candidate.sum())
        median, most = np.percentile(needed, [50, 90])
        share = f"{100 * proven / len(queries):.0f} %"
        yield [name, holds, f"{epsilon:.1f}", share, f"{median:,.0f}", f"{most:,.0f}"]


if __name__ == "__main__":
    main()
