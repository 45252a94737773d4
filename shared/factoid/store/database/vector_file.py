"""The vectors of a store, in one file beside its database: the one place where each vector is kept.

`vectors-NAME.bin` holds a record for each row of the table of vectors: the components, and a CRC-32
of the row and the components. The name is in the database. Records are only added: those of a
transaction reach the disk before its commit, and what a transaction that was not committed has left
behind the last row is written over by the next one. So a reader at any generation finds the vectors
of its rows, whatever others write meanwhile. The file is mapped into memory, and a record is
checked when it is first read.

`compact` writes a new file without the records of vectors that were deleted. It begins with the
rows of those that were left, ascending; later rows follow each other.
"""

from __future__ import annotations

import mmap
import os
import re
import secrets
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from factoid.errors import StoreError
from factoid.files.atomic import sync_folder
from factoid.files.disk_errors import explain_disk_error
from factoid.files.regular import open_regular
from factoid.store.database.records import DamagedRowError

Rows = NDArray[np.int64]
Numbers = NDArray[Any]

_MAGIC = b"factoid vectors 1"
_HEADER = (
    64  # bytes: the magic, the number of listed rows, and the last row before those that follow
)
_CHECKSUM = 4  # bytes
_BLOCK = 10_000  # records that are copied or checked at a time
_WRITTEN = 1_000  # vectors that become records at a time: their memory is used again
_GROWN = 1.5  # by which memory grows
_HIGHEST = 1 << 62  # row, and byte of a file
_NAME = re.compile("[0-9a-f]{16}")


def new_name() -> str:
    """Return a name that no other file of vectors has."""
    return secrets.token_hex(8)


def is_vector_file(name: str) -> bool:
    """Return whether the name of a file is that of a file of vectors."""
    return re.fullmatch(rf"vectors-{_NAME.pattern}\.bin", name) is not None


def vector_path(folder: Path, name: str) -> Path:
    """Return the path of the file with a name."""
    return folder / f"vectors-{name}.bin"


def checked_name(name: object) -> str:
    """Return a name that the database holds; raise DamagedRowError for one that it cannot hold."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DamagedRowError(str(name), what="the name of the file of vectors")
    return name


def write_header(out: IO[bytes], rows: Rows, before: int) -> None:
    """Write the beginning of a file for some rows, ascending, and for those after `before`.

    Rows from 1 to `before` without a gap need no list: later rows follow them as they follow 0.
    """
    if len(rows) == before:
        rows = rows[:0]
        before = 0
    numbers = np.array([len(rows), before, *rows.tolist()], "<i8")
    out.write(_MAGIC.ljust(_HEADER - 16) + numbers.tobytes())


class VectorFile:
    """The vectors of one file, or of a store in memory (no path), by row.

    Threads may read it while one adds.

    Args:
        source: Its path; for a store in memory, the content of a file.
        dim: Number of components.
        dtype: Of the components: float32 or float16.

    Raises:
        OSError: It cannot be opened.
        DamagedRowError: It holds something else.
    """

    def __init__(self, source: Path | bytes, dim: int, dtype: np.dtype[Any]) -> None:
        self.path: Path | None = None
        self.dim = dim
        self.dtype = dtype.newbyteorder("<")
        self._width = dim + _CHECKSUM // dtype.itemsize  # numbers of a record
        self._lock = threading.RLock()
        self._listed: Rows = np.empty(0, np.int64)  # rows at the beginning, ascending
        self._before = 0  # the row before those that follow
        self._numbers: Numbers = np.empty((0, self._width), self.dtype)  # shape: (records, width)
        self._checked = np.zeros(0, np.bool_)
        self._begin = 0  # of the first record in the file
        self._content: mmap.mmap | bytes = b""  # of the file
        if isinstance(source, Path):
            self.path = source
            self._map(source)
            self._read_header(source.name)
        else:
            self._content = source
            self._read_header("in memory")
            numbers = np.frombuffer(source, self.dtype, offset=self._begin)
            self._numbers = numbers.reshape(-1, self._width).copy()
            self._checked = np.ones(len(self._numbers), np.bool_)

    def write_to(self, out: IO[bytes], rows: Rows, before: int) -> None:
        """Write a file with the records of some rows, ascending, as they are.

        Later rows will be those after `before`.

        Raises:
            OSError: It cannot be written.
            DamagedRowError: A record is missing.
        """
        write_header(out, rows, before)
        for start in range(0, len(rows), _BLOCK):
            places = self._places(rows[start : start + _BLOCK])
            last = int(rows[min(start + _BLOCK, len(rows)) - 1])
            out.write(self._up_to(int(places.max()) + 1, last)[places].tobytes())

    def count_to(self, last: int) -> int:
        """Return how many records there are up to a row, those of deleted vectors included."""
        return len(self._listed) + max(0, last - self._before)

    def add(self, first: int, vectors: Numbers) -> None:
        """Write vectors under rows from the first one on, over what may be there. Shape: (n, dim).

        Raises:
            StoreError: They cannot be written.
            DamagedRowError: No file is as long.
        """
        place = len(self._listed) + first - self._before - 1
        end = place + len(vectors)
        if self.path is None:
            with self._lock:
                if end > len(self._numbers):
                    grown = np.empty((int(end * _GROWN), self._width), self.dtype)
                    grown[:place] = self._numbers[:place]
                    self._numbers = grown
                    self._checked = np.ones(len(grown), np.bool_)
                self._numbers[place:end] = self._records(first, vectors)
            return
        record_size = self._width * self.dtype.itemsize
        if self._begin + end * record_size > _HIGHEST:
            raise DamagedRowError("vectors", what="the last row of")
        try:
            with self.path.open("r+b") as out:
                out.seek(self._begin + place * record_size)
                for start in range(0, len(vectors), _WRITTEN):
                    block = vectors[start : start + _WRITTEN]
                    out.write(self._records(first + start, block).data)
        except OSError as error:
            raise StoreError(
                f"the vectors in {self.path} cannot be written: {explain_disk_error(error)}"
            ) from error

    def sync(self) -> None:
        """Wait until the disk holds all vectors.

        Raises:
            StoreError: It cannot hold them.
        """
        if self.path is None:
            return
        try:
            with self.path.open("r+b") as out:
                os.fsync(out.fileno())
        except OSError as error:
            raise StoreError(
                f"the vectors in {self.path} cannot be written: {explain_disk_error(error)}"
            ) from error

    def read(self, rows: Rows) -> Numbers:
        """Return the vectors of some rows. Shape: (n, dim).

        Raises:
            DamagedRowError: The vector of a row is missing, or differs from what was written.
        """
        if not len(rows):
            return np.empty((0, self.dim), self.dtype)
        places = self._places(rows)
        numbers = self._up_to(int(places.max()) + 1, int(rows[places.argmax()]))
        checked = self._checked
        first = int(places[0])
        if np.array_equal(places, np.arange(first, first + len(places))):
            # A view: an exact index reads all of them.
            records = numbers[first : first + len(places)]
        else:
            records = numbers[places]
        unchecked = ~checked[places]
        if unchecked.any():
            if unchecked.all():
                wrong = self._differing(rows, records)
            else:
                wrong = self._differing(rows[unchecked], records[unchecked])
            if len(wrong):
                raise DamagedRowError(int(wrong[0]), what="vector")
            checked[places] = True
        return records[:, : self.dim]

    def damaged(self, rows: Rows) -> Iterator[tuple[Rows, Numbers, Rows]]:
        """Yield rows in blocks, with their vectors as they are, and those of them that differ."""
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            present = []
            for row in block.tolist():
                with suppress(DamagedRowError):
                    self._up_to(int(self._places(np.array([row]))[0]) + 1, row)
                    present.append(row)
            there = np.array(present, np.int64)
            records = self._numbers[self._places(there)]
            wrong = np.union1d(np.setdiff1d(block, there), self._differing(there, records))
            yield there, records[:, : self.dim], wrong

    def after_fork(self) -> None:
        """Make a new lock, in the child."""
        self._lock = threading.RLock()

    def _map(self, path: Path) -> None:
        """Map a file into memory, as it is now."""
        with open_regular(path) as file:
            try:
                self._content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError):  # of a disk that cannot map files; of an empty one
                self._content = file.read()

    def _read_header(self, name: str) -> None:
        """Read the beginning of a file; raise DamagedRowError if it is none of vectors."""
        header = self._content[:_HEADER]
        count = int.from_bytes(header[-16:-8], "little")
        self._before = int.from_bytes(header[-8:], "little")
        self._begin = _HEADER + 8 * count
        damage = DamagedRowError(name, what="the file of vectors")
        if (
            not header.startswith(_MAGIC)
            or len(header) < _HEADER
            or self._begin > len(self._content)
        ):
            raise damage
        if self._before > _HIGHEST:
            raise damage
        self._listed = np.frombuffer(self._content[_HEADER : self._begin], "<i8").astype(np.int64)
        ascending = bool((np.diff(self._listed) > 0).all())
        if (
            not ascending
            or self._listed.min(initial=1) < 1
            or self._listed.max(initial=0) > self._before
        ):
            raise damage

    def _places(self, rows: Rows) -> Rows:
        """Return the numbers of the records of some rows; raise DamagedRowError if one has none."""
        places = rows + (len(self._listed) - self._before - 1)
        early = rows <= self._before
        if early.any():
            listed = np.searchsorted(self._listed, rows[early])
            known = np.append(self._listed, -1)[listed] == rows[early]
            if not known.all():
                raise DamagedRowError(int(rows[early][~known][0]), what="vector")
            places[early] = listed
        return places

    def _up_to(self, count: int, last: int) -> Numbers:
        """Return the records; raise DamagedRowError, naming the last row, if less than `count`."""
        with self._lock:
            if self.path is None:
                if count > len(self._numbers):
                    raise DamagedRowError(last, what="vector")
                return self._numbers
            # To read behind the end of a file that was cut short would end the process.
            present = (self._size(self.path) - self._begin) // (self._width * self.dtype.itemsize)
            if count > present:
                raise DamagedRowError(last, what="vector")
            if count > len(self._numbers) or present < len(self._numbers):
                if len(self._content) < self._size(self.path):
                    self._remap(self.path)
                self._numbers = self._as_records()
                checked = np.zeros(len(self._numbers), np.bool_)
                known = min(len(checked), len(self._checked))
                checked[:known] = self._checked[:known]
                self._checked = checked
            if count > len(self._numbers):
                raise DamagedRowError(last, what="vector")
            return self._numbers

    def _size(self, path: Path) -> int:
        """Return the size of the file now; it may have been removed since it was mapped."""
        if isinstance(self._content, mmap.mmap):
            return self._content.size()
        return path.stat().st_size

    def _remap(self, path: Path) -> None:
        try:
            self._map(path)
        except OSError as error:
            raise DamagedRowError(
                f"{path.name} ({explain_disk_error(error)})", what="the file of vectors"
            ) from error

    def _as_records(self) -> Numbers:
        """Return the whole records of the content. Shape: (n, width)."""
        count = (len(self._content) - self._begin) // (self._width * self.dtype.itemsize)
        numbers = np.frombuffer(self._content, self.dtype, count * self._width, self._begin)
        return numbers.reshape(count, self._width)

    def _records(self, first: int, vectors: Numbers) -> Numbers:
        """Return vectors as records, with their checksums. Shapes: (n, dim) to (n, width)."""
        records = np.empty((len(vectors), self._width), self.dtype)
        records[:, : self.dim] = vectors
        content = records.reshape(-1).view(np.uint8).data
        size = self.dim * self.dtype.itemsize
        starts = range(0, len(content), self._width * self.dtype.itemsize)
        checksums = []
        for row, start in enumerate(starts, first):
            checksums.append(zlib.crc32(content[start : start + size], row & 0xFFFFFFFF))
        numbers = np.array(checksums, "<u4").view(self.dtype)
        records[:, self.dim :] = numbers.reshape(len(vectors), -1)
        return records

    def _differing(self, rows: Rows, records: Numbers) -> Rows:
        """Return the rows whose records are not as they were written."""
        whole = np.ascontiguousarray(records)
        written = np.ascontiguousarray(whole[:, self.dim :]).view("<u4")[:, 0].tolist()
        content = whole.reshape(-1).view(np.uint8).data
        step = self._width * self.dtype.itemsize
        size = self.dim * self.dtype.itemsize
        starts = range(0, len(content), step)
        wrong = []
        for start, row, checksum in zip(starts, rows.tolist(), written, strict=True):
            if zlib.crc32(content[start : start + size], row & 0xFFFFFFFF) != checksum:
                wrong.append(row)
        return np.array(wrong, np.int64)


class VectorFiles:
    """The file of vectors that an open store reads and adds to; in memory, an array instead."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._open: dict[tuple[str, int, str], VectorFile] = {}

    def get(self, name: str, dim: int, dtype: np.dtype[Any]) -> VectorFile:
        """Return the file with a name, opened now or before.

        Raises:
            DamagedRowError: It is missing, or holds something else.
        """
        key = name, dim, dtype.str
        file = self._open.get(key)
        if file is not None:
            return file
        if self.folder is None:
            raise DamagedRowError(name, what="the file of vectors")
        path = vector_path(self.folder, name)
        try:
            file = VectorFile(path, dim, dtype)
        except OSError as error:
            raise DamagedRowError(
                f"{path.name} ({explain_disk_error(error)})", what="the file of vectors"
            ) from error
        # A search of an earlier generation goes on with the one before.
        before = dict(list(self._open.items())[-1:])
        self._open = {**before, key: file}
        return file

    def create(
        self,
        name: str,
        dim: int,
        dtype: np.dtype[Any],
        write: Callable[[IO[bytes]], None],
        *,
        current: str | None,
    ) -> None:
        """Make a new file, and remove all but this and the current one.

        The caller has the right to write the database.

        Raises:
            StoreError: It cannot be made.
        """
        if self.folder is None:
            content = BytesIO()
            write(content)
            self._open[name, dim, dtype.str] = VectorFile(content.getvalue(), dim, dtype)
            return
        self.sweep(current)
        path = vector_path(self.folder, name)
        try:
            with path.open("xb") as out:
                write(out)
                out.flush()
                os.fsync(out.fileno())
            sync_folder(self.folder)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {explain_disk_error(error)}") from error

    def sweep(self, name: str | None) -> None:
        """Remove all files but the one with a name.

        They are of what was compacted or cleared, or of a killed process. The caller has the right
        to write the database: otherwise another process may be making a file.
        """
        if self.folder is None:
            self._open = {key: file for key, file in self._open.items() if key[0] == name}
            return
        with suppress(OSError):
            for file in self.folder.iterdir():
                if is_vector_file(file.name) and (
                    name is None or file != vector_path(self.folder, name)
                ):
                    file.unlink()

    def after_fork(self) -> None:
        """Make new locks, in the child."""
        for file in self._open.values():
            file.after_fork()
