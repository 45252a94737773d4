"""The folder of a store: opened again, damaged, foreign, of another encoder or generation."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from factoid.errors import EncoderMismatchError, StoreError, StoreFormatError
from factoid.index import load
from factoid.store import build, schema
from factoid.store.build import Builder
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
    assert sorted(file.name for file in path.iterdir()) == sorted(
        [
            "units.sqlite",
            *(
                f"{kind}.{end}"
                for kind in ("passage", "sentence", "proposition")
                for end in ("faiss", "json", "columns.npy")
            ),
        ]
    )
    assert expected[0].unit.text == "Town 3 lies on hill 3. It has 3 gates."
    monkeypatch.setattr(Builder, "_build", lambda *_, **__: pytest.fail("the index was not read from its file"))
    with opened(str(path)) as store:
        assert hits(store) == expected
        assert add(store, *range(8)).unchanged == 8
        assert store.document("doc5") == document(5)


def test_an_add_that_returned_is_on_disk_without_closing(tmp_path):
    store = opened(tmp_path / "a")
    add(store, 1, 2)
    with opened(tmp_path / "a") as other:
        assert other.counts() == store.counts()
        assert hits(other) == hits(store)
    store.close()


@pytest.mark.parametrize("name", ["proposition.faiss", "proposition.json", "proposition.columns.npy"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.unlink(),
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:-7]),
        lambda file: file.write_bytes(b"\0" * 3000),
    ],
    ids=["missing", "empty", "truncated", "zeros"],
)
def test_damaged_caches_are_built_again(path, expected, name, damage):
    damage(path / name)
    for _ in range(2):
        with opened(path) as store:
            assert hits(store) == expected
    assert load(path / "proposition").stamp["generation"] == generation(path)


def generation(path):
    connection = sqlite3.connect(path / "units.sqlite")
    try:
        return connection.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()[0]
    finally:
        connection.close()


def test_caches_of_another_generation_are_built_again(path):
    old = {file.name: file.read_bytes() for file in path.iterdir() if "units" not in file.name}
    with opened(path) as store:
        store.delete([f"doc{number}" for number in range(8) if number != 5])
        add(store, 9)
    for name, content in old.items():
        (path / name).write_bytes(content)
    with opened(path) as store:
        assert {hit.unit.document_id for hit in hits(store)} == {"doc5", "doc9"}


def test_a_database_from_a_backup_does_not_meet_an_index_of_its_other_life(path, tmp_path):
    shutil.copy(path / "units.sqlite", tmp_path / "backup")
    with opened(path) as store:
        add(store, 20)
        hits(store)
    shutil.copy(tmp_path / "backup", path / "units.sqlite")
    with opened(path) as store:
        add(store, 30)  # as many writes as before: a mere count would be the same
    with opened(path) as store:
        assert store.search("Town 30 lies on hill 30", k=1)[0].unit.document_id == "doc30"


def test_an_index_that_cannot_be_written_harms_nothing(tmp_path, expected, monkeypatch, caplog):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(build, "save", full)
        with opened(tmp_path / "full") as store:
            add(store, *range(8))
            assert hits(store) == expected
    assert "No space left on device" in caplog.text
    assert [file.name for file in (tmp_path / "full").iterdir()] == ["units.sqlite"]
    with opened(tmp_path / "full") as store:
        assert hits(store) == expected


def foreign(path, **pragmas):
    connection = sqlite3.connect(path / "units.sqlite")
    connection.execute("CREATE TABLE users (name)")
    for name, value in pragmas.items():
        connection.execute(f"PRAGMA {name} = {value}")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("x"), "is a file: a store is a folder"),
        (
            lambda path: (path.mkdir(), (path / "notes.txt").write_text("x")),
            "holds files but no units.sqlite: it is not",
        ),
        (lambda path: (path.mkdir(), foreign(path)), "not a factoid store of format 2"),
        (
            lambda path: (path.mkdir(), foreign(path, application_id=schema.APPLICATION_ID, user_version=99)),
            "not a factoid store of format 2 .*format 99",
        ),
        (
            lambda path: (path.mkdir(), (path / "units.sqlite").write_bytes(b"no database" * 99)),
            "cannot be opened as a store",
        ),
        (lambda path: (path.mkdir(), (path / "units.sqlite").write_bytes(b"\0" * 9999)), "cannot be opened as a store"),
    ],
    ids=["file", "folder", "sqlite", "version", "text", "zeros"],
)
def test_what_is_no_store_is_refused_and_left_as_it_is(tmp_path, make, message):
    path = tmp_path / "thing"
    make(path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(StoreFormatError, match=message):
        opened(path)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_folders_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot make the folder"):
        opened(tmp_path / "file" / "store")
    (tmp_path / "store" / "units.sqlite").mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be opened: unable to open"):
        opened(tmp_path / "store")
    with opened(tmp_path / "new" / "deep" / "store") as store:
        assert len(store) == 0


def read_all(path):
    with opened(path) as store:
        return hits(store), [store.document(f"doc{number}") for number in range(8)], store.get(store.ids())


@pytest.mark.parametrize("keep", [0.3, 0.8])
def test_a_damaged_database_is_one_clear_error(path, keep):
    file = path / "units.sqlite"
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * keep)])
    for cache in path.glob("*.json"):
        cache.unlink()
    with pytest.raises((StoreError, StoreFormatError), match=r"is damaged: it ends after"):
        read_all(path)


def test_another_encoder_is_refused_by_name_and_by_dimension(path):
    with pytest.raises(
        EncoderMismatchError, match=r"built by the encoder 'HashEncoder\(256\)', .* 'HashEncoder\(64\)'"
    ):
        opened(path, encoder=HashEncoder(64))
    nameless = HashEncoder(64)
    del nameless.name
    with opened(path, encoder=nameless) as store:
        with pytest.raises(EncoderMismatchError, match=r"shape \(n, 256\)"):
            hits(store)
        with pytest.raises(EncoderMismatchError, match="holds vectors of 256 dimensions, got 64"):
            add(store, 99)
        assert store.document("doc99") is None
    with opened(path, encoder=None) as store:
        assert store.search_by_vector(HashEncoder().encode_queries(["hill 3"])[0], k=1)


def test_units_survive_the_folder_unchanged(path):
    with opened(path) as store:
        before = store.get(store.ids())
        vectors = store.vectors(store.ids())
        odd = replace(before[0], id="odd", text="a\0b 😀 \u2028", metadata={"é\0": ["\0", 1e-320, -0.0, None]})
        store.add([odd])
    with opened(path) as store:
        assert store.get(store.ids()) == [*before, odd]
        again = store.vectors(store.ids())
        assert all(np.array_equal(vectors[own], again[own]) for own in vectors)
        assert len(again) == len(vectors) + 1
