"""Several readers of an article store: threads, processes, forks, and a file that is replaced."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from factoid.entities.articles import Article, ArticleStore, build_articles
from factoid.errors import StoreError
from tests.entities.articles.records import Listed, seeded
from tests.faults.worker import ENVIRONMENT, ROOT


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "a"
    records = seeded(9, 500)
    build_articles(path, Listed(records))
    expected = {}
    for record in records:
        if isinstance(record, Article) and record.text:
            expected.setdefault(record.title, record.text)
    return path, expected


def read_at_random(store, expected, seed):
    chance = random.Random(seed)
    titles = sorted(expected)
    for _ in range(200):
        title = chance.choice(titles)
        assert store.get(chance.choice([title, title.replace(" ", "_")])).text == expected[title]


def test_eight_threads(large):
    path, expected = large
    with ArticleStore(path) as store, ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(read_at_random, store, expected, seed) for seed in range(8)]:
            done.result()


def test_threads_that_end_leave_no_connection(large):
    path, expected = large
    descriptors = Path("/dev/fd")
    before = len(list(descriptors.iterdir())) if descriptors.is_dir() else 0
    with ArticleStore(path) as store:
        for seed in range(20):
            thread = threading.Thread(target=read_at_random, args=(store, expected, seed))
            thread.start()
            thread.join()
        assert not before or len(list(descriptors.iterdir())) <= before + 2


def test_closing_while_threads_read(large):
    path, expected = large
    store = ArticleStore(path)
    outcomes = []

    def read():
        try:
            while True:
                read_at_random(store, expected, 1)
        except StoreError as error:
            outcomes.append("is closed" in str(error))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    store.close()
    for thread in threads:
        thread.join(30)
    assert outcomes == [True] * 4


READER = """
import sys
from pathlib import Path
from factoid.entities.articles import ArticleStore
from tests.entities.articles.records import seeded
from tests.entities.articles.test_store_readers import read_at_random
from factoid.entities.articles import Article
expected = {}
for record in seeded(9, 500):
    if isinstance(record, Article) and record.text:
        expected.setdefault(record.title, record.text)
with ArticleStore(sys.argv[1]) as store:
    for seed in range(10):
        read_at_random(store, expected, seed)
"""


def test_two_processes(large):
    command = [sys.executable, "-c", READER, str(large[0])]
    processes = [
        subprocess.Popen(command, env=ENVIRONMENT, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for process in processes:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_after_a_fork(large):
    path, expected = large
    with ArticleStore(path) as store:
        read_at_random(store, expected, 0)
        child = os.fork()
        if not child:
            status = 1
            try:
                read_at_random(store, expected, 1)
                status = 0
            finally:
                os._exit(status)
        read_at_random(store, expected, 2)
        assert os.waitpid(child, 0)[1] == 0
        read_at_random(store, expected, 3)


def test_a_file_that_is_replaced_is_read_until_it_is_closed(tmp_path):
    path = tmp_path / "a"
    build_articles(path, Listed([Article("Old", "old"), Article("Older", "older")]))
    with ArticleStore(path) as store, ThreadPoolExecutor(8) as threads:
        size = store.stats().bytes
        build_articles(path, Listed([Article("New", "new" * 5000)]))
        taken = store._file._take()
        reads = [threads.submit(store.get, "Old") for _ in range(40)]
        store._file._idle.append(taken)
        with store._file._returned:
            store._file._returned.notify()
        assert [read.result(30).text for read in reads] == ["old"] * 40
        assert (store.get("New"), store.stats().bytes) == (None, size)
        path.unlink()
        assert store.get("Older").text == "older"


def test_threads_that_wait_for_a_replaced_file_hear_of_its_end(tmp_path):
    path = tmp_path / "a"
    build_articles(path, Listed([Article("Old", "old")]))
    store = ArticleStore(path)
    path.unlink()
    taken = store._file._take()
    with ThreadPoolExecutor(2) as threads:
        reads = [threads.submit(store.get, "Old") for _ in range(2)]
        store.close()
        for read in reads:
            with pytest.raises(StoreError, match="is closed"):
                read.result(30)
    taken.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_reads_a_replaced_file_as_its_parent_does(tmp_path):
    path = tmp_path / "a"
    build_articles(path, Listed([Article("Old", "old")]))
    with ArticleStore(path) as store:
        build_articles(path, Listed([Article("New", "new")]))
        child = os.fork()
        if not child:
            status = 1
            try:
                status = 0 if store.get("Old").text == "old" else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert store.get("Old").text == "old"
