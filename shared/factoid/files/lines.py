"""Users' files: listing folders, reading lines, plain or compressed, and parsing the JSON in them."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar, cast

from factoid.errors import InvalidInputError, UnreadableFileError, shown

Record = TypeVar("Record")

DAMAGE = (EOFError, zlib.error, lzma.LZMAError, OSError)  # raised by reading a damaged archive


def refuse(path: Path, error: OSError) -> NoReturn:
    """Raise an UnreadableFileError with the system's reason why a file cannot be read."""
    raise UnreadableFileError(f"{error.filename or path} cannot be read: {error.strerror or error}") from error


def visible_files(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder by name, then those of its subfolders; hidden files and links to folders are left out."""
    for root, folders, names in os.walk(folder, onerror=lambda error: refuse(folder, error)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files = (Path(root, name) for name in sorted(names) if not name.startswith("."))
        yield from (file for file in files if file.is_file())


def opened(path: Path) -> BinaryIO:
    """Open a file, decompressing gzip, bzip2 and xz, which its ending tells."""
    opener: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(path.suffix.lower(), open)
    try:
        return cast(BinaryIO, opener(path, "rb"))
    except OSError as error:
        refuse(path, error)


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers from 1 on; raise an UnreadableFileError where it is damaged."""
    number = 0
    with opened(path) as file:
        try:
            for number, line in enumerate(file, start=1):
                yield number, line
        except DAMAGE as error:
            damage = f"{path} is damaged or cut short after line {number}: {error}"
            raise UnreadableFileError(f"{damage}. Copy or download it again") from error


def filled_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Do the same as `read_lines`, without blank lines."""
    return ((number, line) for number, line in read_lines(path) if not line.isspace())


def read_records(path: Path, parse: Callable[[dict[str, Any]], Record], *, expected: str) -> Iterator[Record]:
    """Yield the record that `parse` makes of the JSON object in each line; an UnreadableFileError says where it fails."""
    for number, line in filled_lines(path):
        with located(f"{path}:{number}"):
            fields = parse_object(line)
            try:
                record = parse(fields)
            except InvalidInputError:
                raise
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise InvalidInputError(f"expected {expected}, got {shown(fields, 80)}: {error}") from error
        yield record


def parse_json(text: bytes | str) -> Any:
    """Return the value of a JSON text; raise an InvalidInputError if it is not JSON or not UTF-8."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"not UTF-8: {error}. Convert the file, or save it again as UTF-8") from error
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
    """Turn an InvalidInputError in the block into an UnreadableFileError that says where the input is."""
    try:
        yield
    except InvalidInputError as error:
        raise UnreadableFileError(f"{place}: {error}") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
