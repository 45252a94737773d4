"""A program that builds a store in small batches: path, seed, articles, and the moment at which it is to kill itself.

Moments: `commit N`, before the nth transaction ends; `marked`, when the file is whole; `moved`, when it is in its place.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from factoid.entities.articles import batch, build_articles, unfinished
from tests.entities.articles.records import Listed, seeded

build = sys.modules["factoid.entities.articles.build"]
finish = sys.modules["factoid.entities.articles.finish"]


def kill_self(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at(moment, number):
    if moment == "commit":
        left = [int(number)]
        before = unfinished.Unfinished.__init__

        def opened(self, *arguments):
            before(self, *arguments)

            def traced(statement):
                left[0] -= statement == "COMMIT"
                if left[0] == 0:
                    kill_self()

            self.connection.set_trace_callback(traced)

        unfinished.Unfinished.__init__ = opened
    elif moment == "marked":
        build._move = kill_self
    elif moment == "moved":
        removed = build.remove_unfinished

        def remove(path):
            kill_self() if path.exists() else removed(path)

        build.remove_unfinished = remove


def main(path, seed, articles, moment="", number=""):
    batch._MOST_RECORDS, finish._SMALL = 40, 0
    kill_at(moment, number)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    build_articles(Path(path), Listed(seeded(int(seed), int(articles))))


if __name__ == "__main__":
    main(*sys.argv[1:])
