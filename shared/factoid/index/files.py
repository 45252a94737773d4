"""An index on disk: a cache of the database.

`NAME.faiss` (`NAME.0.faiss` … for an index with shards) and its arrays, `NAME.ARRAY.npy`, are written first, and last the
manifest, `NAME.json`, with the size and the SHA-256 of each of them. A reader that does not find a set that fits its manifest
builds it again: after a crash, while another process writes, or on a failing disk.
"""

from __future__ import annotations

import glob
import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from factoid.files.atomic import HashingWriter, write_file
from factoid.index.kinds import check_kind
from factoid.index.part import Part
from factoid.index.vector_index import VectorIndex

_FORMAT = 1
_BLOCK = 1 << 20

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Loaded:
    """An index, and the stamp and arrays with which it was saved."""

    index: VectorIndex
    stamp: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def save(
    index: VectorIndex, path: Path, *, stamp: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]] | None = None
) -> None:
    """Write an index, its arrays and their manifest, by a path without an ending.

    The stamp, in JSON, is what a reader needs to trust the cache; arrays have names of lower-case letters.

    Raises:
        OSError: A file cannot be written; existing files are unchanged.
        RuntimeError: The same, while FAISS was writing.
    """
    files = zip(_index_files(path, index.shards), index.parts, strict=True)
    manifest = {name: getattr(index, name) for name in ("kind", "similarity", "dim", "shards")} | {"stamp": dict(stamp)}
    writers = {file.name: partial(_write_part, part) for file, part in files}
    ids = np.concatenate([part.ids.by_position for part in index.parts])
    save_files(path, writers, {"ids": ids, **(arrays or {})}, manifest)


def save_files(
    path: Path,
    writers: Mapping[str, Callable[[HashingWriter], object]],
    arrays: Mapping[str, NDArray[Any]],
    manifest: Mapping[str, Any],
) -> None:
    """Write files and arrays by name, and last their manifest; remove those of an earlier manifest."""
    written = {name: write_file(path.with_name(name), writer) for name, writer in writers.items()}
    for name, array in arrays.items():
        file = path.with_name(f"{path.name}.{name}.npy")
        written[file.name] = write_file(file, partial(np.lib.format.write_array, array=np.ascontiguousarray(array)))
    complete = {"format": _FORMAT, **manifest, "arrays": sorted(arrays), "files": written}
    text = json.dumps(complete | {"sha256": _digest(complete)}, indent=1, allow_nan=False).encode()
    write_file(path.with_name(f"{path.name}.json"), lambda out: out.write(text))
    for file in path.parent.glob(f"{glob.escape(path.name)}.*"):
        if file.suffix in (".faiss", ".npy") and file.name not in written:  # of an index with other shards or arrays
            file.unlink(missing_ok=True)


def load(path: Path, *, mmap: bool = False) -> Loaded | None:
    """Read what `save` wrote; return None, with a line in the log, if there is nothing that can be trusted.

    With `mmap`, vectors are mapped into memory if FAISS can, and shared by processes. An index is copied before it changes.
    """
    return load_files(path, partial(_read, path, mmap=mmap))


def load_files(path: Path, read: Callable[[dict[str, Any]], T]) -> T | None:
    """Return what a function reads with the manifest that `save_files` wrote, or None as `load` does."""
    try:
        manifest = json.loads(path.with_name(f"{path.name}.json").read_text(encoding="utf-8"))
        if manifest.pop("sha256") != _digest(manifest) or manifest["format"] != _FORMAT:
            raise ValueError("the manifest is damaged, or of another version")
        return read(manifest)
    except FileNotFoundError as error:
        logger.info("%s has no cache (%s): it is built", path, error.filename)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, MemoryError) as error:
        logger.warning("%s cannot be trusted (%s): it is built again", path, str(error).split("\n")[0] or repr(error))
    return None


def _read(path: Path, manifest: dict[str, Any], *, mmap: bool) -> Loaded:
    kind, parts = check_kind(manifest["kind"], manifest["dim"]), []
    arrays = read_arrays(path, manifest)
    ids = arrays.pop("ids")
    for file in _index_files(path, manifest["shards"]):
        with _checked(file, manifest["files"]) as source:
            index, mapped = _read_index(file, source, mmap=mmap)
        parts.append(Part(kind, index, ids[: index.ntotal], mapped=mapped))
        ids = ids[index.ntotal :]
    if len(ids) or any((part.index.d, part.index.ntotal) != (kind.dim, len(part.ids.by_position)) for part in parts):
        raise ValueError("the vectors are not those of the ids, or of other dimensions")
    index = VectorIndex(kind.dim, kind=kind.name, similarity=manifest["similarity"], _parts=parts)
    return Loaded(index, manifest["stamp"], arrays)


def read_arrays(path: Path, manifest: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a manifest; raise OSError or ValueError where a file is not the one that was written."""
    arrays = {}
    for name in manifest["arrays"]:
        with _checked(path.with_name(f"{path.name}.{name}.npy"), manifest["files"]) as source:
            arrays[name] = np.load(source, allow_pickle=False)
    return arrays


def _read_index(file: Path, source: BinaryIO, *, mmap: bool) -> tuple[Any, bool]:
    """Return the index that FAISS reads from a checked file, and whether it was mapped."""
    import faiss

    if mmap:
        with suppress(RuntimeError):  # of a kind that cannot be mapped
            mapped = faiss.read_index(str(file), faiss.IO_FLAG_MMAP_IFC)
            if os.path.samestat(file.stat(), os.fstat(source.fileno())):  # and not replaced since
                return mapped, True
    return faiss.read_index(faiss.PyCallbackIOReader(source.read, _BLOCK)), False


@contextmanager
def _checked(file: Path, files: Mapping[str, Any]) -> Iterator[BinaryIO]:
    """Open a file whose content is what the manifest says."""
    entry = files[file.name]
    with file.open("rb") as source:
        size = os.fstat(source.fileno()).st_size
        if size != entry["size"] or hashlib.file_digest(source, "sha256").hexdigest() != entry["sha256"]:
            raise ValueError(f"{file.name} is not the file of the manifest")
        source.seek(0)
        yield source


def _write_part(part: Part, out: HashingWriter) -> None:
    import faiss

    faiss.write_index(part.index, faiss.PyCallbackIOWriter(out.write, _BLOCK))


def _digest(manifest: Mapping[str, Any]) -> str:
    """Return a digest that shows whether a manifest has changed: a flipped bit may leave it readable."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _index_files(path: Path, shards: int) -> list[Path]:
    endings = ["faiss"] if shards == 1 else [f"{number}.faiss" for number in range(shards)]
    return [path.with_name(f"{path.name}.{ending}") for ending in endings]
