"""What is searched: an index and columns per granularity, held in memory and brought up to date from the database."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from factoid.store.build import Builder
from factoid.store.connections import Connections
from factoid.store.held import Held
from factoid.store.locks import SharedLock
from factoid.store.snapshot import Snapshot
from factoid.units import Granularity

logger = logging.getLogger(__name__)


class Views:
    """The indexes of an open store, which many threads may search at once.

    Args:
        connections: Of the store.
        builder: Makes indexes, and brings them up to date.
        granularities: What the store searches.
    """

    def __init__(self, connections: Connections, builder: Builder, granularities: Sequence[Granularity]) -> None:
        self._connections = connections
        self._builder = builder
        self._held = {kind: (SharedLock(), Held(kind)) for kind in granularities}

    @contextmanager
    def at(self, kinds: Sequence[Granularity]) -> Iterator[tuple[Snapshot, list[Held]]]:
        """Give a snapshot and the indexes of these granularities, all of one generation, for the time of the block."""
        chosen = [self._held[kind] for kind in sorted(set(kinds))]  # in one order, so that nobody waits for each other
        with ExitStack() as stack:
            for lock, _ in chosen:
                stack.enter_context(lock.shared())
            # Begun after the locks were taken: no index can be of a later generation than the snapshot.
            snapshot = Snapshot(stack.enter_context(self._connections.reading()))
            generation = snapshot.generation
            if all(held.generation == generation for _, held in chosen):
                yield snapshot, [self._held[kind][1] for kind in kinds]
                return
        with self._alone(kinds) as snapshot:
            yield snapshot, [self._held[kind][1] for kind in kinds]

    def refresh(self, *, show_progress: bool = False) -> None:
        """Bring all indexes up to date."""
        for kind in self._held:
            with self._alone([kind], show_progress=show_progress):
                pass

    def renew(self, *, show_progress: bool = False) -> None:
        """Bring the indexes that there are up to date, and build those anew that hide vectors which were removed."""
        for kind, (_, held) in self._held.items():
            if held.generation is None and not self._builder.has_files(kind):
                continue
            with self._alone([kind], show_progress=show_progress) as snapshot:
                self._builder.renew(self._held[kind][1], snapshot, show_progress=show_progress)

    def save(self) -> None:
        """Write the indexes that are newer than their files. One that cannot be written will be built again."""
        for lock, held in self._held.values():
            with lock.alone():
                self._builder.save(held)

    def forget(self) -> None:
        """Drop what is held in memory; files stay."""
        for kind, (lock, _) in list(self._held.items()):
            with lock.alone():
                self._held[kind] = (lock, Held(kind))

    @contextmanager
    def unwritten(self, kind: Granularity) -> Iterator[None]:
        """Have nobody here write the files of an index during the block."""
        if kind not in self._held:
            yield
            return
        with self._held[kind][0].shared():
            yield

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Wait for searches under way, and let none begin during the block."""
        with ExitStack() as stack:
            for kind in sorted(self._held):
                stack.enter_context(self._held[kind][0].alone())
            yield

    @contextmanager
    def _alone(self, kinds: Sequence[Granularity], *, show_progress: bool = False) -> Iterator[Snapshot]:
        with ExitStack() as stack:
            chosen = [self._held[kind] for kind in sorted(set(kinds))]
            for lock, _ in chosen:
                stack.enter_context(lock.alone())
            snapshot = Snapshot(stack.enter_context(self._connections.reading()))
            for _, held in chosen:
                self._builder.refresh(held, snapshot, show_progress=show_progress)
            yield snapshot
