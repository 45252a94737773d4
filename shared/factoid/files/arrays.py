"""Files of named arrays, in the format of safetensors: a header in JSON, then the numbers.

The header also has a CRC-32 of each array and of itself. Arrays are mapped from the file: processes
that read the same file share its memory, and nothing is copied or unpacked. A file may come from a
stranger: sizes and types are checked before anything is read, and no memory is taken that the file
itself does not fill.

An array of which little is read at a time can be written with a CRC-32 of each piece of it. A piece
is then checked when it is first read, so that opening the file takes no time for it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Mapping
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from factoid.files.regular import open_regular

_TYPES = {"F32": "<f4", "I64": "<i8", "I32": "<i4", "U64": "<u8", "U16": "<u2", "U8": "|u1"}
_ABOUT = "__metadata__"  # the format's name for facts about the file
_FACTS = "facts"
_CHECKSUMS = "checksums"
_CHECKSUM = "checksum"
_ALIGNED = 64  # bytes: the header is padded to a multiple
_LONGEST_HEADER = 1 << 20
_BLOCK = 1 << 24  # bytes that are checked at a time
_PIECE = 1 << 18  # bytes with a CRC-32 of their own

Number = TypeVar("Number", bound=np.generic)


class ChangedPieceError(ValueError):
    """A piece of an array is not as it was written."""


class InPieces(Generic[Number]):
    """An array of one dimension in a file whose pieces are checked when they are first read.

    Threads may read it at once.
    """

    def __init__(self, name: str, array: NDArray[Number], checksums: list[int]) -> None:
        self._name = name
        self._array = array
        self._checksums = checksums
        self._length = _PIECE // array.itemsize  # numbers of a piece
        self._checked = bytearray(len(checksums))
        self.dtype = array.dtype
        self.ndim = array.ndim

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, place: slice) -> NDArray[Number]:
        """Return the numbers from `place.start` to `place.stop`.

        Raises:
            ChangedPieceError: A piece of them is not as it was written.
        """
        if place.start == place.stop:
            return self._array[place]
        first = place.start // self._length
        last = (place.stop - 1) // self._length
        for number in range(first, last + 1):
            if not self._checked[number]:
                self._check(number)
        return self._array[place]

    def _check(self, number: int) -> None:
        start = number * self._length
        if _crc32(self._array[start : start + self._length]) != self._checksums[number]:
            raise ChangedPieceError(f"{self._name} has changed")
        self._checked[number] = 1


Array: TypeAlias = NDArray[Any] | InPieces[Any]


class Arrays(NamedTuple):
    """The content of a file."""

    facts: dict[str, Any]
    arrays: dict[str, Any]  # mapped from the file, and then read-only, or in memory, or `InPieces`


def write_arrays(
    out: BinaryIO,
    facts: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    in_pieces: Collection[str] = (),
) -> None:
    """Write arrays of numbers, with facts that JSON can hold, to a file opened for writing.

    Those named by `in_pieces`, of one dimension, get a checksum for each piece.
    """
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    # Larger numbers first: then each array is aligned to its numbers, and there are no gaps, which
    # the format forbids.
    names = sorted(contiguous, key=lambda name: -contiguous[name].itemsize)
    header: dict[str, Any] = {}
    checksums: dict[str, int | list[int]] = {}
    end = 0
    for name in names:
        array = contiguous[name]
        start = end
        end = start + array.nbytes
        header[name] = {
            "dtype": _code(array),
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
        checksums[name] = _crc32_of_pieces(array) if name in in_pieces else _crc32(array)
    about = {_FACTS: json.dumps(dict(facts)), _CHECKSUMS: json.dumps(checksums)}
    header[_ABOUT] = {**about, _CHECKSUM: str(_checksum({**header, _ABOUT: about}))}
    encoded = json.dumps(header).encode()
    encoded += b" " * (-(8 + len(encoded)) % _ALIGNED)
    out.write(len(encoded).to_bytes(8, "little"))
    out.write(encoded)
    for name in names:
        out.write(contiguous[name].reshape(-1).view(np.uint8).data)


def read_arrays(path: Path, *, in_memory: Collection[str] = (), later: bool = False) -> Arrays:
    """Map the arrays of a file that `write_arrays` wrote.

    Some of them are read into memory instead. With `later`, arrays that were written in pieces are
    `InPieces`, and checked when they are read; otherwise, everything is checked.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: It cannot be read.
        ValueError: It is damaged, or holds something else.
    """
    with open_regular(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        length = int.from_bytes(file.read(8), "little")
        _check(8 + length <= size and length <= _LONGEST_HEADER, "its header has no end")
        header = _parsed(file.read(length))
        try:
            content: NDArray[np.uint8] = np.memmap(file, np.uint8, "r")
        except OSError:  # of a disk that cannot map files
            content = np.frombuffer(path.read_bytes(), np.uint8)
        facts, arrays = _read(file, content[8 + length :], header, in_memory, later=later)
    return Arrays(facts, arrays)


def _read(
    file: BinaryIO,
    content: NDArray[np.uint8],
    header: dict[str, Any],
    in_memory: Collection[str],
    *,
    later: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the facts and arrays that a header describes, all checked.

    `content` is what follows the header.
    """
    about = header.pop(_ABOUT)
    written = about.pop(_CHECKSUM)
    _check(written == str(_checksum({**header, _ABOUT: about})), "its header has changed")
    facts = json.loads(about[_FACTS])
    checksums = json.loads(about[_CHECKSUMS])
    _check(
        isinstance(facts, dict) and checksums.keys() == header.keys(), "its header is incomplete"
    )
    arrays: dict[str, Any] = {}
    end = 0
    for name, place in header.items():
        start = end
        array, end = _array(content, place, start)
        if name in in_memory:
            mapped = array
            array = np.empty(mapped.shape, mapped.dtype)
            file.seek(start - len(content), 2)
            file.readinto(array.reshape(-1).view(np.uint8).data)  # type: ignore[attr-defined]
        arrays[name] = _checked(name, array, checksums[name], later=later)
    _check(end == len(content), "it has another size than its arrays")
    return facts, arrays


def _checked(name: str, array: NDArray[Any], written: int | list[int], *, later: bool) -> Array:
    """Return an array if it has its checksum, or checksums for its pieces.

    With `later`, pieces are yet to be checked.
    """
    if not isinstance(written, list):
        _check(_crc32(array) == written, f"{name} has changed")
        return array
    pieces = -(-array.nbytes // _PIECE)
    _check(array.ndim == 1 and len(written) == pieces, f"{name} has not a checksum for each piece")
    if later:
        return InPieces(name, array, written)
    _check(_crc32_of_pieces(array) == written, f"{name} has changed")
    return array


def _array(
    content: NDArray[np.uint8], place: Mapping[str, Any], start: int
) -> tuple[NDArray[Any], int]:
    """Return an array of the content, which begins where the last one ended, and its end."""
    dtype = np.dtype(_TYPES[place["dtype"]])
    shape = place["shape"]
    _check(isinstance(shape, list), "a shape is no list")
    _check(
        all(type(length) is int and 0 <= length <= len(content) for length in shape),
        "a shape is impossible",
    )
    end = start + dtype.itemsize * prod(shape)
    _check(place["data_offsets"] == [start, end] and end <= len(content), "an array lies elsewhere")
    return np.asarray(content[start:end]).view(dtype).reshape(shape), end


def _parsed(header: bytes) -> dict[str, Any]:
    """Return the header, which must be an object of objects."""
    try:
        parsed = json.loads(header)
    except RecursionError as error:
        raise ValueError("its header is nested too deep") from error
    _check(isinstance(parsed, dict) and _ABOUT in parsed, "it has no header")
    _check(
        all(isinstance(value, dict) for value in parsed.values()),
        "its header is no header of arrays",
    )
    _check(
        parsed[_ABOUT].keys() == {_FACTS, _CHECKSUMS, _CHECKSUM},
        "it was written by another program",
    )
    return dict(parsed)


def _code(array: NDArray[Any]) -> str:
    for code, name in _TYPES.items():
        if array.dtype == np.dtype(name):
            return code
    raise TypeError(
        f"cannot write an array of {array.dtype}: expected one of {', '.join(_TYPES.values())}"
    )


def _crc32(array: NDArray[Any]) -> int:
    content = array.reshape(-1).view(np.uint8)
    checksum = 0
    for start in range(0, len(content), _BLOCK):
        checksum = zlib.crc32(content[start : start + _BLOCK].data, checksum)
    return checksum


def _crc32_of_pieces(array: NDArray[Any]) -> list[int]:
    content = array.view(np.uint8)
    checksums = []
    for start in range(0, len(content), _PIECE):
        checksums.append(zlib.crc32(content[start : start + _PIECE].data))
    return checksums


def _checksum(header: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(header, sort_keys=True).encode())


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
