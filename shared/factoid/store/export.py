"""A store written as JSON lines or Parquet, for other programs and other stores."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from factoid.errors import StoreError
from factoid.progress import Bar, progress_bar
from factoid.store import jsonl_files, parquet_files
from factoid.store.connections import Connections
from factoid.store.exchange import About, Files
from factoid.store.rows import blocks, stored_units
from factoid.store.snapshot import Snapshot
from factoid.store.syncing import sync_file

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What `UnitStore.export` wrote.

    Attributes:
        units: How many units.
        documents: How many documents.
        files: The files.
    """

    units: int
    documents: int
    files: tuple[Path, ...]

    def __str__(self) -> str:
        return f"{self.units:,} units and {self.documents:,} documents in {', '.join(map(str, self.files))}"


def export(
    connections: Connections,
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - as users know it
    vectors: bool = True,
    similarity: str,
    show_progress: bool = False,
) -> ExportReport:
    """Write one generation of a store to files, each of which appears whole or not at all.

    Args:
        connections: Of the store.
        path: The file of units; see `factoid.store.exchange` for those beside it.
        format: "jsonl" or "parquet"; None goes by the name.
        vectors: Write the vectors, as float32.
        similarity: What a score of the store is.
        show_progress: Show a progress bar over units.

    Raises:
        InvalidInputError: A format that is unknown, or that cannot be told from the name.
        MissingDependencyError: Parquet, and pyarrow is not installed.
        StoreError: A file cannot be written.
    """
    files = Files.of(path, format)
    targets = (files.units, files.documents, files.about)
    try:
        files.units.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            snapshot = Snapshot(stack.enter_context(connections.reading()))
            parts = [stack.enter_context(_part(file)) for file in targets]
            about = _write(snapshot, files, parts, vectors=vectors, similarity=similarity, show_progress=show_progress)
            files.about.unlink(missing_ok=True)  # while the others are being replaced, it would be wrong
            for part, file in zip(parts, targets, strict=True):
                sync_file(part)
                part.replace(file)
    except OSError as error:
        message = f"cannot export to {files.units}: {error.strerror or error}"
        raise StoreError(message) from error
    return ExportReport(units=about.units, documents=about.documents, files=targets)


def _write(
    snapshot: Snapshot, files: Files, parts: list[Path], *, vectors: bool, similarity: str, show_progress: bool
) -> About:
    writer = parquet_files if files.format == "parquet" else jsonl_files
    units, documents = _Counted(blocks(stored_units(snapshot))), _Counted(blocks(snapshot.all_documents()))
    total = sum(snapshot.counts().values())
    with progress_bar(show=show_progress, unit=" units", total=total) as units.bar:
        writer.write_units(parts[0], units, vectors=vectors, compressed=files.compressed)
    writer.write_documents(parts[1], documents, compressed=files.compressed)
    about = About(
        units=units.count,
        documents=documents.count,
        encoder=snapshot.get("encoder"),
        dim=snapshot.get("dim"),
        similarity=str(similarity),
        vectors=vectors,
    )
    parts[2].write_text(about.to_json(), encoding="utf-8")
    return about


class _Counted(Iterable[list[T]]):
    """Lists, and how many items they have held."""

    def __init__(self, lists: Iterable[list[T]]) -> None:
        self.count = 0
        self.bar: Bar | None = None
        self._lists = lists

    def __iter__(self) -> Iterator[list[T]]:
        for each in self._lists:
            self.count += len(each)
            yield each
            if self.bar is not None:
                self.bar.update(len(each))


@contextmanager
def _part(file: Path) -> Iterator[Path]:
    """Give a name beside a file, and leave nothing there."""
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)
