from __future__ import annotations

import gc
from pathlib import Path

import fsspec
import numpy as np
import pytest

from factoid.errors import InvalidInputError, StoreFormatError
from llama_index_factoid import MultiGranularFaissVectorStore
from tests.llama_index.nodes import DIM, ask, node


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


def test_nothing_to_open(tmp_path, memory):
    for path, fs in (("/missing", memory), (str(tmp_path / "missing"), None)):
        with pytest.raises(StoreFormatError, match="no store at"):
            MultiGranularFaissVectorStore.from_persist_path(path, fs=fs)
    assert not (tmp_path / "missing").exists()
    with pytest.raises(StoreFormatError, match="no store at"):
        MultiGranularFaissVectorStore.from_persist_dir("memory://missing", namespace="x")
