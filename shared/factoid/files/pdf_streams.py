"""PDFs for pdfminer, with limits that it does not have.

On the number of pages and the length of a stream.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from factoid._optional import require
from factoid.errors import UnreadableFileError
from factoid.files.limits import ReadLimits
from factoid.files.lines import open_file


@dataclass(slots=True)
class _Reading:
    """A PDF that is being read, and the error if one of its streams was too long.

    Pdfminer and others hide errors.
    """

    path: Path
    limits: ReadLimits
    error: UnreadableFileError | None = None

    def check(self, size: int) -> None:
        """Refuse a stream of this size if it is above the limit."""
        if size > self.limits.unpacked_bytes:
            try:
                self.limits.refuse(
                    f"{self.path} has a stream that unpacks to", "unpacked_bytes", "bytes"
                )
            except UnreadableFileError as error:
                self.error = error
                raise


_READING: ContextVar[_Reading | None] = ContextVar("factoid_pdf", default=None)


@contextmanager
def open_pdf(path: Path, limits: ReadLimits) -> Iterator[BinaryIO]:
    """Open a PDF, and refuse streams above the limit while it is read.

    Raises:
        UnreadableFileError: The file is missing, damaged, encrypted or above a limit.
        MissingDependencyError: pdfminer is not installed.
    """
    _limit_streams()
    reading = _Reading(path, limits)
    token = _READING.set(reading)
    try:
        with open_file(path) as file:
            _check_pages(file, path, limits)
            file.seek(0)
            yield file
    except RecursionError:
        limits.refuse_nesting(path)
    finally:
        _READING.reset(token)
        if reading.error is not None:
            raise reading.error


def _check_pages(file: BinaryIO, path: Path, limits: ReadLimits) -> None:
    document: Any = require("pdfminer.pdfdocument", extra="documents")
    pages: Any = require("pdfminer.pdfpage", extra="documents")
    parser: Any = require("pdfminer.pdfparser", extra="documents")
    try:
        listed = pages.PDFPage.create_pages(document.PDFDocument(parser.PDFParser(file)))
        for number, _ in enumerate(listed, start=1):
            if number > limits.pages:
                limits.refuse(f"{path} has", "pages", "pages")
    except (UnreadableFileError, MemoryError, RecursionError):
        raise
    except Exception as error:
        # pdfminer fails with errors of many classes.
        raise UnreadableFileError(
            f"{path} is not a PDF, is damaged or encrypted: {error!r:.120}"
        ) from error


@cache
def _limit_streams() -> None:
    """Make pdfminer check the length of each stream that it unpacks for a reading of ours.

    All that it unpacks passes through this method, whatever filters a stream has, and it offers no
    place for a check.
    """
    types: Any = require("pdfminer.pdftypes", extra="documents")
    get_data = types.PDFStream.get_data

    def get_checked_data(self: Any) -> bytes:
        reading = _READING.get()
        if reading is None:
            unchecked: bytes = get_data(self)
            return unchecked
        if self.data is None and self.decipher is None:
            reading.check(_inflated_size(self, types, reading.limits.unpacked_bytes))
        data: bytes = get_data(self)
        reading.check(len(data))
        return data

    types.PDFStream.get_data = get_checked_data


def _inflated_size(stream: Any, types: Any, most: int) -> int:
    """Return the size of a stream after its first filters.

    It is unpacked as far as they inflate it, and not much further than `most`.
    """
    data = stream.rawdata
    for name, _ in stream.get_filters():
        if name not in types.LITERALS_FLATE_DECODE:
            break
        try:
            data = zlib.decompressobj().decompress(data, most + 1)
        except zlib.error:
            break  # pdfminer saves of damaged data what it can
    return len(data)
