"""Caches that are deleted, swapped or out of date: they are built again, and every answer stays
right.
"""

from __future__ import annotations

import random
import shutil
from itertools import combinations

import pytest

from tests.faults.content import opened
from tests.faults.damage import CACHES, added, caches, check_again, fresh, make, outcome

pytest.importorskip("faiss")


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


def cache(path, pattern):
    [file] = path.glob(pattern)
    return file


@pytest.mark.parametrize("pattern", CACHES[2:])
def test_a_cache_that_is_deleted_or_a_folder_or_something_else(store, pattern):
    _, path, state = store
    for content in (None, b"{}", b"", random.Random(1).randbytes(5000)):
        file = cache(path, pattern)
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
        check_again(path, state)
    file = cache(path, pattern)
    file.unlink()
    file.mkdir()
    assert outcome(path, [state]) == "right"


def test_all_pairs_of_caches_swapped(store, few):
    source, path, state = store
    for one, other in few([*combinations(CACHES, 2)]):
        fresh(source, path)
        shutil.copy(cache(source, one), cache(path, other))
        shutil.copy(cache(source, other), cache(path, one))
        assert outcome(path, [state]) == "right", (one, other)


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


@pytest.mark.parametrize("pattern", CACHES)
def test_an_open_store_whose_caches_are_damaged(store, pattern):
    _, path, state = store
    with opened(path) as opened_store:
        for file in caches(path):
            file.write_bytes(b"\0" * 100)
        state = added(opened_store, state, 90, 1)
        cache(path, pattern).unlink()
    check_again(path, state)
