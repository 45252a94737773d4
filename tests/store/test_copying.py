"""`UnitStore.copy_to`: the same store elsewhere, complete or not there."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from factoid.errors import StoreError, StoreFormatError
from factoid.store import copying
from factoid.store.build import Builder
from tests.store.content import answers, filled, opened, put, rows, state, units

pytest.importorskip("faiss")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path):
    with filled(tmp_path / "store") as store:
        answers(store)
        yield store


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_a_copy_is_the_same_store_with_its_indexes(store, tmp_path, monkeypatch):
    store.copy_to(tmp_path / "deep" / "copy")
    assert names(tmp_path / "deep") == ["copy"]
    kept = [f"{kind}.{end}" for kind in store.granularities for end in ("columns.npy", "faiss", "json")]
    assert names(tmp_path / "deep" / "copy") == sorted([*kept, "units.sqlite"])
    monkeypatch.setattr(Builder, "_build", lambda *_, **__: pytest.fail("built again"))
    with opened(tmp_path / "deep" / "copy") as copy:
        assert (state(copy), answers(copy)) == (state(store), answers(store))
        assert copy.verify().ok


def test_an_empty_folder_is_filled(store, tmp_path):
    (tmp_path / "copy").mkdir()
    store.copy_to(str(tmp_path / "copy"))
    with opened(tmp_path / "copy") as copy:
        assert state(copy) == state(store)


@pytest.mark.parametrize("source", ["folder", "memory"])
def test_a_store_that_is_there_is_replaced_for_those_who_have_it_open(tmp_path, source):
    with (
        filled(None if source == "memory" else tmp_path / "a", 30, seed=3) as store,
        filled(tmp_path / "copy", 200) as other,
    ):
        answers(store)
        before = answers(other)
        if source == "memory":
            store.copy_to(tmp_path / "new")
            with opened(tmp_path / "new") as copy:
                assert state(copy) == state(store)
            other.close()
        store.copy_to(tmp_path / "copy")
        if source == "memory":
            other = opened(tmp_path / "copy")
        assert state(other) == state(store)
        assert answers(other) == answers(store) != before
        put(other, units(3, prefix="more"))
        assert other.verify().ok
        assert len(other) == len(store) + 3
        other.close()


def test_copies_of_copies_with_stale_indexes_answer_right(store, tmp_path):
    store.copy_to(tmp_path / "copy")
    with opened(tmp_path / "copy") as copy:
        put(copy, units(9, seed=5, prefix="other-life"))
        answers(copy)
    put(store, units(12, seed=6, prefix="new"))
    store.copy_to(tmp_path / "copy")  # without an index that is up to date
    with opened(tmp_path / "copy") as copy:
        assert answers(copy) == answers(store)
        assert copy.verify().ok


def test_its_own_folder_is_left_alone(store, tmp_path):
    store.refresh()
    before = {file.name: file.read_bytes() for file in store.path.iterdir() if not file.name.endswith("-shm")}
    (tmp_path / "link").symlink_to(store.path)
    for path in (store.path, tmp_path / "link", tmp_path / "other" / ".." / "store"):
        (tmp_path / "other").mkdir(exist_ok=True)
        store.copy_to(path)
    after = {file.name: file.read_bytes() for file in store.path.iterdir() if not file.name.endswith("-shm")}
    assert after == before


def test_what_is_no_store_is_left_as_it_is(store, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("x")
    with pytest.raises(StoreFormatError, match="it is not a store"):
        store.copy_to(tmp_path / "other")
    with pytest.raises(StoreFormatError, match="is a file"):
        store.copy_to(tmp_path / "other" / "file")
    (tmp_path / "foreign").mkdir()
    foreign = sqlite3.connect(tmp_path / "foreign" / "units.sqlite")
    foreign.execute("CREATE TABLE users (name)")
    foreign.close()
    with pytest.raises(StoreFormatError, match="not a factoid store"):
        store.copy_to(tmp_path / "foreign")
    assert rows(tmp_path / "foreign", "SELECT name FROM sqlite_master") == [("users",)]
    assert names(tmp_path / "other") == ["file"]


def test_a_copy_that_fails_leaves_nothing(store, tmp_path, monkeypatch):
    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copying.shutil, "copyfile", full)
    with pytest.raises(StoreError, match=r"cannot copy the store to .*copy: No space left on device"):
        store.copy_to(tmp_path / "copy")
    assert names(tmp_path) == ["store"]


def test_a_store_is_whole_when_its_replacement_fails(store, tmp_path, monkeypatch):
    with filled(tmp_path / "copy", 5, seed=9) as other:
        before = state(other), answers(other)

    def fail(*_args):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(copying, "_page_size", fail)
    with pytest.raises(StoreError, match=r"cannot copy the store to .* is full.* Free some space"):
        store.copy_to(tmp_path / "copy")
    with opened(tmp_path / "copy") as other:
        assert (state(other), answers(other)) == before


def test_closed_stores(store, tmp_path):
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.copy_to(tmp_path / "copy")


def test_read_only_stores_are_copied(store, tmp_path):
    store.close()
    with opened(store.path, read_only=True) as reader:
        reader.copy_to(tmp_path / "copy")
        with opened(tmp_path / "copy") as copy:
            assert state(copy) == state(reader)


COPY = """
import sys
from tests.store.content import opened
with opened(sys.argv[1], read_only=True) as store:
    print("ready", flush=True)
    for number in range(100_000):
        store.copy_to(sys.argv[2])
        store.copy_to(f"{sys.argv[2]}-{number}")
"""


@pytest.mark.parametrize("page", [4096, 8192])
def test_a_kill_at_any_moment_leaves_the_old_store_or_the_new_one(store, tmp_path, page):
    put(store, units(300, seed=8, prefix="more"))
    new = state(store), answers(store)
    store.close()
    with filled(tmp_path / "old", 200, seed=9) as other:
        old = state(other), answers(other)
    repage(tmp_path / "old", page)
    for attempt in range(6):
        shutil.copytree(tmp_path / "old", tmp_path / "target")
        command = [sys.executable, "-c", COPY, store.path, tmp_path / "target"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"ready\n"
            time.sleep(attempt * 0.01)
            process.kill()
        with opened(tmp_path / "target") as copy:
            assert all("the next search builds it again" in each for each in copy.verify().problems)
            assert (state(copy), answers(copy)) in (old, new)
        for whole in tmp_path.glob("target-*"):
            with opened(whole) as copy:
                assert (state(copy), answers(copy)) == new
            shutil.rmtree(whole)
        shutil.rmtree(tmp_path / "target")


def repage(path, size):
    """Give a database another page size, as stores of earlier versions and in memory have it."""
    connection = sqlite3.connect(path / "units.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute(f"PRAGMA page_size = {size}")
    connection.execute("VACUUM")
    assert connection.execute("PRAGMA page_size").fetchone() == (size,)
    connection.close()


def test_what_a_killed_copy_left_is_put_back(tmp_path):
    """With another page size a copy goes through a journal: the database may be short until SQLite has read it."""
    with filled(tmp_path / "target", 200, seed=9) as other:
        before = state(other), answers(other)
    repage(tmp_path / "target", 8192)
    killed = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
    connection.execute(f'DROP TABLE IF EXISTS "{table}"') if not table.startswith("sqlite_") else None
connection.execute("CREATE TABLE other AS SELECT randomblob(4000) AS x")
with open(sys.argv[1], "r+b") as file:  # as SQLite does when a backup is smaller
    file.truncate(3 * 8192)
os._exit(9)
"""
    subprocess.run([sys.executable, "-c", killed, tmp_path / "target" / "units.sqlite"], check=False)
    assert (tmp_path / "target" / "units.sqlite-journal").stat().st_size
    with opened(tmp_path / "target") as copy:
        assert (state(copy), answers(copy)) == before
