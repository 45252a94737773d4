"""What the passage and the query's words cost in a search: milliseconds by what the score is made of.

    python -m benchmarks.store.hybrid                     # 40 000 passages of 60 words, four propositions each, 384 d

Vectors are random, and words are drawn by Zipf's law from 800: harder than real ones, whose best answers stand out in every
channel. Every query is a proposition, its vector disturbed, its first words asked for. All kinds of search take turns.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from typing import Any

import numpy as np

from factoid import Granularity, Unit, UnitStore, Weights

_FACTS, _WORDS, _BLOCK, _K = 4, 60, 4000, 10
SEARCHES: dict[str, dict[str, Any]] = {
    "propositions": {},
    "passages": {"granularity": "passage"},
    "propositions and their passage": {"weights": Weights(lexical=0)},
    "propositions, their passage and words": {"weights": Weights()},
    "words alone": {"lexical": 1},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=40_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--queries", type=int, default=90)
    arguments = parser.parse_args()
    generator = np.random.default_rng(0)
    with (
        tempfile.TemporaryDirectory() as folder,
        UnitStore(folder, encoder=None, granularities=["passage", "proposition"]) as store,
    ):
        for start in range(0, arguments.passages, _BLOCK):
            units, vectors = block(generator, start, min(_BLOCK, arguments.passages - start), arguments.dim)
            store.add(units, vectors=vectors)
        store.refresh()
        ids = [f"{number}.1" for number in generator.integers(0, arguments.passages, arguments.queries).tolist()]
        vectors, facts = store.vectors(ids), {unit.id: unit.text for unit in store.get(ids)}
        times: dict[str, list[float]] = {name: [] for name in SEARCHES}
        for unit_id in ids:
            query = vectors[unit_id] + generator.normal(0, 0.05, arguments.dim).astype(np.float32)
            text = "what is " + " ".join(facts[unit_id].split()[:6])
            for name, options in SEARCHES.items():
                began = time.perf_counter()
                store.search_by_vector(query / np.linalg.norm(query), _K, text=text, **options)
                times[name].append(1000 * (time.perf_counter() - began))
    print(f"{arguments.passages * (1 + _FACTS):,} units of {arguments.dim} d; k = {_K}, {arguments.queries} queries\n")
    print("| score | ms, median | × propositions |\n| :-- | --: | --: |")
    for name, values in times.items():
        median = statistics.median(values)
        print(f"| {name} | {median:.1f} | {median / statistics.median(times['propositions']):.1f} |")


def block(generator: np.random.Generator, start: int, count: int, dim: int) -> tuple[list[Unit], np.ndarray]:
    """Return some passages with their propositions, and vectors of unit length."""
    syllables = [first + vowel for first, vowel in itertools.product("bdfgklmnprst", "aeio")]
    words = ["".join(pair) for pair in itertools.product(syllables, repeat=2)][:800]
    chances = 1 / np.arange(2, len(words) + 2)
    drawn = generator.choice(len(words), (count, _WORDS), p=chances / chances.sum())
    units, vectors = [], []
    for number, row in enumerate(drawn, start):
        text = [words[place] for place in row]
        base = generator.normal(size=dim)
        own, length = f"{number}", _WORDS // _FACTS
        units.append(unit(own, " ".join(text), Granularity.PASSAGE, own))
        vectors.append(base)
        for fact in range(_FACTS):
            part = " ".join(text[fact * length : (fact + 1) * length])
            units.append(unit(f"{own}.{fact}", f"{part} {fact}", Granularity.PROPOSITION, own))
            vectors.append(base + 0.8 * generator.normal(size=dim))
    matrix = np.array(vectors, np.float32)
    return units, matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def unit(unit_id: str, text: str, granularity: Granularity, passage: str) -> Unit:
    document = f"document {passage}"
    return Unit(unit_id, text, granularity, document, document if unit_id == passage else passage, 0, len(text))


if __name__ == "__main__":
    main()
