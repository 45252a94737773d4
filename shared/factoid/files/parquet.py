"""Read Parquet files in a process of their own.

Pyarrow believes the sizes that a file states, and a damaged one may crash it.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from factoid._optional import require
from factoid.errors import MissingDependencyError, UnreadableFileError
from factoid.files.isolation import run_isolated
from factoid.files.limits import ReadLimits

_ROWS = 100  # that are unpacked together
_DEEPEST = 20  # lists and structures inside each other
_LARGEST_GROWTH = 1000  # of rows over the bytes of the file
_ANY_TIME = 10 * 24 * 3600  # seconds; what is done with the rows may take long
_FLOATS = "<f4"


def read_rows(
    path: Path,
    limits: ReadLimits,
    begin: Callable[[dict[str, str]], object],
    receive: Callable[[dict[str, Any]], object],
) -> None:
    """Pass on the metadata of a Parquet file, then each row.

    What JSON can hold, and lists of float32 as arrays. Of the limits, the bytes of memory are those
    of the process that reads, and `seconds=None` reads in this process.

    Raises:
        UnreadableFileError: The file is missing, damaged or no Parquet, has columns of other types,
            or needs too much memory.
        MissingDependencyError: pyarrow is not installed.
    """
    require("pyarrow.parquet", extra="parquet")
    unpacked, most = 0, 0
    packed: list[str] = []

    def pass_on(value: Any) -> None:
        nonlocal unpacked, most
        if not most:
            most = limits.unpacked_bytes + _LARGEST_GROWTH * value["size"]
            packed.extend(value["packed"])
            begin(value["metadata"])
            return
        row, size = value
        unpacked += size
        if unpacked > most:
            raise UnreadableFileError(
                f"{path} unpacks to more than {_LARGEST_GROWTH:,} times its size, and "
                f"{limits.unpacked_bytes:,} bytes: no honest file does"
            )
        for name in packed:
            if row[name] is not None:
                row[name] = np.frombuffer(b64decode(row[name]), _FLOATS)
        receive(row)

    seconds = None if limits.seconds is None else _ANY_TIME
    run_isolated(unpack, path, replace(limits, seconds=seconds), pass_on)


def unpack(path: Path, _: ReadLimits) -> Iterator[Any]:
    """Yield what describes a file, then each row with about its size in bytes.

    Runs in the process that reads.
    """
    parquet = require("pyarrow.parquet", extra="parquet")
    try:
        with parquet.ParquetFile(path, buffer_size=1 << 20) as file:
            schema = file.schema_arrow
            packed = [
                field.name
                for field in schema
                if _check_type(field.type, f"{path}, column {field.name!r:.60}")
            ]
            metadata = {
                key.decode(): value.decode() for key, value in (schema.metadata or {}).items()
            }
            yield {"size": path.stat().st_size, "packed": packed, "metadata": metadata}
            # Earlier versions of pyarrow fail to iterate over nothing.
            batches = file.iter_batches(batch_size=_ROWS) if file.num_row_groups else ()
            for batch in batches:
                yield from _rows(batch, packed)
    except (MemoryError, MissingDependencyError, UnreadableFileError):
        raise
    except Exception as error:
        reason = (
            getattr(error, "strerror", None)
            or f"{type(error).__name__}: {' '.join(str(error).split())}"
        )
        raise UnreadableFileError(f"{path} cannot be read as Parquet: {reason:.300}") from error


def _check_type(kind: Any, place: str, depth: int = 0) -> bool:
    """Return whether a column holds lists of float32; refuse a type that JSON cannot hold."""
    types = require("pyarrow", extra="parquet").types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if depth > _DEEPEST:
        raise UnreadableFileError(f"{place}: values are nested deeper than {_DEEPEST}")
    if is_list or types.is_dictionary(kind):
        parts = [kind.value_type]
    elif types.is_map(kind):
        parts = [kind.key_type, kind.item_type]
    elif types.is_struct(kind):
        parts = [field.type for field in kind]
    elif not any(is_plain(kind) for is_plain in _plain(types)):
        raise UnreadableFileError(
            f"{place}: {kind!s:.60}, expected texts, numbers, or lists and structures of them"
        )
    else:
        parts = []
    for part in parts:
        _check_type(part, place, depth + 1)
    return bool(is_list and types.is_float32(parts[0]))


def _plain(types: Any) -> list[Callable[[Any], bool]]:
    numbers = [types.is_integer, types.is_floating, types.is_boolean, types.is_null]
    return [types.is_string, types.is_large_string, *numbers]


def _rows(batch: Any, packed: list[str]) -> Iterator[tuple[dict[str, Any], int]]:
    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name in columns:
            raise ValueError(f"there are two columns {name!r:.60}")
        columns[name] = _packed(column) if name in packed else column.to_pylist()
    size = math.ceil(batch.nbytes / max(1, batch.num_rows))
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True)), size


def _packed(column: Any) -> list[str | None]:
    """Return each list of a column as base64 of its bytes."""
    packed: list[str | None] = []
    for value in column:
        if not value.is_valid:
            packed.append(None)
        else:
            numbers = value.values
            if numbers.null_count:
                raise ValueError("a list of numbers lacks one")
            packed.append(b64encode(numbers.to_numpy().astype(_FLOATS).tobytes()).decode())
    return packed
