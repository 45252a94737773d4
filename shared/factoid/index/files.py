"""An index on disk: a cache of the database, which stays the truth.

`NAME.faiss` (of an index with shards `NAME.0.faiss` …) and the arrays that belong to it, `NAME.ARRAY.npy`, come first, and
last the manifest, `NAME.json`, with the size and the SHA-256 of each of them. Every file is written under a name of its own
and moved into place. So a reader finds a set that fits its manifest, or knows that it does not: after a crash, between the
files of another process, or on a disk that fails. What does not fit counts as missing, and is built again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.errors import InvalidInputError
from factoid.index.atomic import Hashing, sweep, write_file
from factoid.index.part import Part
from factoid.index.similarity import Similarity
from factoid.index.vector_index import VectorIndex

FORMAT = 2

_BLOCK = 1 << 20

logger = logging.getLogger(__name__)

Stamp = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a cache held.

    Args:
        index: The index.
        stamp: What it was saved with.
        arrays: What it was saved with; read-only where they lie in mapped files.
    """

    index: VectorIndex
    stamp: Stamp
    arrays: dict[str, NDArray[Any]]


def save(
    index: VectorIndex, path: Path, *, stamp: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]] | None = None
) -> None:
    """Write an index, the arrays that belong to it and their manifest.

    Args:
        index: What to write.
        path: Folder and name, without an ending.
        stamp: What the reader has to know to trust the cache, such as its generation; JSON.
        arrays: Numbers that travel with the index; names of lower-case letters and underscores.

    Raises:
        OSError: A file cannot be written; nothing of it is left, and what was there before is as it was.
    """
    arrays = arrays or {}
    for name in arrays:
        if not re.fullmatch("[a-z_]+", name):
            message = f"the name of an array is of lower-case letters and underscores, got {name!r}"
            raise InvalidInputError(message)
    sweep(path)
    before = _listed(path)
    written: dict[str, dict[str, Any]] = {}
    for number, part in enumerate(index.parts):
        ending = ".faiss" if index.shards == 1 else f".{number}.faiss"
        written[path.name + ending] = write_file(path.with_name(path.name + ending), _faiss_writer(part))
    for name, array in arrays.items():
        file = path.with_name(f"{path.name}.{name}.npy")
        written[file.name] = write_file(file, _array_writer(array))
    manifest = {
        "format": FORMAT,
        "kind": index.kind,
        "similarity": str(index.similarity),
        "dim": index.dim,
        "shards": index.shards,
        "count": len(index),
        "hidden": index.hidden,
        "arrays": sorted(arrays),
        "stamp": dict(stamp),
        "files": written,
    }
    manifest["sha256"] = _digest(manifest)
    text = json.dumps(manifest, indent=1, allow_nan=False).encode()
    write_file(_manifest(path), lambda out: out.write(text))
    for name in before - set(written):
        path.with_name(name).unlink(missing_ok=True)


def load(path: Path, *, mmap: bool = False) -> Loaded | None:
    """Read what `save` wrote, or return None, with a line in the log, where there is none that can be trusted.

    Args:
        path: Folder and name, without an ending.
        mmap: Map the files into memory instead of reading them, where FAISS can: processes share them, and what no search
            touches is never read after it was checked. An index that changes is copied first.
    """
    try:
        manifest = json.loads(_manifest(path).read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            logger.info("%s is of format %s, not %s: it is built again", path, manifest["format"], FORMAT)
            return None
        if manifest.pop("sha256") != _digest(manifest):
            message = "the manifest is damaged"
            raise ValueError(message)
        return _read(path, manifest, mmap=mmap)
    except FileNotFoundError as error:
        logger.info("%s has no cache (%s): it is built", path, error.filename)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, MemoryError) as error:
        logger.warning("%s cannot be trusted (%s): it is built again", path, str(error).split("\n")[0] or repr(error))
    return None


def _read(path: Path, manifest: dict[str, Any], *, mmap: bool) -> Loaded:
    files, shards, kind = manifest["files"], manifest["shards"], manifest["kind"]
    endings = [".faiss"] if shards == 1 else [f".{number}.faiss" for number in range(shards)]
    index = VectorIndex(manifest["dim"], kind=kind, similarity=Similarity(manifest["similarity"]))
    parts = [_read_part(path.with_name(path.name + ending), files, index, mmap=mmap) for ending in endings]
    index = VectorIndex(index.dim, kind=kind, similarity=index.similarity, shards=shards, _parts=parts)
    if (len(index), index.hidden) != (manifest["count"], manifest["hidden"]):
        message = f"the manifest counts {manifest['count']} vectors, the index {len(index)}"
        raise ValueError(message)
    arrays = {}
    for name in manifest["arrays"]:
        file = path.with_name(f"{path.name}.{name}.npy")
        with _checked(file, files) as source:
            # A map keeps the file that was checked, even when another takes its name.
            arrays[name] = np.load(source, allow_pickle=False) if not mmap else _map_array(source)
    return Loaded(index, manifest["stamp"], arrays)


def _read_part(file: Path, files: Mapping[str, Any], index: VectorIndex, *, mmap: bool) -> Part:
    with _checked(file, files) as source:
        read = _map_index(file, source) if mmap else None
        mapped = read is not None
        if read is None:
            faiss = require("faiss", extra="cpu")
            read = faiss.read_index(faiss.PyCallbackIOReader(source.read, _BLOCK))
    part = Part.restored(index.ability, read, mapped=mapped)
    if part is None:
        message = f"{file.name} holds no {index.kind} of {index.dim} dimensions"
        raise ValueError(message)
    return part


def _map_index(file: Path, checked: BinaryIO) -> Any:
    """Let FAISS map a file, if it can and the file under the name is still the one that was checked."""
    faiss = require("faiss", extra="cpu")
    flag = getattr(faiss, "IO_FLAG_MMAP_IFC", None)
    if flag is None:
        logger.info("%s is read and not mapped: FAISS %s cannot", file, faiss.__version__)
        return None
    try:
        index = faiss.read_index(str(file), flag)
    except RuntimeError as error:
        logger.info("%s is read and not mapped: %s", file, str(error).split("\n")[0])
        return None
    return index if os.path.samestat(file.stat(), os.fstat(checked.fileno())) else None


def _map_array(source: BinaryIO) -> NDArray[Any]:
    major, _ = version = np.lib.format.read_magic(source)
    if major > 2:
        message = f"an array of version {version}"
        raise ValueError(message)
    read = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(source)
    if dtype.hasobject or fortran:
        message = "an array that holds more than numbers"
        raise ValueError(message)
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.memmap(source, dtype=dtype, mode="r", offset=source.tell(), shape=shape)


def _checked(file: Path, files: Mapping[str, Any]) -> BinaryIO:
    """Open a file whose content is what the manifest says."""
    source = file.open("rb")
    try:
        size, digest = os.fstat(source.fileno()).st_size, ""
        if size == files[file.name]["size"]:
            digest = hashlib.file_digest(source, "sha256").hexdigest()
        if digest != files[file.name]["sha256"]:
            message = f"{file.name} is not the file of the manifest"
            raise ValueError(message)
        source.seek(0)
    except BaseException:
        source.close()
        raise
    return source


def _faiss_writer(part: Part) -> Callable[[Hashing], object]:
    faiss = require("faiss", extra="cpu")

    def write(out: Hashing) -> None:
        failed: list[OSError] = []

        def pass_on(data: bytes) -> None:
            try:
                out.write(data)
            except OSError as error:  # FAISS would turn it into a RuntimeError
                failed.append(error)
                raise

        try:
            faiss.write_index(part.stored(), faiss.PyCallbackIOWriter(pass_on, _BLOCK))
        except RuntimeError:
            if failed:
                raise failed[0] from None
            raise

    return write


def _array_writer(array: NDArray[Any]) -> Callable[[Hashing], object]:
    return lambda out: np.lib.format.write_array(out, np.ascontiguousarray(array), allow_pickle=False)


def _digest(manifest: Mapping[str, Any]) -> str:
    """Return what tells whether a manifest is as it was written: a flipped bit may leave it readable."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _manifest(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _listed(path: Path) -> set[str]:
    """Names of the files of the manifest that is there, as far as they are of this cache."""
    try:
        names = json.loads(_manifest(path).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    own = re.compile(rf"{re.escape(path.name)}\.(\d+\.)?faiss|{re.escape(path.name)}\.[a-z_]+\.npy")
    return {name for name in names if isinstance(name, str) and own.fullmatch(name)}
