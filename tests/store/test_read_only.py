"""Stores opened with `read_only=True`: on disks that cannot be written, beside a process that writes, changing nothing."""

from __future__ import annotations

import os
import shutil
import subprocess

import numpy as np
import pytest

from factoid import Document, UnitStore
from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from tests.store.content import DIM, answers, change, filled, opened, put, state, unit, units

pytest.importorskip("faiss")


@pytest.fixture
def path(tmp_path):
    with filled(tmp_path / "store") as store:
        answers(store)
    return tmp_path / "store"


@pytest.fixture
def expected(path):
    with opened(path) as store:
        return state(store), answers(store)


def files(folder):
    """Return the files of a folder; SQLite's own for locking, which a reader beside a writer needs, say nothing."""
    return {
        file.name: (file.read_bytes(), file.stat().st_mtime_ns)
        for file in folder.iterdir()
        if not file.name.endswith("-shm") and (file.stat().st_size or not file.name.endswith("-wal"))
    }


@pytest.fixture
def frozen(path):
    """The folder of the store on a disk that cannot be written."""
    if os.name != "posix":
        pytest.skip("needs a file system that can be made read-only")
    if os.geteuid() == 0:
        try:
            subprocess.run(["mount", "--bind", path, path], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("root ignores permissions, and may not mount here")
        try:
            subprocess.run(["mount", "-o", "remount,ro,bind", path], check=True, capture_output=True)
            yield path
        finally:
            subprocess.run(["umount", "-l", path], check=True)
        return
    for each in (*path.iterdir(), path):
        each.chmod(0o555 if each.is_dir() else 0o444)
    yield path
    path.chmod(0o755)


def test_a_store_on_a_read_only_disk(expected, frozen, tmp_path):
    with pytest.raises(OSError, match=r"ermission|ead-only"):
        (frozen / "x").write_text("x")
    with opened(frozen, read_only=True) as store:
        assert store.connections.read_only
        assert (state(store), answers(store)) == expected
        assert store.ids({"year": {"$gte": 2}})
        assert store.verify().ok
        assert store.stats().documents == 3
        store.export(tmp_path / "x.jsonl")
        store.copy_to(tmp_path / "copy")
        store.refresh()
    with opened(tmp_path / "copy") as copy:
        assert (state(copy), answers(copy)) == expected
        with opened(frozen, read_only=True) as store:
            assert copy.merge(frozen) == copy.merge(store)


def test_a_store_on_a_read_only_disk_without_index_files(path, expected, request):
    for file in (*path.glob("*.faiss"), *path.glob("*.npy"), *path.glob("*.json")):
        file.unlink()
    frozen = request.getfixturevalue("frozen")
    with opened(frozen, read_only=True) as store:
        assert (state(store), answers(store)) == expected


def test_opening_for_writing_on_a_read_only_disk_says_what_to_do(expected, frozen):
    with pytest.raises(StoreError, match="read_only=True"), opened(frozen) as store:
        put(store, units(1))
    with opened(frozen, read_only=True) as store:
        assert (state(store), answers(store)) == expected


@pytest.mark.parametrize("up_to_date", [True, False])
def test_nothing_is_written(path, expected, up_to_date):
    if not up_to_date:
        for file in (*path.glob("*.npy"), *path.glob("sentence.*")):
            file.write_bytes(b"damaged")
    before = files(path)
    with opened(path, read_only=True) as store:
        assert (state(store), answers(store)) == expected
        assert store.verify().ok == up_to_date
        store.refresh()
    assert files(path) == before


WRITES = [
    lambda store: store.add([unit("x")[0]], vectors=[np.ones(DIM)]),
    lambda store: store.add_documents([Document("Text.")]),
    lambda store: store.delete(["tower"]),
    lambda store: store.delete(filter={"year": 1}),
    lambda store: store.update_metadata({"a": 1}, ids=["tower"]),
    lambda store: store.clear(),
    lambda store: store.retry_failures(),
    lambda store: store.compact(),
    lambda store: store.merge(filled(None)),
    lambda store: store.verify(repair=True),
]


def test_every_write_is_refused_and_changes_nothing(path, expected, tmp_path):
    with opened(path) as store:
        exported = store.export(tmp_path / "x.jsonl").files[0]
    change(path, "DELETE FROM fields WHERE key = 'lang'")  # for verify to repair
    before = files(path)
    with opened(path, read_only=True) as store:
        for write in [*WRITES, lambda store: store.import_from(exported)]:
            with pytest.raises(StoreError, match=r"was opened with read_only=True: open it without to write to it"):
                write(store)
        assert (state(store), answers(store)) == expected
    assert files(path) == before


def test_settings_are_not_kept_and_hold_for_this_reader(path, expected):
    before = files(path)
    with opened(path, read_only=True, index="HNSW8", shards=2) as store:
        assert [len(each) for each in answers(store)] == [len(each) for each in expected[1]]
    assert files(path) == before


def test_there_must_be_a_store(tmp_path, path):
    for absent in (tmp_path / "absent", tmp_path):
        with pytest.raises(StoreFormatError, match="there is no store at"):
            opened(absent, read_only=True)
    assert not (tmp_path / "absent").exists()
    with pytest.raises(InvalidInputError, match="in memory cannot be read-only"):
        UnitStore(None, encoder=None, read_only=True)
    shutil.copytree(path, tmp_path / "copy")
    (tmp_path / "copy" / "units.sqlite").write_bytes(b"")
    with pytest.raises(StoreFormatError):
        opened(tmp_path / "copy", read_only=True)
    assert (tmp_path / "copy" / "units.sqlite").stat().st_size == 0
