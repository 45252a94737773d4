"""One large store, by the processor's time: adding, indexing, searching with words, bytes and
memory.

    python -m benchmarks.store.million --passages 200000 --into docs/store-benchmarks.md

The corpus is that of `benchmarks.store.hybrid`: random vectors, and words drawn by Zipf's law; four
propositions to a passage. A query is a proposition, its vector disturbed, its first words asked
for. Times are those of the processor, all threads together, which depend less on other work on the
machine than those of the clock. A process of its own opens the store and searches; its memory is
what belongs to it alone, without the files that it maps.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.store.hybrid import SEARCHES, _BLOCK, _K, block
from benchmarks.store.report import fill, markdown
from factoid import Granularity, UnitStore

_DIM = 384
_QUERIES = 100
_BATCH = 64
_NOISE = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, default=40_000)
    parser.add_argument("--index", default="auto", help="kind of index")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="write the table into this page")
    parser.add_argument("--search", type=Path, metavar="STORE", help="only search this store")
    arguments = parser.parse_args()
    if arguments.search:
        print(searched(arguments.search))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        stored = built(path, arguments.passages, index=arguments.index, dtype=arguments.dtype)
        command = [sys.executable, "-m", "benchmarks.store.million", "--search", str(path)]
        table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = f"{stored}\n\n{table.strip()}"
    print(text)
    if arguments.into:
        fill(arguments.into, f"million-{arguments.passages}-{arguments.index}", text)


def built(path: Path, passages: int, **options: Any) -> str:
    """Fill a store, and return how long that took and how large it is."""
    generator = np.random.default_rng(0)
    adding = 0.0
    with open_store(path, **options) as store:
        for start in range(0, passages, _BLOCK):
            units, vectors = block(generator, start, min(_BLOCK, passages - start), _DIM)
            began = time.process_time()
            store.add(units, vectors=vectors)
            adding += time.process_time() - began
        began = time.process_time()
        store.refresh()
        indexing = time.process_time() - began
        count = len(store)
    size = sum(file.stat().st_size for file in path.iterdir())
    return (
        f"{count:,} units of {_DIM} dimensions in {passages:,} passages: {count / adding:,.0f} "
        "units added in a "
        f"second of the processor; {indexing:.1f} s of it until all indexes are ready and "
        "written, that of words "
        f"included; {size / count:,.0f} bytes a unit."
    )


def searched(path: Path) -> str:
    """Search a store, and return a table of the times."""
    with open_store(path) as store:
        queries, texts = queries_of(store)
        rows = []
        for name, options in SEARCHES.items():
            store.search_by_vector(queries[0], _K, text=texts[0], **options)
            seconds = []
            for query, text in zip(queries, texts, strict=True):
                began = time.process_time()
                store.search_by_vector(query, _K, text=text, **options)
                seconds.append(time.process_time() - began)
            began = time.process_time()
            store.search_batch_by_vector(queries[:_BATCH], _K, texts=texts[:_BATCH], **options)
            batch = (time.process_time() - began) / _BATCH
            p50, p99 = np.percentile(seconds, [50, 99])
            rows.append([name, *(f"{1000 * value:.2f}" for value in (p50, p99, batch))])
    head = ["search", "p50, CPU ms", "p99, CPU ms", f"of a batch of {_BATCH}, CPU ms each"]
    return (
        f"{markdown(head, rows)}\n\n"
        f"Memory of the process that searched: {own_memory() / 2**20:,.0f} MiB."
    )


def queries_of(store: UnitStore) -> tuple[np.ndarray, list[str]]:
    """Return disturbed vectors of some propositions, and questions with their first words."""
    chance = np.random.default_rng(3)
    chosen = store.get(chance.choice(store.ids(), 4 * _QUERIES, replace=False).tolist())
    facts = [unit for unit in chosen if unit.granularity is Granularity.PROPOSITION][:_QUERIES]
    fact_ids = list(map(attrgetter("id"), facts))
    vectors = store.vectors(fact_ids)
    queries = np.stack(list(map(vectors.__getitem__, fact_ids)))
    queries = queries + chance.normal(0, _NOISE, queries.shape).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    texts = ["what is " + " ".join(unit.text.split()[:6]) for unit in facts]
    return queries, texts


def open_store(path: Path, **options: Any) -> UnitStore:
    return UnitStore(path, encoder=None, granularities=["passage", "proposition"], **options)


def own_memory() -> int:
    """Return the bytes of this process's memory that are not those of mapped files (Linux)."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    return 0


if __name__ == "__main__":
    main()
