"""A program that builds a store in small batches: path, seed, articles, and the moment at which it is to kill itself.

Moments: `commit N`, before the nth transaction ends; `written`, when the file is whole; `moved`, when it is in its place.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count
from pathlib import Path

from factoid.entities.articles import build, build_articles, staging
from tests.entities.articles.records import Listed, seeded


def kill_self(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at(moment, number):
    if moment == "commit":
        connect, commits = staging.connect, count(1)

        def traced(path):
            connection = connect(path)
            connection.set_trace_callback(lambda sql: sql == "COMMIT" and next(commits) == int(number) and kill_self())
            return connection

        staging.connect = traced
    elif moment == "written":
        build.move_into_place = kill_self
    elif moment == "moved":
        staging.Staging.__exit__ = kill_self


def main(path, seed, articles, moment="", number=""):
    staging._MOST_RECORDS = 40
    kill_at(moment, number)
    build_articles(Path(path), Listed(seeded(int(seed), int(articles))))


if __name__ == "__main__":
    main(*sys.argv[1:])
