"""A store sent to a file system of fsspec (S3, GCS, memory, …), and fetched from one.

    <url>/manifest.json            which folder counts, and its files with sizes and checksums; written last
    <url>/<random name>/…          units.sqlite and the index files

A store that is replaced keeps its old folder until the new manifest is there, so that whoever fetches it meanwhile gets
the old one or the new one, or one clear error.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.errors import InvalidInputError, MissingDependencyError, StoreError, StoreFormatError
from factoid.progress import progress_bar
from factoid.sqlite_file import FILE, explain
from factoid.store.connections import Connections
from factoid.store.copying import beside, snapshot
from factoid.store.schema import open_reader
from factoid.store.syncing import sync_file, sync_folder

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

FORMAT = 1
MANIFEST = "manifest.json"

_CHUNK = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class _Sent:
    """A file of a remote store: its name, its bytes and their checksum."""

    name: str
    size: int
    sha256: str


def save_to(
    connections: Connections, url: str, *, fs: AbstractFileSystem | None = None, show_progress: bool = False
) -> None:
    """Send a store, at one generation, to a folder that fsspec can write; what is there is replaced when all has come.

    The copy that is sent is made in the folder of temporary files (TMPDIR) first.

    Args:
        connections: Of the store.
        url: Such as "s3://bucket/facts"; with `fs`, a path in it.
        fs: The file system; None for the one that the URL names.
        show_progress: Show a progress bar over bytes.

    Raises:
        InvalidInputError: fsspec does not know the URL's protocol.
        MissingDependencyError: fsspec, or what it needs for the URL, is not installed.
        StoreError: The copy cannot be made or sent.
    """
    system, root = _resolve(url, fs)
    try:
        with tempfile.TemporaryDirectory(prefix="factoid-") as temporary:
            files = snapshot(connections, Path(temporary))
            folder = secrets.token_hex(8)
            with (
                _cleared_on_failure(system, f"{root}/{folder}"),
                progress_bar(show=show_progress, unit="B", total=_bytes(files), unit_scale=True) as bar,
            ):
                system.makedirs(f"{root}/{folder}", exist_ok=True)
                sent = [_send(system, file, f"{root}/{folder}/{file.name}", bar.update) for file in files]
        manifest = {"format": FORMAT, "folder": folder, "files": [asdict(each) for each in sent]}
        former = _former(system, root)
        system.pipe_file(f"{root}/{MANIFEST}", json.dumps(manifest, indent=2).encode())
        if former is not None:
            system.rm(f"{root}/{former}", recursive=True)
    except sqlite3.Error as error:
        message = f"cannot send the store to {url}: {explain(error)}"
        raise StoreError(message) from error
    except OSError as error:
        message = f"cannot send the store to {url}: {error.strerror or error}. What was there before is as it was"
        raise StoreError(message) from error


def load_from(url: str, path: str | Path, *, fs: AbstractFileSystem | None = None, show_progress: bool = False) -> Path:
    """Fetch a store that `save_to` sent into a new local folder, which appears when all has come and is checked.

    Args:
        url: Where it is; with `fs`, a path in it.
        path: The folder to make; it may be there and be empty.
        fs: The file system; None for the one that the URL names.
        show_progress: Show a progress bar over bytes.

    Returns:
        The folder.

    Raises:
        InvalidInputError: The folder is not empty, or fsspec does not know the URL's protocol.
        MissingDependencyError: fsspec, or what it needs for the URL, is not installed.
        StoreFormatError: There is no store, or one that has not come whole.
        StoreError: It cannot be fetched or written.
    """
    system, root = _resolve(url, fs)
    target = Path(path)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        message = f"{target} is there: name a new folder to fetch the store into, or delete it first"
        raise InvalidInputError(message)
    folder, files = _manifest(system, root, url)
    try:
        with beside(target) as part:
            total = sum(each.size for each in files)
            with progress_bar(show=show_progress, unit="B", total=total, unit_scale=True) as bar:
                for each in files:
                    _fetch(system, f"{root}/{folder}/{each.name}", part / each.name, each, bar.update)
            open_reader(part, read_only=True).close()
            sync_folder(part)
            if target.exists():
                target.rmdir()
            part.replace(target)
        sync_folder(target.absolute().parent)
    except FileNotFoundError as error:
        message = (
            f"the store at {url} is not whole: {error}. If it was replaced just now, fetch it again; else send it again"
        )
        raise StoreFormatError(message) from error
    except OSError as error:
        message = f"cannot fetch the store at {url} into {target}: {error.strerror or error}"
        raise StoreError(message) from error
    return target


def _resolve(url: str, fs: AbstractFileSystem | None) -> tuple[Any, str]:
    """Return a file system, and a path in it."""
    try:
        if fs is None:
            fs, path = require("fsspec", extra="remote").core.url_to_fs(str(url))
        else:
            path = fs._strip_protocol(str(url))
    except MissingDependencyError:
        raise
    except ImportError as error:
        message = f"{url} cannot be used: {error}"
        raise MissingDependencyError(message) from error
    except ValueError as error:
        message = f"{url} is no address that fsspec knows: {error}"
        raise InvalidInputError(message) from error
    return fs, str(path).rstrip("/")


def _send(system: Any, file: Path, path: str, progress: Callable[[int], object]) -> _Sent:
    digest = hashlib.sha256()
    with file.open("rb") as source, system.open(path, "wb") as target:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            target.write(chunk)
            progress(len(chunk))
    return _Sent(file.name, file.stat().st_size, digest.hexdigest())


@contextmanager
def _cleared_on_failure(system: Any, path: str) -> Iterator[None]:
    """Remove a folder that was not filled to its end, as far as that is possible now."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            system.rm(path, recursive=True)
        raise


def _fetch(system: Any, path: str, file: Path, sent: _Sent, progress: Callable[[int], object]) -> None:
    digest = hashlib.sha256()
    size = 0
    with system.open(path, "rb") as source, file.open("xb") as target:
        while chunk := source.read(_CHUNK):
            size += len(chunk)
            digest.update(chunk)
            target.write(chunk)
            progress(len(chunk))
    if (size, digest.hexdigest()) != (sent.size, sent.sha256):
        message = (
            f"{path} is damaged: it has {size:,} bytes of {sent.size:,}, or others than were sent. Send the store again"
        )
        raise StoreFormatError(message)
    sync_file(file)


def _former(system: Any, root: str) -> str | None:
    """Return the folder of the store that is there, if there is one."""
    try:
        return _manifest(system, root, root)[0]
    except StoreError:
        return None


def _manifest(system: Any, root: str, url: str) -> tuple[str, list[_Sent]]:
    try:
        manifest = json.loads(system.cat_file(f"{root}/{MANIFEST}"))
        if manifest["format"] != FORMAT:
            message = f"the store at {url} is of format {manifest['format']!r}, and this factoid reads {FORMAT}: update factoid"
            raise StoreFormatError(message)
        folder, files = manifest["folder"], [_Sent(**each) for each in manifest["files"]]
        names = [folder, *(each.name for each in files)]
        # Names become paths: nothing that leads elsewhere.
        if not all(_NAME.fullmatch(name) for name in names) or FILE not in names or len(set(names)) < len(names):
            raise ValueError
    except FileNotFoundError as error:
        message = f"there is no store at {url}, or it has not been sent to its end: {MANIFEST} is missing"
        raise StoreFormatError(message) from error
    except OSError as error:
        message = f"the store at {url} cannot be read: {error.strerror or error}"
        raise StoreError(message) from error
    except (ValueError, KeyError, TypeError) as error:
        message = f"{MANIFEST} at {url} is damaged, or no manifest of a store: send the store again"
        raise StoreFormatError(message) from error
    return folder, files


def _bytes(files: list[Path]) -> int:
    return sum(file.stat().st_size for file in files)
