"""A build that is interrupted goes on, and ends with exactly the store of an undisturbed one."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from factoid.entities import Article, ArticleStore, build_articles
from factoid.entities.articles import build
from tests.entities.articles.records import contents, leftovers, seeded
from tests.faults.worker import ENVIRONMENT, ROOT

# Builds in batches of 40 records, and kills itself before a record, or where the file is about to
# be moved.
KILLED = """
import os, signal, sys
from factoid.entities import build_articles
from factoid.entities.articles import build
from tests.entities.articles.records import seeded

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def records():
    for number, record in enumerate(seeded(5, 400)):
        if number == int(sys.argv[2]):
            kill()
        yield record

build._MOST_RECORDS = 40
if sys.argv[2] == "-1":
    build.move_into_place = kill
build_articles(sys.argv[1], records(), resume="seeded")
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", [100, 700, -1])
def test_killed(path, moment):
    build_articles(path.with_name("undisturbed"), seeded(5, 400), resume="seeded")
    command = [sys.executable, "-c", KILLED, str(path), str(moment)]
    process = subprocess.run(
        command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, cwd=ROOT, timeout=60
    )
    assert process.returncode == -signal.SIGKILL, process.stderr
    assert not path.exists()
    build_articles(path, seeded(5, 400), resume="seeded")
    assert contents(path) == contents(path.with_name("undisturbed"))
    assert leftovers(path) == []


class Interrupted:
    """A source that counts the records it gives out, and may fail at one of them."""

    def __init__(self, end=None):
        self.end, self.given = end, 0

    def read(self, skip=0):
        for number in range(skip, 50):
            if number == self.end:
                raise KeyboardInterrupt
            self.given += 1
            yield Article(f"T {number}", f"text {number}")


@pytest.mark.parametrize(
    ("before", "after", "given"),
    [
        ({"resume": "x"}, {"resume": "x"}, 30),
        ({"resume": "x"}, {"resume": "y"}, 50),
        ({"resume": "x"}, {"resume": "x", "words": 7}, 50),
        ({"resume": "x"}, {}, 50),
        ({}, {}, 50),
    ],
)
def test_goes_on_after_the_last_batch_if_the_arguments_are_the_same(
    path, monkeypatch, before, after, given
):
    monkeypatch.setattr(build, "_MOST_RECORDS", 10)
    build_articles(path, [Article("Old", "x")])
    first = [Article("First", "x")]
    with pytest.raises(KeyboardInterrupt):
        build_articles(path, first, Interrupted(25), **before)
    with ArticleStore(path) as store:
        assert list(store.titles()) == ["Old"]
    source = Interrupted()
    assert build_articles(path, first, source, **after).articles == 51
    assert source.given == given
    assert leftovers(path) == []


def test_an_unfinished_build_that_is_damaged_starts_over(path, monkeypatch):
    monkeypatch.setattr(build, "_MOST_RECORDS", 10)
    with pytest.raises(KeyboardInterrupt):
        build_articles(path, Interrupted(25), resume="x")
    building = path.with_name(".a.building")
    building.write_bytes(b"x" * building.stat().st_size)
    assert build_articles(path, Interrupted(), resume="x").articles == 50
