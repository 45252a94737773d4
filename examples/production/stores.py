"""Stores of a service: publish a new state, follow it in replicas, and close unused ones."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from factoid import UnitStore
from factoid.store.transfer.remote import load_from

CURRENT = "current"  # the link to the newest published store

logger = logging.getLogger(__name__)


def publish(copy_to: Callable[[Path], object], folder: Path, *, keep: int = 3) -> Path:
    """Put a copy of a store under a name of its own into a folder.

    The link `current` there then leads to it.

    One process at a time publishes into a folder. What one leaves that is killed, the next one
    removes.

    Args:
        copy_to: Makes the copy at the path that it gets: `store.copy_to`, or a function that
            fetches a store from elsewhere. It is complete when it appears.
        folder: On one file system: of the service, or the volume that replicas mount read-only.
        keep: How many copies to leave, the new one included, for replicas that have not yet noticed
            it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    arriving = folder / "arriving"
    link = folder / f"{CURRENT}.new"
    if arriving.exists():  # left by a process that was killed
        shutil.rmtree(arriving)
    link.unlink(missing_ok=True)
    copy_to(arriving)
    target = folder / datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    arriving.rename(target)
    link.symlink_to(target.name, target_is_directory=True)
    link.replace(folder / CURRENT)  # replicas see the old link or the new one
    for old in published(folder)[:-keep]:
        shutil.rmtree(old)
    return target


def fetch(url: str, folder: Path, *, keep: int = 3) -> Path:
    """Publish, on this machine, what `store.save_to(url)` has sent from another one."""
    return publish(lambda target: load_from(url, target), folder, keep=keep)


def published(folder: Path) -> list[Path]:
    """Return the published copies in a folder, oldest first."""
    return sorted(path for path in folder.glob("*Z") if path.is_dir() and not path.is_symlink())


@dataclass(eq=False)
class Lent:
    """An open store, and how many requests use it."""

    store: UnitStore
    users: int = 0
    retired: bool = False


class OpenStores:
    """Open stores by their folders.

    Requests borrow them; a retired one is closed when its last request ends.

    Args:
        open_store: Opens the store in a folder.
        limit: How many stores stay open; the one that was not used for the longest time is retired.
            None for all.
    """

    def __init__(
        self, open_store: Callable[[Path], UnitStore], *, limit: int | None = None
    ) -> None:
        self._open_store = open_store
        self._limit = limit
        self._lock = threading.Lock()
        self._lent: OrderedDict[Path, Lent] = OrderedDict()

    @contextmanager
    def borrow(self, path: Path) -> Iterator[UnitStore]:
        """Yield the store in a folder, which stays open during the block."""
        lent = self._take(path)
        try:
            yield lent.store
        finally:
            self._give_back(lent)

    def retire(self, path: Path) -> None:
        """Close a store as soon as nobody uses it."""
        with self._lock:
            lent = self._lent.pop(path, None)
            if lent is None:
                return
            lent.retired = True
            unused = lent.users == 0
        if unused:
            lent.store.close()

    def retire_others(self, path: Path) -> None:
        """Close all stores but one as soon as nobody uses them."""
        for other in list(self._lent):
            if other != path:
                self.retire(other)

    def close(self) -> None:
        """Close all stores as soon as nobody uses them."""
        for path in list(self._lent):
            self.retire(path)

    def _take(self, path: Path) -> Lent:
        with self._lock:
            if path not in self._lent:
                self._lent[path] = Lent(self._open_store(path))
            lent = self._lent[path]
            lent.users += 1
            self._lent.move_to_end(path)
            oldest = list(self._lent)[: -self._limit] if self._limit else []
        for other in oldest:
            self.retire(other)
        return lent

    def _give_back(self, lent: Lent) -> None:
        with self._lock:
            lent.users -= 1
            unused = lent.retired and lent.users == 0
        if unused:
            lent.store.close()


class Newest:
    """The store in a folder or, if stores are published there, the newest of them.

    Args:
        folder: A store, or a folder that `publish` writes.
        open_store: Opens the store in a folder.
    """

    def __init__(self, folder: Path, open_store: Callable[[Path], UnitStore]) -> None:
        self._folder = folder
        self._stores = OpenStores(open_store)
        self.path: Path | None = None

    def refresh(self) -> bool:
        """Open the newest store, if it is not open yet, and return whether that was so.

        Requests go on with the one before until the new one has read its indexes.
        """
        link = self._folder / CURRENT
        # Not the link itself: a store belongs to one folder as long as it is open.
        newest = link.resolve(strict=True) if link.is_symlink() else self._folder
        before = self.path
        if newest == before:
            return False
        with self._stores.borrow(newest) as store:
            store.search("warm up", k=1)  # loads the model, too
        self.path = newest
        self._stores.retire_others(newest)
        logger.info("process %d serves %s", os.getpid(), newest)
        return True

    @contextmanager
    def borrow(self) -> Iterator[UnitStore]:
        """Yield the newest store that is open; it stays so during the block."""
        if self.path is None:
            self.refresh()
        with self._stores.borrow(self.path or self._folder) as store:
            yield store

    def close(self) -> None:
        """Close the stores."""
        self._stores.close()
        self.path = None
