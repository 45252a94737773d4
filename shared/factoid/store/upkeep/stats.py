"""Say what a store holds, and how."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from factoid.files.sqlite import FILE
from factoid.store.database.vector_file import is_vector_file
from factoid.store.indexes.build import INDEXES
from factoid.store.opened import OpenedStore
from factoid.store.settings import Settings
from factoid.store.token_cache import TOKENS
from factoid.vectors.files import index_files


def stats(store: OpenedStore) -> dict[str, Any]:
    """Return what a store holds, as `UnitStore.stats` describes it."""
    with store.connections.reading() as snapshot:
        settings = Settings.of(snapshot)
        content: dict[str, Any] = dict(snapshot.totals())
        content["deleted_vectors"] = snapshot.deleted_vectors()
        content["units"] = {str(kind): count for kind, count in snapshot.counts().items()}
        for name in ("encoder", "embed_template", "dim"):
            content[name] = snapshot.meta.get(name)
        content["embed_metadata"] = list(snapshot.embed_metadata)
        content["late_chunking"] = snapshot.meta.get("late_chunking") == "true"
        content["dtype"] = str(snapshot.dtype)
        content["similarity"] = str(settings.similarity)
        content["kinds"] = {str(name): kind for name, kind in settings.kinds.items()}
    path = store.path
    if path is not None:
        content["bytes"] = _size([path / FILE, path / f"{FILE}-wal"])
        content["vector_bytes"] = _size(
            file for file in path.iterdir() if is_vector_file(file.name)
        )
        sizes = {name: _size(index_files(path / name)) for name in INDEXES}
        content["index_bytes"] = {name: size for name, size in sizes.items() if size}
        content["token_bytes"] = _size([path / TOKENS, path / f"{TOKENS}-wal"])
    return content


def _size(files: Iterable[Path]) -> int:
    """Return the total bytes of the files that exist."""
    return sum(file.stat().st_size for file in files if file.exists())
