"""Export a store to JSON lines or Parquet for other programs and stores, and import such files."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from factoid.encode import EMBED_TEMPLATE, bare_name
from factoid.errors import EncoderMismatchError, StoreError, UnreadableFileError
from factoid.files.atomic import part_beside, sync_file, sync_folder
from factoid.progress import progress, progress_bar
from factoid.store.database.snapshot import StoredUnit
from factoid.store.transfer.formats import FORMAT, Files, blocks, read_about

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What `UnitStore.export` wrote: the numbers of units and documents, and the files."""

    units: int
    documents: int
    files: tuple[Path, ...]

    def __str__(self) -> str:
        return f"{self.units:,} units and {self.documents:,} documents in {', '.join(map(str, self.files))}"


def export(store: UnitStore, path: str | Path, *, vectors: bool = True, show_progress: bool = False) -> ExportReport:
    """Write all units and documents to files: `facts.jsonl`, and beside it `facts.documents.jsonl`.

    One generation of the store is written; each file appears whole or not at all. Vectors are written as float32. The name
    says the format: .jsonl, .jsonl.gz or .parquet (needs the extra `parquet`).

    Raises:
        InvalidInputError: The name has another ending.
        MissingDependencyError: The format is Parquet, and pyarrow is not installed.
        StoreError: A file cannot be written, or the store is closed.
    """
    files = Files.of(path)
    targets = (files.units, files.documents, files.about)
    try:
        with ExitStack() as stack:
            snapshot = stack.enter_context(store.connections.reading())
            parts = [stack.enter_context(part_beside(file)) for file in targets]
            totals = snapshot.totals()
            counts = {name: totals[name] for name in ("units", "documents")}
            units = progress(snapshot.stored_units(), show=show_progress, unit=" units", total=counts["units"])
            files.write_units(parts[0], units, vectors=vectors)
            files.write_documents(parts[1], snapshot.all_documents())
            identity = {name: snapshot.meta.get(name) for name in ("encoder", "embed_template", "dim")}
            about = {"format": FORMAT, **counts, **identity, "similarity": str(store.similarity), "vectors": vectors}
            parts[2].write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
            for part in parts:
                sync_file(part)
            files.about.unlink(missing_ok=True)  # it would be wrong while the others are being replaced
            for part, file in zip(parts, targets, strict=True):
                part.replace(file)
            sync_folder(files.units.absolute().parent)
    except OSError as error:
        raise StoreError(f"cannot export to {files.units}: {error.strerror or error}") from error
    return ExportReport(**counts, files=targets)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What `UnitStore.import_from` added or replaced; `encoded` counts the units encoded during the import."""

    units: int = 0
    documents: int = 0
    encoded: int = 0

    def __str__(self) -> str:
        encoded = f", {self.encoded:,} of them encoded here" if self.encoded else ""
        return f"{self.units:,} units{encoded} and {self.documents:,} documents"


def import_from(store: UnitStore, path: str | Path, *, show_progress: bool = False) -> ImportReport:
    """Add exported files, or files with the same fields from elsewhere; units and documents replace those with the same ids.

    Records without the field `vector` are encoded; null means that a unit should not be found. Documents are read from the file
    beside that of units, if it exists. Each block is committed whole, and the call can be repeated.

    Raises:
        EncoderMismatchError: The vectors come from another encoder or other texts, or have another dimension.
        UnreadableFileError: A file is missing, damaged or cut short, or holds something else; the message says where. Earlier
            commits stay.
        InvalidInputError: The name has another ending, or vectors are needed and there is no encoder.
    """
    encoder: str | None = getattr(store.encoder, "name", None)
    files = Files.of(path)
    about = read_about(files.about) or {}
    name, template = (about["encoder"], about["embed_template"]) if about.get("vectors") else (None, None)
    with store.connections.reading() as snapshot:
        meta = snapshot.meta
    identity = {"encoder": (name, encoder), "embed_template": (template, store.requested_template)}
    for key, (value, requested) in identity.items():
        expected = meta.get(key) or requested
        if value and expected and bare_name(value) != bare_name(expected):
            raise EncoderMismatchError(
                f"{files.units} holds vectors of the {key} {value!r}, and the store those of {expected!r}: "
                "export without vectors"
            )
    if template is not None:  # before units without vectors are encoded
        with store.connections.transaction() as writing:
            writing.put("embed_template", template)
    counts = {"units": 0, "documents": 0, "encoded": 0}
    with progress_bar(show=show_progress, unit=" units", total=about.get("units")) as bar:
        for block in blocks(files.read_units()):
            units = [stored for stored, _ in block]
            missing = [position for position, (_, has_vector) in enumerate(block) if not has_vector]
            encoded = store.encode([units[position].unit for position in missing]) if missing else {}
            for position, vector in encoded.items():
                units[missing[position]] = StoredUnit(units[missing[position]].unit, vector)
            with store.connections.transaction() as writing:
                writing.put_units(units)
                encoder_name = encoder if encoded else name
                if encoder_name and writing.meta.get("encoder") is None and writing.meta.get("dim") is not None:
                    writing.put("encoder", encoder_name)
                if encoded and writing.meta.get("embed_template") is None:
                    writing.put("embed_template", store.requested_template or EMBED_TEMPLATE)
            counts["units"] += len(block)
            counts["encoded"] += len(encoded)
            bar.update(len(block))
    # Documents come last: one that is interrupted does not count as complete when it is added again.
    for group in blocks(files.read_documents()):
        with store.connections.transaction() as writing:
            for document, digest in group:
                writing.put_document(document, digest)
        counts["documents"] += len(group)
    report = ImportReport(**counts)
    if about and (report.units, report.documents) != (about["units"], about["documents"]):
        raise UnreadableFileError(
            f"{files.units} and {files.documents} hold {report.units:,} units and {report.documents:,} documents, and "
            f"{files.about} states {about['units']:,} and {about['documents']:,}: files were cut short or belong to another "
            "export. The units and documents in them were added; export or copy them again"
        )
    return report
