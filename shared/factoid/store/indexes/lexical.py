"""The lexical index of a store: the words of its passages, a cache of the database beside the FAISS files."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from factoid.encode import EMBED_TEMPLATE, with_heading
from factoid.index import RowIds
from factoid.index.files import load_files, read_arrays, save_files
from factoid.index.lexical import LexicalIndex, has_tantivy
from factoid.progress import progress_bar
from factoid.search import LEXICAL, Columns
from factoid.store.database.snapshot import Snapshot
from factoid.store.indexes.build import VectorBuilder, change_since
from factoid.store.indexes.views import Builder, IndexState
from factoid.units import Granularity

logger = logging.getLogger(__name__)

_BLOCK = 10_000  # passages read at a time
_REMOVED = 0.25  # share of passages removed from which the index is built anew: its statistics still count them

State = IndexState[LexicalIndex]


@dataclass(frozen=True, slots=True)
class LexicalBuilder:
    """Makes the lexical index of a store whose files are in `folder`, None in memory. The language is `UnitStore`'s."""

    folder: Path | None
    language: str
    read_only: bool = False

    def refresh(self, state: State, snapshot: Snapshot, *, show_progress: bool = False) -> None:
        """Bring the index to the generation of a snapshot, by the shortest way that there is."""
        generation = snapshot.generation
        if state.generation == generation:
            return
        if state.generation is None:
            self._read(state)
        since, state.generation = state.generation, None  # whatever interrupts what follows, nothing half done is used
        state.selections.clear()
        if since != generation:
            self._update(state, snapshot, since, show_progress=show_progress)
        state.generation = generation

    def renew(self, state: State, snapshot: Snapshot, *, show_progress: bool = False) -> None:
        """Build an up-to-date index anew if its statistics count removed passages, and have it written."""
        state.saved = False
        if state.built_for > len(state.columns):
            generation, state.generation = state.generation, None
            self._update(state, snapshot, None, show_progress=show_progress)
            state.generation = generation

    def has_files(self, name: str) -> bool:
        """Tell whether there are files of the index."""
        return self.folder is not None and (self.folder / f"{name}.json").exists()

    def save(self, state: State) -> None:
        """Write the index where it is newer than its files."""
        if self.folder is None or self.read_only or state.saved or state.index is None or state.generation is None:
            return
        path, files = self.folder / LEXICAL, state.index.files()
        arrays = {
            "columns": np.stack([getattr(state.columns, column.name) for column in fields(Columns)]),
            "files": np.concatenate(list(files.values())),
        }
        manifest = {
            "language": self.language,
            "generation": state.generation,
            "built_for": state.built_for,
            "members": [[name, len(content)] for name, content in files.items()],
        }
        try:
            save_files(path, {}, arrays, manifest)
        except OSError as error:
            logger.warning("%s cannot be written (%s): it will be built again from the database", path, error)
        else:
            state.saved = True

    def _read(self, state: State) -> None:
        """Read the files, if there are any of this language."""
        if self.folder is None:
            return
        path = self.folder / LEXICAL
        loaded = load_files(path, partial(read_lexical, path))
        if loaded is not None and loaded.index is not None and loaded.index.language == self.language:
            state.index, state.columns, state.built_for = loaded.index, loaded.columns, loaded.built_for
            state.generation, state.saved = loaded.generation, True

    def _update(self, state: State, snapshot: Snapshot, since: int | None, *, show_progress: bool) -> None:
        """Carry into an index what has changed since a generation; build it anew where it holds too much that is gone."""
        change = None if state.index is None or since is None else change_since(state, snapshot, since)
        if change is not None:
            removed, added, columns = change
            gone = state.built_for + len(added) - len(columns)
            change = change if gone <= _REMOVED * len(columns) else None
        if change is None or state.index is None:
            columns, state.built_for = snapshot.columns(LEXICAL), 0
            removed, added = np.empty(0, np.int64), columns.rows
            state.index = LexicalIndex(self.language, on_disk=self.folder is not None)
        if len(removed) or len(added):
            with progress_bar(show=show_progress, unit=" passages indexed by words", total=len(added)) as bar:
                state.index.update(removed, added, _texts(snapshot, added, bar))
        state.saved = state.saved and columns is state.columns
        state.columns, state.built_for = columns, state.built_for + len(added)


def builders_of(vectors: VectorBuilder, granularities: Sequence[Granularity]) -> dict[str, Builder]:
    """Return what makes each index of a store: those of vectors, and that of words where tantivy is installed."""
    builders: dict[str, Builder] = dict.fromkeys(granularities, vectors)
    if has_tantivy():
        language = vectors.settings.language
        builders[LEXICAL] = LexicalBuilder(vectors.folder, language, read_only=vectors.read_only)
    return builders


def read_lexical(path: Path, manifest: dict[str, Any]) -> State:
    """Return the index of a manifest that `LexicalBuilder.save` wrote.

    Raises:
        OSError: A file cannot be read.
        ValueError: A file is not what was written, or of another version of tantivy.
    """
    arrays = read_arrays(path, manifest)
    ends = np.cumsum([size for _, size in manifest["members"]])
    parts = np.split(arrays["files"], ends[:-1])
    index = LexicalIndex(
        manifest["language"], files=dict(zip((name for name, _ in manifest["members"]), parts, strict=True))
    )
    return IndexState(LEXICAL, manifest["generation"], index, Columns(*arrays["columns"]), manifest["built_for"])


def _texts(snapshot: Snapshot, rows: RowIds, bar: Any) -> Iterator[str]:
    """Yield the texts of passages with their headings, as they are encoded."""
    template = snapshot.meta.get("embed_template") or EMBED_TEMPLATE
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].tolist()
        units = snapshot.units(block)
        for row in block:
            yield with_heading(units[row], template)
        bar.update(len(block))
