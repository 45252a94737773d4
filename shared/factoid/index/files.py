"""An index on disk: a cache of the database.

`NAME.npz` has the ids, the vectors if the index is exact, further arrays, and a record with the stamp. Before it, other kinds
are written as `NAME-GENERATION.faiss`, whose size and SHA-256 are in the record. A reader that does not find all of it whole
builds the index again: after a crash, while another process writes, or on a failing disk.
"""

from __future__ import annotations

import glob
import hashlib
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from factoid.files.atomic import HashingWriter, move_into_place, part_beside, write_file
from factoid.index.matrix import Matrix
from factoid.index.vector_index import VectorIndex

_FORMAT = 1
_BLOCK = 1 << 20
_RECORD, _IDS, _VECTORS = "record", "ids", "vectors"

# What readers of damaged files raise; NumPy parses headers as Python.
_DAMAGE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError, EOFError, BadZipFile, SyntaxError, TokenError,
)  # fmt: skip

logger = logging.getLogger(__name__)


class Loaded(NamedTuple):
    """An index of vectors, if there is one, and the stamp and arrays with which it was saved."""

    vectors: VectorIndex | None
    stamp: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def save(
    path: Path, stamp: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], index: VectorIndex | None = None
) -> None:
    """Write arrays and an index, by a path without an ending.

    The stamp, in JSON, is what a reader needs to trust the cache; it has at least a generation.

    Raises:
        OSError: A file cannot be written; existing files are unchanged.
        RuntimeError: The same, while FAISS was writing.
    """
    record: dict[str, Any] = {"format": _FORMAT, "stamp": dict(stamp)}
    name = f"{path.name}-{stamp['generation']}.faiss"
    if index is not None:
        record["index"] = {"kind": index.kind, "similarity": index.similarity, "dim": index.dim}
        arrays = {**arrays, _IDS: index.by_position}
        if isinstance(index.content, Matrix):
            arrays[_VECTORS] = index.content.vectors
        else:
            record["file"] = write_file(path.with_name(name), partial(_write_index, index.content)) | {"name": name}
    target = path.with_name(f"{path.name}.npz")
    with part_beside(target) as part:
        with part.open("wb") as out:
            np.savez(out, **{_RECORD: np.array(json.dumps(record)), **arrays})  # type: ignore[arg-type]
        move_into_place(part, target)
    for file in path.parent.glob(f"*{glob.escape(path.name)}-*.faiss*"):  # also what a killed process was writing
        if file.name != record.get("file", {}).get("name"):
            file.unlink(missing_ok=True)


def load(path: Path, *, mmap: bool = False) -> Loaded | None:
    """Read what `save` wrote; return None, with a line in the log, if there is nothing that can be trusted.

    With `mmap`, an index that is not exact is mapped into memory if FAISS can, and shared by processes; it is copied before it
    changes.
    """
    try:
        with path.with_name(f"{path.name}.npz").open("rb") as file, ZipFile(file) as content:
            arrays = {name.removesuffix(".npy"): _read_array(content, name) for name in content.namelist()}
        record = json.loads(str(arrays.pop(_RECORD)))
        if record["format"] != _FORMAT:
            raise ValueError("it is of another version")
        index = _read(path, record, arrays, mmap=mmap) if "index" in record else None
        return Loaded(index, record["stamp"], arrays)
    except FileNotFoundError as error:
        logger.info("%s has no cache (%s): it is built", path, error.filename)
    except _DAMAGE as error:
        logger.warning("%s cannot be trusted (%s): it is built again", path, str(error).split("\n")[0] or repr(error))
    return None


def index_files(path: Path) -> list[Path]:
    """Return the existing files of a cache, the one that names the others last."""
    name = glob.escape(path.name)
    return [*path.parent.glob(f"{name}-*.faiss"), *path.parent.glob(f"{name}.npz")]


def _read_array(content: ZipFile, name: str) -> NDArray[Any]:
    with content.open(name) as file:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        file.read()  # at its end the checksum is checked; by a damaged header the array may be a part of it
    return array


def _read(path: Path, record: Mapping[str, Any], arrays: dict[str, NDArray[Any]], *, mmap: bool) -> VectorIndex:
    content: Any
    if "file" in record:
        content, mapped = _read_index(path, record["file"], mmap=mmap)
        shape = content.ntotal, content.d
    else:
        content, mapped = Matrix(arrays.pop(_VECTORS)), False
        shape = content.vectors.shape
    index = VectorIndex(**record["index"], _content=content, _ids=arrays.pop(_IDS), _mapped=mapped)
    if shape != (len(index.by_position), index.dim):
        raise ValueError("the vectors are not those of the ids, or of other dimensions")
    return index


def _read_index(path: Path, expected: Mapping[str, Any], *, mmap: bool) -> tuple[Any, bool]:
    """Return the index that FAISS reads from a file whose size and SHA-256 are as expected, and whether it was mapped."""
    import faiss

    file = path.with_name(expected["name"])
    with file.open("rb") as source:
        size, digest = file.stat().st_size, hashlib.file_digest(source, "sha256").hexdigest()
        if (size, digest) != (expected["size"], expected["sha256"]):
            raise ValueError(f"{file.name} is not the file that was written")
        if mmap:
            with suppress(RuntimeError):  # of a kind that cannot be mapped
                return faiss.read_index(str(file), faiss.IO_FLAG_MMAP_IFC), True
        source.seek(0)
        return faiss.read_index(faiss.PyCallbackIOReader(source.read, _BLOCK)), False


def _write_index(index: Any, out: HashingWriter) -> None:
    import faiss

    faiss.write_index(index, faiss.PyCallbackIOWriter(out.write, _BLOCK))
