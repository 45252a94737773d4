"""Export a store to a file of JSON lines or Parquet for other programs and stores, and import such files.

A record is a unit, or a document: one of granularity "document", whose payload is the digest of how it was added. The first line
of JSON lines, or Parquet's own metadata, says what made the vectors and how many records there are; others' files may lack it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from factoid._optional import require
from factoid.encode import to_matrix
from factoid.errors import InvalidInputError, StoreError, UnreadableFileError
from factoid.files.atomic import move_into_place, part_beside
from factoid.files.lines import filled_lines, located, parse_object
from factoid.progress import progress
from factoid.store.database.snapshot import Snapshot, StoredUnit
from factoid.store.database.transaction import check_unit
from factoid.store.settings import check_identity
from factoid.units import Document, Granularity, Unit

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore

Record = dict[str, Any]
T = TypeVar("T")

_BLOCK = 1000  # records that are read, written or committed together
_ABOUT = "factoid"  # the key of what describes all records
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
            about: Record = {name: snapshot.meta.get(name) for name in store.identity}
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
    identity = {**store.identity, "embed_template": store.embed_template if store.encoder else None}
    if about.get("vectors"):
        identity = {name: about.get(name) for name in identity}
    items = map(_parsed, chain(first, records))
    for block in _blocks(progress(items, show=show_progress, unit=" records", total=about.get("records"))):
        units = [stored for stored, _ in block if stored.unit.granularity is not Granularity.DOCUMENT]
        documents = [stored.unit for stored, _ in block if stored.unit.granularity is Granularity.DOCUMENT]
        missing = [stored.unit for stored, has_vector in block if not has_vector]
        encoded = {missing[position].id: vector for position, vector in store.encode(missing).items()}
        with store.connections.transaction() as writing:
            check_identity(writing, f"the vectors of {file} with", **identity)
            writing.put_units(stored._replace(vector=encoded.get(stored.unit.id, stored.vector)) for stored in units)
            for unit in documents:
                document = Document(unit.text, unit.title, unit.section, unit.id, unit.metadata)
                writing.put_document(document, unit.payload)
            writing.identify(identity)
            check_identity(writing, "was opened with", **store.identity)
        count += len(block)
    if count != about.get("records", count):
        raise UnreadableFileError(
            f"{file} states {about['records']:,} records, and holds {count:,}, which were added: it was cut short. Export or "
            "copy it again"
        )
    return count


def _records(snapshot: Snapshot, *, vectors: bool) -> Iterator[Record]:
    """Yield units, then documents: an import that is interrupted leaves none that counts as complete."""
    documents = (StoredUnit(_as_unit(*pair), None) for pair in snapshot.all_documents())
    for unit, vector in chain(snapshot.stored_units(), documents):
        record = {name: getattr(unit, name) for name in _FIELDS} | {"metadata": dict(unit.metadata)}
        yield record | {"vector": vector} if vectors else record


def _as_unit(document: Document, digest: str) -> Unit:
    content = (document.text, Granularity.DOCUMENT, document.id, document.id, 0, len(document.text))
    return Unit(document.id, *content, document.title, document.section, document.metadata, digest)


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


def _parsed(located_record: tuple[str, Record]) -> tuple[StoredUnit, bool]:
    """Return the unit of a record with its vector, and whether the record says that (null says that it has none)."""
    place, record = located_record
    with located(place):
        content = {name: value for name, value in record.items() if value is not None}
        vector, kind = content.pop("vector", None), Granularity(str(content.get("granularity")))
        try:
            unit = Unit(**content | {"granularity": kind})
            vector = None if vector is None else to_matrix([vector], 1)[0]
        except (TypeError, ValueError, OverflowError) as error:
            expected = f"{', '.join(_FIELDS)} and vector, a list of numbers; put your own fields into metadata"
            raise InvalidInputError(f"{error}: expected the fields {expected}") from error
        check_unit(unit)
        return StoredUnit(unit, vector), "vector" in record or kind is Granularity.DOCUMENT
