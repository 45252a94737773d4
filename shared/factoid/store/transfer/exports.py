"""Export a store to JSON lines or Parquet, and import such files.

They are for other programs and stores. A record is a unit, or a document: one of granularity
"document", whose payload is the digest of how it was added. The first line of JSON lines, or
Parquet's own metadata, says what made the vectors and how many records there are. Each record has a
checksum of its number and its values, so that what is damaged is refused before anything of it is
committed. Others' files have neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import chain, islice, starmap
from math import inf
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from factoid._optional import require
from factoid.encode import Vectors, to_matrix
from factoid.errors import InvalidInputError, StoreError, UnreadableFileError, shown
from factoid.files.atomic import move_into_place, part_beside
from factoid.files.disk_errors import explain_disk_error
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.lines import filled_lines, located, parse_json, parse_object
from factoid.files.parquet import read_rows
from factoid.files.sqlite import row_checksum
from factoid.progress import progress_bar, tracked
from factoid.store.database.records import to_json
from factoid.store.database.snapshot import StoredUnit
from factoid.store.database.transaction import check_unit
from factoid.store.opened import OpenedStore
from factoid.store.settings import check_identity
from factoid.store.unit_vectors import encode
from factoid.units import Document, Granularity, Unit, document_unit

Record = dict[str, Any]
T = TypeVar("T")

_BLOCK = 1000  # records that are written or committed together, at most
_BLOCK_CHARACTERS = 50_000_000  # in their texts, at most, but for the last text
# How Parquet is written, whatever the defaults of pyarrow. Columns whose values repeat are written
# by a dictionary of them; vectors do not repeat.
_WRITER = {
    "version": "2.6",
    "compression": "zstd",
    "compression_level": 3,
    "use_dictionary": ["granularity", "document_id", "parent_id", "title", "section", "metadata"],
}
_AGAIN = (
    "Export or copy it again. If it was edited on purpose, import it with edited=True, or factoid "
    "store import --edited"
)
_ABOUT = "factoid"  # the key of what describes all records
# those are never stored
_FIELDS = tuple(field.name for field in fields(Unit) if field.name != "sentences")


def export(
    store: OpenedStore, path: str | Path, *, vectors: bool = True, progress: bool | None = None
) -> int:
    """Do what `UnitStore.export` describes."""
    target = Path(path)
    write = {".jsonl": _write_jsonl, ".parquet": write_parquet}.get(target.suffix)
    if write is None:
        raise InvalidInputError(f"cannot tell the format of {target}: name it .jsonl or .parquet")
    try:
        with store.connections.reading() as snapshot, part_beside(target) as part:
            totals = snapshot.totals()
            identity = {name: snapshot.meta.get(name) for name in store.identity}
            about = described(identity, totals["units"] + totals["documents"], vectors=vectors)
            documents = starmap(as_record, snapshot.all_documents())
            records = numbered(chain(snapshot.stored_units(), documents), vectors=vectors)
            write(
                part,
                about,
                tracked(records, show=progress, unit=" records", total=about["records"]),
            )
            move_into_place(part, target)
    except OSError as error:
        raise StoreError(f"cannot export to {target}: {explain_disk_error(error)}") from error
    return int(about["records"])


def import_from(
    store: OpenedStore,
    path: str | Path,
    *,
    edited: bool = False,
    limits: ReadLimits = DEFAULT_LIMITS,
    progress: bool | None = None,
) -> int:
    """Do what `UnitStore.import_from` describes."""
    file = Path(path)
    with progress_bar(show=progress, unit=" records") as bar:
        importing = _Import(store, file, edited, bar)
        if file.suffix == ".parquet":
            read_rows(file, limits, importing.begin_parquet, importing.add_row)
        else:
            for number, line in filled_lines(file, limits):
                place = f"{file}:{number}"
                with located(place):
                    record = parse_object(line)
                if _ABOUT in record and importing.is_new:
                    importing.begin(place, record[_ABOUT])
                else:
                    importing.add(place, record)
        return importing.finish()


class _Import:
    """An import that is under way: checks records, and commits them in blocks."""

    def __init__(self, store: OpenedStore, file: Path, edited: bool, bar: Any) -> None:
        self._store = store
        self._file = file
        self._edited = edited
        self._bar = bar
        self._about: Record | None = None
        self._identity = store.identity
        if store.encoder is not None:
            self._identity |= store.known_identity
        self._block: list[tuple[StoredUnit, bool]] = []
        self._characters = 0  # of the texts in the block
        self._count = 0  # of committed records

    @property
    def is_new(self) -> bool:
        """Whether nothing was read yet."""
        return self._about is None and not self._read

    @property
    def _read(self) -> int:
        return self._count + len(self._block)

    def begin(self, place: str, about: Any) -> None:
        """Take what describes the file."""
        with located(place):
            self._about = about = _checked_about(about, edited=self._edited)
        if about.get("vectors"):
            self._identity = {name: about.get(name) for name in self._identity}
        self._bar.total = about.get("records")

    def begin_parquet(self, metadata: Mapping[str, str]) -> None:
        """Take what describes a Parquet file, if anything does."""
        if _ABOUT in metadata:
            place = f"{self._file}, its metadata"
            with located(place):
                about = parse_json(metadata[_ABOUT])
            self.begin(place, about)

    def add_row(self, row: Record) -> None:
        """Take a row of a Parquet file."""
        place = f"{self._file}, row {self._read + 1}"
        if isinstance(row.get("metadata"), str):
            with located(f"{place}, metadata"):
                row["metadata"] = parse_object(row["metadata"])
        self.add(place, row)

    def add(self, place: str, record: Record) -> None:
        """Take a record; commit the block if it is full."""
        with located(place):
            stored, has_vector, written = _parsed(record)
            if not self._edited and written != self._expected(stored, "vector" in record):
                raise InvalidInputError(f"the record differs from what was exported. {_AGAIN}")
        self._block.append((stored, has_vector))
        self._characters += len(stored.unit.text)
        self._bar.update(1)
        if len(self._block) == _BLOCK or self._characters >= _BLOCK_CHARACTERS:
            if self._read > self._records:
                self._refuse_count("more")
            self._commit()

    def finish(self) -> int:
        """Commit the rest, and return the number of records."""
        if self.is_new and not self._edited:
            raise UnreadableFileError(
                f"{self._file} holds no records: it was cut short, or is another file. {_AGAIN}"
            )
        if self._records not in (self._read, inf):
            self._refuse_count(f"{self._read:,}")
        if self._block:
            self._commit()
        return self._count

    @property
    def _records(self) -> float:
        """The number of records that the file states.

        Infinity if it states none, or may have others.
        """
        if self._about is None or self._edited:
            return inf
        return float(self._about["records"])

    def _refuse_count(self, count: str) -> NoReturn:
        raise UnreadableFileError(
            f"{self._file} states {self._records:,.0f} records, and holds {count}, of which "
            f"{self._count:,} were added: it was cut short, or is another one. {_AGAIN}"
        )

    def _expected(self, stored: StoredUnit, has_vector: bool) -> int | None:
        """Return the checksum that a record of an export must have; others' records have none."""
        if self._about is None:
            return None
        return _checksum(self._read + 1, stored.unit, stored.vector, has_vector)

    def _commit(self) -> None:
        store = self._store
        block = self._block
        units: list[StoredUnit] = []
        documents: list[Unit] = []
        missing: list[Unit] = []  # vectors
        embedded: set[Granularity] = set()
        for stored, has_vector in block:
            if stored.unit.granularity is Granularity.DOCUMENT:
                documents.append(stored.unit)
            else:
                units.append(stored)
            if not has_vector:
                missing.append(stored.unit)
            if not has_vector or stored.vector is not None:
                embedded.add(stored.unit.granularity)
        store.encode_also(embedded)
        encoded: dict[str, Vectors] = {}
        for position, vector in encode(store, missing).items():
            encoded[missing[position].id] = vector
        with store.connections.transaction() as transaction:
            check_identity(transaction, f"the vectors of {self._file} with", **self._identity)
            for number, stored in enumerate(units):
                if stored.unit.id in encoded:
                    units[number] = stored._replace(vector=encoded[stored.unit.id])
            transaction.put_units(units)
            for unit in documents:
                document = Document(unit.text, unit.title, unit.section, unit.id, unit.metadata)
                transaction.put_document(document, unit.payload)
            transaction.identify(self._identity)
            check_identity(transaction, "was opened with", **store.identity)
        self._count += len(block)
        self._block = []
        self._characters = 0


def described(identity: Mapping[str, str | None], records: int, *, vectors: bool) -> Record:
    """Return what describes a file of records: what made their vectors, and how many there are."""
    about: Record = {**identity, "records": records, "vectors": vectors}
    return about | {"checksum": _about_checksum(about)}


def numbered(stored: Iterable[StoredUnit], *, vectors: bool) -> Iterator[Record]:
    """Yield the records of units, then documents, as a file holds them.

    Documents come last: an import that is interrupted leaves none that counts as complete.
    """
    for number, (unit, vector) in enumerate(stored, start=1):
        record = {name: getattr(unit, name) for name in _FIELDS} | {"metadata": dict(unit.metadata)}
        if vectors:
            record["vector"] = vector
        else:
            vector = None
        record["checksum"] = _checksum(number, unit, vector, vectors)
        yield record


def as_record(document: Document, digest: str) -> StoredUnit:
    """Return a document as a file of records holds it, with the digest of how it was added."""
    return StoredUnit(replace(document_unit(document), payload=digest), None)


def _write_jsonl(part: Path, about: Record, records: Iterable[Record]) -> None:
    """Write one JSON object a line."""
    with part.open("w", encoding="utf-8") as file:
        file.write(json.dumps({_ABOUT: about}) + "\n")
        for record in records:
            if record.get("vector") is not None:  # nine digits of a float32 read back equal
                record["vector"] = [float(f"{number:.9g}") for number in record["vector"].tolist()]
            file.write(json.dumps(record, allow_nan=False) + "\n")


def write_parquet(part: Path, about: Record, records: Iterable[Record]) -> None:
    """Write one row group for each block, vectors as lists of float32 and metadata as JSON.

    Equal records give equal bytes with one version of pyarrow.
    """
    pa = require("pyarrow", extra="parquet")
    types = {
        "start": pa.int64(),
        "end": pa.int64(),
        "vector": pa.list_(pa.float32()),
        "checksum": pa.int64(),
    }
    names = [*_FIELDS, "checksum"]
    if about["vectors"]:
        names.insert(-1, "vector")
    schema = pa.schema(
        [(name, types.get(name, pa.string())) for name in names],
        metadata={_ABOUT: json.dumps(about)},
    )
    parquet = require("pyarrow.parquet", extra="parquet")
    with parquet.ParquetWriter(part, schema, **_WRITER) as writer:
        for block in _blocks(records):
            rows = [record | {"metadata": json.dumps(record["metadata"])} for record in block]
            writer.write_table(pa.Table.from_pylist(rows, schema))


def _blocks(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield items in lists of `_BLOCK`; the last one may be shorter."""
    iterator = iter(items)
    while block := list(islice(iterator, _BLOCK)):
        yield block


def _checked_about(about: Any, *, edited: bool) -> Record:
    """Return what describes a file.

    Raise an InvalidInputError if it cannot, or is not as it was written.
    """
    if not isinstance(about, dict):
        raise InvalidInputError(f"expected what describes an export, got {shown(about)}")
    described = {}
    for name, value in about.items():
        if name != "checksum":
            described[name] = value
    if not edited and about.get("checksum") != _about_checksum(described):
        raise InvalidInputError(
            f"what describes the export differs from what was written. {_AGAIN}"
        )
    records = described.get("records")
    names = []
    for name in ("encoder", "embed_template", "embed_metadata", "late_chunking"):
        names.append(described.get(name))
    if type(records) is not int or not all(isinstance(name, str | None) for name in names):
        raise InvalidInputError(
            f"expected the number of records, and names of encoder and template, got {shown(about)}"
        )
    return described


def _about_checksum(about: Record) -> int:
    return row_checksum(json.dumps(about, sort_keys=True))


def _checksum(number: int, unit: Unit, vector: Vectors | None, has_vector: bool) -> int:
    """Return the checksum of a record.

    Of its values, whatever the format, and of its number from 1 on.
    """
    metadata = json.dumps(dict(unit.metadata), sort_keys=True)
    texts = [unit.id, unit.text, str(unit.granularity), unit.document_id, unit.parent_id]
    rest = [unit.title, unit.section, metadata, unit.payload, unit.visible]
    content = None if vector is None else np.asarray(vector, "<f4").tobytes()
    return row_checksum(number, *texts, unit.start, unit.end, *rest, content, has_vector)


def _parsed(record: Record) -> tuple[StoredUnit, bool, Any]:
    """Return the unit of a record with its vector, and the record's checksum.

    The second value is whether the record has a vector (null says that the unit has none).

    Raises:
        InvalidInputError: The record is malformed.
    """
    content = {}
    for name, value in record.items():
        if value is not None:
            content[name] = value
    written = content.pop("checksum", None)
    vector = content.pop("vector", None)
    granularity = Granularity(str(content.get("granularity")))
    try:
        unit = Unit(**content | {"granularity": granularity})
        vector = None if vector is None else to_matrix([vector], 1)[0]
    except (TypeError, ValueError, OverflowError) as error:
        expected = (
            f"{', '.join(_FIELDS)} and vector, a list of numbers; put your own fields into metadata"
        )
        raise InvalidInputError(f"{error}: expected the fields {expected}") from error
    check_unit(unit)
    to_json(unit.metadata)
    return (
        StoredUnit(unit, vector),
        "vector" in record or granularity is Granularity.DOCUMENT,
        written,
    )
