"""Files moved into place while other processes sweep."""

from __future__ import annotations

import errno

import pytest

from factoid.index import atomic
from factoid.index.atomic import sweep, write_file


def test_nothing_is_swept_before_it_is_in_its_place(tmp_path, monkeypatch):
    """A sweep between the last byte and the move, as another process may do it, leaves the file alone."""
    replace = atomic.Path.replace

    def swept(part, file):
        sweep(tmp_path / "passage")
        return replace(part, file)

    monkeypatch.setattr(atomic.Path, "replace", swept)
    write_file(tmp_path / "passage.faiss", lambda out: out.write(b"all of it"))
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"all of it"]


def test_a_file_that_was_swept_before_it_was_claimed_is_made_again(tmp_path, monkeypatch):
    claim, swept = atomic._claim, []

    def late(file):
        if not swept:
            swept.extend(tmp_path.glob("*.part"))
            swept[0].unlink()
        return claim(file)

    monkeypatch.setattr(atomic, "_claim", late)
    write_file(tmp_path / "passage.faiss", lambda out: out.write(b"all of it"))
    assert (len(swept), [file.read_bytes() for file in tmp_path.iterdir()]) == (1, [b"all of it"])


def test_file_systems_without_locks(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refused(*_):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refused)
    (tmp_path / "passage.faiss.0.part").write_bytes(b"of another process")
    write_file(tmp_path / "passage.faiss", lambda out: out.write(b"all of it"))
    sweep(tmp_path / "passage")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["passage.faiss", "passage.faiss.0.part"]
