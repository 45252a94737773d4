"""`UnitStore.copy_to`: the same store elsewhere, complete or not there."""

from __future__ import annotations

import sqlite3

import pytest

from factoid.errors import StoreError, StoreFormatError
from factoid.store.indexes.build import VectorBuilder
from factoid.store.transfer import copies as copying
from tests.store.content import answers, filled, opened, put, rows, state, units

pytest.importorskip("faiss")


@pytest.fixture
def store(tmp_path):
    with filled(tmp_path / "store") as store:
        answers(store)
        yield store


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_a_copy_is_the_same_store_with_its_indexes(store, tmp_path, monkeypatch):
    (tmp_path / "deep" / "copy").mkdir(parents=True)  # an empty folder is filled
    store.copy_to(tmp_path / "deep" / "copy")
    assert names(tmp_path / "deep") == ["copy"]
    kept = [f"{kind}.{end}" for kind in store.granularities for end in ("columns.npy", "faiss", "ids.npy", "json")]
    assert names(tmp_path / "deep" / "copy") == sorted([*kept, "units.sqlite"])
    monkeypatch.setattr(VectorBuilder, "_build", lambda *_, **__: pytest.fail("built again"))
    with opened(tmp_path / "deep" / "copy") as copy:
        assert (state(copy), answers(copy)) == (state(store), answers(store))
        assert copy.verify().ok


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

    monkeypatch.setattr(copying, "remove_index", fail)
    with pytest.raises(StoreError, match=r"cannot copy the store to .* is full.* Free some space"):
        store.copy_to(tmp_path / "copy")
    with opened(tmp_path / "copy") as other:
        assert (state(other), answers(other)) == before
