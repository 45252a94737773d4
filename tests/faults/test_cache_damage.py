"""Caches that are damaged, deleted, swapped or out of date: they are built again, and every answer stays right."""

from __future__ import annotations

import random
import shutil
from itertools import product

import pytest

from tests.faults.content import KINDS, opened
from tests.faults.damage import added, caches, check_again, fresh, make, outcome, random_damage

pytest.importorskip("faiss")
pytest.importorskip("tantivy", reason="needs factoid[lexical]")

PLACES = 60  # of damage to each file


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    path = tmp_path_factory.mktemp("caches") / "pristine"
    return path, make(path)


@pytest.fixture
def store(pristine, tmp_path):
    """Return a store with all its caches, a fresh copy of it, and the state of both."""
    return pristine[0], fresh(pristine[0], tmp_path / "store"), pristine[1]


def copied(source, target):
    for file in caches(source):
        shutil.copy(file, target / file.name)


NAMES = [f"{kind}.{end}" for kind in KINDS for end in ("faiss", "json", "columns.npy", "ids.npy")]
NAMES += ["lexical.files.npy", "lexical.json", "lexical.columns.npy"]


@pytest.mark.parametrize("name", NAMES)
def test_a_bit_flipped_or_a_cut_at_any_place(store, name, few):
    source, path, state = store
    chance = random.Random(name)
    content = (source / name).read_bytes()
    for trial in few(range(PLACES)):
        fresh(source, path)
        (path / name).write_bytes(random_damage(chance, content))
        assert outcome(path, [state], trial) == "right"
    check_again(path, state)


@pytest.mark.parametrize("name", [*NAMES[:4], *NAMES[-3:]])
def test_a_cache_that_is_deleted_or_a_folder_or_something_else(store, name):
    _, path, state = store
    (path / name).unlink()
    check_again(path, state)
    for content in (b"{}", b"", random.Random(1).randbytes(5000)):
        (path / name).write_bytes(content)
        check_again(path, state)
    (path / name).unlink()
    (path / name).mkdir()
    assert outcome(path, [state]) == "right"


def test_all_pairs_of_caches_swapped(store, few):
    source, path, state = store
    ends = (("faiss",), ("json",), ("faiss", "json", "ids.npy"), ("columns.npy",), ("faiss", "columns.npy", "ids.npy"))
    for swapped, (one, other) in few([*product(ends, (KINDS[:2], KINDS[1:], KINDS[::2]))]):
        fresh(source, path)
        for end in swapped:
            shutil.copy(source / f"{one}.{end}", path / f"{other}.{end}")
            shutil.copy(source / f"{other}.{end}", path / f"{one}.{end}")
        assert outcome(path, [state]) == "right", (swapped, one, other)


def test_caches_of_another_store_of_as_many_writes(store, tmp_path):
    source, path, state = store
    other = make(tmp_path / "other", first=100)
    copied(tmp_path / "other", path)
    copied(source, tmp_path / "other")
    assert outcome(path, [state]) == "right"
    assert outcome(tmp_path / "other", [other]) == "right"


def test_caches_of_a_copy_that_went_on_by_itself(store, tmp_path):
    source, path, state = store
    states, paths = [], [path, fresh(source, tmp_path / "two")]
    for number, path in enumerate(paths):
        with opened(path) as opened_store:
            states.append(added(opened_store, state, 50 + number, 1))
        check_again(path, states[-1])
    copied(*paths)
    assert outcome(paths[1], [states[1]]) == "right"


@pytest.mark.parametrize("rounds", [1, 3])
def test_caches_from_a_backup(store, rounds):
    source, path, state = store
    for number in range(rounds):
        with opened(path) as opened_store:
            state = added(opened_store, state, 60 + number, 2)
            state = state.without(["d1", f"d{number + 2}"])
            opened_store.delete(["d1", f"d{number + 2}"])
        check_again(path, state)
    copied(source, path)
    assert outcome(path, [state]) == "right"
    check_again(path, state)


@pytest.mark.parametrize("more", [0, 1])
def test_a_database_from_a_backup_beside_newer_caches(store, more):
    source, path, state = store
    with opened(path) as opened_store:
        added(opened_store, state, 70, 1)
    shutil.copy(source / "units.sqlite", path / "units.sqlite")
    if more:
        with opened(path) as opened_store:
            state = added(opened_store, state, 80, 1)
    assert outcome(path, [state]) == "right"


@pytest.mark.parametrize("name", NAMES[::5])
def test_an_open_store_whose_caches_are_damaged(store, name):
    _, path, state = store
    with opened(path) as opened_store:
        for file in caches(path):
            file.write_bytes(b"\0" * 100)
        state = added(opened_store, state, 90, 1)
        (path / name).unlink()
    check_again(path, state)
