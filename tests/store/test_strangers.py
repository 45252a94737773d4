"""A store from a stranger is data: nothing runs, and nothing is written outside its folder or through links."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import asdict

import pytest

from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from factoid.store.database.snapshot import write_meta
from factoid.store.settings import Settings
from tests.towns import add, hits, make, opened

pytest.importorskip("faiss")


@pytest.fixture
def path(tmp_path):
    return make(tmp_path / "store")


def listing(folder):
    return {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in folder.iterdir()}


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON units BEGIN DELETE FROM documents; END",
        "CREATE VIEW v AS WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
        "CREATE TABLE more (a)",
        "CREATE INDEX other ON units (text)",
        "ALTER TABLE units ADD COLUMN a DEFAULT 5",
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_a_database_with_other_objects_is_refused(path, statement, read_only):
    with closing(sqlite3.connect(path / "units.sqlite")) as connection:
        connection.execute(statement)
    with pytest.raises(StoreFormatError, match="holds what no store has"):
        opened(path, read_only=read_only)


@pytest.mark.parametrize(
    "name",
    ["units.sqlite", "units.sqlite-wal", "lexical-1.safetensors", ".lexical-9.safetensors.part"],
)
def test_links_are_not_written_through(path, tmp_path, name):
    outside = tmp_path / "outside"
    outside.mkdir()
    if (path / name).exists():
        (path / name).rename(outside / name)
    else:
        (outside / name).write_bytes(b"kept")
    (path / name).symlink_to(outside / name)
    before = listing(outside)
    with pytest.raises(StoreFormatError, match=f"{name} is a link"):
        opened(path)
    if name == "units.sqlite-wal":
        with pytest.raises(StoreError, match="unable to open"):
            opened(path, read_only=True)
    else:
        with opened(path, read_only=True) as store:
            assert len(hits(store)) == 4
            store.verify()
    assert listing(outside) == before


@pytest.mark.parametrize("kind", ["pipe", "folder", "link to itself"])
@pytest.mark.parametrize("name", ["lexical", "passage"])
def test_an_index_file_that_is_no_file_is_built_again(path, name, kind):
    with opened(path) as store:
        before = hits(store)
    (file,) = path.glob(f"{name}-*.safetensors")
    file.unlink()
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.symlink_to(file)
    with opened(path, read_only=True) as store:
        assert hits(store) == before
        store.verify()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
@pytest.mark.parametrize("name", ["vectors-*.bin", "units.sqlite", "units.sqlite-wal"])
def test_a_pipe_or_device_in_place_of_a_file_is_one_error(path, name, kind):
    file = next(path.glob(name), path / name)
    file.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.symlink_to("/dev/zero")
    for read_only in (True, False):
        with pytest.raises(StoreError), opened(path, read_only=read_only) as store:  # noqa: PT012 (opening is one)
            hits(store)
            store.verify()


def test_a_reader_leaves_the_folder_as_it_was(path):
    with opened(path) as store:  # its log stays in use
        add(store, 50)
    before = listing(path)
    assert "units.sqlite-wal" not in before
    with opened(path, read_only=True) as store, opened(path, read_only=True) as other:
        assert hits(store) == hits(other)
        assert store.verify() == []
    assert listing(path) == before
    with opened(path) as writer:
        add(writer, 51)
        with opened(path, read_only=True) as store:
            hits(store)
        add(writer, 52)  # the log was the writer's
    with opened(path) as store:
        assert store.documents(["doc51", "doc52"])[1].id == "doc52"
        assert store.verify() == []


@pytest.mark.parametrize("kind", ["IVF4000000000,Flat", "HNSW99999999", "RR," * 1000, 7])
def test_a_kind_of_index_that_would_fill_the_memory_is_refused(path, kind):
    settings = asdict(Settings()) | {"kinds": {"passage": kind}}
    with closing(sqlite3.connect(path / "units.sqlite", isolation_level=None)) as connection:
        write_meta(connection, settings=json.dumps(settings))
    for file in path.glob("passage-*"):
        file.unlink()
    with (
        opened(path) as store,
        pytest.raises(InvalidInputError, match=r"too large for an index|is a string"),
    ):
        hits(store)
