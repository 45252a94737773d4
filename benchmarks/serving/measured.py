"""Fill shards, search them, and keep what was measured as JSON."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks.records import ids_of, indexed_by_id
from benchmarks.serving.clock import Clock
from benchmarks.serving.corpus import Made, Rates
from benchmarks.serving.fan_out import BY_ID, KINDS, FanOut
from factoid import UnitStore
from factoid.existing import ExistingStore
from factoid.ranking import Weights
from factoid.scale.load import LoadedDocuments, target_of
from factoid.store.database.snapshot import StoredUnit

K = 5
SCORES = {"default score": None, "units alone": Weights(0, 0)}
_BATCH = 250  # documents that are loaded together
_LEAST = 8  # questions: of many shards fewer are asked, since each gives a time for each shard
_WARM_UP = 4  # questions
_OWN = "own"  # the one call of a search of our own store


@dataclass
class Searches:
    """Searches of one engine over some shards, by one score.

    Attributes:
        shards: How many.
        rows: In one shard, on average.
        alone: Milliseconds of each search as if each shard had a machine.
        here: Milliseconds of each search here, where shards take turns.
        calls: Milliseconds of each shard in each call, by kind. Shape of each: (calls, shards).
        merging: Milliseconds of merging in each search.
        rows_sent: Rows that all shards sent in each search.
        hits: Ids of the parents that each question found.
        complete: How many answers were.
    """

    score: str
    shards: int
    rows: float
    alone: list[float] = field(default_factory=list)
    here: list[float] = field(default_factory=list)
    calls: dict[str, list[list[float]]] = field(default_factory=dict)
    merging: list[float] = field(default_factory=list)
    rows_sent: list[int] = field(default_factory=list)
    hits: list[list[str]] = field(default_factory=list)
    complete: int = 0


@dataclass
class Measured:
    """What was measured of an engine."""

    label: str
    remark: str
    growth: str
    load: Rates
    index: Rates
    searches: list[Searches] = field(default_factory=list)
    bytes: dict[int, tuple[float, float]] = field(default_factory=dict)  # of a row, by shards
    codes: dict[str, float] = field(default_factory=dict)


def measure(engine: Any, made: Made, counts: Sequence[int]) -> Measured:
    """Measure an engine with these numbers of shards."""
    result = Measured(
        engine.label,
        engine.remark,
        engine.growth,
        Rates("load", "units"),
        Rates("index", "units"),
    )
    questions = made.questions
    for count in counts:
        stores = fill(engine, made, count, result)
        rows = made.count / count
        for name, weights in SCORES.items():
            searches = Searches(name, count, rows)
            asked = questions[: max(_LEAST, len(questions) // count)]
            ask(stores, made, asked, weights, searches, engine.clock)
            result.searches.append(searches)
            print(
                f"  {engine.label}, {count} shards, {name}: {np.median(searches.alone):.1f} ms",
                flush=True,
            )
        index, everything = np.sum([engine.bytes(shard) for shard in range(count)], axis=0)
        result.bytes[count] = (float(index / made.count), float(everything / made.count))
        if count == 1 and hasattr(engine, "codes"):
            result.codes = engine.codes(0)
        engine.clear()
    return result


def fill(engine: Any, made: Made, count: int, result: Measured) -> list[Any]:
    """Load all documents into shards, each into one, and index them."""
    clock: Clock = engine.clock
    parts: list[list[str]] = [[] for _ in range(count)]
    for document in made.documents:
        parts[zlib.crc32(document.id.encode()) % count].append(document.id)
    stores = []
    for shard, ids in enumerate(parts):
        store = engine.open(shard)
        target = target_of(store, {"encoder": "all-MiniLM-L6-v2"}, made.dim)
        target.digests(ids[:1])  # connects
        clock.refresh()
        for batch in batches(made, ids):
            began = clock.now()
            target.digests(list(batch.documents))
            target.write(batch)
            result.load.note(len(batch.units), clock.now() - began)
        units = sum(len(made.units[name]) for name in ids)
        began = clock.now()
        engine.index(shard)
        result.index.note(units, clock.now() - began)
    for shard in range(count):
        stores.append(engine.open(shard))  # settings count for new connections
    return stores


def batches(made: Made, ids: Sequence[str]) -> Iterator[LoadedDocuments]:
    by_id = indexed_by_id(made.documents)
    for start in range(0, len(ids), _BATCH):
        some = ids[start : start + _BATCH]
        units = []
        for name in some:
            for unit in made.units[name]:
                units.append(StoredUnit(unit, made.vectors[unit.id]))
        yield LoadedDocuments({name: by_id[name] for name in some}, made.digests, units)


def ask(
    stores: Sequence[Any],
    made: Made,
    questions: Sequence[str],
    weights: Weights | None,
    into: Searches,
    clock: Clock,
) -> None:
    """Ask questions, after some to warm up."""
    search: Any = partial(_own_search, clock=clock)
    target: Any = stores
    if isinstance(stores[0], ExistingStore):
        search = _fan_out_search
        first: ExistingStore = stores[0]
        fan_out = FanOut([store.collection for store in stores], clock)
        target = ExistingStore(fan_out, first.encoder, read_words=False)
    warm_up = Searches(into.score, into.shards, into.rows)
    for question in made.questions[-_WARM_UP:]:
        search(target, question, weights, warm_up)
    clock.refresh()
    for question in questions:
        search(target, question, weights, into)


def _fan_out_search(
    store: ExistingStore, question: str, weights: Weights | None, into: Searches
) -> None:
    fan_out: Any = store.collection
    clock: Clock = fan_out.clock
    fan_out.calls.clear()
    options: Any = {}
    if weights is not None:
        options["weights"] = weights
    began = clock.now()
    answer = store.search(question, K, **options)
    here = clock.now() - began
    alone = here
    merging = 0.0
    seconds: dict[str, list[list[float]]] = {kind: [] for kind in KINDS}
    for call in fan_out.calls:
        alone += max(call.seconds) - sum(call.seconds)
        merging += call.merging
        seconds[call.kind].append([1000 * each for each in call.seconds])
    for kind, calls in seconds.items():
        into.calls.setdefault(kind, []).extend(calls)
    into.here.append(1000 * here)
    into.alone.append(1000 * alone)
    into.merging.append(1000 * merging)
    into.rows_sent.append(sum(call.rows for call in fan_out.calls if call.kind != BY_ID))
    into.hits.append(ids_of(answer.hits))
    into.complete += answer.complete


def _own_search(
    stores: Sequence[UnitStore],
    question: str,
    weights: Weights | None,
    into: Searches,
    clock: Clock,
) -> None:
    """Search our own stores one after another, and merge their best parents."""
    options: Any = {}
    if weights is not None:
        options["weights"] = weights
    hits = []
    seconds = []
    for store in stores:
        began = clock.now()
        hits += store.search(question, K, **options)
        seconds.append(1000 * (clock.now() - began))
    began = clock.now()
    hits.sort(key=lambda hit: -hit.score)
    merging = 1000 * (clock.now() - began)
    into.calls.setdefault(_OWN, []).append(seconds)
    into.here.append(sum(seconds) + merging)
    into.alone.append(max(seconds) + merging)
    into.merging.append(merging)
    into.rows_sent.append(len(hits))
    into.hits.append(ids_of(hits[:K]))
    into.complete += 1
