"""Stores on the file systems that LlamaIndex persists to: in their place on a local one, sent and fetched on others."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from factoid.errors import StoreFormatError
from factoid.sqlite_file import FILE
from factoid.store import UnitStore
from factoid.store.remote import load_from


def save(store: UnitStore, path: str, fs: AbstractFileSystem | None) -> None:
    """Copy a store to a folder of any file system; see `MultiGranularFaissVectorStore.persist`."""
    folder = _local(path, fs)
    if folder is None:
        store.save_to(path, fs=fs)
    else:
        store.copy_to(folder)


def fetch(path: str, fs: AbstractFileSystem | None, copy: str | Path | None) -> tuple[Path, bool]:
    """Return the local folder of a persisted store, and whether it is a temporary one.

    For arguments and errors see `MultiGranularFaissVectorStore.from_persist_path`.
    """
    folder = _local(path, fs)
    if folder is None:
        target = Path(tempfile.mkdtemp(prefix="factoid-") if copy is None else copy)
        try:
            return load_from(path, target, fs=fs), copy is None
        except BaseException:
            if copy is None:
                shutil.rmtree(target, ignore_errors=True)
            raise
    if not (folder / FILE).exists():
        message = f"there is no store at {folder}: a store is a folder that holds {FILE}"
        raise StoreFormatError(message)
    return folder, False


def remove_with(owner: object, folder: Path) -> None:
    """Remove a temporary folder when its owner is gone, or when the interpreter ends."""
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)


def _local(path: str, fs: AbstractFileSystem | None) -> Path | None:
    """Return a path of the local file system, None for one of another."""
    if fs is None and "://" in path:
        fs, path = url_to_fs(path)
    if fs is None:
        return Path(path)
    return Path(fs._strip_protocol(path)) if isinstance(fs, LocalFileSystem) else None
