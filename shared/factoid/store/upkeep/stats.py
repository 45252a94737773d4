"""Count what a store holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factoid.files.sqlite import FILE
from factoid.store.indexes.build import INDEXES, index_files
from factoid.store.settings import Settings
from factoid.store.token_vectors import TokenVectorCache
from factoid.units import Granularity

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """What a store holds, and how; the names are those of `UnitStore`.

    `documents` counts those whose texts are in the store; equal vectors and equal metadata count once. `embed_template` is None
    if the caller passed the vectors, and `kinds` has the granularities for which an index kind was set. `bytes` is the size of
    the database and its log; `token_vectors` counts passages, for each model and dtype.
    """

    units: Mapping[Granularity, int]
    documents: int
    vectors: int
    metadata: int
    encoder: str | None
    embed_template: str | None
    dim: int | None
    dtype: str
    similarity: str
    kinds: Mapping[Granularity, str]
    bytes: int
    index_bytes: Mapping[Granularity, int]
    token_vectors: int = 0
    token_bytes: int = 0

    def __str__(self) -> str:
        vectors = f"{self.vectors:,}" + (f" of {self.dim} dimensions as {self.dtype}" if self.dim else "")
        lines = {f"{kind}s": f"{number:,}" for kind, number in self.units.items()}
        lines |= {"documents": f"{self.documents:,}", "distinct metadata": f"{self.metadata:,}"}
        lines |= {"distinct vectors": vectors, "encoder": self.encoder or "not named"}
        lines |= {"embedded text": self.embed_template} if self.embed_template else {}
        lines |= {"similarity": self.similarity, "database": f"{self.bytes:,} bytes"}
        for kind, size in self.index_bytes.items():
            lines[f"{kind} index"] = f"{size:,} bytes" + (f", {self.kinds[kind]}" if kind in self.kinds else "")
        if self.token_vectors:
            lines["token vectors"] = f"{self.token_bytes:,} bytes for {self.token_vectors:,} passages"
        return "\n".join(f"{name:<20}{value}" for name, value in lines.items())


def stats(store: UnitStore) -> StoreStats:
    """Return what the store holds, in numbers; a store in memory has no bytes.

    Raises:
        StoreError: The store is closed.
    """
    folder = store.path
    tokens = None if folder is None else TokenVectorCache(folder)
    with store.connections.reading() as snapshot:
        settings, meta = Settings.of(snapshot), snapshot.meta
        indexes = {} if folder is None else {kind: _total_size(index_files(folder, kind)) for kind in INDEXES}
        known: dict[str, Any] = {name: meta.get(name) for name in ("encoder", "embed_template", "dim")}
        known |= snapshot.totals() | {"units": snapshot.counts()}
        return StoreStats(
            **known,
            dtype=str(snapshot.dtype),
            similarity=str(settings.similarity),
            kinds=dict(settings.kinds),
            bytes=0 if folder is None else _total_size([folder / FILE, folder / f"{FILE}-wal"]),
            index_bytes={kind: size for kind, size in indexes.items() if size},
            token_vectors=tokens.count() if tokens else 0,
            token_bytes=tokens.size() if tokens else 0,
        )


def _total_size(files: Iterable[Path]) -> int:
    """Return the total bytes of the files that exist."""
    return sum(file.stat().st_size for file in files if file.exists())
