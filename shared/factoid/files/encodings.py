"""Bytes of users' files as text: UTF-8, and UTF-16 and UTF-32 where the first bytes show them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from factoid.errors import UnreadableFileError
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.lines import DAMAGE, opened, read_lines

_UTF_8 = "utf-8"
_MARKS = {  # byte order marks; that of UTF-32 begins like that of UTF-16
    codecs.BOM_UTF8: _UTF_8,
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_NEWLINE = re.compile(r"(?<=\n)")
_CHUNK = 1 << 20
_HEAD = 4096  # bytes that are looked at
_LEAST = 0.9  # of every second byte are zeros in UTF-16 without a mark, in a text of Latin letters
_FEWEST = 8  # of them, so that a few odd bytes are not taken for text


def encoding_of(head: bytes) -> tuple[str, int]:
    """Return the encoding that the first bytes of a text show.

    It is UTF-8 by default; the size of its byte order mark comes with it.
    """
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding, len(mark)
    head = head[: min(len(head) & ~1, _HEAD)]
    for encoding, zeros, letters in (
        ("utf-16-le", head[1::2], head[::2]),
        ("utf-16-be", head[::2], head[1::2]),
    ):
        if (
            len(zeros) >= _FEWEST
            and zeros.count(0) >= _LEAST * len(zeros)
            and letters.count(0) == 0
        ):
            return encoding, 0
    return _UTF_8, 0


def decode(raw: bytes, place: str) -> str:
    """Return bytes as text, without a byte order mark.

    Raises:
        UnreadableFileError: The bytes are not text in the encoding that they show.
    """
    encoding, size = encoding_of(raw[:_HEAD])
    try:
        return raw[size:].decode(encoding)
    except UnicodeDecodeError as error:
        byte = f"byte {error.object[error.start]:#04x} at offset {error.start}"
        raise UnreadableFileError(
            f"{place} is not text in {_shown(encoding)}: {byte}. Convert it, for example with "
            "iconv -f UTF-16 -t UTF-8 or -f LATIN1"
        ) from error


def read_text_lines(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text, plain or compressed, with their numbers from 1 on and their ends.

    Raises:
        UnreadableFileError: The file is damaged or is not text, or a line is longer than the limit
            of unpacked bytes.
    """
    with opened(path) as file:
        try:
            encoding, size = encoding_of(file.read(_HEAD))
        except DAMAGE as error:
            raise UnreadableFileError(
                f"{path} is damaged: {error}. Copy or download it again"
            ) from error
    if encoding == _UTF_8:
        for number, line in read_lines(path, limits):
            if number == 1:
                yield number, decode(line, f"{path}:{number}")
            else:
                yield number, _utf_8(line, path, number)
        return
    with opened(path) as file:
        yield from _wide_lines(file, path, encoding, size, limits)


def _utf_8(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return decode(codecs.BOM_UTF8 + line, f"{path}:{number}")  # raises


def _wide_lines(
    file: BinaryIO, path: Path, encoding: str, size: int, limits: ReadLimits
) -> Iterator[tuple[int, str]]:
    number = 1
    parts: list[str] = []  # of the line that is being read
    length = 0
    for text in _decoded(file, path, encoding, size):
        for part in _NEWLINE.split(text):
            parts.append(part)
            length += len(part)
            if length > limits.unpacked_bytes:
                limits.refuse(f"{path}:{number}: the line has", "unpacked_bytes", "characters")
            if part.endswith("\n"):
                yield number, "".join(parts)
                number += 1
                parts = []
                length = 0
    if length:
        yield number, "".join(parts)


def _decoded(file: BinaryIO, path: Path, encoding: str, size: int) -> Iterator[str]:
    """Yield the parts of a text behind its byte order mark."""
    decoder = codecs.getincrementaldecoder(encoding)()
    name = _shown(encoding)
    try:
        file.read(size)
        while chunk := file.read(_CHUNK):
            yield decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"{path} is not text in {name}, or is cut short: {error}"
        ) from error
    except DAMAGE as error:
        raise UnreadableFileError(
            f"{path} is damaged or cut short: {error}. Copy or download it again"
        ) from error


def _shown(encoding: str) -> str:
    return encoding.removesuffix("-le").removesuffix("-be").upper()
