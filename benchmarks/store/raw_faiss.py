"""FAISS alone: the floor. What is around it is the least that a user would write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.store.corpus import Batch, Corpus, Floats, Integers, number
from benchmarks.store.operations import Condition

_KEYS = ("year", "category", "author")


class RawFaiss:
    """`IndexFlatIP` and arrays; filters are bitmaps, parents an array and a fetch that is
    widened.
    """

    def __init__(self) -> None:
        import faiss

        self.faiss: Any = faiss

    def build(self, folder: Path, corpus: Corpus, batches: Iterator[Batch]) -> None:
        index = self.faiss.IndexFlatIP(corpus.dim)
        columns: dict[str, list[Integers]] = {key: [] for key in ("parents", *_KEYS)}
        of_passage = {key: corpus.column(key) for key in _KEYS}
        for batch in batches:
            index.add(batch.vectors)
            columns["parents"].append(batch.parents)
            for key in _KEYS:
                columns[key].append(of_passage[key][batch.parents])
        self.faiss.write_index(index, str(folder / "index.faiss"))
        joined: dict[str, Any] = {key: np.concatenate(own) for key, own in columns.items()}
        np.savez(folder / "columns.npz", **joined)

    def open(self, folder: Path, corpus: Corpus) -> None:
        self.folder = folder
        self.corpus = corpus
        self.index = self.faiss.read_index(str(folder / "index.faiss"))
        self.columns = dict(np.load(folder / "columns.npz"))
        self.selectors: dict[Condition, Any] = {}

    def units(self, query: Floats, k: int, condition: Condition | None = None) -> list[int]:
        selector = None if condition is None else self._selector(condition)
        parameters = self.faiss.SearchParameters(sel=selector) if selector is not None else None
        found = self.index.search(query[None], k, params=parameters)[1][0]
        return found[found >= 0].tolist()

    def units_batch(self, queries: Floats, k: int) -> list[list[int]]:
        rows: list[list[int]] = self.index.search(queries, k)[1].tolist()
        return rows

    def parents(self, query: Floats, k: int) -> list[int]:
        return self.parents_batch(query[None], k)[0]

    def parents_batch(self, queries: Floats, k: int) -> list[list[int]]:
        answers: list[list[int]] = [[] for _ in queries]
        waiting = list(range(len(queries)))
        wide = 4 * k
        while waiting:
            wide = min(wide, self.index.ntotal)
            rows = self.index.search(queries[waiting], wide)[1]
            for at, own in zip(waiting, self.columns["parents"][rows].tolist(), strict=True):
                answers[at] = list(dict.fromkeys(own))[:k]
            waiting = [at for at in waiting if len(answers[at]) < k and wide < self.index.ntotal]
            wide *= 4
        return answers

    def add(self, batch: Batch) -> None:
        self.index.add(batch.vectors)
        for key in _KEYS:
            self.columns[key] = np.concatenate(
                [self.columns[key], self.corpus.column(key)[batch.parents]]
            )
        self.columns["parents"] = np.concatenate([self.columns["parents"], batch.parents])
        self.faiss.write_index(self.index, str(self.folder / "index.faiss"))
        np.savez(self.folder / "columns.npz", **self.columns)

    def close(self) -> None:
        del self.index

    def _selector(self, condition: Condition) -> Any:
        if condition not in self.selectors:
            column = self.columns[condition.key]
            passes = (
                column < condition.value
                if condition.operator == "lt"
                else column == number(condition.value)
            )
            bits = np.packbits(passes, bitorder="little")
            self.selectors[condition] = (
                self.faiss.IDSelectorBitmap(bits),
                bits,
            )  # which it does not own
        return self.selectors[condition][0]
