"""The tables of docs/scale.md: what was measured, and what follows for FactoidWiki and for five
million passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.serving.corpus import Made, Rates
from benchmarks.serving.extrapolate import (
    CORE_HOUR,
    GPU_HOUR,
    MACHINE_HOUR,
    MEGATOKEN_IN,
    MEGATOKEN_OUT,
    Network,
    Price,
    latency,
)
from benchmarks.serving.measured import SCORES, Measured, Searches
from benchmarks.store.extrapolate import COLUMN_BYTES, ID_BYTES, Point, bytes_each
from benchmarks.store.report import markdown
from factoid.vectors import VectorIndex

# FactoidWiki (Dense X Retrieval, Table 1 and Appendix A)
PASSAGES = 41_393_528
PROPOSITIONS = 256_885_003
UNITS = PASSAGES + PROPOSITIONS
MACHINE = 64 * 2**30  # bytes of memory, of which some are for other things
USABLE = 0.75
DIMS = (384, 768)
SHARDS = (16, 64)
KINDS = {
    "float32": "Flat",
    "float16": "SQfp16",
    "8 bits": "SQ8",
    "1 bit (RaBitQ)": "RaBitQ",
    "float32, HNSW": "HNSW32",
    "8 bits, HNSW": "HNSW32,SQ8",
}
# docs/engines.md, measured there: flan-t5-large
T5_CORE = Rates("flan-t5-large, a core", "passages", [0.65, 0.66, 0.68])
T5_GPU = Rates("flan-t5-large, an H100", "passages", [60.07, 71.27])
_GIB = 2**30
_NETWORK = Network()


def tables(made: Made, engines: Sequence[Measured]) -> dict[str, str]:
    """Return the tables by the names that the page has for them."""
    return {
        "serving-measured": measured_table(made, engines),
        "serving-latency": latency_table(engines),
        "serving-memory": memory_table(made, engines),
        "serving-stages": stages_table(made, engines),
        "serving-example": example_table(made, engines),
    }


# -- What was measured --


def measured_table(made: Made, engines: Sequence[Measured]) -> str:
    head = ["store", "shards", "units", "units/s loaded", "units/s indexed"]
    for score in SCORES:
        head += [f"{score}: p50", "p95", "p99", "calls"]
    head += ["same five", "complete"]
    rows = []
    for engine in engines:
        for count in sorted({searches.shards for searches in engine.searches}):
            by_score = {each.score: each for each in engine.searches if each.shards == count}
            units = f"{by_score[next(iter(SCORES))].rows * count:,.0f}"
            indexed = "while loading"
            if _indexes_later(engine):
                indexed = _span(engine.index)
            row = [engine.label, str(count), units, _span(engine.load), indexed]
            for score in SCORES:
                searches = by_score[score]
                row += [f"{_percentile(searches, p):.1f}" for p in (50, 95, 99)]
                row.append(f"{_calls(searches):.1f}")
            default = by_score[next(iter(SCORES))]
            row.append(f"{100 * _same(engine, default):.0f} %")
            row.append(f"{100 * default.complete / len(default.here):.0f} %")
            rows.append(row)
    lines = [f"* {engine.label}: {engine.remark}" for engine in engines]
    return "\n\n".join(
        [
            f"{made.count / made.passages:.1f} units a passage, {made.dim} dimensions, up to "
            f"{len(made.questions)} questions; milliseconds of the processor.",
            markdown(head, rows),
            "\n".join(lines),
        ]
    )


def _indexes_later(engine: Measured) -> bool:
    """Return whether the index is made after loading: a server of Milvus makes it meanwhile."""
    return "Milvus" not in engine.label


def _span(rates: Rates) -> str:
    low, high = rates.span
    return f"{rates.median:,.0f} ({low:,.0f}–{high:,.0f})"


def _percentile(searches: Searches, percentile: float) -> float:
    return float(np.percentile(searches.alone, percentile))


def _calls(searches: Searches) -> float:
    return sum(map(len, searches.calls.values())) / len(searches.here)


def _same(engine: Measured, searches: Searches) -> float:
    """Return the share of the first five that one shard gives as well."""
    [whole] = [
        each for each in engine.searches if each.score == searches.score and each.shards == 1
    ]
    shares = []
    for hits, expected in zip(searches.hits, whole.hits, strict=False):  # the first questions
        shares.append(len({*hits} & {*expected}) / max(1, len(expected)))
    return float(np.mean(shares))


# -- Latency --


def latency_table(engines: Sequence[Measured]) -> str:
    head = ["store", "score", "shards", "rows in each", "p50, ms", "p95, ms", "p99, ms"]
    rows = []
    for engine in engines:
        for score in SCORES:
            for shards in SHARDS:
                estimates = latency(engine, score, UNITS / shards, shards, _NETWORK)
                cells = [engine.label, score, str(shards), f"{UNITS / shards / 1e6:.1f} M"]
                rows.append([*cells, *(str(estimates[each]) for each in (50, 95, 99))])
    return markdown(head, rows)


# -- Memory --


def memory_table(made: Made, engines: Sequence[Measured]) -> str:
    head = ["code", "bytes of a vector"]
    for dim in DIMS:
        head += [f"GiB, {dim} dimensions", "machines"]
    rows = []
    vectors = np.stack(list(made.vectors.values()))
    for name, kind in KINDS.items():
        each = code_bytes(kind, vectors)
        codes = each - graph_bytes(name, vectors)
        row = [f"{name}, FAISS", f"{each:,.0f}"]
        for dim in DIMS:
            scaled = codes * dim / made.dim + (each - codes) + ID_BYTES + COLUMN_BYTES
            row += _machines(scaled * UNITS)
        rows.append(row)
    for engine in engines:
        for name, each in engine.codes.items():
            row = [f"{name}, HNSW of {engine.label}", f"{each:,.0f}"]
            scale = {"float32": 4.0, "float16": 2.0, "1-bit": 1 / 8}[name]
            for dim in DIMS:
                row += _machines((each + scale * (dim - made.dim)) * UNITS)
            rows.append(row)
    return markdown(head, rows)


def code_bytes(kind: str, vectors: np.ndarray) -> float:
    """Return the bytes that one more vector takes in an index of a kind."""
    points = []
    for count in (len(vectors) // 2, len(vectors)):
        index = VectorIndex(vectors.shape[1], kind=kind)
        if not index.trained:
            index.train(vectors[:count])
        index.add(np.arange(count), vectors[:count])
        points.append(Point(count, index.nbytes, 0.0))
    return bytes_each(*points)


def graph_bytes(name: str, vectors: np.ndarray) -> float:
    """Return the bytes of a vector's links in a graph, which do not grow with the dimension."""
    if "HNSW" not in name:
        return 0.0
    return code_bytes("HNSW32", vectors) - code_bytes("Flat", vectors)


def _machines(size: float) -> list[str]:
    machines = int(np.ceil(size / (USABLE * MACHINE)))
    return [f"{size / _GIB:,.0f}", str(machines)]


# -- Hours and money --


@dataclass(frozen=True)
class Stage:
    """A stage of building: how many things, how fast one worker is, and what the worker costs."""

    name: str
    rates: Rates
    count: float
    worker: str
    price: Price

    def row(self) -> list[str]:
        low, high = self.rates.span
        hours = self.count / self.rates.median / 3600
        fewest = self.count / high / 3600
        most = self.count / low / 3600
        return [
            self.name,
            self.rates.of,
            f"{self.count / 1e6:,.1f} M",
            f"{_rate(self.rates.median)} ({_rate(low)}–{_rate(high)})",
            self.worker,
            f"{_rate(hours)} ({_rate(fewest)}–{_rate(most)})",
            _money(hours * self.price.likely, fewest * self.price.low, most * self.price.high),
        ]


def _rate(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _money(likely: float, low: float, high: float) -> str:
    return f"{_dollars(likely)} ({_dollars(low)}–{_dollars(high)})"


def _dollars(amount: float) -> str:
    if amount < 10:
        return f"${amount:,.2f}"
    return f"${amount:,.0f}"


def stages_table(made: Made, engines: Sequence[Measured]) -> str:
    return markdown(
        ["stage", "of", "how many", "a second, a worker", "worker", "hours", "cost"],
        [
            *(stage.row() for stage in stages(made, engines, PASSAGES, UNITS)),
            chat_row(made, PASSAGES),
        ],
    )


def stages(made: Made, engines: Sequence[Measured], passages: float, units: float) -> list[Stage]:
    """Return the stages of building for so many passages and units."""
    core = "a core"
    rates = made.rates
    found = [
        Stage("split", rates["split"], passages, core, CORE_HOUR),
        Stage("propositions: syntax", rates["propositions"], passages, core, CORE_HOUR),
        Stage("propositions: Flan-T5 large", T5_CORE, passages, core, CORE_HOUR),
        Stage("propositions: Flan-T5 large", T5_GPU, passages, "an H100", GPU_HOUR),
        Stage("encode: all-MiniLM-L6-v2", rates["encode"], units, core, CORE_HOUR),
    ]
    for engine in engines:
        found.append(Stage(f"load: {engine.label}", engine.load, units, "a client", CORE_HOUR))
        if _indexes_later(engine):
            found.append(Stage(f"index: {engine.label}", engine.index, units, core, CORE_HOUR))
    return found


def chat_row(made: Made, passages: float) -> list[str]:
    """Return the row of a chat model, which is paid by tokens."""
    prompt, answer = made.tokens
    costs = []
    for name in ("likely", "low", "high"):
        price_in = getattr(MEGATOKEN_IN, name)
        price_out = getattr(MEGATOKEN_OUT, name)
        costs.append(passages * (prompt * price_in + answer * price_out) / 1e6)
    return [
        "propositions: a chat model",
        "passages",
        f"{passages / 1e6:,.1f} M",
        f"{prompt:,.0f} + {answer:,.0f} tokens",
        "an API",
        "",
        _money(costs[0], costs[1], costs[2]),
    ]


# -- Five million passages --


def example_table(made: Made, engines: Sequence[Measured]) -> str:
    """Return what five million passages take on pgvector, by what was measured of it."""
    rows = []
    for engine in engines:
        if engine.label != "pgvector":
            continue
        passages = 5e6
        units = passages * made.count / made.passages
        index, everything = engine.bytes[1]
        rows.append(["units", f"{units / 1e6:.1f} M"])
        rows.append(["HNSW, float32", f"{units * index / _GIB:,.0f} GiB"])
        for name in ("float16", "1-bit"):
            size = units * engine.codes[name] / _GIB
            rows.append([f"HNSW, {name}, by an index of your own", f"{size:,.0f} GiB"])
        rows.append(["table and all indexes, on disk", f"{units * everything / _GIB:,.0f} GiB"])
        for stage in stages(made, [engine], passages, units):
            if "Flan-T5" not in stage.name:
                rows.append([f"{stage.name}: hours of {stage.worker}", stage.row()[5]])
        for shards in (1, 4):
            for score in SCORES:
                found = latency(engine, score, units / shards, shards, _NETWORK)
                name = f"{shards} {'server' if shards == 1 else 'servers'}, {score}"
                rows.append([f"{name}: p50, ms", str(found[50])])
                rows.append([f"{name}: p99, ms", str(found[99])])
        month = [24 * 30 * price for price in _range(MACHINE_HOUR)]
        rows.append(["a machine of 64 GiB, a month", _money(*month)])
    return markdown(["5 M passages on pgvector", ""], rows)


def _range(price: Price) -> tuple[float, float, float]:
    return price.likely, price.low, price.high
