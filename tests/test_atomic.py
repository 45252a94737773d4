"""Files and folders that are there whole or not at all, while others write and are killed."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256

import pytest

from factoid.files import atomic
from factoid.files.atomic import part_beside, sweep, write_file

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
def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path, what):
    target, folder = tmp_path / "facts.jsonl", what == "folder"
    (tmp_path / ".other.1.part.lock").touch()
    assert subprocess.run([sys.executable, "-c", KILLED, target, what], check=False).returncode == 9
    assert len(names(tmp_path)) == 3
    with part_beside(target, folder=folder) as living:
        assert names(tmp_path) == sorted([".other.1.part.lock", f"{living.name}.lock", *([living.name] * folder)])
        with part_beside(target, folder=folder) as part:
            if not folder:
                part.write_text("all of it")
            part.replace(target)
        if not folder:
            living.write_text("all of it, and later")
            living.replace(target)
    assert names(tmp_path) == [".other.1.part.lock", "facts.jsonl"]


def test_nothing_is_swept_before_it_is_in_its_place(tmp_path, monkeypatch):
    """A sweep between the last byte and the move, as another process may do it, leaves the file alone."""
    replace = atomic.Path.replace

    def swept(part, file):
        sweep(tmp_path / "passage")
        return replace(part, file)

    monkeypatch.setattr(atomic.Path, "replace", swept)
    write_file(tmp_path / "passage.faiss", lambda out: out.write(b"all of it"))
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"all of it"]
