"""Bits flipped, stretches zeroed, swapped or overwritten in a database: `verify` finds what matters, and no search lies."""

from __future__ import annotations

import random

import numpy as np
import pytest

from factoid.errors import InvalidInputError, StoreError
from tests.faults.content import DIM, KINDS, opened
from tests.faults.damage import DATABASE, caches, flip, fresh, make
from tests.faults.model import WrongAnswerError, check

pytest.importorskip("faiss")

PAGE = 8192


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    path = tmp_path_factory.mktemp("silent") / "pristine"
    return path, make(path, count=60)


def damaged(chance, content):
    """Return what was done, and the content after it."""
    size = chance.choice([1, 4, 16, 60, 200, 1000, PAGE])
    at = chance.randrange(100, len(content) - size)
    what = chance.choice(["flip", "zeros", "swap", "noise"])
    if what == "flip":
        return f"flip at {at}", flip(content, at, chance.randrange(8))
    filler = {"zeros": b"\0" * size, "noise": chance.randbytes(size)}.get(what)
    if filler is not None:
        return f"{what} of {size} at {at}", content[:at] + filler + content[at + size :]
    other = chance.randrange(100, len(content) - size)
    low, high = sorted((at, other))
    if high - low < size:
        high = low + size if low + 2 * size <= len(content) else low
    changed = bytearray(content)
    changed[low : low + size], changed[high : high + size] = content[high : high + size], content[low : low + size]
    return f"swap of {size} at {low} and {high}", bytes(changed)


def lies(store, state, seed):
    """Return what searches say that was never written; an error is no lie."""
    chance = np.random.default_rng(seed)
    told = []
    for number in range(12):
        query = chance.integers(-40, 41, DIM).astype(np.float32)
        options = {"granularity": KINDS[number % 3], "parents": ("passage", "unit")[number % 2], "expand": number // 6}
        if number % 4 == 3:
            options["filter"] = {"group": 1}
        try:
            hits = store.search_by_vector(query, 10, **options)
        except StoreError:
            continue
        for hit in hits:
            for unit in (hit.unit, *hit.neighbours, *(match.unit for match in hit.matches)):
                if unit.id not in state.units or unit != state.units[unit.id][0]:
                    told.append(f"{unit} with {options}")
            wrong = [match.unit.id for match in hit.matches if state.parent(match.unit) != hit.unit.id]
            if options["parents"] == "passage" and options["granularity"] != "passage" and (wrong or not hit.matches):
                told.append(f"{hit.unit.id} as the parent of {wrong} with {options}")
    for document in state.documents.values():
        query = chance.integers(-40, 41, DIM).astype(np.float32)
        try:
            hits = store.search_by_vector(query, 5, parents="document", document_ids=[document.id])
            told += [f"the document {hit.unit.id}" for hit in hits if hit.unit.text != document.text]
        except (StoreError, InvalidInputError):
            continue
    return told


def fault(path, state, seed):
    """Return what is wrong with how a store treats its damage, or None."""
    try:
        with opened(path) as store:
            told = lies(store, state, seed)
            if told:
                return f"a search gave {told[0][:300]}"
            try:
                check(store, state, seed)
            except (WrongAnswerError, StoreError) as error:
                wrong = str(error)
            else:
                return None
            if store.verify().ok:
                return f"verify found nothing, though {wrong[:300]}"
    except StoreError:
        return None
    except Exception as error:  # noqa: BLE001 - any other exception is a fault, too
        return f"another exception: {error!r}"
    return None


def campaign(pristine, path, seeds):
    source, state = pristine
    content = (source / DATABASE).read_bytes()
    faults = {}
    for seed in seeds:
        what, changed = damaged(random.Random(seed), content)
        fresh(source, path)
        if seed % 2:
            for file in caches(path):
                file.unlink()
        (path / DATABASE).write_bytes(changed)
        found = fault(path, state, seed)
        if found:
            faults[f"{seed}: {what}"] = found
    return faults


@pytest.mark.parametrize(
    "seeds", [range(9), pytest.param(range(1000, 1300), marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_damage_is_harmless_or_found(pristine, tmp_path, seeds):
    assert campaign(pristine, tmp_path / "store", seeds) == {}
