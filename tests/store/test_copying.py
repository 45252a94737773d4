"""Copies of a store: the same store elsewhere, complete or not there."""

from __future__ import annotations

import sys
from io import BytesIO
from unittest.mock import Mock
from zipfile import ZipFile

import pytest

from factoid import UnitStore
from factoid.errors import InvalidInputError, MissingDependencyError, StoreError, StoreFormatError
from factoid.store.indexes.build import VectorBuilder
from factoid.store.transfer import copies
from tests.store.content import (
    Numbers,
    answers,
    change,
    filled,
    flipped,
    opened,
    put,
    rows,
    state,
    units,
)

pytest.importorskip("faiss")
fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def store(held):
    return held


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    yield system
    system.store.clear()


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def load(path, url="memory://bucket/facts.zip", **options):
    return UnitStore.load_from(url, path, encoder=Numbers(), **options)


@pytest.mark.parametrize("way", ["folder", "memory://bucket/facts.zip", "file://{}/deep/facts.zip"])
def test_a_copy_is_the_same_store_with_its_indexes(store, memory, tmp_path, monkeypatch, way):
    folder, url = tmp_path / "new" / "copy", way.format(tmp_path)
    folder.mkdir(parents=True)  # an empty folder is filled
    if way == "folder":
        store.copy_to(folder)
    else:
        store.save_to(url)
        load(folder, url, read_only=True).close()
    assert names(folder.parent) == ["copy"]
    monkeypatch.setattr(VectorBuilder, "_build", lambda *_, **__: pytest.fail("built again"))
    with opened(folder) as copy:
        assert (state(copy), answers(copy)) == (state(store), answers(store))
        assert copy.verify() == []


def test_stores_in_memory_and_read_only_ones_are_sent(store, memory, tmp_path):
    store.close()
    with filled(None, 9) as one, opened(store.path, read_only=True) as other:
        for number, sent in enumerate((one, other)):  # the second replaces the first
            sent.save_to("memory://bucket/facts.zip", storage_options={})
            with load(tmp_path / str(number)) as copy:
                assert (state(copy), answers(copy)) == (state(sent), answers(sent))
    assert [file["name"] for file in memory.ls("/bucket")] == ["/bucket/facts.zip"]


def test_what_is_there_is_left_alone(store, memory, tmp_path):
    store.save_to("memory://bucket/facts.zip")
    (tmp_path / "file").write_text("x")
    for path in (store.path, tmp_path / "file"):
        for copy in (store.copy_to, load):
            with pytest.raises(
                InvalidInputError, match=f"{path.name} already exists: name a new folder"
            ):
                copy(path)
    assert store.verify() == []


@pytest.mark.parametrize("source", ["a", None])
def test_a_copy_over_a_store_is_one_commit_for_those_who_have_it_open(tmp_path, source):
    with (
        filled(source and tmp_path / source, 30, seed=3) as store,
        filled(tmp_path / "copy", 200) as other,
    ):
        before = answers(other)
        store.copy_over(tmp_path / "copy")
        assert state(other) == state(store)
        assert answers(other) == answers(store) != before
        put(other, units(3, prefix="more"))
        assert other.verify() == []
        store.copy_over(tmp_path / "new")
        with opened(tmp_path / "new") as copy:
            assert state(copy) == state(store)


def test_a_copy_over_its_own_folder_or_another_program_changes_nothing(store, tmp_path):
    (tmp_path / "link").symlink_to(store.path)
    before = state(store)
    store.copy_over(tmp_path / "link")
    assert state(store) == before
    (tmp_path / "foreign").mkdir()
    change(tmp_path / "foreign", "CREATE TABLE users (name)")
    with pytest.raises(StoreFormatError, match="not a factoid store"):
        store.copy_over(tmp_path / "foreign")
    assert rows(tmp_path / "foreign", "SELECT name FROM sqlite_master") == [("users",)]


def test_a_copy_that_fails_leaves_nothing(store, memory, tmp_path, monkeypatch):
    full = Mock(side_effect=OSError(28, "No space left on device"))
    with monkeypatch.context() as patch:
        patch.setattr(copies.shutil, "copyfile", full)
        for copy, problem in (
            (
                lambda: store.copy_to(tmp_path / "copy"),
                "cannot copy the store to .*copy: No space left on device",
            ),
        ):
            with pytest.raises(StoreError, match=problem):
                copy()
    store.save_to("memory://facts.zip")
    old = state(store)
    put(store, units(4, prefix="new"))
    with monkeypatch.context() as patch:
        patch.setattr("factoid.store.transfer.remote.back_up", full)
        with pytest.raises(
            StoreError, match=r"cannot send the store to memory://facts\.zip: No space left"
        ):
            store.save_to("memory://facts.zip")
    assert [file["name"] for file in memory.ls("/")] == ["/facts.zip"]
    assert not list(store.path.glob(".*"))
    with load(tmp_path / "copy", "memory://facts.zip") as copy:  # the old one is still there
        assert state(copy) == old
    assert names(tmp_path) == ["copy", "store"]


def test_nothing_is_written_outside_the_store(store, memory, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    store.save_to("memory://facts.zip")
    load(tmp_path / "copy", "memory://facts.zip").close()
    assert names(tmp_path) == ["copy", "store", "temporary"]
    assert names(tmp_path / "temporary") == []


def member(name, content=b"x", **options):
    def add(archive):
        archive.writestr(name, content, **options)

    return add


@pytest.mark.parametrize(
    "add",
    [
        member("../outside"),
        member("/outside"),
        member("a/units.sqlite"),
        member(".bashrc"),
        member("passage-1.safetensors/../../outside"),
        member("lexical.npz"),
        member("passage-9.safetensors", bytes(10_000_000), compress_type=8),
        member("units.sqlite-wal"),
        pytest.param(
            member("units.sqlite"), marks=pytest.mark.filterwarnings("ignore:Duplicate name")
        ),
    ],
)
def test_an_archive_of_a_stranger_writes_no_other_files(store, memory, tmp_path, add):
    store.save_to("memory://facts.zip")
    content = BytesIO(memory.cat_file("/facts.zip"))
    with ZipFile(content, "a") as archive:
        add(archive)
    memory.pipe_file("/facts.zip", content.getvalue())
    with pytest.raises(
        StoreFormatError, match=r"there is no whole store at memory://facts\.zip .*send it again"
    ):
        load(tmp_path / "inner" / "copy", "memory://facts.zip")
    assert names(tmp_path) == ["inner", "store"]
    assert names(tmp_path / "inner") == []


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-9], flipped, lambda _: b"no zip file", None]
)
def test_what_was_damaged_on_its_way_is_refused(store, memory, tmp_path, damage):
    store.save_to("memory://facts.zip")
    if damage:
        memory.pipe_file("/facts.zip", damage(memory.cat_file("/facts.zip")))
    else:
        memory.rm("/facts.zip")
    with pytest.raises(
        StoreFormatError, match=r"there is no whole store at memory://facts\.zip .*send it again"
    ):
        load(tmp_path / "copy", "memory://facts.zip")
    assert names(tmp_path) == ["store"]


def test_addresses_that_nobody_knows(store, tmp_path, monkeypatch):
    for call in (
        lambda: store.save_to("magic://facts"),
        lambda: load(tmp_path / "copy", "magic://facts"),
    ):
        with pytest.raises(InvalidInputError, match="Protocol not known: magic"):
            call()
    for name in ("fsspec", "fsspec.core"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingDependencyError, match=r"factoid\[remote\]"):
        store.save_to("memory://facts")
