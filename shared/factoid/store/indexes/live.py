"""Hold the indexes of an open store in memory, and update them from the database."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from factoid.errors import StoreError
from factoid.files.arrays import ChangedPieceError
from factoid.files.atomic import remove_leftovers
from factoid.files.sqlite import SENT
from factoid.forks import at_work, follow
from factoid.ranking import LEXICAL
from factoid.store.database.connections import Connections
from factoid.store.database.snapshot import Snapshot
from factoid.store.indexes.build import Builder
from factoid.store.indexes.state import IndexState
from factoid.store.settings import GRANULARITIES
from factoid.vectors import sweep

T = TypeVar("T")

_STRIPES = 32  # more searches than this at a time wait for each other

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Done(Generic[T]):
    """The work is done."""

    result: T


@dataclass(frozen=True)
class _Stale:
    """The work needs an update first: an index is older than the database, or its file damaged."""

    # what was noticed, and the index of words as it was then
    damage: tuple[ChangedPieceError, IndexState] | None = None


class LiveIndexes:
    """The indexes of an open store.

    Many threads may search at once, but a thread changes them alone. Ctrl-C may come between any
    two steps of Python code, also in a context manager written in Python, but never between taking
    one of the interpreter's own locks with `with` and entering the block. So every lock here is one
    of those, taken by `with` in the function that calls the work: it is released however the call
    ends.
    """

    def __init__(
        self,
        connections: Connections,
        builders: Mapping[str, Builder],
        *,
        check_vectors: Callable[[Snapshot], None],
        progress: bool | None = None,
    ) -> None:
        """Hold no index yet.

        Args:
            connections: Those of the database.
            builders: What builds each index, by its name.
            check_vectors: Called with each new generation before an index of vectors is updated to
                it. It raises if they were made in another way than the vectors of queries here.
            progress: Whether updates show a progress bar.
        """
        self._check_vectors = check_vectors
        self._progress = progress
        self._connections = connections
        self._builders = dict(builders)
        self.states: dict[str, IndexState] = {name: IndexState(name) for name in builders}
        self._make_locks()
        follow(self)

    def _make_locks(self) -> None:
        self._gate = threading.RLock()  # of the thread that works alone
        self._exclusive_thread: int | None = None  # that thread
        # Each search holds the one of its thread.
        self._stripes = [threading.RLock() for _ in range(_STRIPES)]

    def before_fork(self) -> None:
        """Do nothing: what is in memory goes on in the child."""

    def after_fork(self, *, prepared: bool) -> None:
        """Make new locks, in the child.

        Indexes that another thread may have been changing are read again.
        """
        self._make_locks()
        if not prepared:
            self.states = {name: IndexState(name) for name in self.states}

    def add(self, name: str, builder: Builder) -> None:
        """Hold a further index, unless it is there."""

        def added() -> None:
            if name not in self.states:
                self._builders[name] = builder
                self.states[name] = IndexState(name)

        self.exclusively(added)

    def replace(self, name: str, builder: Builder) -> None:
        """Build an index in another way from now on."""

        def replaced() -> None:
            self._builders[name] = builder
            self.states[name] = IndexState(name)

        self.exclusively(replaced)

    def with_current(
        self, names: Sequence[str], work: Callable[[Snapshot, list[IndexState]], T]
    ) -> T:
        """Do some work with a snapshot and the up-to-date indexes of these names.

        Meanwhile no index changes here. Mostly the indexes are current, and the work is done beside
        the searches of other threads; else it is done alone, after an update.
        """
        attempt = self._beside_searches(names, work)
        while attempt is None:
            with self._gate:  # until the thread that works alone has ended
                pass
            attempt = self._beside_searches(names, work)
        if isinstance(attempt, _Done):
            return attempt.result
        if attempt.damage is not None:
            self.exclusively(partial(self._doubt, *attempt.damage))
        return self._after_update(names, work)

    def _beside_searches(
        self, names: Sequence[str], work: Callable[[Snapshot, list[IndexState]], T]
    ) -> _Done[T] | _Stale | None:
        """Do some work if its indexes are current, while other threads search.

        Return None if another thread works alone: try again when it has ended.
        """
        stripe = self._stripes[threading.get_native_id() % _STRIPES]
        with at_work(), stripe:
            if self._exclusive_thread not in (None, threading.get_ident()):
                return None
            # Taken after the lock: no index can have a later generation than the snapshot.
            with self._connections.reading() as snapshot:
                states = [self.states[name] for name in names]
                current = snapshot.generation
                if any(state.generation != current for state in states):
                    return _Stale()
                try:
                    return _Done(work(snapshot, states))
                except ChangedPieceError as error:
                    return _Stale((error, self.states[LEXICAL]))

    def exclusively(self, work: Callable[[], T]) -> T:
        """Do some work while nobody searches here, and no index is changed or written.

        Do not call it from `with_current`.
        """
        with at_work(), self._gate:
            try:
                self._exclusive_thread = threading.get_ident()
                for stripe in self._stripes:
                    # Earlier searches have ended; one that begins now sees that a thread works
                    # alone.
                    with stripe:
                        pass
                return work()
            finally:
                self._exclusive_thread = None

    def refresh(self, *, progress: bool | None = None) -> None:
        """Update all indexes."""
        for name in list(self.states):
            self._after_update([name], lambda *_: None, progress=progress)

    def save(self) -> None:
        """Write the indexes that are newer than their files.

        One that cannot be written is rebuilt later.
        """
        self.exclusively(self._save)

    def unload(self) -> None:
        """Drop what is in memory; files stay."""

        def unloaded() -> None:
            empty = {name: IndexState(name) for name in self.states}
            self.states.update(empty)  # one operation, which Ctrl-C does not divide

        self.exclusively(unloaded)

    def _after_update(
        self,
        names: Sequence[str],
        work: Callable[[Snapshot, list[IndexState]], T],
        *,
        progress: bool | None = None,
    ) -> T:
        """Update indexes, and do some work with them, while nobody else searches here."""

        def update_and_work() -> T:
            with self._connections.reading() as snapshot:
                try:
                    states = [self._updated(name, snapshot, progress) for name in names]
                    return work(snapshot, states)
                except ChangedPieceError as error:
                    self._doubt(error, self.states[LEXICAL])
                    states = [self._updated(name, snapshot, progress) for name in names]
                    return work(snapshot, states)

        return self.exclusively(update_and_work)

    def _doubt(self, error: ChangedPieceError, words: IndexState) -> None:
        """Drop the index of words if its file turned out to be damaged.

        It is read with all checks next, and then built again.
        """
        if self.states[LEXICAL] is words:  # otherwise another thread has dropped it
            logger.warning(
                "the file of the index of words in %s has changed (%s)",
                self._connections.path,
                error,
            )
            self.states[LEXICAL] = IndexState(LEXICAL, doubted=True)

    def _updated(self, name: str, snapshot: Snapshot, progress: bool | None) -> IndexState:
        """Return an index updated to the generation of a snapshot in the cheapest way."""
        state = self.states[name]
        builder = self._builders[name]
        folder = self._connections.path
        if state.generation == snapshot.generation:
            return state
        if name in GRANULARITIES:
            self._check_vectors(snapshot)
        if state.generation is None:
            stored = None
            if folder is not None:
                stored = builder.read(folder / name, snapshot, later=not state.doubted)
            state = stored or IndexState(name)
            self.states[name] = state
        since = state.generation
        state.generation = None  # no half-updated index is used if this is interrupted
        state.selections.clear()
        state.walls.clear()
        state.passages = None
        columns_before = state.columns
        if progress is None:
            progress = self._progress
        builder.update(state, snapshot, since, progress=progress)
        # A builder puts other columns in their place if anything has changed.
        if state.columns is not columns_before:
            state.saved = False
        state.generation = snapshot.generation
        return state

    def _save(self) -> None:
        folder = self._connections.path
        states = [state for state in self.states.values() if state.generation is not None]
        connections = self._connections
        if folder is None or connections.read_only or connections.closed:
            return
        try:
            remove_leftovers(folder)  # of a copy to this place
            if not states:
                return
            remove_leftovers(folder / SENT)
            with connections.reading() as snapshot:
                latest = snapshot.generation
            for state in states:
                path = folder / state.name
                if not state.saved and state.index is not None:
                    self._builders[state.name].write(state, path)
                    state.written = state.generation
                    state.saved = True
                if state.saved:
                    written = state.written
                    if written is None:
                        written = latest
                    sweep(path, generation=written, latest=latest)
        except (OSError, RuntimeError, StoreError, ChangedPieceError) as error:
            logger.warning(
                "the indexes in %s cannot be written (%s): they will be built again from the "
                "database",
                folder,
                error,
            )
