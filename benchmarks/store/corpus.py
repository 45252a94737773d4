"""What every store is given: vectors of units in passages, metadata to filter by, queries.

Everything lies in a folder that the contestants' processes read, a batch at a time, so that none of
it counts as their memory. Units stand in order of their passages. Units and passages are numbers;
texts, ids and metadata are made from these.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

YEARS = 1000
CATEGORIES = 100
AUTHORS = 10_000
_BATCH = 10_000  # units, about
_EXTRA_SIZE = 5  # units of each passage that is added later


@dataclass(frozen=True)
class Batch:
    """Some whole passages and their units.

    Attributes:
        passages: Their numbers. Shape: (p,).
        rows: The units' numbers. Shape: (n,).
        parents: The passage of each unit. Shape: (n,).
        vectors: Shape: (n, dim).
    """

    passages: Integers
    rows: Integers
    parents: Integers
    vectors: Floats


@dataclass(frozen=True)
class Corpus:
    """A corpus on disk; `extra` units, in passages of their own, come after the first `units`."""

    folder: str
    units: int
    passages: int
    dim: int
    queries: int
    extra: int

    @classmethod
    def read(cls, folder: Path) -> Corpus:
        return cls(**json.loads((folder / "corpus.json").read_text()))

    @property
    def authors(self) -> int:
        return min(AUTHORS, self.passages)

    def column(self, name: str) -> Any:
        """Return `starts` (of all passages and the end), `parents`, `year`, `category`, `author` or
        `queries`.
        """
        return np.load(Path(self.folder) / f"{name}.npy")

    def vectors(self, start: int = 0, end: int | None = None) -> Floats:
        """Return vectors of units, the extra ones too.

        They are read, not mapped: a mapped page would count as memory.
        """
        count = (self.units + self.extra if end is None else end) - start
        path = Path(self.folder) / "vectors.f32"
        return np.fromfile(path, np.float32, count * self.dim, offset=4 * start * self.dim).reshape(
            count, self.dim
        )

    def batches(self, *, extra: bool = False) -> Iterator[Batch]:
        """Yield the corpus in batches of whole passages, or what is added later as one."""
        starts = self.column("starts")
        parents = self.column("parents")
        first, last = (self.passages, len(starts) - 1) if extra else (0, self.passages)
        while first < last:
            end = int(np.searchsorted(starts, starts[first] + _BATCH, side="right")) - 1
            end = last if extra else min(max(end, first + 1), last)
            rows = np.arange(starts[first], starts[end])
            yield Batch(
                np.arange(first, end),
                rows,
                parents[rows[0] : rows[-1] + 1],
                self.vectors(rows[0], rows[-1] + 1),
            )
            first = end

    def metadata(self) -> list[dict[str, Any]]:
        """Return the metadata of each passage, which its units share."""
        years = self.column("year").tolist()
        categories = self.column("category").tolist()
        authors = self.column("author").tolist()
        metadata = []
        for year, category, author in zip(years, categories, authors, strict=True):
            metadata.append({"year": year, "category": f"c{category}", "author": f"a{author}"})
        return metadata


def unit_text(row: int) -> str:
    """Return a unit's text; its first number is the unit's own."""
    return (
        f"Fact {row} says that the measured value number {row * 7919 % 100_003} was reported "
        "in the yearly review."
    )


def number(text: object) -> int:
    """Return the unit or passage of an id ("u12", "p3", 12) or of a unit's text."""
    if isinstance(text, str):
        return int(text.split()[1]) if text.startswith("Fact ") else int(text[1:])
    return int(text)  # type: ignore[call-overload, no-any-return]


def make(
    folder: Path, *, units: int, passages: int, dim: int, queries: int, extra: int, seed: int = 0
) -> Corpus:
    """Write a synthetic corpus: a unit is its topic, its passage and something of its own; a query
    is near some unit.

    Passages have very different sizes, so that a query's best units are often of few passages.
    """
    random = np.random.default_rng(seed)
    weights = random.lognormal(sigma=1.0, size=passages)
    sizes = 1 + random.multinomial(units - passages, weights / weights.sum())
    topics = _directions(random, max(1, passages // 200), dim)
    sizes = np.concatenate([sizes, np.full(extra // _EXTRA_SIZE, _EXTRA_SIZE)])
    of_topic = random.integers(0, len(topics), len(sizes))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "vectors.f32").open("wb") as file:
        for first in range(0, len(sizes), 2000):
            chosen = slice(first, first + 2000)
            centres = (
                topics[of_topic[chosen]] * 0.35**0.5
                + _directions(random, len(sizes[chosen]), dim) * 0.35**0.5
            )
            noise = _directions(random, int(sizes[chosen].sum()), dim) * 0.3**0.5
            _unit_length(np.repeat(centres, sizes[chosen], axis=0) + noise).tofile(file)
    return _finish(
        folder, sizes, units=units, passages=passages, dim=dim, queries=queries, random=random
    )


def from_vectors(
    folder: Path, vectors: Floats, parents: Integers, asked: Floats, *, extra: int
) -> Corpus:
    """Write a corpus of given vectors, those of one passage together; the last `extra` units or so
    are added later.
    """
    random = np.random.default_rng(0)
    sizes = np.bincount(parents)
    later = int(np.searchsorted(np.cumsum(sizes[::-1]), extra)) + 1
    folder.mkdir(parents=True, exist_ok=True)
    vectors.astype(np.float32).tofile(folder / "vectors.f32")
    counts = {"units": int(sizes[:-later].sum()), "passages": len(sizes) - later}
    chosen = asked[random.permutation(len(asked))]
    return _finish(
        folder,
        sizes,
        **counts,
        dim=vectors.shape[1],
        queries=len(chosen),
        random=random,
        asked=chosen,
    )


def _finish(
    folder: Path,
    sizes: Integers,
    *,
    units: int,
    passages: int,
    dim: int,
    queries: int,
    random: np.random.Generator,
    asked: Floats | None = None,
) -> Corpus:
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    corpus = Corpus(str(folder), units, passages, dim, queries, int(starts[-1]) - units)
    if asked is None:
        stored = np.memmap(folder / "vectors.f32", np.float32, "r", shape=(int(starts[-1]), dim))
        near = stored[np.sort(random.choice(units, queries))][random.permutation(queries)]
        asked = _unit_length(near * 0.6**0.5 + _directions(random, queries, dim) * 0.4**0.5)
    columns: dict[str, Any] = {
        "starts": starts,
        "parents": np.repeat(np.arange(len(sizes)), sizes),
        "queries": asked,
    }
    for name, values in (("year", YEARS), ("category", CATEGORIES), ("author", corpus.authors)):
        own = random.permutation(passages) % values  # every value as often
        columns[name] = np.concatenate([own, random.integers(0, values, len(sizes) - passages)])
    for name, column in columns.items():
        np.save(folder / f"{name}.npy", column)
    (folder / "corpus.json").write_text(json.dumps(asdict(corpus)))
    return corpus


def _directions(random: np.random.Generator, count: int, dim: int) -> Floats:
    return _unit_length(random.standard_normal((count, dim), np.float32))


def _unit_length(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)
