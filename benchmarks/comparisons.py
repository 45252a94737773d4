"""Whether the statistics of `factoid compare` hold what they promise, where the truth is known.

    python -m benchmarks.comparisons

Eight settings answer questions about documents of different difficulty. "coverage" is the share of
runs in which the 95 % interval of a difference of two equal settings holds 0, "false alarms" that
of p ≤ .05 for it, "cheapest rejected" that in which the cheapest of eight equal settings is called
worse than the best, and "loss seen" that in which it is, being 10 points worse.
"""

from __future__ import annotations

import argparse

import numpy as np

from factoid.evaluate.statistics import LEVEL, difference, not_worse

SETTINGS = 8
RATE = 0.7  # of questions answered
LOSS = 0.1
SPREAD = 0.15  # of difficulty


def simulate(
    generator: np.random.Generator, documents: int, of_each: int, rates: list[float]
) -> np.ndarray:
    """Return whether each setting answers each question. Shape: (settings, questions)."""
    difficulty = np.repeat(generator.normal(0, SPREAD, documents), of_each)
    chances = np.clip(np.array(rates)[:, None] - difficulty, 0, 1)
    return (generator.random((len(rates), len(difficulty))) < chances).astype(float)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    arguments = parser.parse_args()
    print("| documents | questions | coverage | false alarms | cheapest rejected | loss seen |")
    print("| --: | --: | --: | --: | --: | --: |")
    for documents, of_each in ((10, 5), (25, 4), (100, 1), (100, 5)):
        generator = np.random.default_rng(0)
        groups = np.repeat(np.arange(documents), of_each).astype(str).tolist()
        counts = np.zeros(4)
        for _ in range(arguments.runs):
            right = simulate(generator, documents, of_each, [RATE] * SETTINGS)
            found = difference(right[0].tolist(), right[1].tolist(), groups)
            equal = {str(number): values.tolist() for number, values in enumerate(right)}
            right = simulate(generator, documents, of_each, [RATE - LOSS] + [RATE] * (SETTINGS - 1))
            worse = {str(number): values.tolist() for number, values in enumerate(right)}
            counts += [
                found.low <= 0 <= found.high,
                found.p <= LEVEL,
                not_worse(equal, groups)["0"] <= LEVEL,
                not_worse(worse, groups)["0"] <= LEVEL,
            ]
        shares = " | ".join(f"{100 * count / arguments.runs:.1f} %" for count in counts)
        print(f"| {documents} | {documents * of_each} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
