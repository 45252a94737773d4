"""The index files of a store, as `verify`, `compact` and copies see them: caches of the database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np

from factoid.encode import Vectors
from factoid.errors import MissingDependencyError
from factoid.index import RowIds, VectorIndex, load, prepare
from factoid.index.files import FORMAT
from factoid.search import Columns
from factoid.store.checks import Findings
from factoid.store.snapshot import Snapshot
from factoid.units import Granularity


def index_files(folder: Path, kind: Granularity) -> list[Path]:
    """Return the files of an index that are there, the one that vouches for the others last."""
    found = [file for file in folder.glob(f"{kind}.*") if file.is_file() and not file.name.endswith(".part")]
    return sorted(found, key=lambda file: (file.suffix == ".json", file.name))


def remove_index(folder: Path, kind: Granularity) -> None:
    """Remove the files of an index: it will be built again."""
    for file in reversed(index_files(folder, kind)):
        file.unlink(missing_ok=True)


def check_index(snapshot: Snapshot, folder: Path | None, kind: Granularity, found: Findings) -> bool:
    """Check the files of an index against the database; tell whether there are any.

    Files of another generation are brought up to date when they are read next, and are checked for being readable.
    """
    # Without a manifest they are what is left of files that were being written; they do not count, and are replaced.
    if folder is None or not (folder / f"{kind}.json").exists() or _is_earlier(folder, kind):
        return False
    path = folder / kind
    try:
        # Once more, in case another process was just writing them.
        read = load(path, mmap=True) or load(path, mmap=True)
    except MissingDependencyError:  # without FAISS there are no searches, and the database counts alone
        return False
    if read is None:
        found.add_mendable(kind, f"the index {path} is damaged: the next search builds it again")
        return True
    index, stamp, arrays = read.index, read.stamp, read.arrays
    if stamp.get("generation") != snapshot.generation:
        return True
    if index.dim != snapshot.get("dim"):
        found.add_mendable(
            kind, f"the index {path} holds vectors of {index.dim} dimensions: the next search builds it again"
        )
    else:
        columns = snapshot.columns(kind)
        wanted = np.stack([getattr(columns, each.name) for each in fields(Columns)])
        ids = columns.distinct_vectors()
        if not np.array_equal(arrays.get("columns", ()), wanted) or not np.array_equal(np.sort(index.ids), ids):
            found.add_mendable(kind, f"the index {path} holds other units than the database: searches would miss some")
        elif any(not np.allclose(held, exact, rtol=1e-5, atol=1e-7) for held, exact in _vectors(snapshot, index, ids)):
            found.add_mendable(kind, f"the index {path} holds other vectors than the database: searches would be wrong")
    return True


def _is_earlier(folder: Path, kind: Granularity) -> bool:
    """Tell whether the files of an index were written by another version: they do not count, and are replaced."""
    try:
        return bool(json.loads((folder / f"{kind}.json").read_text(encoding="utf-8"))["format"] != FORMAT)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _vectors(snapshot: Snapshot, index: VectorIndex, ids: RowIds) -> Iterator[tuple[Vectors, Vectors]]:
    """Yield the vectors that an index holds exactly and those of the database, in blocks."""
    for rows, vectors in snapshot.vector_blocks(ids):
        held = index.vectors(rows)
        if held is not None:
            yield held, prepare(vectors, index.similarity)
