"""What a store holds, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from factoid.sqlite_file import FILE
from factoid.store.index_files import index_files
from factoid.store.settings import Settings
from factoid.store.snapshot import Snapshot
from factoid.units import Granularity


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """What a store holds.

    Attributes:
        units: Units of each granularity.
        documents: Documents whose texts are in the store.
        vectors: Distinct vectors.
        metadata: Distinct metadata.
        encoder: The name of what made the vectors, if it has one.
        dim: Components of the vectors; None while there are none.
        dtype: How vectors are kept.
        similarity: What a score is.
        kinds: The index kind of each granularity for which one was chosen.
        bytes: Bytes of the database and its log.
        index_bytes: Bytes of the index files of each granularity that has some.
    """

    units: Mapping[Granularity, int]
    documents: int
    vectors: int
    metadata: int
    encoder: str | None
    dim: int | None
    dtype: str
    similarity: str
    kinds: Mapping[Granularity, str]
    bytes: int
    index_bytes: Mapping[Granularity, int]

    def __str__(self) -> str:
        lines = [
            *((f"{kind}s", f"{number:,}") for kind, number in self.units.items()),
            ("documents", f"{self.documents:,}"),
            ("distinct metadata", f"{self.metadata:,}"),
            (
                "distinct vectors",
                f"{self.vectors:,}" + (f" of {self.dim} dimensions as {self.dtype}" if self.dim else ""),
            ),
            ("encoder", self.encoder or "not named"),
            ("similarity", self.similarity),
            ("database", f"{self.bytes:,} bytes"),
            *((f"{kind} index", self._index(kind, size)) for kind, size in self.index_bytes.items()),
        ]
        return "\n".join(f"{name:<20}{value}" for name, value in lines)

    def _index(self, kind: Granularity, size: int) -> str:
        return f"{size:,} bytes" + (f", {self.kinds[kind]}" if kind in self.kinds else "")


def stats(snapshot: Snapshot, folder: Path | None) -> StoreStats:
    """Return what a store holds; of one in memory, no bytes.

    Args:
        snapshot: The store's.
        folder: Where it is; None for a store in memory.
    """
    connection = snapshot.connection
    documents, vectors, metadata = connection.execute(
        """SELECT (SELECT count(*) FROM documents WHERE text IS NOT NULL), (SELECT count(*) FROM vectors),
        (SELECT count(*) FROM metadata)"""
    ).fetchone()
    settings = Settings.of(snapshot)
    files = {} if folder is None else {kind: index_files(folder, kind) for kind in Granularity}
    own = [] if folder is None else [folder / FILE, folder / f"{FILE}-wal"]
    return StoreStats(
        units=snapshot.counts(),
        documents=documents,
        vectors=vectors,
        metadata=metadata,
        encoder=snapshot.get("encoder"),
        dim=snapshot.get("dim"),
        dtype=str(snapshot.dtype),
        similarity=str(settings.similarity),
        kinds=dict(settings.kinds),
        bytes=sum(file.stat().st_size for file in own if file.exists()),
        index_bytes={kind: sum(file.stat().st_size for file in held) for kind, held in files.items() if held},
    )
