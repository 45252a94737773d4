"""The service of docs/production.md in gunicorn and uvicorn: killed workers, SIGTERM, replicas,
pods that share a volume.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.production.served import SLOW
from tests.production.service import FOLDER, TOKENS, filled, opened, stores
from tests.servers import running
from tests.volumes import read_only_mount

SERVED = "tests.production.served:create_app"
GUNICORN = ["gunicorn", "-c", str(FOLDER / "gunicorn.conf.py"), f"{SERVED}()"]
COMMANDS = {
    "gunicorn": GUNICORN,
    "gunicorn, not preloaded": GUNICORN,
    "uvicorn": ["uvicorn", "--factory", SERVED, "--workers=2", "--host=127.0.0.1", "--port=0"],
}
HEADERS = {"Authorization": "Bearer token-a", "Content-Type": "application/json"}


@contextmanager
def serving(name, path, folder, **settings):
    """Run the service over a store."""
    pytest.importorskip(COMMANDS[name][0])
    folder.mkdir(exist_ok=True)
    tokens = folder / "tokens.json"
    tokens.write_text(json.dumps(TOKENS))
    environment = {
        "FACTOID_STORE": str(path),
        "FACTOID_TOKENS": str(tokens),
        "FACTOID_BIND": "127.0.0.1:0",
    }
    environment |= {
        "WEB_CONCURRENCY": "2",
        "FACTOID_PRELOAD": "0" if "not preloaded" in name else "1",
    } | settings
    with running(COMMANDS[name], folder / "log", ready="/ready", environment=environment) as server:
        yield server


def search(server, question, k=50):
    body = json.dumps({"question": question, "k": k}).encode()
    return {answer["document"] for answer in server.get("/search", data=body, headers=HEADERS)}


def put(server, *documents):
    body = json.dumps([{"id": own, "text": text} for own, text in documents]).encode()
    return server.get("/documents", data=body, headers=HEADERS, method="PUT")["added"]


def processes(server, count):
    """Return the processes of all workers."""
    return server.wait_for("/live", lambda _: True, workers=count)


SLOW_TOO = pytest.mark.parametrize(
    "name",
    ["gunicorn", *(pytest.param(name, marks=pytest.mark.slow) for name in list(COMMANDS)[1:])],
)


@SLOW_TOO
def test_all_workers_search_and_add(tmp_path, name):
    path = filled(tmp_path / "store")
    with serving(name, path, tmp_path / "run") as server:
        assert len(processes(server, 2)) == 2
        assert len(search(server, "Which town lies on hill 3?")) == 6
        with ThreadPoolExecutor(4) as threads:
            added = threads.map(
                lambda n: put(server, (f"new{n}", f"The tower {n} is {n} metres high.")), range(8)
            )
            assert list(added) == [1] * 8
            found = list(threads.map(lambda _: search(server, "How high is tower 3?"), range(16)))
        assert all(len(documents) == 14 for documents in found)
    with opened(path) as store:
        assert store.verify() == []


@SLOW_TOO
def test_a_worker_that_is_killed_while_it_writes_loses_nothing_else(tmp_path, name):
    path = filled(tmp_path / "store")
    with serving(name, path, tmp_path / "run") as server:
        workers = processes(server, 2)
        texts = [
            (f"new{n}", f"The tower {n} is {n} metres high. {SLOW if n > 2 else ''}it leans.")
            for n in range(6)
        ]
        with ThreadPoolExecutor(6) as threads:
            jobs = [threads.submit(put, server, text) for text in texts]
            time.sleep(1)  # the slow ones are being encoded, or written
            os.kill(min(workers), signal.SIGKILL)
            done = [text for job, text in zip(jobs, texts, strict=True) if job.exception() is None]
        for text in texts:
            if text not in done:  # as a client does
                put(server, text)
        assert len(search(server, "How high is tower 3?")) == 12
        assert min(workers) not in processes(server, 2)  # there are two again
    with opened(path) as store:
        assert store.verify() == []


@SLOW_TOO
def test_requests_that_run_when_the_service_is_stopped_are_answered(tmp_path, name):
    path = filled(tmp_path / "store")
    with ThreadPoolExecutor(2) as threads:
        with serving(name, path, tmp_path / "run") as server:
            adding = threads.submit(put, server, ("last", f"{SLOW}the last tower was built."))
            searching = threads.submit(search, server, f"{SLOW}which town lies on hill 3?")
            time.sleep(1)
        assert adding.result() == 1
        assert len(searching.result()) in (6, 7)
    with opened(path) as store:
        assert [each.text for each in store.documents(["acme/last"])] == [
            f"{SLOW}the last tower was built."
        ]
        assert store.verify() == []
    assert not list(path.glob("*-wal"))  # all was closed


@SLOW_TOO
def test_replicas_on_a_read_only_volume_follow_what_is_published(tmp_path, name):
    path = filled(tmp_path / "store")
    folder = tmp_path / "published"
    with opened(path) as store:
        stores.publish(store.copy_to, folder)
        with (
            read_only_mount(folder, tmp_path / "mount") as mount,
            serving(
                name, mount, tmp_path / "run", FACTOID_READ_ONLY="1", FACTOID_FOLLOW="0.1"
            ) as server,
        ):
            assert len(search(server, "Which town lies on hill 3?")) == 6
            filled(path, 9)
            newest = stores.publish(store.copy_to, folder)
            server.wait_for("/ready", lambda ready: ready["store"] == newest.name, workers=2)
            assert len(search(server, "Which town lies on hill 3?")) == 9


@pytest.mark.slow
def test_two_services_write_to_one_volume_of_one_machine(tmp_path):
    path = filled(tmp_path / "store")
    with (
        serving("gunicorn", path, tmp_path / "one") as one,
        serving("gunicorn", path, tmp_path / "two") as two,
    ):
        with ThreadPoolExecutor(4) as threads:
            jobs = [
                threads.submit(
                    put, server, (f"{name}{n}", f"The tower {name} {n} is {n} metres high.")
                )
                for n in range(8)
                for name, server in (("one", one), ("two", two))
            ]
            assert [job.result() for job in jobs] == [1] * 16
        for server in (one, two):
            assert len(search(server, "How high is tower 3?")) == 22
    with opened(path) as store:
        assert store.verify() == []


def test_what_gunicorn_logs_says_how_long_requests_took(tmp_path):
    path = filled(tmp_path / "store")
    with serving("gunicorn", path, tmp_path / "run") as server:
        search(server, "Which town lies on hill 3?")
    log = (tmp_path / "run" / "log").read_text()
    assert re.search(r"^POST /search 200 \d+ ms, process <\d+>$", log, re.MULTILINE), log
