"""A store written as JSON lines or Parquet, for other programs and other stores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from factoid.errors import StoreError
from factoid.files.atomic import part_beside, sync_file, sync_folder
from factoid.progress import progress_bar
from factoid.store.transfer.formats import FORMAT, Files, T, blocks

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What `UnitStore.export` wrote: how many units and documents, and the files."""

    units: int
    documents: int
    files: tuple[Path, ...]

    def __str__(self) -> str:
        return f"{self.units:,} units and {self.documents:,} documents in {', '.join(map(str, self.files))}"


def export(
    store: UnitStore,
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - as users know it
    vectors: bool = True,
    show_progress: bool = False,
) -> ExportReport:
    """Write all units and documents to files: `facts.jsonl`, and beside it `facts.documents.jsonl`.

    One generation of the store is written; each file appears whole or not at all. Vectors are written as float32. The format
    is "jsonl" or "parquet" (needs the extra `parquet`); None goes by the name, and one that ends in .jsonl.gz is compressed.

    Raises:
        InvalidInputError: A format that is unknown, or that cannot be told from the name.
        MissingDependencyError: Parquet, and pyarrow is not installed.
        StoreError: A file cannot be written, or the store is closed.
    """
    files = Files.of(path, format)
    targets = (files.units, files.documents, files.about)
    counts = {"units": 0, "documents": 0}

    def counted(items: Iterable[T], name: str) -> Iterator[list[T]]:
        for block in blocks(items):
            yield block
            counts[name] += len(block)
            bar.update(len(block) if name == "units" else 0)

    try:
        with ExitStack() as stack:
            snapshot = stack.enter_context(store.connections.reading())
            parts = [stack.enter_context(part_beside(file)) for file in targets]
            total = sum(snapshot.counts().values())
            with progress_bar(show=show_progress, unit=" units", total=total) as bar:
                files.write_units(parts[0], counted(snapshot.stored_units(), "units"), vectors=vectors)
                files.write_documents(parts[1], counted(snapshot.all_documents(), "documents"))
            identity = {name: snapshot.meta.get(name) for name in ("encoder", "embed_template", "dim")}
            about = {"format": FORMAT, **counts, **identity, "similarity": str(store.similarity), "vectors": vectors}
            parts[2].write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
            for part in parts:
                sync_file(part)
            files.about.unlink(missing_ok=True)  # while the others are being replaced, it would be wrong
            for part, file in zip(parts, targets, strict=True):
                part.replace(file)
            sync_folder(files.units.absolute().parent)
    except OSError as error:
        raise StoreError(f"cannot export to {files.units}: {error.strerror or error}") from error
    return ExportReport(**counts, files=targets)
