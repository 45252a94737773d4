"""Folders with links, pipes, devices, files that vanish, and names that are not UTF-8."""

from __future__ import annotations

import logging
import os
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.errors import UnreadableFileError
from factoid.files.lines import open_file
from factoid.files.readers import find_files, read_documents, read_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("inside")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.txt").write_text("key")
    return folder


def texts(path, **options):
    return [document.text for document in read_documents([path], **options)]


def test_links_are_skipped_wherever_they_lead_unless_they_are_to_be_followed(folder, caplog):
    (folder / "out.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "private").symlink_to(folder.parent / "private")
    (folder / "in.txt").symlink_to(folder / "a.txt")
    (folder / "up").symlink_to(folder.parent)
    (folder / "broken.txt").symlink_to(folder / "absent.txt")
    with caplog.at_level(logging.WARNING):
        assert texts(folder) == ["inside"]
    assert f"skipped symbolic links in {folder}: 5; they may lead out of the folder" in caplog.text
    assert "follow_links=True, or --follow-links, reads them" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert sorted(texts(folder, follow_links=True)) == ["inside", "key", "secret"]
    assert (
        f"skipped files of other kinds in {folder}: 1 (pipe, device or broken link)" in caplog.text
    )


def test_what_is_named_is_followed(folder):
    link = folder / "out.txt"
    link.symlink_to(folder.parent / "secret.txt")
    assert texts(link) == ["secret"]
    other = folder.parent / "other"
    other.symlink_to(folder)
    assert texts(other) == ["inside"]


def test_a_file_that_is_found_in_two_ways_is_read_once(folder):
    link = folder.parent / "link.txt"
    link.symlink_to(folder / "a.txt")
    (folder / "b.txt").symlink_to(folder / "a.txt")
    again = folder.parent / "again"
    again.symlink_to(folder)
    found = find_files([folder / "a.txt", link, folder, again], follow_links=True)
    assert found == [folder / "a.txt"]


def test_loops_of_links_end(folder):
    (folder / "self").symlink_to("self")
    (folder / "loop.txt").symlink_to("loop.txt")
    (folder / "deep").mkdir()
    (folder / "deep" / "here").symlink_to(folder)
    (folder / "deep" / "there").symlink_to(folder / "deep")
    for follow_links in (False, True):
        assert texts(folder, follow_links=follow_links) == ["inside"]
    with pytest.raises(UnreadableFileError, match=r"loop\.txt"):
        find_files([folder / "loop.txt"])
    with pytest.raises(UnreadableFileError, match=r"loop\.txt"):
        list(read_file(folder / "loop.txt"))


def make_fifo(path):
    os.mkfifo(path)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))  # a short name, which sockets need


def make_zero(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [make_fifo, make_socket, make_zero])
@pytest.mark.parametrize("ending", ["txt", "jsonl", "csv", "html", "pdf", "docx"])
def test_what_is_no_regular_file_is_not_opened(folder, monkeypatch, make, ending):
    monkeypatch.chdir(folder)
    path = folder / f"x.{ending}"
    make(path)
    for follow_links in (False, True):
        assert texts(folder, follow_links=follow_links) == ["inside"]
    with pytest.raises(UnreadableFileError, match="neither a file nor a folder"):
        find_files([path])
    # As if it had taken the place of a file between listing and reading.
    with pytest.raises(UnreadableFileError, match=r"is not a regular file|No such device"):
        list(read_file(path))


def test_a_file_that_vanishes_is_one_error(folder):
    for ending in ("txt", "jsonl", "csv", "html", "pdf", "docx", "epub", "ipynb"):
        with pytest.raises(UnreadableFileError, match=rf"x\.{ending} cannot be read: No such file"):
            list(read_file(folder / f"x.{ending}"))
    (folder / "b.txt").write_text("second")
    documents = read_documents([folder])
    assert next(documents).text == "inside"
    (folder / "b.txt").unlink()
    with pytest.raises(UnreadableFileError, match=r"b\.txt cannot be read: No such file"):
        next(documents)


def test_a_name_that_is_not_utf8_is_told(folder):
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.txt")).write_text("café")
    except OSError:
        pytest.skip("this file system takes only UTF-8")
    documents = read_documents([folder])
    assert next(documents).text == "inside"
    with pytest.raises(
        UnreadableFileError, match=r"the name b'.*caf\\xe9\.txt' is not UTF-8: rename the file"
    ):
        next(documents)


def test_an_open_file_is_a_regular_one(folder):
    with open_file(folder / "a.txt") as file:
        assert file.read() == b"inside"
    with (
        pytest.raises(UnreadableFileError, match=r"Is a directory|not a regular file"),
        open_file(folder),
    ):
        pass


NAMES = st.sampled_from("abcd")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES, st.sampled_from(["file", "folder", "link"])), max_size=12))
def test_no_tree_of_links_leads_out_or_repeats(tmp_path_factory, steps):
    root = tmp_path_factory.mktemp("tree")
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("secret")
    inside = root / "docs"
    (inside / "a").mkdir(parents=True)
    (inside / "first.txt").write_text("first")
    targets = {"a": inside, "b": inside / "a", "c": outside, "d": inside / "first.txt"}
    for number, (place, target, kind) in enumerate(steps):
        path = (inside / "a" if place in "ab" else inside) / f"{place}{number}.txt"
        if kind == "file":
            path.write_text(f"text {number}")
        elif kind == "folder":
            path.mkdir()
            (path / "x.txt").write_text(f"text {number}")
        else:
            path.symlink_to(targets[target])
    read = texts(inside)
    written = [
        "first",
        *(f"text {number}" for number, step in enumerate(steps) if step[2] != "link"),
    ]
    assert sorted(read) == sorted(written)
    followed = texts(inside, follow_links=True)
    leaves = any(kind == "link" and target == "c" for _, target, kind in steps)
    assert sorted(followed) == sorted([*written, *["secret"] * leaves])
