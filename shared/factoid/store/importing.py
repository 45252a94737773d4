"""Exported files read into a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from factoid.encode import Vectors
from factoid.errors import EncoderMismatchError, UnreadableFileError
from factoid.progress import progress_bar
from factoid.store import jsonl_files, parquet_files
from factoid.store.connections import Connections
from factoid.store.exchange import About, Files
from factoid.store.exchange_records import Record, to_document_and_digest, to_stored
from factoid.store.rows import Stored, blocks, put_units
from factoid.store.snapshot import Snapshot
from factoid.store.transaction import Transaction, transaction
from factoid.units import Document, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What `UnitStore.import_from` read.

    Attributes:
        units: Units added or replaced.
        documents: Documents added or replaced.
        encoded: Units whose vectors were not in the file and were made here.
    """

    units: int = 0
    documents: int = 0
    encoded: int = 0

    def __str__(self) -> str:
        encoded = f", {self.encoded:,} of them encoded here" if self.encoded else ""
        return f"{self.units:,} units{encoded} and {self.documents:,} documents"


def read_units(path: str | Path, *, format: str | None = None) -> Iterator[tuple[Unit, Vectors | None]]:  # noqa: A002
    """Yield the units of an exported file, each with its vector of shape (dim,), None where it has none.

    Args:
        path: The file of units.
        format: "jsonl" or "parquet"; None goes by the name.

    Raises:
        InvalidInputError: A format that is unknown, or that cannot be told from the name.
        UnreadableFileError: The file is missing or damaged, or holds something else; says where.
        MissingDependencyError: Parquet, and pyarrow is not installed.
    """
    files = Files.of(path, format)
    for record, place in _read(files, files.units):
        stored, _ = to_stored(record, place)
        yield stored.unit, stored.vector


def read_documents(path: str | Path, *, format: str | None = None) -> Iterator[Document]:  # noqa: A002
    """Yield the documents that were exported with a file of units; none where there is no such file.

    Args:
        path: The file of units.
        format: As for `read_units`.

    Raises:
        UnreadableFileError: The file is damaged, or holds something else; says where.
    """
    files = Files.of(path, format)
    for record, place in _read(files, files.documents) if files.documents.exists() else ():
        yield to_document_and_digest(record, place)[0]


def import_from(
    connections: Connections,
    path: str | Path,
    encode: Callable[[Sequence[Unit]], Mapping[int, Vectors]],
    *,
    format: str | None = None,  # noqa: A002 - as users know it
    encoder: str | None = None,
    show_progress: bool = False,
) -> ImportReport:
    """Add what was exported, a block at a time; each block is committed whole, and a call may be made again.

    Args:
        connections: Of the store.
        path: The file of units; documents are read from the one beside it, if it is there.
        encode: Returns the vectors of units that come without, by position.
        format: "jsonl" or "parquet"; None goes by the name.
        encoder: The name of the store's encoder, if it has one.
        show_progress: Show a progress bar over units.

    Raises:
        EncoderMismatchError: The vectors were made by another encoder, or have another dimension.
        UnreadableFileError: A file is missing, damaged or cut short, or holds something else; says where. What was
            committed before stays.
        InvalidInputError: A format that is unknown, or vectors are needed and there is no encoder.
    """
    files = Files.of(path, format)
    about = About.read(files.about)
    name = about.encoder if about is not None and about.vectors else None
    _check_encoder(connections, files, name, encoder)
    report = ImportReport()
    units = (to_stored(record, place) for record, place in _read(files, files.units))
    total = about.units if about is not None else None
    with progress_bar(show=show_progress, unit=" units", total=total) as bar:
        for block in blocks(units):
            stored, encoded = _with_vectors(block, encode)
            with transaction(connections) as writing:
                put_units(writing, stored)
                _name_encoder(writing, name if not encoded else encoder)
            report = replace(report, units=report.units + len(block), encoded=report.encoded + encoded)
            bar.update(len(block))
    # Documents come last: one that is cut off in between is not taken for complete when it is added again.
    if files.documents.exists():
        records = _read(files, files.documents)
        for group in blocks(to_document_and_digest(record, place) for record, place in records):
            with transaction(connections) as writing:
                for document, digest in group:
                    writing.put_document(document, digest)
            report = replace(report, documents=report.documents + len(group))
    _check_complete(files, about, report)
    return report


def _read(files: Files, path: Path) -> Iterator[tuple[Record, str]]:
    if files.format == "parquet":
        return parquet_files.read(path, compressed=files.compressed)
    return jsonl_files.read(path, compressed=files.compressed)


def _with_vectors(
    block: Sequence[tuple[Stored, bool]], encode: Callable[[Sequence[Unit]], Mapping[int, Vectors]]
) -> tuple[list[Stored], int]:
    """Return units with vectors, and how many of these were made here."""
    stored = [each for each, _ in block]
    untold = [position for position, (_, told) in enumerate(block) if not told]
    made = encode([stored[position].unit for position in untold]) if untold else {}
    for at, vector in made.items():
        stored[untold[at]] = Stored(stored[untold[at]].unit, vector)
    return stored, len(made)


def _check_encoder(connections: Connections, files: Files, name: str | None, encoder: str | None) -> None:
    with connections.reading() as connection:
        held = Snapshot(connection).get("encoder") or encoder
    if name and held and name != held:
        message = f"{files.units} holds vectors of the encoder {name!r}, and the store those of {held!r}: export without vectors"
        raise EncoderMismatchError(message)


def _name_encoder(writing: Transaction, name: str | None) -> None:
    if name and writing.get("encoder") is None and writing.get("dim") is not None:
        writing.put("encoder", name)


def _check_complete(files: Files, about: About | None, report: ImportReport) -> None:
    if about is not None and (report.units, report.documents) != (about.units, about.documents):
        message = (
            f"{files.units} and {files.documents} hold {report.units:,} units and {report.documents:,} documents, and "
            f"{files.about} tells of {about.units:,} and {about.documents:,}: files were cut short or belong to another "
            "export. What is there was added; export or copy them again"
        )
        raise UnreadableFileError(message)
