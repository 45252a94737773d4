"""One process that writes, and processes that read meanwhile. Run as a program: `write` or `read`, folder, seconds, number.

Generation g is one transaction that replaces every unit by one that is tagged with g; an answer that mixes two
generations shows it. The writer puts g into the file `begun` before the write, and into `committed` after it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from factoid import Granularity, Unit, Weights
from tests.faults.content import opened, vector_of
from tests.faults.model import State, check_hits, require

PASSAGES = 12
READING = "reading"  # a file that is there while readers are at work
PATIENCE = 120  # seconds that a loaded machine may take longer


def content(generation):
    """Return the state of a generation: its units, more or fewer, all tagged with it."""
    units = []
    for number in range(PASSAGES):
        metadata = {"group": number % 3, "generation": generation}
        for end in ("", ".p0", ".p1")[: 2 + generation % 2]:  # a passage that is replaced takes its units with it
            own = f"d.{number}{end}"
            kind = Granularity.PROPOSITION if end else Granularity.PASSAGE
            text = f"{own} of generation {generation}."
            parent = f"d.{number}" if end else "d"
            units.append(Unit(own, text, kind, "d", parent, 0, len(text), "", "", metadata))
    return State().with_units(units, [vector_of(each.text) for each in units])


class Counter:
    """A number in a file, replaced at once and read by other processes."""

    def __init__(self, path):
        self.path = path

    def put(self, number):
        part = self.path.with_suffix(".next")
        part.write_text(str(number))
        part.replace(self.path)

    def get(self):
        return int(self.path.read_text()) if self.path.exists() else 0


def write(folder, seconds):
    """Commit one generation after the other for some seconds, and while readers are at work; return the last."""
    begun, committed = Counter(folder / "begun"), Counter(folder / "committed")
    end = time.monotonic() + seconds
    latest = end + PATIENCE
    generation = committed.get()
    with opened(folder / "store") as store:
        while time.monotonic() < end or ((folder / READING).exists() and time.monotonic() < latest):
            generation += 1
            state = content(generation)
            units, vectors = zip(*state.units.values(), strict=True)
            begun.put(generation)
            store.add(list(units), vectors=list(vectors))
            committed.put(generation)
            if generation % 40 == 0:
                store.close()
                store = opened(folder / "store")
            time.sleep(0.002)
        store.close()
    return generation


def check_answer(store, folder, number):
    """Search once; raise unless the answer is that of one generation between the start and the end of the search."""
    first = Counter(folder / "committed").get()
    query = vector_of(f"query {number}")
    kind = ("proposition", "passage")[number % 2]
    k, group = 1 + number % 20, (None, 0, 1)[number // 3 % 3]
    parents = "passage" if number % 3 else "unit"
    options = {} if group is None else {"filter": {"group": group}}
    hits = store.search_by_vector(query, k, granularity=kind, parents=parents, weights=Weights(0, 0), **options)
    last = Counter(folder / "begun").get()
    shown = {each.unit.metadata["generation"] for hit in hits for each in (hit, *hit.matches)}
    require(len(shown) == 1, "an answer of several generations:", shown)
    (generation,) = shown
    require(first <= generation <= last, f"an answer of generation {generation}, not of {first} to {last}")
    check_hits(hits, content(generation), query, k=k, kind=kind, parents=parents, group=group)
    return generation


def read(store, folder, seconds, start, failures):
    """Search for some seconds; return how many generations were seen, and searches made. Failures are appended."""
    seen = set()
    end = time.monotonic() + seconds
    number = start
    try:
        while time.monotonic() < end and not failures:
            seen.add(check_answer(store, folder, number))
            number += 1
    except BaseException as error:  # noqa: BLE001 - shown by the test
        failures.append(error)
    return len(seen), number - start


def main(role, folder, seconds, number):
    if role == "write":
        sys.stdout.write(str(write(folder, seconds)))
        return
    failures = []
    with opened(folder / "store") as store:
        seen, searches = read(store, folder, seconds, 1000 * number, failures)
        sys.stdout.write(f"{seen} {searches}")
    if failures:
        raise failures[0]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
