"""A folder of files that appear whole, on a disk or at any address that fsspec knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from factoid._optional import require
from factoid.errors import (
    InvalidInputError,
    MissingDependencyError,
    StoreError,
    UnreadableFileError,
)
from factoid.files.atomic import move_into_place, part_beside, temporary_folder
from factoid.files.disk_errors import explain_disk_error

_PREFIX = "factoid-scale-"  # of temporary folders


@dataclass(slots=True)
class Writing:
    """A file that is being written.

    Attributes:
        part: Where its content goes.
        finished: Whether it is whole, and may have its name.
    """

    part: Path
    finished: bool = False

    def finish(self) -> None:
        """Say that the content is whole."""
        self.finished = True


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder at an address: a path, or a URL such as "s3://bucket/folder" (extra `remote`).

    Attributes:
        address: The address.
        options: What fsspec's file system takes, such as credentials.
    """

    address: str | Path
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def local(self) -> Path | None:
        """The path of a folder on this machine's disks; None for another one."""
        address = str(self.address)
        if isinstance(self.address, Path) or not is_url(address):
            return Path(address)
        if urlsplit(address).scheme == "file":
            return Path(self._resolved()[1])
        return None

    def absolute(self) -> Folder:
        """Return the same folder by an address that holds from any other folder, too."""
        if self.local is None:
            return self
        return Folder(self.local.absolute(), self.options)

    def place(self, name: str) -> str:
        """Return the address of a file in the folder."""
        return f"{str(self.address).rstrip('/')}/{name}"

    def make(self) -> None:
        """Make the folder, if it does not exist.

        Raises:
            StoreError: It cannot be made.
        """
        with self._explained("made"):
            if self.local is not None:
                self.local.mkdir(parents=True, exist_ok=True)
            else:
                system, path = self._resolved()
                system.makedirs(path, exist_ok=True)

    def names(self) -> list[str]:
        """Return the names of the files in the folder, but for hidden ones, in order.

        Raises:
            UnreadableFileError: There is no such folder, or it cannot be read.
        """
        names = []
        try:
            if self.local is not None:
                names = [path.name for path in self.local.iterdir()]
            else:
                system, path = self._resolved()
                system.invalidate_cache()  # others write there
                for entry in system.ls(path, detail=False):
                    names.append(entry.rstrip("/").rpartition("/")[2])
        except OSError as error:
            raise UnreadableFileError(
                f"the folder {self.address} cannot be read: {error.strerror or error}"
            ) from error
        return sorted(name for name in names if not name.startswith("."))

    def has(self, name: str) -> bool:
        """Return whether there is a file in the folder."""
        if self.local is not None:
            return (self.local / name).exists()
        system, path = self._resolved()
        system.invalidate_cache()
        return bool(system.exists(f"{path}/{name}"))

    def remove(self, name: str) -> None:
        """Remove a file, if the folder can be written to."""
        with suppress(OSError):
            if self.local is not None:
                (self.local / name).unlink()
            else:
                system, path = self._resolved()
                system.rm_file(f"{path}/{name}")

    def read(self, name: str) -> bytes:
        """Return the content of a small file.

        Raises:
            UnreadableFileError: It cannot be read.
        """
        try:
            if self.local is not None:
                return (self.local / name).read_bytes()
            system, path = self._resolved()
            return bytes(system.cat_file(f"{path}/{name}"))
        except OSError as error:
            raise UnreadableFileError(
                f"{self.place(name)} cannot be read: {error.strerror or error}"
            ) from error

    def write(self, name: str, content: bytes) -> None:
        """Write a small file.

        Raises:
            StoreError: It cannot be written.
        """
        with self.writing(name) as writing:
            writing.part.write_bytes(content)
            writing.finish()

    @contextmanager
    def writing(self, name: str) -> Iterator[Writing]:
        """Yield a file to be written, which gets its name after the block if it is finished.

        Raises:
            StoreError: It cannot be written.
        """
        with self._explained("written to"):
            if self.local is not None:
                with part_beside(self.local / name) as part:
                    writing = Writing(part)
                    yield writing
                    if writing.finished:
                        move_into_place(part, self.local / name)
                return
            system, path = self._resolved()
            with temporary_folder(_PREFIX) as temporary:
                writing = Writing(temporary / name)
                yield writing
                if writing.finished:
                    _send(system, writing.part, path, name)

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        """Yield a file of the folder on this machine's disk, during the block.

        Raises:
            UnreadableFileError: It cannot be read.
        """
        if self.local is not None:
            yield self.local / name
            return
        system, path = self._resolved()
        with temporary_folder(_PREFIX) as temporary:
            file = temporary / name
            try:
                system.get_file(f"{path}/{name}", str(file))
            except OSError as error:
                raise UnreadableFileError(
                    f"{self.place(name)} cannot be read: {error.strerror or error}"
                ) from error
            yield file

    def _resolved(self) -> tuple[Any, str]:
        system, path = resolve(str(self.address), self.options)
        return system, path.rstrip("/")

    @contextmanager
    def _explained(self, verb: str) -> Iterator[None]:
        """Raise errors of the disk as a StoreError that says what to do."""
        try:
            yield
        except OSError as error:
            if isinstance(error, UnreadableFileError | MissingDependencyError):
                raise
            raise StoreError(
                f"the folder {self.address} cannot be {verb}: {explain_disk_error(error)}"
            ) from error


def is_url(address: str) -> bool:
    """Return whether an address is that of fsspec, not a path."""
    return "://" in address


def resolve(url: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    """Return a file system of fsspec, and a path in it.

    Raises:
        InvalidInputError: fsspec does not know the address's protocol.
        MissingDependencyError: fsspec, or what it needs for the address, is not installed.
    """
    try:
        system, path = require("fsspec.core", extra="remote").url_to_fs(url, **options)
    except ImportError as error:
        raise MissingDependencyError(f"{url} cannot be used: {error}") from error
    except ValueError as error:
        raise InvalidInputError(f"{url} is not an address that fsspec knows: {error}") from error
    return system, path


def _send(system: Any, file: Path, folder: str, name: str) -> None:
    """Send a file, which appears under its name when it has arrived."""
    arriving = f"{folder}/.{name}.part"
    try:
        system.put_file(str(file), arriving)
        system.mv(arriving, f"{folder}/{name}")
    except BaseException:
        with suppress(OSError):
            system.rm(arriving)
        raise
