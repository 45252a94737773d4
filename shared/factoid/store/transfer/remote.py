"""Send a store as one file to a file system of fsspec (S3, GCS, memory, …), and fetch it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from factoid._optional import require
from factoid.errors import InvalidInputError, MissingDependencyError, StoreFormatError
from factoid.files.atomic import part_beside
from factoid.files.sqlite import FILE, SENT
from factoid.forks import at_work
from factoid.store.database.schema import open_reader
from factoid.store.database.vector_file import checked_name, is_vector_file, vector_path
from factoid.store.indexes.build import INDEXES
from factoid.store.opened import OpenedStore
from factoid.store.transfer.copies import back_up, explained, new_folder, put_in_place
from factoid.vectors.files import index_files, is_index_file

_ARCHIVE = "store.zip"


def save_to(
    store: OpenedStore, url: str, *, storage_options: Mapping[str, Any] | None = None
) -> None:
    """Do what `UnitStore.save_to` describes."""
    system, target = _resolve(url, storage_options)
    arriving = f"{target}.part"
    with explained(f"cannot send the store to {url}"):
        system.makedirs(target.rpartition("/")[0], exist_ok=True)
        try:
            # vectors would hardly shrink
            with system.open(arriving, "wb") as out, ZipFile(out, "w") as archive:
                _pack(store, archive)
            system.mv(arriving, target)
        except BaseException:
            with suppress(OSError):
                system.rm(arriving)
            raise


def load_from(
    url: str, path: str | Path, *, storage_options: Mapping[str, Any] | None = None
) -> None:
    """Fetch a store that `save_to` sent into a new folder.

    It appears when everything has arrived and is checked.

    Raises:
        InvalidInputError: There is something at the path, or fsspec does not know the URL's
            protocol.
        MissingDependencyError: fsspec, or what it needs for the URL, is not installed.
        StoreFormatError: There is no store, or it is damaged.
        StoreError: The store cannot be fetched or written.
    """
    system, source = _resolve(url, storage_options)
    target = new_folder(path)
    problem = f"cannot fetch the store at {url} into {target}"
    with explained(problem), part_beside(target, folder=True) as part:
        archive = part / _ARCHIVE
        try:
            system.get_file(source, str(archive))
            _unpack(archive, part)
        except (FileNotFoundError, BadZipFile, NotImplementedError, EOFError) as error:
            raise StoreFormatError(
                f"there is no whole store at {url} ({error}): send it again"
            ) from error
        archive.unlink()
        with at_work():
            open_reader(part, read_only=True).close()
        put_in_place(part, target)


def _pack(store: OpenedStore, archive: ZipFile) -> None:
    """Put the database and the indexes of a store into an archive."""
    store.indexes.save()
    with ExitStack() as stack:
        source = stack.enter_context(store.connections.reading())
        part: Path | None = None
        if store.path is not None and not store.connections.read_only:
            part = stack.enter_context(part_beside(store.path / SENT))
        database = stack.enter_context(
            closing(sqlite3.connect(part or ":memory:", isolation_level=None))
        )
        back_up(store, source, database)
        database.execute(
            "PRAGMA journal_mode = DELETE"
        )  # one file, which can be read from a read-only disk
        if part is None:
            archive.writestr(FILE, database.serialize())
        else:
            archive.write(part, FILE)
        if source.meta.get("vectors") is not None:
            file = vector_path(Path(), checked_name(source.meta["vectors"]))
            with archive.open(file.name, "w", force_zip64=True) as out:
                source.write_vectors(out)
    if store.path is None:
        return
    for name in INDEXES:
        for file in index_files(store.path / name):
            # it was replaced just now: the other side builds its own
            with suppress(FileNotFoundError):
                archive.write(file, file.name)


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack the files of a store.

    An archive that holds anything else, or more than its own size, is refused.
    """
    size = archive.stat().st_size
    with ZipFile(archive) as content:
        members = content.infolist()
        names = [member.filename for member in members]
        for member in members:
            known = member.filename == FILE or is_vector_file(member.filename)
            known = known or is_index_file(member.filename, INDEXES)
            if not known or member.compress_type != ZIP_STORED:
                raise BadZipFile(
                    f"it holds {member.filename!r:.80}, which is no file of a store as it is sent"
                )
        if (
            FILE not in names
            or len(set(names)) < len(names)
            or sum(member.file_size for member in members) > size
        ):
            raise BadZipFile("its files are not those of a store")
        for member in members:
            with content.open(member) as source, (folder / member.filename).open("xb") as out:
                shutil.copyfileobj(source, out)  # checks what it reads


def _resolve(url: str, options: Mapping[str, Any] | None) -> tuple[Any, str]:
    """Return a file system and a path in it."""
    try:
        system, path = require("fsspec.core", extra="remote").url_to_fs(url, **(options or {}))
    except ImportError as error:
        raise MissingDependencyError(f"{url} cannot be used: {error}") from error
    except ValueError as error:
        raise InvalidInputError(f"{url} is not an address that fsspec knows: {error}") from error
    return system, path
