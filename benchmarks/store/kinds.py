"""Kinds of index on real vectors: recall@10 after refinement, bytes, latency; and all of that at
257 million propositions.

    python -m benchmarks.store.kinds ../shared/data/squad-v1.1-dev/dev-v1.1.even.json
    python -m benchmarks.store.kinds FILE --kinds RaBitQ "IVF*,SQ8" --large 400000 \
        --into docs/store-benchmarks.md

Recall is that of a SQuAD file's questions among its propositions, all-MiniLM-L6-v2 for both. An
index of so few vectors says little of latency, so that each kind is also measured on a larger one,
made of the same vectors with noise. `benchmarks.store.extrapolate` says how the last table follows;
recall at that size does not.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path

import numpy as np

from benchmarks.store.corpus import Floats
from benchmarks.store.extrapolate import Point, bytes_each, memory_at, seconds_at
from benchmarks.store.report import fill, markdown
from benchmarks.store.squad import squad
from benchmarks.store.trials import Trial, trials

PROPOSITIONS = 257_000_000  # of FactoidWiki (Dense X Retrieval, Appendix A)
SHARDS = 8  # of the paper's index (Appendix C)
KINDS = (
    "Flat",
    "SQfp16",
    "SQ8",
    "SQ4",
    "RaBitQ",
    "PQ48",
    "OPQ48,PQ48",
    "HNSW32",
    "HNSW32,SQ8",
    "IVF*,Flat",
    "IVF*,SQ8",
    "IVF*,RaBitQ",
)
# of inverted lists at 257 million
LISTS = 65_536
PROBES = 64
_SQUAD_LISTS = 64
_SQUAD_PROBES = 16
_GIB = 2**30


@dataclass(frozen=True)
class Measured:
    """A kind on both sets of vectors: every refinement on the small one, one on the large one."""

    name: str
    small: list[Trial]
    large: Trial | None = None
    cannot: str = ""
    family: str = ""

    @property
    def chosen(self) -> Trial:
        """The cheapest refinement that reaches the recall wanted, else the one that comes
        nearest.
        """
        enough = [trial for trial in self.small if trial.recall >= 0.95]
        if enough:
            return min(enough, key=attrgetter("seconds"))
        return max(self.small, key=attrgetter("recall"))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="SQuAD v1.1 JSON")
    parser.add_argument(
        "--kinds",
        nargs="+",
        default=KINDS,
        metavar="KIND",
        help="FAISS's names; IVF* is of fitting size",
    )
    parser.add_argument("--questions", type=int, default=1000, help="that are asked")
    parser.add_argument(
        "--refine", type=lambda text: list(map(int, text.split(","))), default=[1, 2, 4, 8]
    )
    parser.add_argument("--large", type=int, default=200_000, help="vectors of the larger set")
    parser.add_argument(
        "--into",
        type=Path,
        metavar="PAGE",
        help="write the tables between the markers of this page",
    )
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    given = squad(arguments.file)
    step = max(1, len(given.queries) // arguments.questions)
    queries = given.queries[::step][: arguments.questions]
    larger = enlarged(given.vectors, arguments.large)
    measured = []
    for name in arguments.kinds:
        measured.append(measure(name, given.vectors, larger, queries, arguments.refine))
        print(f"  {name}: {measured[-1].cannot or 'measured'}", flush=True)
    parts = [
        f"{len(given.vectors):,} propositions of SQuAD v1.1, {len(queries):,} questions, "
        f"{given.vectors.shape[1]} dimensions; "
        f"latency also on {len(larger):,} vectors made of them.",
        recalls(measured, given.vectors.shape[1]),
        f"At {PROPOSITIONS / 1e6:.0f} million propositions, extrapolated; inverted lists: "
        f"{LISTS:,} of which {PROBES} are "
        "searched. The formulas stand in `benchmarks/store/extrapolate.py`; a graph's latency is "
        "a lower bound.",
        extrapolated(measured),
    ]
    text = "\n\n".join(parts)
    print(f"\n{text}")
    if arguments.into:
        fill(arguments.into, "kinds", text)


def enlarged(vectors: Floats, count: int) -> Floats:
    """Return this many vectors of unit length: the given ones again and again, with noise.

    Shape: (count, dim).
    """
    random = np.random.default_rng(0)
    chosen = vectors[np.arange(count) % len(vectors)]
    chosen = chosen + random.standard_normal(chosen.shape, np.float32) * (
        0.7 / vectors.shape[1] ** 0.5
    )
    return np.asarray(chosen / np.linalg.norm(chosen, axis=1, keepdims=True), np.float32)


def measure(
    name: str, vectors: Floats, larger: Floats, queries: Floats, refine: list[int]
) -> Measured:
    """Measure one kind on both sets; a kind of inverted lists, `IVF*`, gets as many as suit
    each.
    """
    try:
        small = trials(
            factory(name, _SQUAD_LISTS),
            vectors,
            queries,
            training=larger,
            refine=refine,
            probes=_SQUAD_PROBES,
        )
        best = Measured(name, small).chosen
        many = 4 * round(len(larger) ** 0.5)
        (large,) = trials(
            factory(name, many),
            larger,
            queries[:100],
            training=larger,
            refine=[best.refine],
            probes=PROBES,
        )
    except ValueError as error:
        return Measured(name, [], cannot=str(error))
    return Measured(name, small, large)


def factory(name: str, lists: int) -> str:
    """Return a kind's factory string."""
    return name.replace("*", str(lists))


def recalls(measured: list[Measured], dim: int) -> str:
    trials_of_all = chain.from_iterable(own.small for own in measured)
    refines = sorted(set(map(attrgetter("refine"), trials_of_all)))
    head = [
        "kind",
        *(f"R@10, refine {refine}" for refine in refines),
        "bytes/vector",
        "× float32",
        "ms/query, large",
    ]
    rows = []
    for own in measured:
        if own.large is None:
            rows.append(
                [f"`{factory(own.name, _SQUAD_LISTS)}`", own.cannot, *[""] * (len(head) - 2)]
            )
            continue
        by_refine = {trial.refine: f"{trial.recall:.3f}" for trial in own.small}
        each = bytes_each(_point(own.chosen), _point(own.large))
        cells = [by_refine.get(refine, "–") for refine in refines]
        rows.append(
            [
                f"`{own.chosen.kind}`",
                *cells,
                f"{each:.0f}",
                f"{each / (4 * dim):.2f}",
                f"{1000 * own.large.seconds:.2f}",
            ]
        )
    return markdown(head, rows)


def extrapolated(measured: list[Measured]) -> str:
    head = [
        "kind",
        "refine",
        "GiB of memory",
        "ms/query, one machine",
        f"ms/query, {SHARDS} shards",
    ]
    rows = []
    for own in measured:
        if own.large is None:
            continue
        small = _point(own.chosen)
        large = _point(own.large)
        lists = LISTS if large.lists else 0
        at = partial(
            seconds_at, PROPOSITIONS, small, large, lists=lists, probes=PROBES if lists else 0
        )
        is_graph = own.name.startswith("HNSW")
        one_machine = milliseconds(at(shards=1, graph=is_graph))
        several = milliseconds(at(shards=SHARDS, graph=is_graph))
        memory = memory_at(PROPOSITIONS, small, large) + 4 * own.large.dim * lists
        rows.append(
            [
                f"`{factory(own.name, LISTS)}`",
                str(own.chosen.refine),
                f"{memory / _GIB:,.0f}",
                one_machine,
                several,
            ]
        )
    return markdown(head, rows)


def milliseconds(seconds: float) -> str:
    """Return a cell of a time: of a long one without decimals."""
    digits = 2
    if seconds > 0.1:
        digits = 0
    return f"{1000 * seconds:,.{digits}f}"


def _point(trial: Trial) -> Point:
    """Return a trial without the centroids of its lists, of which there are as many as one
    wants.
    """
    return Point(
        trial.count,
        trial.bytes - 4 * trial.dim * trial.lists,
        trial.seconds,
        trial.lists,
        trial.probes,
    )


if __name__ == "__main__":
    main()
