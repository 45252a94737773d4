"""`verify` reports only what is damaged, whatever others do to the store meanwhile."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.towns import add, make, opened

pytest.importorskip("faiss")


@pytest.mark.parametrize("rounds", [8, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("index", ["Flat", "HNSW8"])
def test_while_others_compact_add_and_save(tmp_path, index, rounds):
    path = make(tmp_path / "store")
    done = threading.Event()
    with (
        opened(path, index=index) as store,
        opened(path, index=index) as other,
        ThreadPoolExecutor(2) as threads,
    ):

        def compacting():
            while not done.is_set():
                store.compact()

        def adding():
            number = 100
            while not done.is_set():
                add(other, number)
                other.refresh()
                other.delete([f"doc{number - 3}"])
                number += 1

        jobs = [threads.submit(compacting), threads.submit(adding)]
        try:
            for _ in range(rounds):
                for handle in (store, other):
                    assert handle.verify() == []
                with opened(path, index=index, read_only=True) as third:
                    assert third.verify() == []
        finally:
            done.set()
        for job in jobs:
            job.result()
