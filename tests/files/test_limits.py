"""Limits of files that are read as text, as records and as tables, and what says so."""

from __future__ import annotations

import bz2
import gzip
import io
import logging
import lzma
import os
import stat
import sys
from dataclasses import fields

import pytest

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits, parse_limits
from factoid.files.lines import read_lines, read_records
from factoid.files.readers import read_documents, read_file

TIGHT = ReadLimits(file_bytes=1000, unpacked_bytes=100, depth=5)


def names(limit):
    """What an error says about a limit."""
    return rf"If you trust the file, raise the limit: ReadLimits\({limit}=…\), or --limit {limit}=…"


@pytest.mark.parametrize(
    "options",
    [
        {"pages": 0},
        {"depth": 1001},
        {"unpacked_bytes": 1.5},
        {"seconds": 0},
        {"seconds": float("nan")},
        {"seconds": "9"},
    ],
)
def test_limits_are_numbers_within_reason(options):
    with pytest.raises(InvalidInputError, match=f"{next(iter(options))} must be"):
        ReadLimits(**options)


def test_limits_of_the_command_line():
    assert parse_limits([]) == DEFAULT_LIMITS
    assert parse_limits(["pages=20", "seconds=0.5", "pages=30"]) == ReadLimits(
        pages=30, seconds=0.5
    )
    assert parse_limits(["seconds=none"]).seconds is None
    for option in ("page=1", "pages", "pages=", "pages=many", "seconds=long", "depth=2000"):
        with pytest.raises(
            InvalidInputError,
            match=r"expected a limit as in pages=|expected a number for|depth must be",
        ):
            parse_limits([option])


def test_every_limit_can_be_given_to_the_command_line():
    for field in fields(ReadLimits):
        parse_limits([f"{field.name}=7"])


@pytest.mark.parametrize("ending", ["txt", "md", "notes"])
def test_a_long_text(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(b"x" * 1000)
    assert len(next(read_file(path, limits=TIGHT)).text) == 1000
    path.write_bytes(b"x" * 1001)
    with pytest.raises(
        UnreadableFileError,
        match=rf"a\.{ending} holds more than 1,000 bytes\. {names('file_bytes')}",
    ):
        list(read_documents([path], limits=TIGHT))


def test_a_text_that_grows_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 5000)
    empty = os.stat_result((stat.S_IFREG, *[0] * 9))
    monkeypatch.setattr("factoid.files.lines.os.fstat", lambda _: empty)
    with pytest.raises(UnreadableFileError, match="more than 1,000 bytes"):
        list(read_file(path, limits=TIGHT))


def test_long_standard_input_is_not_read_to_its_end(monkeypatch):
    class Endless(io.RawIOBase):
        given = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            self.given += len(buffer)
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

    source = Endless()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(source)))
    with pytest.raises(
        UnreadableFileError,
        match=rf"standard input holds more than 1,000 bytes\. {names('file_bytes')}",
    ):
        list(read_documents(["-"], limits=TIGHT))
    assert source.given < 10_000_000


def test_a_long_line(tmp_path):
    path = tmp_path / "a.jsonl"
    long = '{"text": "' + "x" * 87 + '"}\n'
    path.write_text(f"{long}\n{long}" * 50)  # the file as a whole may be long
    assert len(list(read_file(path, limits=TIGHT))) == 100
    path.write_text(f'{long}{long[:-3]}yy"}}\n')
    with pytest.raises(
        UnreadableFileError,
        match=rf"a\.jsonl:2: the line has more than 100 bytes\. {names('unpacked_bytes')}",
    ):
        list(read_file(path, limits=TIGHT))


@pytest.mark.parametrize(("packer", "ending"), [(bz2, "bz2"), (gzip, "gz"), (lzma, "xz")])
def test_a_packed_line_of_zeros(tmp_path, packer, ending):
    path = tmp_path / f"a.jsonl.{ending}"
    with packer.open(path, "wb") as out:
        for _ in range(20):
            out.write(bytes(1 << 20))
    limits = ReadLimits(unpacked_bytes=1 << 20)
    with pytest.raises(UnreadableFileError, match=r":1: the line has more than 1,048,576 bytes"):
        list(read_records(path, dict, expected="an object", limits=limits))
    assert len(list(read_lines(path))) == 1


def test_a_row_that_never_ends(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("title,text\n" + "Sea,Salt.\n" * 100)
    assert len(list(read_file(path, limits=TIGHT))) == 100
    path.write_text('title,text\nSea,"Salt.\n' + "and more\n" * 1000)
    with pytest.raises(
        UnreadableFileError,
        match=rf"a\.csv:1\d: a row has more than 100 bytes\. {names('unpacked_bytes')}",
    ):
        list(read_file(path, limits=TIGHT))


FRONT_MATTER = {
    "lists": ("[", "]"),
    "mappings": ("{a: ", "}"),
    "blocks": ("- ", ""),
    "keys": ("? ", ""),
}


@pytest.mark.parametrize("kind", FRONT_MATTER)
def test_deep_front_matter_gives_no_metadata_and_takes_no_time(tmp_path, caplog, kind):
    opening, closing = FRONT_MATTER[kind]
    path = tmp_path / "a.md"
    for depth in (300, 15_000):
        path.write_text(f"---\na:\n  {opening * depth}b{closing * depth}\n---\nText.")
        with caplog.at_level(logging.WARNING):
            document = next(read_file(path))
        assert [*document.metadata] == ["source"]
        assert document.text.endswith("Text.")
        assert "its collections are nested more than 200 deep, the limit depth" in caplog.text
        caplog.clear()


def test_the_depth_of_front_matter_is_an_option(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("---\na: [[[b]]]\n---\nText.")
    assert next(read_file(path, limits=ReadLimits(depth=4))).metadata["a"] == [[["b"]]]
    assert [*next(read_file(path, limits=ReadLimits(depth=3))).metadata] == ["source"]


def test_long_front_matter_gives_no_metadata(tmp_path, caplog):
    path = tmp_path / "a.md"
    path.write_text(f"---\ntags: [{'ship, ' * 20_000}]\n---\nText.")
    document = next(read_file(path))
    assert [*document.metadata] == ["source"]
    assert "it has more than 100,000 characters" in caplog.text


def test_a_deep_record_is_one_error(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x", "metadata": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}")
    with pytest.raises(UnreadableFileError, match=r"a\.jsonl:1"):
        list(read_file(path))
