"""The files of an exported store, in JSON lines or Parquet: one of units, one of documents, and one about both.

facts.jsonl              facts.jsonl.gz              facts.parquet
facts.documents.jsonl    facts.documents.jsonl.gz    facts.documents.parquet
facts.jsonl.about.json   facts.jsonl.gz.about.json   facts.parquet.about.json
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from factoid._optional import require
from factoid.encode import Vectors
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.lines import filled_lines, located, parse_object
from factoid.store.database.snapshot import StoredUnit
from factoid.store.database.transaction import check_unit
from factoid.units import Document, Granularity, Unit

FORMAT = 1
BLOCK = 1000  # units that are read, written or committed together

Record = dict[str, Any]
T = TypeVar("T")

_ENDINGS = (".parquet", ".jsonl.gz", ".jsonl")
_UNIT_FIELDS = tuple(field.name for field in fields(Unit))
_UNIT_REQUIRED = _UNIT_FIELDS[: _UNIT_FIELDS.index("title")]
_DOCUMENT_FIELDS = ("id", "text", "title", "section", "metadata", "digest")
_ABOUT = {"units", "documents", "encoder", "embed_template", "vectors"}
_GZIP_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Files:
    """The files of an export; the caller names the file of units, and the others are beside it."""

    units: Path
    documents: Path
    about: Path

    @classmethod
    def of(cls, path: str | Path) -> Self:
        """Return the files that go with a file of units; raise InvalidInputError if its name does not say the format."""
        units = Path(path)
        ending = next((ending for ending in _ENDINGS if units.name.endswith(ending)), None)
        if ending is None:
            raise InvalidInputError(f"cannot tell the format of {units}: name it .jsonl, .jsonl.gz or .parquet")
        documents = units.with_name(f"{units.name.removesuffix(ending)}.documents{ending}")
        return cls(units, documents, units.with_name(f"{units.name}.about.json"))

    def read_units(self) -> Iterator[tuple[StoredUnit, bool]]:
        """Yield units, and whether the file states their vectors (null states that there is none)."""
        for record, place in self._read(self.units):
            with located(place):
                content = _content(record, (*_UNIT_FIELDS, "vector"), _UNIT_REQUIRED)
                vector = content.pop("vector", None)
                unit = Unit(**content | {"granularity": Granularity(content["granularity"])})
                check_unit(unit)
                stored = StoredUnit(unit, None if vector is None else _to_vector(vector))
            yield stored, "vector" in record

    def read_documents(self) -> Iterator[tuple[Document, str]]:
        """Yield documents with the digests of how they were added; nothing if they have no file."""
        for record, place in self._read(self.documents) if self.documents.exists() else ():
            with located(place):
                content = _content(record, _DOCUMENT_FIELDS, ("id", "text"))
                digest = str(content.pop("digest", ""))
                document = Document(**content)
            yield document, digest

    def write_units(self, part: Path, units: Iterable[StoredUnit], *, vectors: bool) -> None:
        """Write units, with or without their vectors."""
        names = (*_UNIT_FIELDS, "vector") if vectors else _UNIT_FIELDS
        self._write(part, names, (_unit_record(*stored) for stored in units))

    def write_documents(self, part: Path, documents: Iterable[tuple[Document, str]]) -> None:
        """Write documents with the digests of how they were added, so that they are not decomposed again."""
        records = (asdict(document) | {"digest": digest} for document, digest in documents)
        self._write(part, _DOCUMENT_FIELDS, records)

    def _read(self, path: Path) -> Iterator[tuple[Record, str]]:
        """Yield the records of a file, each with its place for errors."""
        return _read_parquet(path) if path.suffix == ".parquet" else _read_jsonl(path)

    def _write(self, part: Path, names: Sequence[str], records: Iterable[Record]) -> None:
        if self.units.suffix == ".parquet":
            _write_parquet(part, names, records)
        else:
            _write_jsonl(part, names, records, compressed=self.units.suffix == ".gz")


def read_about(file: Path) -> Record | None:
    """Return an export's description of its store, or None if there is no such file: others may make exports too."""
    try:
        about: Record = json.loads(file.read_text(encoding="utf-8"))
        if about["format"] != FORMAT or not about.keys() >= _ABOUT:
            raise ValueError("another format, or a field is missing")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        remedy = f"factoid export writes format {FORMAT}. Export again, or delete this file"
        raise UnreadableFileError(f"{file} is not what was exported ({error!r}): {remedy}") from error
    return about


def blocks(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield items in lists of `BLOCK`; the last one may be shorter."""
    iterator = iter(items)
    while block := list(islice(iterator, BLOCK)):
        yield block


def _write_jsonl(part: Path, names: Sequence[str], records: Iterable[Record], *, compressed: bool) -> None:
    """Write one JSON object a line, vectors as lists of numbers that read back equal."""
    with part.open("wb") as raw:
        # No name or time in the header: the same store gives the same bytes.
        zipped = gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0) if compressed else nullcontext(raw)
        with zipped as file:
            for record in records:
                line = json.dumps({name: record[name] for name in names if name != "vector"}, allow_nan=False)
                if "vector" in names:
                    line = f'{line[:-1]}, "vector": {_numbers(record["vector"])}}}'
                file.write(line.encode() + b"\n")


def _numbers(vector: Vectors | None) -> str:
    """Return a vector as JSON. A float32 needs nine digits to read back equal; json would write seventeen."""
    if vector is None:
        return "null"
    text = f"[{', '.join(['%.9g'] * len(vector))}]" % tuple(vector.tolist())
    # JSON would read -0 as an integer, which has no sign.
    return text.replace("-0,", "-0.0,").replace("-0]", "-0.0]")


def _read_jsonl(path: Path) -> Iterator[tuple[Record, str]]:
    for number, line in filled_lines(path):
        place = f"{path}:{number}"
        with located(place):
            record = parse_object(line)
        yield record, place


def _write_parquet(part: Path, names: Sequence[str], records: Iterable[Record]) -> None:
    """Write one row group for each block, vectors as lists of float32 and metadata as JSON."""
    pa = require("pyarrow", extra="parquet")
    types = {"start": pa.int64(), "end": pa.int64(), "vector": pa.list_(pa.float32())}
    schema = pa.schema([pa.field(name, types.get(name, pa.string()), nullable=name == "vector") for name in names])
    with require("pyarrow.parquet", extra="parquet").ParquetWriter(part, schema) as writer:
        for block in blocks(records):
            columns = {name: [record[name] for record in block] for name in names}
            columns["metadata"] = [json.dumps(metadata) for metadata in columns["metadata"]]
            writer.write_table(pa.table(columns, schema=schema))


def _read_parquet(path: Path) -> Iterator[tuple[Record, str]]:
    """Yield rows as dicts, with vectors as arrays, which is much faster."""
    pa = require("pyarrow", extra="parquet")
    number = 0
    try:
        with require("pyarrow.parquet", extra="parquet").ParquetFile(path) as file:
            # Earlier versions of pyarrow fail to iterate over nothing.
            for batch in file.iter_batches(batch_size=BLOCK) if file.num_row_groups else ():
                names = batch.schema.names
                vectors = batch.column("vector") if "vector" in names else ()
                for row, record in enumerate(batch.select([name for name in names if name != "vector"]).to_pylist()):
                    number += 1
                    place = f"{path}, row {number}"
                    if isinstance(record.get("metadata"), str):
                        with located(f"{place}, metadata"):
                            record["metadata"] = parse_object(record["metadata"])
                    if vectors:
                        vector = vectors[row]
                        record["vector"] = vector.values.to_numpy(zero_copy_only=False) if vector.is_valid else None
                    yield record, place
    except UnreadableFileError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise UnreadableFileError(f"{path} cannot be read as Parquet: {reason}") from error


def _unit_record(unit: Unit, vector: Vectors | None) -> Record:
    record = {name: getattr(unit, name) for name in _UNIT_FIELDS}
    return record | {"granularity": str(unit.granularity), "metadata": dict(unit.metadata), "vector": vector}


def _content(record: Record, known: tuple[str, ...], required: tuple[str, ...]) -> Record:
    """Return the fields of a record that have a value, if they are the known ones."""
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
    if not isinstance(value, list) or {type(number) for number in value} <= {int, float}:
        with suppress(TypeError, ValueError, OverflowError), np.errstate(over="ignore"):
            vector = np.asarray(value, np.float32)
            if vector.ndim == 1 and len(vector) and np.isfinite(vector).all():
                return vector
    raise InvalidInputError(f"expected a list of finite numbers in 'vector', got {value!r:.60}")
