"""`UnitStore.save_to` and `load_from`: stores on the file systems of fsspec, whole or one clear error."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys

import pytest

from factoid import UnitStore
from factoid.errors import (
    EncoderMismatchError,
    InvalidInputError,
    MissingDependencyError,
    StoreError,
    StoreFormatError,
)
from factoid.store.indexes.build import VectorBuilder
from factoid.testing import HashEncoder
from tests.store.content import Numbers, answers, filled, flipped, opened, put, state, units

pytest.importorskip("faiss")
fsspec = pytest.importorskip("fsspec")
LocalFileSystem = pytest.importorskip("fsspec.implementations.local").LocalFileSystem


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


def load(url, path, **options):
    return UnitStore.load_from(url, path, encoder=Numbers(), **options)


def names(folder):
    return [file.name for file in folder.iterdir()]


@pytest.mark.parametrize("given", ["url", "fs", "url and fs", "file", "plain path"])
def test_a_store_comes_back_with_its_indexes(store, memory, tmp_path, monkeypatch, given):
    url, fs = {
        "url": ("memory://bucket/facts", None),
        "fs": ("/bucket/facts/", memory),
        "url and fs": ("memory://bucket/facts", memory),
        "file": (f"file://{tmp_path}/remote", None),
        "plain path": (str(tmp_path / "remote"), fsspec.filesystem("file")),
    }[given]
    store.save_to(url, show_progress=True, fs=fs)
    monkeypatch.setattr(VectorBuilder, "_build", lambda *_, **__: pytest.fail("built again"))
    with load(url, tmp_path / "deep" / "copy", show_progress=True, fs=fs) as copy:
        assert (state(copy), answers(copy)) == (state(store), answers(store))
        report = copy.verify()
        assert (report.ok, report.indexes) == (True, 3)
    assert names(tmp_path / "deep") == ["copy"]


def test_what_was_there_is_replaced_and_leaves_nothing(store, memory, tmp_path):
    for number in range(3):
        put(store, units(4, prefix=f"new{number}-"))
        store.save_to("memory://facts")
    assert len(memory.ls("/facts")) == 2  # the manifest, and the folder that it names
    with load("memory://facts", tmp_path / "copy") as copy:
        assert state(copy) == state(store)


def test_stores_in_memory_and_read_only_ones_are_sent(store, memory, tmp_path):
    with filled(None, 9) as other:
        other.save_to("memory://a")
        with load("memory://a", tmp_path / "a") as copy:
            assert state(copy) == state(other)
    store.close()
    with opened(store.path, read_only=True) as reader:
        reader.save_to("memory://b")
        with load("memory://b", tmp_path / "b", read_only=True) as copy:
            assert (state(copy), answers(copy)) == (state(reader), answers(reader))


def failing(patch, system, name, after):
    """Let a method of a file system fail when it is to write for the so-manieth time."""
    true, left = getattr(type(system), name), iter(range(after))

    def method(*given, **options):
        writes = name == "pipe_file" or "wb" in (*given, options.get("mode"))
        if writes and next(left, None) is None:
            raise OSError("connection lost")
        return true(*given, **options)

    patch.setattr(type(system), name, method)


def half(self, path, value, **_):
    """Write a file to a local disk that is full before its end."""
    with self.open(path, "wb") as file:
        file.write(value[: len(value) // 2])
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("fault", [("_open", 0), ("_open", 2), ("pipe_file", 0), "full disk"])
def test_an_upload_that_ends_early_is_no_store_or_the_old_one(store, memory, tmp_path, monkeypatch, fault):
    url = f"file://{tmp_path}/remote" if fault == "full disk" else "memory://facts"

    def fails(match):
        with monkeypatch.context() as patch:
            if fault == "full disk":
                patch.setattr(LocalFileSystem, "pipe_file", half)
            else:
                failing(patch, memory, *fault)
            with pytest.raises(StoreError, match=match):
                store.save_to(url)

    fails(f"cannot send the store to {url}: (connection lost|No space left)")
    assert fault == ("pipe_file", 0) or fsspec.url_to_fs(url)[0].find(url) == []
    with pytest.raises(StoreFormatError, match=f"there is no store at {url}, or it was not sent"):
        load(url, tmp_path / "copy")
    assert "copy" not in names(tmp_path)
    store.save_to(url)
    old = state(store)
    put(store, units(4, prefix="new"))
    fails("What was there before is unchanged")
    with load(url, tmp_path / "copy") as copy:
        assert state(copy) == old


def test_a_store_is_sent_where_nothing_may_be_deleted(store, memory, tmp_path, monkeypatch):
    store.save_to("memory://facts")
    put(store, units(4, prefix="new"))
    with monkeypatch.context() as patch:
        patch.setattr(type(memory), "rm", lambda *_, **__: (_ for _ in ()).throw(PermissionError("denied")))
        store.save_to("memory://facts")
    with load("memory://facts", tmp_path / "copy") as copy:
        assert state(copy) == state(store)


def manifest(memory):
    return json.loads(memory.cat_file("/facts/manifest.json"))


@pytest.mark.parametrize("damage", [lambda content: content[:-1], flipped, None])
@pytest.mark.parametrize("name", ["units.sqlite", "sentence.faiss"])
def test_files_that_changed_or_went_on_their_way_are_refused(store, memory, tmp_path, name, damage):
    store.save_to("memory://facts")
    path = f"/facts/{manifest(memory)['folder']}/{name}"
    message = rf"{name} is damaged: its bytes .* Send the store again"
    if damage is None:
        memory.rm(path)
        message = r"is incomplete.* fetch it again"
    else:
        memory.pipe_file(path, damage(memory.cat_file(path)))
    with pytest.raises(StoreFormatError, match=message):
        load("memory://facts", tmp_path / "copy")
    assert names(tmp_path) == ["store"]


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.update(folder="../other"),
        lambda found: found["files"][0].update(name="../../evil"),
        lambda found: found["files"].append(found["files"][0]),
        lambda found: found["files"].append({"name": "sitecustomize.py", "size": 1, "sha256": ""}),
        lambda found: found["files"].clear(),
        lambda found: found["files"][0].pop("sha256"),
        lambda found: found.update(files=3),
        lambda found: found.pop("format"),
        lambda _: b"\xff",
        lambda _: b"null",
        lambda _: b'{"format": 2}',
    ],
)
def test_a_manifest_leads_nowhere_else(store, memory, tmp_path, change):
    store.save_to("memory://facts")
    record = manifest(memory)
    content = change(record)
    content = content if isinstance(content, bytes) else json.dumps(record).encode()
    memory.pipe_file("/facts/manifest.json", content)
    with pytest.raises(StoreFormatError, match=r"manifest\.json at memory://facts is damaged|of format 2, and this"):
        load("memory://facts", tmp_path / "copy")
    assert names(tmp_path) == ["store"]
    store.save_to("memory://facts")  # over a damaged one
    load("memory://facts", tmp_path / "copy").close()


def test_a_database_of_something_else_is_not_put_in_place(store, memory, tmp_path):
    store.save_to("memory://facts")
    record = manifest(memory)
    content = b"no database" * 50
    record["files"][0] |= {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    memory.pipe_file(f"/facts/{record['folder']}/units.sqlite", content)
    memory.pipe_file("/facts/manifest.json", json.dumps(record).encode())
    with pytest.raises(StoreFormatError):
        load("memory://facts", tmp_path / "copy")
    assert names(tmp_path) == ["store"]


def test_a_folder_that_is_there_is_left_alone(store, memory, tmp_path):
    store.save_to("memory://facts")
    (tmp_path / "empty").mkdir()
    load("memory://facts", tmp_path / "empty").close()
    (tmp_path / "file").write_text("x")
    for path in (store.path, tmp_path / "file"):
        with pytest.raises(InvalidInputError, match=f"{path.name} already exists: name a new folder"):
            load("memory://facts", path)
    assert store.verify().ok


def test_addresses_that_nobody_knows(store, memory, tmp_path, monkeypatch):
    for call in (lambda: store.save_to("magic://facts"), lambda: load("magic://facts", tmp_path / "copy")):
        with pytest.raises(InvalidInputError, match="Protocol not known: magic"):
            call()
    for name in ("fsspec", "fsspec.core"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingDependencyError, match=r"factoid\[remote\]"):
        store.save_to("memory://facts")


class _Stubborn(sqlite3.Connection):
    """What SQLite does where the disk fails while the log is carried into the file: it says nothing, and keeps the log."""

    def execute(self, sql, *given):
        return super().execute("SELECT 'wal'" if "journal_mode = DELETE" in sql else sql, *given)


def test_a_copy_whose_log_cannot_be_carried_into_its_file_is_not_sent(store, memory, tmp_path, monkeypatch):
    true = sqlite3.connect
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *given, **options: true(*given, factory=_Stubborn, **options))
        for call in (lambda: store.save_to("memory://facts"), lambda: store.copy_to(tmp_path / "copy")):
            with pytest.raises(StoreError, match="disk I/O error"):
                call()
    assert memory.find("/facts") == []
    assert names(tmp_path) == ["store"]


def test_a_fetched_store_that_cannot_be_opened_leaves_no_folder(store, memory, tmp_path):
    store.save_to("memory://facts")
    with pytest.raises(EncoderMismatchError, match="built by the encoder 'numbers'"):
        UnitStore.load_from("memory://facts", tmp_path / "copy", encoder=HashEncoder())
    assert names(tmp_path) == ["store"]
