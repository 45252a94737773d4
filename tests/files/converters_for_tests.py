"""Converters that misbehave, for `factoid.files.isolation`."""

from __future__ import annotations

import os
import sys
import time

from factoid.errors import MissingDependencyError, UnreadableFileError


def report(path, limits):
    """Yield what a converter sees."""
    print("a line that is no reply")  # noqa: T201
    yield {
        "pid": os.getpid(),
        "folder": os.getcwd(),  # noqa: PTH109
        "path": str(path),
        "pages": limits.pages,
        "text": "ü\ud83d\n",
    }


def sleep(path, limits):
    yield os.getpid()
    time.sleep(600)


def crash(path, limits):
    os.abort()
    yield None


def leave(path, limits):
    os._exit(0)
    yield None


def allocate(path, limits):
    yield len(bytearray(limits.memory_bytes + 1))


def recurse(path, limits, depth=0):
    yield from recurse(path, limits, depth + 1)


def refuse(path, limits):
    raise UnreadableFileError(f"{path} is not for us")
    yield None


def lack(path, limits):
    raise MissingDependencyError("'ink' is not installed")
    yield None


def fail(path, limits):
    raise KeyError("chapter")
    yield None


def exit_early(path, limits):
    sys.exit(3)
    yield None
