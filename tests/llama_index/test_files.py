from __future__ import annotations

import gc
import sqlite3
from pathlib import Path

import fsspec
import numpy as np
import pytest

from factoid import Weights
from factoid.errors import InvalidInputError, StoreFormatError
from llama_index_factoid import MultiGranularFaissVectorStore
from tests.llama_index.nodes import DIM, ask, bare, node, oracle


def test_what_add_returned_is_on_disk(tmp_path, nodes):
    MultiGranularFaissVectorStore(tmp_path / "s").add(nodes)  # never closed, as after a crash
    again = MultiGranularFaissVectorStore(str(tmp_path / "s"))
    assert again.get_nodes() == [bare(entry) for entry in nodes]
    vector = np.ones(DIM)
    expected = oracle(nodes, vector, "proposition", "passage")
    assert again.query(ask(vector, 20), weights=Weights(0, 0)).ids == [own for own, _ in expected]


@pytest.mark.parametrize("own_path", [False, True])
def test_persist_and_reopen(tmp_path, nodes, own_path):
    store = MultiGranularFaissVectorStore(tmp_path / "own" if own_path else None)
    store.add(nodes)
    target = tmp_path / "kept" / "default__vector_store.json"
    store.persist(str(target))
    again = MultiGranularFaissVectorStore.from_persist_dir(str(tmp_path / "kept"), granularity="sentence")
    vector = np.ones(DIM)
    assert again.query(ask(vector, 9)).ids == store.query(ask(vector, 9), granularity="sentence").ids
    assert again.get_nodes() == store.get_nodes()
    again.close()


def test_persist_again_replaces_and_forgets_old_indexes(tmp_path):
    target = str(tmp_path / "s")
    for vectors in ([[1, 0], [0, 1]], [[0, 1], [1, 0]]):
        store = MultiGranularFaissVectorStore()
        store.add([node("a", vectors[0]), node("b", vectors[1])])
        store.persist(target, fs=fsspec.filesystem("file"))
        again = MultiGranularFaissVectorStore.from_persist_path(target, fs=fsspec.filesystem("file"))
        assert again.query(ask([1, 0])).ids == ["a" if vectors[0] == [1, 0] else "b"]
        again.close()  # writes index files of the same generation as the next copy's


@pytest.fixture
def memory():
    """A file system that is not the local disk."""
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.mark.parametrize("own_path", [False, True])
def test_persist_to_another_file_system(tmp_path, nodes, memory, own_path):
    store = MultiGranularFaissVectorStore(tmp_path / "own" if own_path else None, similarity="cosine")
    store.add(nodes)
    vector = np.arange(DIM) - 3.0
    for _ in range(2):  # the second replaces the first
        store.delete_nodes(store.query(ask(vector)).ids)
        store.persist("/kept/s", fs=memory)
    again = MultiGranularFaissVectorStore.from_persist_path("/kept/s", fs=memory)
    assert again.get_nodes() == store.get_nodes()
    assert again.query(ask(vector, 9)) == store.query(ask(vector, 9))
    again.add([node("more", np.ones(DIM))])
    assert len(MultiGranularFaissVectorStore.from_persist_path("memory://kept/s").get_nodes()) == len(nodes) - 14


def test_a_copy_from_another_file_system_may_be_kept(tmp_path, store, memory):
    store.persist("memory://kept/s")
    copy = MultiGranularFaissVectorStore.from_persist_path("/kept/s", fs=memory, path=tmp_path / "copy")
    assert copy.path == str(tmp_path / "copy")
    copy.close()
    again = MultiGranularFaissVectorStore(tmp_path / "copy", read_only=True)
    assert again.get_nodes() == store.get_nodes()
    again.close()
    with pytest.raises(InvalidInputError, match="copy"):
        MultiGranularFaissVectorStore.from_persist_path("/kept/s", fs=memory, path=tmp_path / "copy")


def test_a_temporary_copy_goes_with_the_store(store, memory):
    store.persist("/s", fs=memory)
    again = MultiGranularFaissVectorStore.from_persist_path("/s", fs=memory)
    folder = Path(again.path)
    assert (folder / "units.sqlite").exists()
    again.close()
    del again
    gc.collect()
    assert not folder.exists()


def test_nothing_on_another_file_system(memory):
    with pytest.raises(StoreFormatError, match="no store at"):
        MultiGranularFaissVectorStore.from_persist_path("/missing", fs=memory)
    with pytest.raises(StoreFormatError, match="no store at"):
        MultiGranularFaissVectorStore.from_persist_dir("memory://missing", namespace="x")


def test_bad_folders(store, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("x")
    for name in ("file", "folder"):
        with pytest.raises(StoreFormatError, match=name):
            MultiGranularFaissVectorStore(tmp_path / name)
        with pytest.raises(StoreFormatError, match=name):
            store.persist(str(tmp_path / name))
    for name in ("missing", "folder"):
        with pytest.raises(StoreFormatError, match="no store at"):
            MultiGranularFaissVectorStore.from_persist_path(str(tmp_path / name))
    assert not (tmp_path / "missing").exists()
    (tmp_path / "other").mkdir()
    with sqlite3.connect(tmp_path / "other" / "units.sqlite") as connection:
        connection.execute("CREATE TABLE x (y)")
    connection.close()
    with pytest.raises(StoreFormatError, match="not a factoid store"):
        MultiGranularFaissVectorStore(tmp_path / "other")
