"""How many candidates each channel gives to a blended score: the share of the best passages that is
found, and the processor's time.

    python -m benchmarks.store.candidates --into docs/store-benchmarks.md

The corpus and the queries are those of `benchmarks.store.million`: random vectors and words, harder
than real ones, since the best answers stand out in no channel. The index is approximate, so that
only the candidates of its channels are scored; what they are compared with is the ten best passages
by the same score of all units.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.store.hybrid import _K
from benchmarks.store.million import built, open_store, queries_of
from benchmarks.store.report import fill, markdown
from factoid import UnitStore, Weights
from factoid.ranking import candidates, columns

_CANDIDATES = (40, 100, 200, 400)  # the least of each channel
_SCORES = {
    "propositions and their passage": Weights(lexical=0),
    "propositions, their passage and words": Weights(),
}
_HEAD = ["score", "candidates of each channel", "of the 10 best passages", "CPU ms, mean"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, default=40_000)
    parser.add_argument("--index", default="auto", help="kind of index")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="write the table into this page")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        built(path, arguments.passages, index=arguments.index)
        with open_store(path) as store:
            rows = compared(store)
    table = markdown(_HEAD, rows)
    print(table)
    if arguments.into:
        fill(arguments.into, "candidates", table)


def compared(store: UnitStore) -> list[list[str]]:
    """Return a row of cells for each score and each number of candidates."""
    queries, texts = queries_of(store)
    rows = []
    for name, weights in _SCORES.items():
        with mock.patch.multiple(columns, _FEW_HELD=len(store), _FEW_READ=len(store)):
            every_unit_scored, _ = searched(store, queries, texts, weights)
        for count in _CANDIDATES:
            with mock.patch.object(candidates, "_CHANNEL_CANDIDATES", count):
                found, seconds = searched(store, queries, texts, weights)
            share = share_found(found, every_unit_scored)
            rows.append([name, str(count), f"{100 * share:.1f} %", f"{1000 * seconds:.1f}"])
    return rows


def searched(
    store: UnitStore, queries: np.ndarray, texts: list[str], weights: Weights
) -> tuple[list[set[str]], float]:
    """Return the ids of the best passages for each query, and the mean seconds of a search."""
    store.search_by_vector(queries[0], _K, text=texts[0], weights=weights)  # untimed: warms up
    best = []
    began = time.process_time()
    for query, text in zip(queries, texts, strict=True):
        hits = store.search_by_vector(query, _K, text=text, weights=weights)
        best.append({hit.unit.id for hit in hits})
    return best, (time.process_time() - began) / len(queries)


def share_found(found: list[set[str]], expected: list[set[str]]) -> float:
    """Return the mean share of the expected passages that was found."""
    shares = []
    for ids, expected_ids in zip(found, expected, strict=True):
        shares.append(len(ids & expected_ids) / len(expected_ids))
    return float(np.mean(shares))


if __name__ == "__main__":
    main()
