"""`MultiGranularFAISS` saved and loaded, here or elsewhere, and merged, each sync and async."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Self

from langchain_core.embeddings import Embeddings

from factoid.errors import InvalidInputError, StoreFormatError
from factoid.sqlite_file import FILE
from factoid.store.remote import load_from
from langchain_factoid.querying import Querying

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

    from factoid.store.merge import MergeReport, OnConflict


class Saving(Querying):
    """What copies a store, opens copies, and takes in other stores. Nothing is ever unpickled."""

    _temporary: tempfile.TemporaryDirectory[str] | None = None

    if TYPE_CHECKING:

        def __init__(self, embedding: Embeddings, *, path: str | Path | None, **options: Any) -> None: ...

    def save_local(
        self,
        folder_path: str | Path,
        index_name: str | None = None,
        *,
        fs: AbstractFileSystem | None = None,
        show_progress: bool = False,
    ) -> None:
        """Copy the store, as it is now, to a folder or to any address that fsspec knows; a store that is there is replaced.

        A store with a `path` is saved there by itself: this makes another one.

        Args:
            folder_path: A folder, or an address such as "s3://bucket/facts".
            index_name: Name of a folder in it; None for the folder itself.
            fs: A file system of fsspec, with `folder_path` as a path in it.
            show_progress: Show a progress bar, where the store is sent elsewhere.

        Raises:
            InvalidInputError: The name is no name of a folder, or fsspec does not know the address.
            StoreFormatError: The folder holds something that is not a store.
            StoreError: The copy cannot be written.
        """
        place = _place(folder_path, index_name)
        if _remote(place, fs):
            self._store.save_to(place, fs=fs, show_progress=show_progress)
        else:
            self._store.copy_to(place)

    async def asave_local(self, folder_path: str | Path, index_name: str | None = None, **options: Any) -> None:
        """Do as `save_local`."""
        await asyncio.to_thread(self.save_local, folder_path, index_name, **options)

    @classmethod
    def load_local(
        cls,
        folder_path: str | Path,
        embeddings: Embeddings,
        index_name: str | None = None,
        *,
        path: str | Path | None = None,
        fs: AbstractFileSystem | None = None,
        show_progress: bool = False,
        allow_dangerous_deserialization: bool = False,  # noqa: ARG003 - of code written for the community's FAISS
        **options: Any,
    ) -> Self:
        """Open a store that is there. A folder is opened as it is: what is added from then on is in it at once.

        Args:
            folder_path: The folder of a store, whatever made it, or an address where `save_local` sent one.
            embeddings: Those that the store was built with.
            index_name: Name of a folder in it; None for the folder itself.
            path: A new folder to fetch the store into from an address; None for a temporary one, which is deleted when
                the store is closed.
            fs: A file system of fsspec, with `folder_path` as a path in it.
            show_progress: Show a progress bar, where the store is fetched.
            allow_dangerous_deserialization: Has no meaning here, since nothing is unpickled. Taken so that calls written
                for the community's `FAISS` stay as they are.
            options: Those of the class.

        Raises:
            InvalidInputError: The name is no name of a folder; `path` is given for a folder, or is not empty; or fsspec
                does not know the address.
            StoreFormatError: There is no store, or a damaged one.
            StoreError: The store cannot be fetched.
            EncoderMismatchError: The store was built with other embeddings.
        """
        place = _place(folder_path, index_name)
        if not _remote(place, fs):
            if path is not None:
                message = f"path says where to put a store that is fetched, and {place} is a folder: leave path out"
                raise InvalidInputError(message)
            _check_there(Path(place))
            return cls(embeddings, path=place, **options)
        if path is not None:
            load_from(place, path, fs=fs, show_progress=show_progress)
            return cls(embeddings, path=path, **options)
        temporary = tempfile.TemporaryDirectory(prefix="factoid-")
        try:
            load_from(place, temporary.name, fs=fs, show_progress=show_progress)
            store = cls(embeddings, path=temporary.name, **options)
        except BaseException:
            temporary.cleanup()
            raise
        store._temporary = temporary
        return store

    @classmethod
    async def aload_local(
        cls, folder_path: str | Path, embeddings: Embeddings, index_name: str | None = None, **options: Any
    ) -> Self:
        """Do as `load_local`."""
        return await asyncio.to_thread(cls.load_local, folder_path, embeddings, index_name, **options)

    def merge_from(
        self, target: Saving | str | Path, *, on_conflict: OnConflict = "replace", show_progress: bool = False
    ) -> MergeReport:
        """Add all documents of another store with their units and vectors; nothing is embedded again.

        Args:
            target: The other store, or its folder. It is left as it is.
            on_conflict: Where a document is in both and not the same: "replace" takes the other's, "keep" leaves it out,
                "error" refuses before anything is changed.
            show_progress: Show a progress bar.

        Raises:
            EncoderMismatchError: The stores' vectors differ in embeddings, dimension or similarity.
            InvalidInputError: A conflict that is to be an error, or a store into itself.
            StoreFormatError: There is no store at the path.
        """
        other = target._store if isinstance(target, Saving) else target
        return self._store.merge(other, on_conflict=on_conflict, show_progress=show_progress)

    async def amerge_from(self, target: Saving | str | Path, **options: Any) -> MergeReport:
        """Do as `merge_from`."""
        return await asyncio.to_thread(self.merge_from, target, **options)

    def close(self) -> None:
        """Save the indexes and close the store. Documents are on disk when the call that added them returns."""
        try:
            self._store.close()
        finally:
            if self._temporary is not None:
                self._temporary.cleanup()

    async def aclose(self) -> None:
        """Do as `close`."""
        await asyncio.to_thread(self.close)


def _place(folder: str | Path, name: str | None) -> str:
    """Return a folder, or the one of that name in it."""
    if name is None:
        return str(folder)
    if not name or name in (".", "..") or "/" in name or "\\" in name:
        message = f"index_name must be the name of a folder, without separators, got {name!r}"
        raise InvalidInputError(message)
    return f"{str(folder).rstrip('/')}/{name}" if "://" in str(folder) else str(PurePath(folder) / name)


def _remote(place: str, fs: AbstractFileSystem | None) -> bool:
    return fs is not None or "://" in place


def _check_there(folder: Path) -> None:
    """Refuse to make a new store where one is to be loaded."""
    if (folder / FILE).is_file():
        return
    message = f"there is no store in {folder}: it has no {FILE}"
    if any(folder.glob("*.pkl")) or folder.with_name(f"{folder.name}.pkl").is_file():  # as the community names them
        message += ". Pickles of the community's FAISS are not read: add the documents to a new store"
    raise StoreFormatError(message)
