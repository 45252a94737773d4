"""Stores opened with `read_only=True`: on disks that cannot be written, beside a process that writes, changing nothing."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest

from factoid import Document
from factoid.errors import StoreError, StoreFormatError
from tests.store.content import DIM, answers, change, filled, opened, put, state, unit, units
from tests.volumes import read_only_mount

pytest.importorskip("faiss")


def files(folder):
    """Return the files of a folder; SQLite's own for locking, which a reader beside a writer needs, say nothing."""
    return {
        file.name: (file.read_bytes(), file.stat().st_mtime_ns)
        for file in folder.iterdir()
        if not file.name.endswith("-shm")
        and (file.stat().st_size or not file.name.endswith("-wal"))
    }


@pytest.fixture
def frozen(folder):
    """The folder of the store on a disk that cannot be written."""
    if os.name != "posix":
        pytest.skip("needs a file system that can be made read-only")
    if os.geteuid() == 0:  # whom permissions do not stop
        try:
            subprocess.run(["mount", "--bind", folder, folder], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("root ignores permissions, and may not mount here")
        try:
            subprocess.run(
                ["mount", "-o", "remount,ro,bind", folder], check=True, capture_output=True
            )
            yield folder
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
        return
    for file in (*folder.iterdir(), folder):
        file.chmod(0o555 if file.is_dir() else 0o444)
    yield folder
    folder.chmod(0o755)


def test_a_store_on_a_read_only_disk(before, frozen, tmp_path):
    with pytest.raises(OSError, match=r"ermission|ead-only"):
        (frozen / "x").write_text("x")
    with pytest.raises(StoreError, match="read_only=True"), opened(frozen) as store:
        put(store, units(1))
    with opened(frozen, read_only=True) as store:
        assert (state(store), answers(store)) == before
        assert store.ids({"year": {"$gte": 2}})
        assert store.verify() == []
        assert store.stats()["documents"] == 3
        store.export(tmp_path / "x.jsonl")
        store.copy_to(tmp_path / "copy")
        store.refresh()
    with opened(tmp_path / "copy") as copy:
        assert (state(copy), answers(copy)) == before
        with opened(frozen, read_only=True) as store:
            assert copy.merge(frozen) == copy.merge(store)


def test_a_volume_that_is_read_only_here_and_written_elsewhere(folder, before, tmp_path):
    with (
        read_only_mount(folder, tmp_path / "mount") as mount,
        opened(mount, read_only=True) as reader,
    ):
        assert (state(reader), answers(reader)) == before  # nobody had it open: there was no log
        with opened(folder) as writer:
            for number in range(3):
                put(writer, units(40, seed=number, prefix=f"later{number}-"))
                assert (state(reader), answers(reader)) == (state(writer), answers(writer))
            writer.delete([f"doc{number}" for number in range(7)])
            after = state(writer), answers(writer)
            assert (state(reader), answers(reader)) == after
        assert (
            state(reader),
            answers(reader),
        ) == after  # the log is gone, and the file was written
        assert reader.verify() == []
        for number in range(3):  # by processes that close it again
            with opened(folder) as writer:
                put(writer, units(10, seed=number, prefix=f"last{number}-"))
                after = state(writer), answers(writer)
            assert (state(reader), answers(reader)) == after


def test_what_was_read_while_a_file_was_written_elsewhere_is_no_answer(folder, tmp_path):
    written = []

    def write(metadata):
        if not written:
            with opened(folder) as writer:
                put(writer, units(500, prefix="later"))
            written.append(True)
        return True

    with (
        read_only_mount(folder, tmp_path / "mount") as mount,
        opened(mount, read_only=True) as reader,
    ):
        with pytest.raises(
            StoreError,
            match="written elsewhere while it was read here from a read-only disk: try again",
        ):
            reader.ids(write)
        assert written
        assert len(reader.ids(write)) > 500
        assert reader.verify() == []


def test_a_store_in_the_place_of_another_is_not_read_with_its_indexes(folder, tmp_path):
    with filled(tmp_path / "other", seed=5) as other:
        expected = answers(other)
    link = tmp_path / "link"
    link.symlink_to(folder, target_is_directory=True)
    with opened(link, read_only=True) as reader:
        first = answers(reader)
        assert first != expected
        link.unlink()
        link.symlink_to(tmp_path / "other", target_is_directory=True)
        assert answers(reader) == first  # what is open stays open
        with (
            reader.opened.connections.reading(),
            pytest.raises(StoreError, match="moved, deleted or replaced"),
        ):
            reader.ids()  # needs another connection
        assert answers(reader) == first
    with opened(link, read_only=True) as reader:
        assert answers(reader) == expected


@pytest.mark.parametrize("up_to_date", [True, False])
def test_nothing_is_written(folder, before, up_to_date):
    if not up_to_date:
        for file in folder.glob("sentence-*"):
            file.write_bytes(b"damaged")
    unchanged = files(folder)
    with opened(folder, read_only=True) as store:
        assert (state(store), answers(store)) == before
        assert (store.verify() == []) == up_to_date
        store.refresh()
    with opened(folder, read_only=True, index="HNSW8") as store:  # settings of this reader alone
        assert [len(hits) for hits in answers(store)] == [len(hits) for hits in before[1]]
    assert files(folder) == unchanged


def test_every_write_is_refused_and_changes_nothing(folder, before, tmp_path):
    with opened(folder) as store:
        store.export(tmp_path / "x.jsonl")
    change(folder, "DELETE FROM fields WHERE key = 'lang'")  # for verify to repair
    unchanged = files(folder)
    with opened(folder, read_only=True) as store:
        for write in (
            lambda: store.add([unit("x")[0]], vectors=[np.ones(DIM)]),
            lambda: store.add_documents([Document("Text.")]),
            lambda: store.delete(filter={"year": 1}),
            lambda: store.update_metadata({"a": 1}, ids=["tower"]),
            lambda: store.clear(),
            lambda: store.retry_failures(),
            lambda: store.compact(),
            lambda: store.merge(filled(None)),
            lambda: store.import_from(tmp_path / "x.jsonl"),
            lambda: store.verify(repair=True),
        ):
            with pytest.raises(
                StoreError, match=r"was opened with read_only=True: open it without"
            ):
                write()
        assert (state(store), answers(store)) == before
    assert files(folder) == unchanged


def test_there_must_be_a_store(tmp_path, folder):
    for absent in (tmp_path / "absent", tmp_path):
        with pytest.raises(StoreFormatError, match="there is no store at"):
            opened(absent, read_only=True)
    assert not (tmp_path / "absent").exists()
    (folder / "units.sqlite").write_bytes(b"")
    with pytest.raises(StoreFormatError, match="is empty"):
        opened(folder, read_only=True)
    assert (folder / "units.sqlite").stat().st_size == 0
