"""What rankings are worth: recall at k, answers within a budget of words, and intervals of their
differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.ranking.corpora import Corpus, Question
from factoid import Document, Unit, pack_context

CUTS = (1, 5, 20)
BUDGETS = (50, 100, 200)
_SAMPLES = 1000

Shares = NDArray[np.bool_]
"""Which questions are answered at each cut or budget. Shape: (questions, cuts)."""


def recall(
    corpus: Corpus, ranked: Sequence[Sequence[Unit | Document]], questions: Sequence[Question]
) -> Shares:
    """Return which questions one of the k best results answers."""
    right = np.zeros((len(questions), len(CUTS)), bool)
    for row, (results, question) in enumerate(zip(ranked, questions, strict=True)):
        for rank, result in enumerate(results[: CUTS[-1]]):
            if corpus.is_right(question, result):
                right[row] = [rank < k for k in CUTS]
                break
    return right


def curve(
    corpus: Corpus,
    ranked: Sequence[Sequence[Unit]],
    questions: Sequence[Question],
    *,
    headings: bool = False,
) -> Shares:
    """Return which questions are answered within the first words of the results."""
    right = np.zeros((len(questions), len(BUDGETS)), bool)
    for row, (results, question) in enumerate(zip(ranked, questions, strict=True)):
        for column, words in enumerate(BUDGETS):
            context = pack_context(results, words=words, headings=headings)
            right[row, column] = corpus.is_in(question, context)
    return right


def cells(shares: Shares, default: Shares | None) -> list[str]:
    """Return shares in per cent, then their differences from the default's with 95 % intervals, in
    points.
    """
    row = per_cent(shares.mean(axis=0))
    if default is None or shares is default:
        return row + [""] * len(row)
    return row + [difference(*columns) for columns in zip(shares.T, default.T, strict=True)]


def recall_names(cuts: Sequence[int] = CUTS) -> list[str]:
    """Return the heads of the columns of recall."""
    return [f"R@{k}" for k in cuts]


def budget_names(budgets: Sequence[int] = BUDGETS) -> list[str]:
    """Return the heads of the columns of the words curve."""
    return [f"{words} words" for words in budgets]


def with_differences(names: Sequence[str]) -> list[str]:
    """Return the heads of columns, and of as many with the differences from the default."""
    return [*names, *(f"{name} − default's, 95 %" for name in names)]


def per_cent(shares: Iterable[float]) -> list[str]:
    """Return a cell for each share."""
    return [f"{100 * share:.1f}" for share in shares]


def difference(right: NDArray[np.bool_], other: NDArray[np.bool_]) -> str:
    """Return a difference of shares of the same questions, with a paired bootstrap's 95 % interval,
    in points.
    """
    gains = right.astype(float) - other
    generator = np.random.default_rng(0)
    means = []
    for _ in range(_SAMPLES):
        chosen = generator.integers(0, len(gains), len(gains))
        means.append(gains[chosen].mean())
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{100 * gains.mean():+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def table(first: str, columns: Sequence[str]) -> Callable[[str, Sequence[str]], None]:
    """Print the head of a Markdown table, and return what prints its rows."""
    print(f"\n| {first} | " + " | ".join(columns) + " |")
    print("| :-- |" + " --: |" * len(columns))

    def row(name: str, cells: Sequence[str]) -> None:
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)

    return row
