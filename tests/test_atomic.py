"""Files and folders that are there whole or not at all, while others write and are killed."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest

from factoid.files.atomic import part_beside, write_file

KILLED = """
import os, sys
from pathlib import Path
from factoid.files.atomic import part_beside
with part_beside(Path(sys.argv[1]), folder=sys.argv[2] == "folder") as part:
    (part / "content" if sys.argv[2] == "folder" else part).write_text("half of it")
    os._exit(9)
"""


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_a_file_is_written_whole(tmp_path):
    written = write_file(tmp_path / "facts", lambda out: out.write(b"all of it"))
    assert written == {"size": 9, "sha256": sha256(b"all of it").hexdigest()}
    assert (tmp_path / "facts").read_bytes() == b"all of it"

    def fail(out):
        out.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_file(tmp_path / "facts", fail)
    assert names(tmp_path) == ["facts"]
    assert (tmp_path / "facts").read_bytes() == b"all of it"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_a_killed_process_left_is_removed(tmp_path, what):
    target = tmp_path / "facts"
    assert subprocess.run([sys.executable, "-c", KILLED, target, what], check=False).returncode == 9
    assert names(tmp_path) == [".facts.part", ".facts.part.lock"]
    with part_beside(target, folder=True) as part:
        (part / "content").write_text("all of it")
        part.replace(target)
    assert names(tmp_path) == ["facts"]
    assert (target / "content").read_text() == "all of it"


def test_writers_of_one_file_take_turns(tmp_path):
    def write(number):
        for _ in range(5):
            write_file(
                tmp_path / "facts", lambda out: [out.write(b"%d" % number) for _ in range(1000)]
            )

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    content = (tmp_path / "facts").read_bytes()
    assert content == content[:1] * 1000
    assert names(tmp_path) == ["facts"]
