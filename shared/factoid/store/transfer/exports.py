"""Export a store to a file of JSON lines or Parquet for other programs and stores, and import such files.

A record is a unit, or a document: one of granularity "document", whose payload is the digest of how it was added. The first line
of JSON lines, or Parquet's own metadata, says what made the vectors and how many records there are; others' files may lack it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import fields
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from factoid._optional import require
from factoid.encode import Vectors, bare_name
from factoid.errors import EncoderMismatchError, InvalidInputError, StoreError, UnreadableFileError
from factoid.files.atomic import move_into_place, part_beside
from factoid.files.lines import filled_lines, located, parse_object
from factoid.progress import progress
from factoid.store.database.snapshot import Snapshot, StoredUnit
from factoid.store.database.transaction import check_unit
from factoid.units import Document, Granularity, Unit

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore

Record = dict[str, Any]
T = TypeVar("T")

_BLOCK = 1000  # records that are read, written or committed together
_ABOUT = "factoid"  # the key of what describes all records
_IDENTITY = ("encoder", "embed_template")  # what made the vectors
_FIELDS = tuple(field.name for field in fields(Unit))


def export(store: UnitStore, path: str | Path, *, vectors: bool = True, show_progress: bool = False) -> int:
    """Write all units, then all documents, to a file, .jsonl or .parquet, and return the number of records.

    One generation of the store is written, and the file appears whole or not at all. Vectors are written as float32.

    Raises:
        InvalidInputError: The name has another ending.
        MissingDependencyError: The format is Parquet, and pyarrow (extra `parquet`) is not installed.
        StoreError: The file cannot be written, or the store is closed.
    """
    target = Path(path)
    write = {".jsonl": _write_jsonl, ".parquet": _write_parquet}.get(target.suffix)
    if write is None:
        raise InvalidInputError(f"cannot tell the format of {target}: name it .jsonl or .parquet")
    try:
        with store.connections.reading() as snapshot, part_beside(target) as part:
            totals = snapshot.totals()
            about: Record = {name: snapshot.meta.get(name) for name in _IDENTITY}
            about |= {"records": totals["units"] + totals["documents"], "vectors": vectors}
            records = _records(snapshot, vectors=vectors)
            write(part, about, progress(records, show=show_progress, unit=" records", total=about["records"]))
            move_into_place(part, target)
    except OSError as error:
        raise StoreError(f"cannot export to {target}: {error.strerror or error}") from error
    return int(about["records"])


def import_from(store: UnitStore, path: str | Path, *, show_progress: bool = False) -> int:
    """Add the units and documents of a file, .parquet or else JSON lines, and return the number of records.

    They replace those with the same ids. Units without the field `vector` are encoded; null means that a unit should not be
    found. Each block is committed whole, and the call can be repeated.

    Raises:
        EncoderMismatchError: The vectors come from another encoder or other texts, or have another dimension.
        UnreadableFileError: The file is missing, damaged or cut short, or holds something else; the message says where. Earlier
            commits stay.
        InvalidInputError: Vectors are needed, and there is no encoder.
    """
    file, count = Path(path), 0
    records = (_read_parquet if file.suffix == ".parquet" else _read_jsonl)(file)
    first, about = list(islice(records, 1)), Record()
    if first and _ABOUT in first[0][1]:
        about = first.pop()[1][_ABOUT]
    identity = _identity(store, file, about)
    for block in _blocks(
        progress(chain(first, records), show=show_progress, unit=" records", total=about.get("records"))
    ):
        units: list[StoredUnit] = []
        documents: list[tuple[Document, str]] = []
        missing: list[int] = []  # positions of units to encode
        for place, record in block:
            with located(place):
                if record.get("granularity") == Granularity.DOCUMENT:
                    documents.append(_to_document(record))
                    continue
                if "vector" not in record:
                    missing.append(len(units))
                units.append(_to_unit(record))
        encoded = store.encode([units[position].unit for position in missing]) if missing else {}
        for number, vector in encoded.items():
            position = missing[number]
            units[position] = StoredUnit(units[position].unit, vector)
        with store.connections.transaction() as writing:
            writing.put_units(units)
            for document, digest in documents:
                writing.put_document(document, digest)
            if writing.meta.get("dim") is not None:
                for name, value in identity.items():
                    if value and writing.meta.get(name) is None:
                        writing.put(name, value)
        count += len(block)
    if count != about.get("records", count):
        raise UnreadableFileError(
            f"{file} states {about['records']:,} records, and holds {count:,}, which were added: it was cut short. Export or "
            "copy it again"
        )
    return count


def _identity(store: UnitStore, file: Path, about: Record) -> dict[str, str | None]:
    """Return what makes the vectors: as the file says, or the store; refuse a file whose vectors do not fit the store."""
    ours = {"encoder": getattr(store.encoder, "name", None), "embed_template": store.requested_template}
    if not about.get("vectors"):
        return ours if store.encoder is None else ours | {"embed_template": store.embed_template}
    identity = {name: about.get(name) for name in _IDENTITY}
    with store.connections.reading() as snapshot:
        for name, value in identity.items():
            known = snapshot.meta.get(name) or ours[name]
            if value and known and bare_name(value) != bare_name(known):
                raise EncoderMismatchError(
                    f"{file} holds vectors of the {name} {value!r}, and the store those of {known!r}: export without vectors"
                )
    return identity


def _records(snapshot: Snapshot, *, vectors: bool) -> Iterator[Record]:
    """Yield units, then documents: an import that is interrupted leaves none that counts as complete."""
    for unit, vector in snapshot.stored_units():
        record = {name: getattr(unit, name) for name in _FIELDS} | {"metadata": dict(unit.metadata)}
        yield record | {"vector": vector} if vectors else record
    for document, digest in snapshot.all_documents():
        place = {"document_id": document.id, "parent_id": document.id, "start": 0, "end": len(document.text)}
        content = {name: getattr(document, name) for name in ("id", "text", "title", "section")}
        record = {**content, **place, "granularity": str(Granularity.DOCUMENT), "payload": digest}
        record["metadata"] = dict(document.metadata)
        yield record | {"vector": None} if vectors else record


def _write_jsonl(part: Path, about: Record, records: Iterable[Record]) -> None:
    """Write one JSON object a line."""
    with part.open("w", encoding="utf-8") as file:
        file.write(json.dumps({_ABOUT: about}) + "\n")
        for record in records:
            if record.get("vector") is not None:  # nine digits of a float32 read back equal
                record["vector"] = [float(f"{number:.9g}") for number in record["vector"].tolist()]
            file.write(json.dumps(record, allow_nan=False) + "\n")


def _write_parquet(part: Path, about: Record, records: Iterable[Record]) -> None:
    """Write one row group for each block, vectors as lists of float32 and metadata as JSON."""
    pa = require("pyarrow", extra="parquet")
    types = {"start": pa.int64(), "end": pa.int64(), "vector": pa.list_(pa.float32())}
    names = [*_FIELDS, "vector"] if about["vectors"] else _FIELDS
    schema = pa.schema([(name, types.get(name, pa.string())) for name in names], metadata={_ABOUT: json.dumps(about)})
    with require("pyarrow.parquet", extra="parquet").ParquetWriter(part, schema) as writer:
        for block in _blocks(records):
            rows = [record | {"metadata": json.dumps(record["metadata"])} for record in block]
            writer.write_table(pa.Table.from_pylist(rows, schema))


def _read_jsonl(path: Path) -> Iterator[tuple[str, Record]]:
    """Yield the records of a file, each with its place for errors."""
    for number, line in filled_lines(path):
        place = f"{path}:{number}"
        with located(place):
            record = parse_object(line)
        yield place, record


def _read_parquet(path: Path) -> Iterator[tuple[str, Record]]:
    """Yield what describes a file, if it says so, and its rows, each with its place for errors."""
    pa = require("pyarrow", extra="parquet")
    try:
        with require("pyarrow.parquet", extra="parquet").ParquetFile(path) as file:
            if about := (file.schema_arrow.metadata or {}).get(_ABOUT.encode()):
                yield str(path), {_ABOUT: json.loads(about)}
            # Earlier versions of pyarrow fail to iterate over nothing.
            batches = file.iter_batches(batch_size=_BLOCK) if file.num_row_groups else ()
            for number, record in enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), start=1):
                place = f"{path}, row {number}"
                if isinstance(record.get("metadata"), str):
                    with located(f"{place}, metadata"):
                        record["metadata"] = parse_object(record["metadata"])
                yield place, record
    except UnreadableFileError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise UnreadableFileError(f"{path} cannot be read as Parquet: {reason}") from error


def _blocks(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield items in lists of `_BLOCK`; the last one may be shorter."""
    iterator = iter(items)
    while block := list(islice(iterator, _BLOCK)):
        yield block


def _to_unit(record: Record) -> StoredUnit:
    content = _content(record, _FIELDS[: _FIELDS.index("title")])
    vector = content.pop("vector", None)
    unit = Unit(**content | {"granularity": Granularity(content["granularity"])})
    check_unit(unit)
    return StoredUnit(unit, None if vector is None else _to_vector(vector))


def _to_document(record: Record) -> tuple[Document, str]:
    """Return a document and the digest of how it was added."""
    content = _content(record, ("id", "text"))
    names = ("id", "text", "title", "section", "metadata")
    return Document(**{name: content[name] for name in names if name in content}), str(content.get("payload", ""))


def _content(record: Record, required: Iterable[str]) -> Record:
    """Return the fields of a record that have a value, if they are known ones."""
    known = (*_FIELDS, "vector")
    for name in record.keys() - set(known):
        raise InvalidInputError(
            f"unknown field {name!r}: expected {', '.join(known)}; put your own fields into metadata"
        )
    content = {name: value for name, value in record.items() if value is not None}
    for name in required:
        if name not in content:
            raise InvalidInputError(f"expected a value in {name!r}, got none")
    return content


def _to_vector(value: Any) -> Vectors:
    # NumPy would read true as 1, and "1" as well.
    if isinstance(value, list) and {type(number) for number in value} <= {int, float}:
        with suppress(OverflowError), np.errstate(over="ignore"):
            vector = np.asarray(value, np.float32)
            if len(vector) and np.isfinite(vector).all():
                return vector
    raise InvalidInputError(f"expected a list of finite numbers in 'vector', got {value!r:.60}")
