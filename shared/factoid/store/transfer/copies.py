"""Copy a store at one generation: to another folder, or as one file to a file system of fsspec (S3, GCS, memory, …)."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from factoid._optional import require
from factoid.errors import InvalidInputError, MissingDependencyError, StoreError, StoreFormatError
from factoid.files.atomic import move_into_place, part_beside, sync_file, sync_folder
from factoid.files.sqlite import FILE, explain
from factoid.index.files import index_files
from factoid.store.database.schema import local_folder, open_reader, prepare
from factoid.store.indexes.build import INDEXES

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore


def copy_to(store: UnitStore, path: str | Path) -> None:
    """Copy a store to a new folder, which appears when the copy is complete.

    Raises:
        InvalidInputError: There is something at the path.
        StoreError: The copy cannot be written.
    """
    target = _new_folder(path)
    with _explained(f"cannot copy the store to {target}"), part_beside(target, folder=True) as part:
        with closing(sqlite3.connect(part / FILE, isolation_level=None)) as database:
            _write(store, database, part)
            database.execute("PRAGMA journal_mode = DELETE")  # one file, which can be read from a read-only disk
        _put_in_place(part, target)


def copy_over(store: UnitStore, path: str | Path) -> None:
    """Do what `copy_to` does, or replace the content of a store that is at the path, in one commit; other files there stay.

    A store is not copied over itself.

    Raises:
        InvalidInputError, StoreFormatError: The path holds something other than a store.
        StoreError: The copy cannot be written.
    """
    target = local_folder(path)
    if not (target / FILE).exists():
        copy_to(store, target)
    elif store.path is None or not store.path.samefile(target):
        with _explained(f"cannot copy the store to {target}"), closing(prepare(target)) as database:
            _write(store, database, target)


def save_to(store: UnitStore, url: str, *, storage_options: Mapping[str, Any] | None = None) -> None:
    """Send a copy of this store, as one zip file, to an address of fsspec such as "s3://bucket/facts.zip".

    A file there is replaced when everything has arrived. Needs the extra `remote`, and room for two copies among temporary files.

    Args:
        store: The store.
        url: The address.
        storage_options: Options of the file system, such as credentials.

    Raises:
        InvalidInputError: fsspec does not know the URL's protocol.
        MissingDependencyError: fsspec, or what it needs for the URL, is not installed.
        StoreError: The copy cannot be made or sent.
    """
    system, target = _resolve(url, storage_options)
    with _explained(f"cannot send the store to {url}"), tempfile.TemporaryDirectory(prefix="factoid-") as temporary:
        folder, archive = Path(temporary, "store"), Path(temporary, "store.zip")
        copy_to(store, folder)
        with ZipFile(archive, "w") as content:  # not compressed: vectors would hardly shrink
            for file in folder.iterdir():
                content.write(file, file.name)
        system.makedirs(target.rpartition("/")[0], exist_ok=True)
        system.put_file(str(archive), f"{target}.part")
        system.mv(f"{target}.part", target)


def load_from(url: str, path: str | Path, *, storage_options: Mapping[str, Any] | None = None) -> None:
    """Fetch a store that `save_to` sent into a new folder, which appears when everything has arrived and is checked.

    Raises:
        InvalidInputError: There is something at the path, or fsspec does not know the URL's protocol.
        MissingDependencyError: fsspec, or what it needs for the URL, is not installed.
        StoreFormatError: There is no store, or it is damaged.
        StoreError: The store cannot be fetched or written.
    """
    system, source = _resolve(url, storage_options)
    target = _new_folder(path)
    with (
        _explained(f"cannot fetch the store at {url} into {target}"),
        tempfile.TemporaryDirectory(prefix="factoid-") as temporary,
        part_beside(target, folder=True) as part,
    ):
        archive = Path(temporary, "store.zip")
        try:
            system.get_file(source, str(archive))
            with ZipFile(archive) as content:
                content.extractall(part)  # checks what it reads
        except (FileNotFoundError, BadZipFile) as error:
            raise StoreFormatError(f"there is no whole store at {url} ({error}): send it again") from error
        open_reader(part, read_only=True).close()
        _put_in_place(part, target)


@contextmanager
def _explained(problem: str) -> Iterator[None]:
    """Turn errors of the system and of SQLite into a StoreError that begins with a problem."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{problem}: {explain(error)}") from error


def _new_folder(path: str | Path) -> Path:
    target = local_folder(path)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InvalidInputError(f"{target} already exists: name a new folder for the copy, or delete it first")
    return target


def _write(store: UnitStore, database: sqlite3.Connection, folder: Path) -> None:
    """Write a store into a database, as one commit, and its index files into a folder."""
    store.views.save()
    with store.connections.reading() as source:
        source.values("SELECT value FROM meta")  # the first read fixes the generation
        with _explained(f"cannot copy the store to {folder}"):
            source.connection.backup(database)
    # Each index names its generation, so those of another one do no harm.
    for file in [file for name in INDEXES for file in index_files(store.path / name)] if store.path else []:
        with (
            suppress(FileNotFoundError),
            part_beside(folder / file.name) as part,
        ):  # replaced just now: the copy builds its own
            shutil.copyfile(file, part)
            part.replace(folder / file.name)


def _put_in_place(part: Path, target: Path) -> None:
    """Move a folder to a path that is new or an empty folder."""
    for file in part.iterdir():
        sync_file(file)
    sync_folder(part)
    with suppress(FileNotFoundError):
        target.rmdir()  # not every system renames over an empty folder
    move_into_place(part, target)


def _resolve(url: str, options: Mapping[str, Any] | None) -> tuple[Any, str]:
    """Return a file system and a path in it."""
    try:
        system, path = require("fsspec.core", extra="remote").url_to_fs(url, **(options or {}))
    except ImportError as error:
        raise MissingDependencyError(f"{url} cannot be used: {error}") from error
    except ValueError as error:
        raise InvalidInputError(f"{url} is not an address that fsspec knows: {error}") from error
    return system, path
