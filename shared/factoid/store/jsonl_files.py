"""Exported units and documents as JSON lines, one object a line, compressed by gzip if wanted."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, NoReturn

from factoid.encode import Vectors
from factoid.errors import UnreadableFileError
from factoid.store.exchange_records import Record, document_record, unit_record
from factoid.store.rows import Stored
from factoid.units import Document

_GZIP_LEVEL = 6


def write_units(part: Path, blocks: Iterable[list[Stored]], *, vectors: bool, compressed: bool) -> None:
    """Write units, with their vectors as lists of numbers that read back equal."""
    with _opened(part, "wb", compressed=compressed) as file:
        for block in blocks:
            for stored in block:
                line = json.dumps(unit_record(stored.unit), allow_nan=False)
                if vectors:
                    line = f'{line[:-1]}, "vector": {_numbers(stored.vector)}}}'
                file.write(line.encode() + b"\n")


def write_documents(part: Path, blocks: Iterable[list[tuple[Document, str]]], *, compressed: bool) -> None:
    """Write documents."""
    with _opened(part, "wb", compressed=compressed) as file:
        for block in blocks:
            for document, digest in block:
                file.write(json.dumps(document_record(document, digest), allow_nan=False).encode() + b"\n")


def read(path: Path, *, compressed: bool) -> Iterator[tuple[Record, str]]:
    """Yield the records of a file, each with where it stands.

    Raises:
        UnreadableFileError: The file is missing or damaged, or a line is no JSON object.
    """
    number = 0
    try:
        with _opened(path, "rb", compressed=compressed) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _record(line, f"{path}:{number}"), f"{path}:{number}"
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        message = f"{path} is damaged after line {number}: {error}. Export or copy it again"
        raise UnreadableFileError(message) from error
    except UnreadableFileError:
        raise
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}"
        raise UnreadableFileError(message) from error


def _numbers(vector: Vectors | None) -> str:
    """Return a vector as JSON. Nine digits are what a float32 needs to read back equal; json would write seventeen."""
    if vector is None:
        return "null"
    text = f"[{', '.join(['%.9g'] * len(vector))}]" % tuple(vector.tolist())
    return text.replace("-0,", "-0.0,").replace(
        "-0]", "-0.0]"
    )  # JSON would read -0 as a whole number, which has no sign


def _record(line: bytes, place: str) -> Record:
    try:
        record = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        message = f"{place}: not JSON: {error}"
        raise UnreadableFileError(message) from error
    if not isinstance(record, dict):
        message = f"{place}: expected an object, got {record!r:.60}"
        raise UnreadableFileError(message)
    return record


@contextmanager
def _opened(path: Path, mode: Literal["rb", "wb"], *, compressed: bool) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with path.open(mode) as raw:
        if not compressed:
            yield raw
            return
        # No name and no time in the header: the same store makes the same bytes.
        with gzip.GzipFile(filename="", mode=mode, compresslevel=_GZIP_LEVEL, fileobj=raw, mtime=0) as file:
            yield file


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is no JSON number"
    raise ValueError(message)
