"""Send a store to a file system of fsspec (S3, GCS, memory, …), and fetch one.

    <url>/manifest.json which folder is valid, and its files with sizes and checksums; written last
    <url>/<random name>/…          units.sqlite and the index files

A replaced store keeps its old folder until the new manifest is written, so whoever fetches it meanwhile gets the old one, the new
one, or a clear error.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from factoid._optional import require
from factoid.errors import InvalidInputError, MissingDependencyError, StoreError, StoreFormatError
from factoid.files.atomic import sync_file
from factoid.files.sqlite import FILE, explain
from factoid.store.database.schema import local_folder, open_reader
from factoid.store.indexes.build import INDEXES
from factoid.store.transfer.copies import new_folder, snapshot

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

    from factoid.store.unit_store import UnitStore

FORMAT = 1
MANIFEST = "manifest.json"

_FOLDER = re.compile(r"[0-9a-f]{16}")
_INDEX = re.compile(rf"({'|'.join(INDEXES)})\.(json|(\d+\.)?faiss|[a-z_]+\.npy)")

logger = logging.getLogger(__name__)


class _Sent(NamedTuple):
    """A file of a remote store."""

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, file: Path) -> Self:
        with file.open("rb") as content:
            return cls(file.name, file.stat().st_size, hashlib.file_digest(content, "sha256").hexdigest())


def save_to(store: UnitStore, url: str, *, fs: AbstractFileSystem | None = None, show_progress: bool = False) -> None:
    """Send a copy of this store to any file system that fsspec knows, such as "s3://bucket/facts"; with `fs`, a path in it.

    An existing store is replaced when everything has arrived. The copy is first made in the folder of temporary files (TMPDIR).
    Needs the extra `remote`.

    Raises:
        InvalidInputError: fsspec does not know the URL's protocol.
        MissingDependencyError: fsspec, or what it needs for the URL, is not installed.
        StoreError: The copy cannot be made or sent.
    """
    store.views.save()
    system, root = _resolve(url, fs)
    try:
        with tempfile.TemporaryDirectory(prefix="factoid-") as temporary:
            former = _send(system, root, snapshot(store.connections, Path(temporary)), show_progress=show_progress)
    except (OSError, sqlite3.Error) as error:
        message = f"cannot send the store to {url}: {explain(error)}. What was there before is unchanged"
        raise StoreError(message) from error
    if former is not None:
        try:
            system.rm(f"{root}/{former}", recursive=True)
        except OSError as error:
            logger.warning("%s/%s is of no use any more and could not be removed: %s", root, former, error)


def load_from(url: str, path: str | Path, *, fs: AbstractFileSystem | None = None, show_progress: bool = False) -> Path:
    """Fetch a store that `save_to` sent into a new or empty local folder, and return the folder.

    The folder is filled when everything has arrived and is checked.

    Raises:
        InvalidInputError: The folder is not empty, or fsspec does not know the URL's protocol.
        MissingDependencyError: fsspec, or what it needs for the URL, is not installed.
        StoreFormatError: There is no store, or it is incomplete.
        StoreError: The store cannot be fetched or written.
    """
    system, root = _resolve(url, fs)
    target = local_folder(path)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInputError(
            f"{target} already exists: name a new folder to fetch the store into, or delete it first"
        )
    folder, files = _manifest(system, root, url)
    try:
        with new_folder(target) as part:
            for sent in files:
                source, copy = f"{root}/{folder}/{sent.name}", part / sent.name
                with _progress(sent.name, show=show_progress) as callback:
                    system.get_file(source, str(copy), callback=callback)
                if _Sent.of(copy) != sent:
                    raise StoreFormatError(
                        f"{source} is damaged: its bytes differ from those that were sent. Send the store again"
                    )
                sync_file(copy)
            open_reader(part, read_only=True).close()
    except FileNotFoundError as error:
        raise StoreFormatError(
            f"the store at {url} is incomplete: {error}. If it was replaced just now, fetch it again; else send it again"
        ) from error
    except OSError as error:
        raise StoreError(f"cannot fetch the store at {url} into {target}: {error.strerror or error}") from error
    return target


def _resolve(url: str, fs: AbstractFileSystem | None) -> tuple[Any, str]:
    """Return a file system and a path in it."""
    try:
        if fs is None:
            fs, path = require("fsspec.core", extra="remote").url_to_fs(str(url))
        else:
            path = fs._strip_protocol(str(url))
    except ImportError as error:
        raise MissingDependencyError(f"{url} cannot be used: {error}") from error
    except ValueError as error:
        raise InvalidInputError(f"{url} is not an address that fsspec knows: {error}") from error
    return fs, str(path).rstrip("/")


def _send(system: Any, root: str, files: list[Path], *, show_progress: bool) -> str | None:
    """Send files to a new folder, and let the manifest name it; return the folder that it named before.

    Whatever fails, the manifest names the new folder or the old one, both complete; a folder that it does not name is removed if
    possible.
    """
    folder, former = secrets.token_hex(8), _named_folder(system, root)
    try:
        system.makedirs(f"{root}/{folder}", exist_ok=True)
        for file in files:
            with _progress(file.name, show=show_progress) as callback:
                system.put_file(str(file), f"{root}/{folder}/{file.name}", callback=callback)
        manifest = {"format": FORMAT, "folder": folder, "files": [_Sent.of(file)._asdict() for file in files]}
        part = f"{root}/{folder}/{MANIFEST}"
        system.pipe_file(part, json.dumps(manifest, indent=2).encode())
        system.mv(part, f"{root}/{MANIFEST}")
    except BaseException as error:
        sent = _named_folder(system, root) == folder
        if not sent:
            with suppress(OSError):
                system.rm(f"{root}/{folder}", recursive=True)
        if not (sent and isinstance(error, OSError)):  # a move that copied, and may not delete its source
            raise
    return former


def _progress(name: str, *, show: bool) -> Any:
    """Return a progress bar over the bytes of a file, as fsspec takes it, or one that shows nothing."""
    from fsspec.callbacks import Callback, TqdmCallback

    return TqdmCallback({"desc": name, "unit": "B", "unit_scale": True}) if show else Callback()


def _named_folder(system: Any, root: str) -> str | None:
    """Return the folder that the manifest names, if there is a store."""
    try:
        return _manifest(system, root, root)[0]
    except StoreError:
        return None


def _manifest(system: Any, root: str, url: str) -> tuple[str, list[_Sent]]:
    try:
        manifest = json.loads(system.cat_file(f"{root}/{MANIFEST}"))
        if manifest["format"] != FORMAT:
            raise StoreFormatError(
                f"the store at {url} is of format {manifest['format']!r}, and this factoid reads {FORMAT}: update factoid"
            )
        folder, files = manifest["folder"], [_Sent(**file) for file in manifest["files"]]
        names = [file.name for file in files]
        # Names become paths: accept nothing that leads elsewhere or is not part of a store.
        known = _FOLDER.fullmatch(folder) and all(name == FILE or _INDEX.fullmatch(name) for name in names)
        if not known or FILE not in names or len(set(names)) < len(names):
            raise ValueError
    except FileNotFoundError as error:
        raise StoreFormatError(
            f"there is no store at {url}, or it was not sent completely: {MANIFEST} is missing"
        ) from error
    except OSError as error:
        raise StoreError(f"the store at {url} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreFormatError(
            f"{MANIFEST} at {url} is damaged, or not the manifest of a store: send the store again"
        ) from error
    return folder, files
