"""The indexes and columns of each granularity, held in memory and updated from the database."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from factoid.errors import StoreError
from factoid.files.arrays import ChangedPieceError
from factoid.files.atomic import remove_leftovers
from factoid.files.sqlite import SENT
from factoid.filters import Condition
from factoid.forks import at_work, follow
from factoid.ranking import LEXICAL, Columns, Scale
from factoid.store.database.snapshot import Snapshot
from factoid.store.indexes.wall import Wall
from factoid.vectors import RowIds, sweep
from factoid.vectors.vector_index import membership

if TYPE_CHECKING:
    from factoid.store.database.connections import Connections
    from factoid.store.indexes.build import Builder
    from factoid.store.options import SearchOptions

Mask = NDArray[np.bool_]
T = TypeVar("T")

_SELECTIONS = 16  # kept for repeated filters
_STRIPES = 32  # more searches than this at a time wait for each other

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class IndexState:
    """One index in memory, and the columns of its units.

    It may change only under the exclusive lock.
    """

    granularity: str  # or `LEXICAL` for the words of passages, or `MIXED_PASSAGES`
    # That all else belongs to; None before anything was read or built.
    generation: int | None = None
    index: Any = None  # a `VectorIndex` or `LexicalIndex`; None while there is nothing to index
    columns: Columns = field(default_factory=Columns.empty)
    # Whether units of this granularity are in it, and not only others in their place.
    has_own: bool = False
    scale: Scale | None = None  # of the scores of the vectors, as they are compared
    built_for: int = 0  # vectors or texts when the index was built
    written: int | None = None  # the generation of its files on disk, if it has any
    saved: bool = True  # whether the files on disk are equal
    doubted: bool = False  # whether files are to be checked whole before they are used
    # Units that the latest filters allow.
    selections: OrderedDict[str, Mask] = field(default_factory=OrderedDict)
    # The same, of the index of mixed passages.
    walls: OrderedDict[str, Wall] = field(default_factory=OrderedDict)
    # Of that index: all passages and their metadata, once a filter needs them.
    passages: tuple[RowIds, RowIds] | None = None

    def stamp(self) -> dict[str, Any]:
        """Return the facts that are written with the index."""
        return {
            "granularity": self.granularity,
            "generation": self.generation,
            "built_for": self.built_for,
        }

    def wall(self, snapshot: Snapshot, condition: Condition) -> Wall:
        """Return what a filter lets through. This is the index of mixed passages."""
        key = None
        wall = None
        if not callable(condition):
            key = repr(condition)
            wall = self.walls.get(key)
        if wall is None:
            wall = Wall.of(snapshot, condition, key, self)
            _remember(self.walls, key, wall)
        return wall

    def passage_metadata(self, snapshot: Snapshot) -> tuple[RowIds, RowIds]:
        """Return the rows of all passages, and of their metadata.

        This is the index of mixed passages. Shapes: (n,).
        """
        if self.passages is None:
            self.passages = snapshot.passage_metadata()
        return self.passages

    def selection(self, snapshot: Snapshot, options: SearchOptions, wall: Wall | None) -> Mask:
        """Return a mask of the units that a wall and the ids of a search allow.

        At least one of both is given. Shape: (n,).
        """
        document_ids = options.document_ids
        unit_ids = options.unit_ids
        masks: list[Mask] = []
        if wall is not None:
            allowed = None
            if wall.key is not None:
                allowed = self.selections.get(wall.key)
            if allowed is None:
                allowed = wall.allowed(self.columns.rows, self.columns.metadata)
                _remember(self.selections, wall.key, allowed)
            masks.append(allowed)
        if document_ids is not None:
            masks.append(membership(self.columns.documents, snapshot.document_rows(document_ids)))
        if unit_ids is not None:
            masks.append(membership(self.columns.rows, snapshot.unit_rows(unit_ids)))
        if len(masks) == 1:
            return masks[0]
        mask: Mask = np.logical_and.reduce(masks)
        return mask


def _remember(latest: OrderedDict[str, T], key: str | None, value: T) -> None:
    """Keep a value among the latest ones; one without a key is not kept."""
    if key is None:
        return
    latest[key] = value  # one operation, so that threads may do it at once
    while len(latest) > _SELECTIONS:
        latest.popitem(last=False)


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
        progress: bool | None = None,
    ) -> None:
        self._progress = progress
        self._connections = connections
        self._builders = dict(builders)
        self.states: dict[str, IndexState] = {name: IndexState(name) for name in builders}
        self._make_locks()
        follow(self)

    def _make_locks(self) -> None:
        self._gate = threading.RLock()  # of the thread that works alone
        self._alone: int | None = None  # that thread
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
            self.states = {kind: IndexState(kind) for kind in self.states}

    def add(self, name: str, builder: Builder) -> None:
        """Hold a further index, unless it is there."""

        def added() -> None:
            if name not in self.states:
                self._builders[name] = builder
                self.states[name] = IndexState(name)

        self.alone(added)

    def at(self, kinds: Sequence[str], work: Callable[[Snapshot, list[IndexState]], T]) -> T:
        """Do some work with a snapshot and up-to-date indexes of these granularities.

        Meanwhile no index changes here.
        """
        stripe = self._stripes[threading.get_native_id() % _STRIPES]
        damage: tuple[ChangedPieceError, IndexState] | None = None
        while True:
            with at_work(), stripe:
                if self._alone in (None, threading.get_ident()):
                    # Taken after the lock: no index can have a later generation than the snapshot.
                    with self._connections.reading() as snapshot:
                        states = list(map(self.states.__getitem__, kinds))
                        if {state.generation for state in states} <= {snapshot.generation}:
                            try:
                                return work(snapshot, states)
                            except ChangedPieceError as error:
                                damage = (error, self.states[LEXICAL])
                    break
            with self._gate:  # until the work that is done alone has ended
                pass
        if damage is not None:
            self.alone(partial(self._doubt, *damage))
        return self._refreshed(kinds, work)

    def alone(self, work: Callable[[], T]) -> T:
        """Do some work while nobody searches here, and no index is changed or written.

        Do not call it from `at`.
        """
        with at_work(), self._gate:
            try:
                self._alone = threading.get_ident()
                for stripe in self._stripes:
                    # Earlier searches have ended; one that begins now sees that a thread works
                    # alone.
                    with stripe:
                        pass
                return work()
            finally:
                self._alone = None

    def refresh(self, *, progress: bool | None = None) -> None:
        """Update all indexes."""
        for kind in list(self.states):
            self._refreshed([kind], lambda *_: None, progress=progress)

    def save(self) -> None:
        """Write the indexes that are newer than their files.

        One that cannot be written is rebuilt later.
        """
        self.alone(self._save)

    def forget(self) -> None:
        """Drop what is in memory; files stay."""

        def forget() -> None:
            empty = {kind: IndexState(kind) for kind in self.states}
            self.states.update(empty)  # one operation, which Ctrl-C does not divide

        self.alone(forget)

    def _refreshed(
        self,
        kinds: Sequence[str],
        work: Callable[[Snapshot, list[IndexState]], T],
        *,
        progress: bool | None = None,
    ) -> T:
        """Do some work alone with updated indexes."""

        def refreshed() -> T:
            with self._connections.reading() as snapshot:
                try:
                    states = [self._refresh(kind, snapshot, progress) for kind in kinds]
                    return work(snapshot, states)
                except ChangedPieceError as error:
                    self._doubt(error, self.states[LEXICAL])
                    states = [self._refresh(kind, snapshot, progress) for kind in kinds]
                    return work(snapshot, states)

        return self.alone(refreshed)

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

    def _refresh(self, kind: str, snapshot: Snapshot, progress: bool | None) -> IndexState:
        """Return an index updated to the generation of a snapshot in the cheapest way."""
        state = self.states[kind]
        builder = self._builders[kind]
        folder = self._connections.path
        if state.generation == snapshot.generation:
            return state
        if state.generation is None:
            stored = None
            if folder is not None:
                stored = builder.read(folder / kind, snapshot, later=not state.doubted)
            state = stored or IndexState(kind)
            self.states[kind] = state
        since = state.generation
        state.generation = None  # no half-updated index is used if this is interrupted
        state.selections.clear()
        state.walls.clear()
        state.passages = None
        columns = state.columns
        if progress is None:
            progress = self._progress
        builder.update(state, snapshot, since, progress=progress)
        state.saved = state.saved and state.columns is columns
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
                path = folder / state.granularity
                if not state.saved and state.index is not None:
                    self._builders[state.granularity].write(state, path)
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
