"""List users' folders, open their files, and read lines and the JSON in them."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

from factoid.errors import InvalidInputError, UnreadableFileError, shown
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.regular import is_special, open_regular

Record = TypeVar("Record")

DAMAGE = (EOFError, zlib.error, lzma.LZMAError, OSError)  # raised by reading a damaged archive
_CHUNK = 1 << 20
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
COMPRESSED_ENDINGS = frozenset(_OPENERS)


def refuse(path: Path, error: OSError) -> NoReturn:
    """Raise an UnreadableFileError with the system's reason why a file cannot be read."""
    raise UnreadableFileError(
        f"{error.filename or path} cannot be read: {error.strerror or error}"
    ) from error


def visible_files(folder: Path, *, follow_links: bool = False) -> Iterator[Path]:
    """Yield what is not a folder in a folder, by name, then in its subfolders.

    Hidden names are left out. Symbolic links are yielded as they are, to folders, too. With
    `follow_links`, those to folders are folders; each folder is listed once, however many links
    lead to it.
    """
    listed = set()
    for root, folders, names in os.walk(
        folder, onerror=lambda error: refuse(folder, error), followlinks=follow_links
    ):
        identity = _identity(root)
        if identity in listed:
            folders.clear()
            continue
        listed.add(identity)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = []
        for name in folders:
            if not follow_links and Path(root, name).is_symlink():
                links.append(name)
        yield from (
            Path(root, name) for name in sorted([*names, *links]) if not name.startswith(".")
        )


def _identity(folder: str) -> tuple[int, int]:
    try:
        status = os.stat(folder)  # noqa: PTH116 (of the path that os.walk returns)
    except OSError as error:
        refuse(Path(folder), error)
    return status.st_dev, status.st_ino


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file; refuse a pipe or a device, from which reading may never end."""
    if is_special(path):
        raise UnreadableFileError(
            f"{path} is not a regular file: copy what it yields to a file, and read that"
        )
    try:
        file = open_regular(path)
    except OSError as error:
        refuse(path, error)
    with file:
        yield file


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file, decompressing gzip, bzip2 and xz, which its ending tells."""
    opener = _OPENERS.get(path.suffix.lower())
    with open_file(path) as raw:
        if opener is None:
            yield raw
        else:
            with opener(raw, "rb") as content:
                yield content


def read_whole(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> bytes:
    """Return the content of a regular file.

    Raise an UnreadableFileError if it is longer than the limit of bytes.
    """
    with open_file(path) as file:
        if os.fstat(file.fileno()).st_size > limits.file_bytes:
            limits.refuse(f"{path} holds", "file_bytes", "bytes")
        return read_stream(file, str(path), limits)


def read_stream(file: BinaryIO, place: str, limits: ReadLimits) -> bytes:
    """Return what is left of a file.

    Raise an UnreadableFileError as soon as it is longer than the limit of bytes.
    """
    content = bytearray()
    try:
        for chunk in iter(partial(file.read, _CHUNK), b""):
            content += chunk
            if len(content) > limits.file_bytes:
                limits.refuse(f"{place} holds", "file_bytes", "bytes")
    except UnreadableFileError:
        raise
    except OSError as error:
        refuse(Path(place), error)
    return bytes(content)


def read_lines(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers from 1 on.

    Raises:
        UnreadableFileError: The file is damaged, or a line is longer than the limit of unpacked
            bytes.
    """
    number = 0
    most = limits.unpacked_bytes
    with opened(path) as file:
        try:
            while line := file.readline(most + 1):
                number += 1
                if len(line) > most:
                    limits.refuse(f"{path}:{number}: the line has", "unpacked_bytes", "bytes")
                yield number, line
        except UnreadableFileError:
            raise
        except DAMAGE as error:
            damage = f"{path} is damaged or cut short after line {number}: {error}"
            raise UnreadableFileError(f"{damage}. Copy or download it again") from error


def filled_lines(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[tuple[int, bytes]]:
    """Do the same as `read_lines`, without blank lines."""
    return ((number, line) for number, line in read_lines(path, limits) if not line.isspace())


def read_records(
    path: Path,
    parse: Callable[[dict[str, Any]], Record],
    *,
    expected: str,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> Iterator[Record]:
    """Yield the record that `parse` makes of the JSON object in each line.

    An UnreadableFileError says where it fails.
    """
    for number, line in filled_lines(path, limits):
        with located(f"{path}:{number}"):
            fields = parse_object(line)
            try:
                record = parse(fields)
            except InvalidInputError:
                raise
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise InvalidInputError(
                    f"expected {expected}, got {shown(fields, 80)}: {error}"
                ) from error
        yield record


def parse_json(text: bytes | str) -> Any:
    """Return the value of a JSON text.

    Raise an InvalidInputError if it is not JSON or not UTF-8.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"not UTF-8: {error}. Convert the file, or save it again as UTF-8"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"not JSON: {error}") from error


def parse_object(line: bytes | str) -> dict[str, Any]:
    """Return the JSON object in a line; raise an InvalidInputError for anything else."""
    fields = parse_json(line)
    if not isinstance(fields, dict):
        raise InvalidInputError(f"expected one JSON object per line, got {shown(fields)}")
    return fields


@contextmanager
def located(place: object) -> Iterator[None]:
    """Turn an InvalidInputError into an UnreadableFileError with the place."""
    try:
        yield
    except InvalidInputError as error:
        raise UnreadableFileError(f"{place}: {error}") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
