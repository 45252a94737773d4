"""Files of a source, plain or compressed."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from factoid.errors import UnreadableFileError

Paths = str | Path | Iterable[str | Path]
_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"
_BUFFER = 1 << 20


def list_files(paths: Paths, *, accept: Callable[[Path], bool], expected: str) -> list[Path]:
    """List the files to read, those of folders and the folders in them in order of their names.

    Args:
        paths: A file or folder, or several. Files are taken whatever they are called.
        accept: Which files of folders to take; hidden ones are left out.
        expected: What they are called, for the error.

    Raises:
        UnreadableFileError: A path is missing, or a folder holds no such file.
    """
    files: dict[Path, None] = {}  # what is named twice is read once
    for path in map(Path, [paths] if isinstance(paths, str | Path) else paths):
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.is_file() and accept(file))
            inside = [file for file in inside if not any(part.startswith(".") for part in file.relative_to(path).parts)]
            if not inside:
                message = f"{path} holds no file to read: expected {expected}"
                raise UnreadableFileError(message)
            files.update(dict.fromkeys(inside))
        elif path.exists():
            files[path] = None
        else:
            message = f"{path} does not exist"
            raise UnreadableFileError(message)
    if not files:
        message = f"there is no file to read: expected {expected}"
        raise UnreadableFileError(message)
    return list(files)


@contextmanager
def opened(path: Path) -> Iterator[Iterable[bytes]]:
    """Open a file for reading, through gzip or bzip2 if its first bytes say so.

    Raises:
        UnreadableFileError: It cannot be read.
    """
    try:
        with path.open("rb", buffering=_BUFFER) as raw:
            begin = raw.read(3)
            raw.seek(0)
            if begin.startswith(_GZIP):
                with gzip.open(raw) as unpacked:
                    yield unpacked
            elif begin.startswith(_BZIP2):
                with bz2.open(raw) as unpacked:
                    yield unpacked
            else:
                yield raw
    except UnreadableFileError:
        raise
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}"
        raise UnreadableFileError(message) from error


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank, with their numbers from 1 on.

    Raises:
        UnreadableFileError: It is missing, cut short or damaged.
    """
    number = 0
    with opened(path) as file:
        lines = iter(file)
        while True:
            try:
                line = next(lines, b"")
            except (EOFError, zlib.error, OSError) as error:
                message = f"{path} is damaged or cut short after line {number}: {error}. Copy or download it again"
                raise UnreadableFileError(message) from error
            if not line:
                return
            number += 1
            if not line.isspace():
                yield number, line
