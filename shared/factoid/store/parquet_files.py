"""Exported units and documents as Parquet, through pyarrow. Metadata stand in it as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from factoid._optional import require
from factoid.errors import UnreadableFileError
from factoid.store.exchange_records import DOCUMENT_FIELDS, UNIT_FIELDS, Record, document_record, unit_record
from factoid.store.rows import BLOCK, Stored
from factoid.units import Document

_NUMBERS = ("start", "end")


def write_units(part: Path, blocks: Iterable[list[Stored]], *, vectors: bool, compressed: bool) -> None:  # noqa: ARG001
    """Write units, with their vectors as lists of float32; one row group for each block."""
    pa = _pyarrow()
    schema = _schema(UNIT_FIELDS)
    if vectors:
        schema = schema.append(pa.field("vector", pa.list_(pa.float32())))
    with require("pyarrow.parquet", extra="parquet").ParquetWriter(part, schema) as writer:
        for block in blocks:
            columns = _columns([unit_record(stored.unit) for stored in block], UNIT_FIELDS)
            if vectors:
                columns["vector"] = _vectors(block)
            writer.write_table(pa.table(columns, schema=schema))


def write_documents(part: Path, blocks: Iterable[list[tuple[Document, str]]], *, compressed: bool) -> None:  # noqa: ARG001
    """Write documents."""
    pa = _pyarrow()
    schema = _schema(DOCUMENT_FIELDS)
    with require("pyarrow.parquet", extra="parquet").ParquetWriter(part, schema) as writer:
        for block in blocks:
            records = [document_record(document, digest) for document, digest in block]
            writer.write_table(pa.table(_columns(records, DOCUMENT_FIELDS), schema=schema))


def read(path: Path, *, compressed: bool) -> Iterator[tuple[Record, str]]:  # noqa: ARG001
    """Yield the records of a file, each with where it stands.

    Raises:
        UnreadableFileError: The file is missing or damaged, or metadata are no JSON.
        MissingDependencyError: pyarrow is not installed.
    """
    pa = _pyarrow()
    parquet = require("pyarrow.parquet", extra="parquet")
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            # Earlier versions of pyarrow fail to iterate over nothing.
            for batch in file.iter_batches(batch_size=BLOCK) if file.num_row_groups else ():
                for record in _records(batch):
                    number += 1
                    place = f"{path}, row {number}"
                    if isinstance(record.get("metadata"), str):
                        record["metadata"] = _parsed(record["metadata"], place)
                    yield record, place
    except UnreadableFileError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        message = f"{path} cannot be read as Parquet: {reason}"
        raise UnreadableFileError(message) from error


def _pyarrow() -> Any:
    return require("pyarrow", extra="parquet")


def _schema(names: Iterable[str]) -> Any:
    pa = _pyarrow()
    return pa.schema(
        [pa.field(name, pa.int64() if name in _NUMBERS else pa.string(), nullable=False) for name in names]
    )


def _columns(records: list[Record], names: Iterable[str]) -> dict[str, Any]:
    columns = {name: [record[name] for record in records] for name in names}
    columns["metadata"] = [json.dumps(each) for each in columns["metadata"]]
    return columns


def _vectors(block: list[Stored]) -> Any:
    pa = _pyarrow()
    held = [stored.vector for stored in block]
    lengths = [0 if each is None else len(each) for each in held]
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    flat = np.concatenate([np.empty(0, np.float32), *(each for each in held if each is not None)])
    return pa.ListArray.from_arrays(offsets, pa.array(flat), mask=pa.array([each is None for each in held]))


def _records(batch: Any) -> Iterator[Record]:
    """Yield the rows of a batch as dicts; vectors as arrays, which is much the faster."""
    names = batch.schema.names
    plain = [name for name in names if name != "vector"]
    rows = batch.select(plain).to_pylist()
    if "vector" not in names:
        yield from rows
        return
    for row, vector in zip(rows, batch.column("vector"), strict=True):
        yield {**row, "vector": vector.values.to_numpy(zero_copy_only=False) if vector.is_valid else None}


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"{place}: the metadata are no JSON: {error}"
        raise UnreadableFileError(message) from error
