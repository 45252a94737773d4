"""The folder of a store: opened again, damaged, foreign, of another encoder or generation."""

from __future__ import annotations

import re
import sqlite3
from unittest.mock import Mock

import pytest

from factoid.errors import EncoderMismatchError, StoreError, StoreFormatError
from factoid.store.database import schema
from factoid.store.indexes import build
from factoid.store.indexes.build import VectorBuilder
from factoid.testing import HashEncoder
from tests.towns import add, document, hits, make, opened

pytest.importorskip("faiss")


@pytest.fixture
def path(tmp_path):
    return make(tmp_path / "store")


@pytest.fixture
def expected(path):
    with opened(path) as store:
        return hits(store)


def test_a_store_opens_as_it_was_closed(path, expected, monkeypatch):
    names = {f"{kind}.safetensors" for kind in ("passage", "sentence", "proposition", "lexical")}
    names |= {"units.sqlite", "vectors.bin"}
    assert {re.sub(r"-[0-9a-f]+", "", file.name) for file in path.iterdir()} == names
    assert expected[0].unit.text == "Town 3 lies on hill 3. It has 3 gates."
    monkeypatch.setattr(
        VectorBuilder,
        "_build",
        lambda *_, **__: pytest.fail("the index was not read from its file"),
    )
    with opened(str(path)) as store:
        assert hits(store) == expected
        assert add(store, *range(8)).unchanged == 8
        assert store.documents(["doc5"]) == [document(5)]


def test_an_index_that_cannot_be_written_harms_nothing(tmp_path, expected, monkeypatch, caplog):
    with monkeypatch.context() as patch:
        patch.setattr(build, "save", Mock(side_effect=OSError(28, "No space left on device")))
        with opened(tmp_path / "full") as store:
            add(store, *range(8))
            assert hits(store) == expected
    assert "No space left on device" in caplog.text
    assert sorted(file.suffix for file in (tmp_path / "full").iterdir()) == [".bin", ".sqlite"]
    with opened(tmp_path / "full") as store:
        assert hits(store) == expected


def foreign(**pragmas):
    """Return the content of another program's database."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE users (name)")
    for name, value in pragmas.items():
        connection.execute(f"PRAGMA {name} = {value}")
    return connection.serialize()


NEWER = foreign(application_id=schema.APPLICATION_ID, user_version=99)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("", b"x", "is a file: a store is a folder"),
        ("notes.txt", b"x", "holds files but no units.sqlite: it is not"),
        ("units.sqlite", foreign(), "not a factoid store of format 1"),
        (
            "units.sqlite",
            NEWER,
            "is a factoid store of format 99, .* reads format 1: export it with the version that made it",
        ),
        ("units.sqlite", b"no database" * 99, "cannot be opened as a store"),
        ("units.sqlite", b"\0" * 9999, "cannot be opened as a store"),
    ],
    ids=["file", "folder", "sqlite", "version", "text", "zeros"],
)
def test_what_is_no_store_is_refused_and_left_as_it_is(tmp_path, name, content, message):
    path = tmp_path / "thing"
    if name:
        path.mkdir()
    (path / name).write_bytes(content)
    with pytest.raises(StoreFormatError, match=message):
        opened(path)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == {
        path / name: content
    }


def test_folders_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot make the folder"):
        opened(tmp_path / "file" / "store")
    (tmp_path / "store" / "units.sqlite").mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be opened: unable to open"):
        opened(tmp_path / "store")
    with opened(tmp_path / "new" / "deep" / "store") as store:
        assert len(store) == 0


def test_another_encoder_is_refused_by_name_and_by_dimension(path):
    with pytest.raises(
        EncoderMismatchError,
        match=r"built with the encoder 'HashEncoder\(256\)', .* 'HashEncoder\(64\)'",
    ):
        opened(path, encoder=HashEncoder(64))
    nameless = HashEncoder(64)
    del nameless.name
    with opened(path, encoder=nameless) as store:
        with pytest.raises(EncoderMismatchError, match="vectors of 256 dimensions"):
            hits(store)
        with pytest.raises(EncoderMismatchError, match="holds vectors of 256 dimensions, got 64"):
            add(store, 99)
        assert store.documents(["doc99"]) == []


@pytest.mark.parametrize("content", [b"", b"\0"])
def test_an_emptied_database_is_no_new_store(path, expected, tmp_path, content):
    assert expected
    (path / "units.sqlite").write_bytes(content)
    for _ in range(2):
        with pytest.raises(
            StoreFormatError, match=r"units\.sqlite is empty, .* it was cut short\. Restore it"
        ):
            opened(path)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "units.sqlite").write_bytes(
        content
    )  # as a process leaves it that was killed at its first step
    with opened(tmp_path / "new") as store:
        assert store.ids() == []
