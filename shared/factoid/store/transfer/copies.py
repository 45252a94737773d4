"""Copy a store at one generation to another folder."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from factoid.errors import InvalidInputError, StoreError
from factoid.files.atomic import (
    move_into_place,
    part_beside,
    remove_leftovers,
    sync_file,
    sync_folder,
)
from factoid.files.disk_errors import explain_disk_error
from factoid.files.sqlite import FILE, SENT
from factoid.forks import at_work
from factoid.store.database.connections import Connections
from factoid.store.database.schema import local_folder, open_writer
from factoid.store.database.snapshot import Snapshot, write_meta
from factoid.store.database.vector_file import new_name, vector_path
from factoid.store.indexes.build import INDEXES
from factoid.store.opened import OpenedStore
from factoid.vectors.files import index_files


def copy_to(store: OpenedStore, path: str | Path) -> None:
    """Do what `UnitStore.copy_to` describes."""
    target = new_folder(path)
    with explained(f"cannot copy the store to {target}"), part_beside(target, folder=True) as part:
        write_database(store, part / FILE, part)
        _copy_indexes(store, part)
        put_in_place(part, target)


def copy_over(store: OpenedStore, path: str | Path) -> None:
    """Do what `UnitStore.copy_over` describes."""
    target = local_folder(path)
    if not (target / FILE).exists():
        copy_to(store, target)
    elif store.path is None or not store.path.samefile(target):
        with explained(f"cannot copy the store to {target}"), part_beside(target / SENT) as part:
            write_database(store, part, target)
            with (
                at_work(),
                closing(sqlite3.connect(part)) as copy,
                closing(open_writer(target)) as database,
            ):
                copy.backup(database)
            _copy_indexes(store, target)
        with closing(Connections(target)) as connections:
            connections.sweep_vectors()


@contextmanager
def explained(problem: str) -> Iterator[None]:
    """Turn errors of the system and of SQLite into a StoreError that begins with a problem."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{problem}: {explain_disk_error(error)}") from error


def new_folder(path: str | Path) -> Path:
    """Return the path of a copy, or refuse one at which there is something."""
    target = local_folder(path)
    with suppress(OSError):
        remove_leftovers(target)  # of a copy that was complete when its process was killed
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InvalidInputError(
            f"{target} already exists: name a new folder for the copy, or delete it first"
        )
    return target


def write_database(store: OpenedStore, file: Path, folder: Path) -> None:
    """Write the database of a store to a new file, and its vectors into a folder.

    The indexes' files are then up to date. The copy's file of vectors has a name of its own, since
    the two stores may grow apart.
    """
    store.indexes.save()
    with at_work(), closing(sqlite3.connect(file, isolation_level=None)) as database:
        with store.connections.reading() as source:
            back_up(store, source, database)
            if source.meta.get("vectors") is not None:
                name = new_name()
                with vector_path(folder, name).open("xb") as out:
                    source.write_vectors(out)
                sync_file(vector_path(folder, name))
                write_meta(database, vectors=name)
        # one file, which can be read from a read-only disk
        database.execute("PRAGMA journal_mode = DELETE")


def back_up(store: OpenedStore, source: Snapshot, database: sqlite3.Connection) -> None:
    """Write a store into a database as one commit."""
    source.values("SELECT value FROM meta")  # the first read fixes the generation
    with explained(f"cannot copy the store in {store.path or 'memory'}"):
        source.connection.backup(database)


def _copy_indexes(store: OpenedStore, folder: Path) -> None:
    """Copy the files of the indexes.

    Each has its generation in its name, so those of another one do no harm.
    """
    if store.path is None:
        return
    for name in INDEXES:
        for file in index_files(store.path / name):
            with suppress(FileNotFoundError), part_beside(folder / file.name) as part:
                shutil.copyfile(file, part)  # if it was replaced just now, the copy builds its own
                part.replace(folder / file.name)


def put_in_place(part: Path, target: Path) -> None:
    """Move a folder to a path that is new or an empty folder."""
    for file in part.iterdir():
        sync_file(file)
    sync_folder(part)
    with suppress(FileNotFoundError):
        target.rmdir()  # not every system renames over an empty folder
    move_into_place(part, target)
