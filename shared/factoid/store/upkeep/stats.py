"""Count what a store holds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid.files.sqlite import FILE
from factoid.store.indexes.build import INDEXES, index_files
from factoid.store.settings import Settings
from factoid.store.token_vectors import TOKENS

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore


def stats(store: UnitStore) -> dict[str, Any]:
    """Return what the store holds, and how, by names that are mostly those of `UnitStore`; a store in memory has no bytes.

    `units` are counted by granularity, `documents` are those whose texts are in the store, and equal `vectors` and equal
    `metadata` count once. `embed_template` is None if the caller passed the vectors.

    Raises:
        StoreError: The store is closed.
    """
    folder = store.path
    with store.connections.reading() as snapshot:
        settings = Settings.of(snapshot)
        content: dict[str, Any] = {
            **snapshot.totals(),
            "units": {str(kind): count for kind, count in snapshot.counts().items()},
        }
        content |= {name: snapshot.meta.get(name) for name in ("encoder", "embed_template", "dim")}
        content |= {"dtype": str(snapshot.dtype), "similarity": str(settings.similarity)}
        content["kinds"] = {str(granularity): kind for granularity, kind in settings.kinds.items()}
    if folder is not None:
        sizes = {name: _size(index_files(folder, name)) for name in INDEXES}
        content["bytes"] = _size([folder / FILE, folder / f"{FILE}-wal"])
        content["index_bytes"] = {name: size for name, size in sizes.items() if size}
        content["token_bytes"] = _size([folder / TOKENS, folder / f"{TOKENS}-wal"])
    return content


def _size(files: Iterable[Path]) -> int:
    """Return the total bytes of the files that exist."""
    return sum(file.stat().st_size for file in files if file.exists())
