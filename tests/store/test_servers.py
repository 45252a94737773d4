"""Real servers with several workers over one store: every worker answers as a fresh process does, also after additions."""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.servers import LIMIT, running
from tests.store.served import SERVED, answers
from tests.towns import make, opened

pytest.importorskip("faiss")

SERVERS = {
    "gunicorn": [
        "gunicorn",
        "--preload",
        "--workers=2",
        "--bind=127.0.0.1:0",
        "tests.store.served:wsgi",
    ],
    "gunicorn, threads": [
        *(
            "gunicorn",
            "--preload",
            "--workers=2",
            "--threads=4",
            "--bind=127.0.0.1:0",
            "tests.store.served:wsgi",
        )
    ],
    "uvicorn": [
        "uvicorn",
        "--workers=2",
        "--host=127.0.0.1",
        "--port=0",
        "tests.store.served:asgi",
    ],
}


def answers_of_all(server, workers):
    """Return the answers of each worker; there must be so many."""
    end = time.monotonic() + LIMIT
    seen = {}
    with ThreadPoolExecutor(8) as threads:
        while len(seen) < workers:
            assert time.monotonic() < end, f"only these workers answer: {sorted(seen)}"
            for process, content in threads.map(server.get, ["/search"] * 16):
                assert seen.setdefault(process, content) == content, "a worker's answers change"
    return seen


def fresh_answers(path):
    with opened(path, read_only=True) as store:
        return answers(store)


@pytest.mark.parametrize("name", SERVERS)
def test_workers_search_and_add(tmp_path, name):
    pytest.importorskip(SERVERS[name][0])
    path = make(tmp_path / "store")
    with (
        multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool,
        running(
            SERVERS[name], tmp_path / "log", ready="/search", environment={SERVED: str(path)}
        ) as server,
    ):
        for number in range(3):
            expected = pool.apply(fresh_answers, (path,))
            assert list(answers_of_all(server, 2).values()) == [expected] * 2
            assert server.get(f"/add?{20 + number}") == 1
        with ThreadPoolExecutor(8) as threads:  # at once
            added = threads.map(server.get, [f"/add?{30 + number}" for number in range(12)])
            searched = threads.map(server.get, ["/search"] * 24)
            assert list(added) == [1] * 12
            assert len(list(searched)) == 24
        expected = pool.apply(fresh_answers, (path,))
        assert list(answers_of_all(server, 2).values()) == [expected] * 2
    with opened(path) as store:
        assert store.verify() == []
        names = [f"doc{number}" for number in (*range(8), 20, 21, 22, *range(30, 42))]
        assert [document.id for document in store.documents(names)] == names
        store.refresh()
    assert [
        file.name
        for file in path.iterdir()
        if file.suffix not in (".sqlite", ".bin", ".safetensors", ".faiss")
    ] == []
