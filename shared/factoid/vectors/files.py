"""An index on disk: a cache of the database, in files of its own generation.

`NAME-GENERATION.safetensors` has the ids, further arrays, and a record with the stamp. The vectors
of an exact index are those of the store, and are read from there. Before it, other kinds are
written as `NAME-GENERATION-HASH.faiss`, whose size and SHA-256 are in the record; the hash is in
the name because two processes that build the index of one generation may get different bytes. Files
are read where they are and never changed; the next generation gets files of its own. A reader that
does not find all of it whole builds the index again: after a crash, while another process writes,
or on a failing disk.
"""

from __future__ import annotations

import glob
import hashlib
import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.files.arrays import read_arrays, write_arrays
from factoid.files.atomic import HashingWriter, move_into_place, part_beside, remove_leftovers
from factoid.files.regular import open_regular
from factoid.vectors.faiss_files import read_faiss, write_faiss
from factoid.vectors.kinds import EXACT, check_kind
from factoid.vectors.matrix import Matrix
from factoid.vectors.vector_index import RowIds, Similarity, VectorIndex, normalized

_FORMAT = 1
_ARRAYS = "safetensors"  # endings
_FAISS = "faiss"
_IDS = "ids"
_BLOCK = 10_000  # vectors read at a time
_HASH = 16  # digits of a file's SHA-256 in its name
_BEHIND_THE_NAME = rf"\d{{1,20}}(\.{_ARRAYS}|-[0-9a-f]{{{_HASH}}}\.{_FAISS})"
_TRIES = 3  # while another process replaces the files

# What readers of damaged files raise.
_DAMAGE = (OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError, MemoryError)

logger = logging.getLogger(__name__)


class Loaded(NamedTuple):
    """An index of vectors, if there is one, and the stamp and arrays with which it was saved."""

    vectors: VectorIndex | None
    stamp: dict[str, Any]
    arrays: dict[str, Any]  # of numbers; with `later`, some `InPieces`


def save(
    path: Path,
    stamp: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    index: VectorIndex | None = None,
    *,
    in_pieces: Collection[str] = (),
) -> None:
    """Write arrays and an index, by a path without generation and ending.

    Args:
        path: The path.
        stamp: What a reader needs to trust the cache, in JSON; it has at least a generation.
        arrays: Arrays of numbers.
        index: An index of vectors.
        in_pieces: Names of arrays that may be checked piece by piece when they are read.

    Raises:
        OSError: A file cannot be written; existing files are unchanged.
        RuntimeError: The same, while FAISS was writing.
    """
    generation = stamp["generation"]
    target = _arrays_file(path, generation)
    record: dict[str, Any] = {"format": _FORMAT, "stamp": dict(stamp)}
    with part_beside(target) as part:
        if index is not None:
            record["index"] = {
                "kind": index.kind,
                "similarity": str(index.similarity),
                "dim": index.dim,
            }
            arrays = {**arrays, _IDS: index.by_position}
            if not isinstance(index.content, Matrix):
                record[_FAISS] = _write_faiss_file(path, generation, index.content)
        with part.open("wb") as out:
            write_arrays(out, record, arrays, in_pieces=in_pieces)
        move_into_place(part, target)
        _remove_replaced(path, generation, record)


def sweep(path: Path, *, generation: int, latest: int) -> None:
    """Remove files of other generations, and what a killed process left.

    The path has no generation and ending. Files between a generation and the latest one stay:
    another process has just written them. Later ones are from before a backup of the database was
    restored.
    """
    for file in index_files(path):
        number = _generation(path, file)
        if number < generation or number > latest:
            file.unlink(missing_ok=True)
    unfinished = re.compile(rf"\.({re.escape(path.name)}-\d+\.({_FAISS}|{_ARRAYS}))\.part(\.lock)?")
    for file in path.parent.glob(f".{glob.escape(path.name)}-*"):
        if match := unfinished.fullmatch(file.name):
            remove_leftovers(path.with_name(match[1]))


def load(
    path: Path,
    *,
    generation: int | None = None,
    mmap: bool = False,
    later: bool = False,
    vectors: Callable[[RowIds], Vectors] | None = None,
) -> Loaded | None:
    """Read what `save` wrote.

    The result is None, with a line in the log, if there is nothing that can be trusted. Of several
    generations, which a killed process may leave, it is the latest.

    Args:
        path: The path without generation and ending.
        generation: The latest to read; None for any.
        mmap: Map an index that is not exact into memory if FAISS can, so that processes share it;
            it is copied before it changes.
        later: Leave the pieces of arrays that were saved `in_pieces` to be checked when they are
            read.
        vectors: Returns the vectors of some ids, of which an exact index keeps no copy; without it,
            there is none. Shapes: (n,) to (n, dim).
    """
    missing = None
    for _ in range(_TRIES):
        files = record_files(path, latest=generation)
        if not files:
            break
        for file in files:
            try:
                return _load(path, file, mmap=mmap, later=later, vectors=vectors)
            except FileNotFoundError as error:  # another process has written a later one
                missing = error.filename
            except _DAMAGE as error:
                reason = str(error).split("\n")[0] or repr(error)
                logger.warning("%s cannot be trusted (%s): it is built again", file, reason)
                missing = None
        if missing is None:
            return None
    logger.info("%s has no cache (%s): it is built", path, missing or "there are no files")
    return None


def index_files(path: Path) -> list[Path]:
    """Return the existing files of a cache.

    Of each generation the one that names the other comes last.
    """
    pattern = re.compile(rf"{re.escape(path.name)}-{_BEHIND_THE_NAME}")
    named = path.parent.glob(f"{glob.escape(path.name)}-*")
    # A pipe or device would block a reader.
    files = [file for file in named if pattern.fullmatch(file.name) and file.is_file()]
    return sorted(files, key=lambda file: (_generation(path, file), file.suffix))


def is_complete(file: Path) -> bool:
    """Return whether a file with a record, and the file that it names, are there.

    They may be other than they were written. A process that was killed while it removed or replaced
    them may leave one of them.
    """
    try:
        record, _ = read_arrays(file)
    except FileNotFoundError:
        return False
    except _DAMAGE:
        return True
    return _FAISS not in record or _faiss_file(file.with_suffix(""), record[_FAISS]).exists()


def is_index_file(name: str, indexes: Iterable[str]) -> bool:
    """Return whether a name is that of a file of one of some indexes."""
    names = "|".join(map(re.escape, indexes))
    return re.fullmatch(rf"({names})-{_BEHIND_THE_NAME}", name) is not None


def _arrays_file(path: Path, generation: int) -> Path:
    return path.with_name(f"{path.name}-{generation}.{_ARRAYS}")


def _faiss_file(path: Path, written: Mapping[str, Any]) -> Path:
    """Return FAISS's file of a path with a generation, by what a record says of it."""
    digest = written["sha256"]
    if not re.fullmatch("[0-9a-f]{64}", digest):
        raise ValueError("the record has no SHA-256")
    return path.with_name(f"{path.name}-{digest[:_HASH]}.{_FAISS}")


def _generation(path: Path, file: Path) -> int:
    behind_the_name = file.name.removeprefix(f"{path.name}-")
    return int(re.split("[-.]", behind_the_name)[0])


def record_files(path: Path, *, latest: int | None) -> list[Path]:
    """Return the files with records up to a generation, latest first."""
    files = [file for file in reversed(index_files(path)) if file.suffix == f".{_ARRAYS}"]
    if latest is not None:
        files = [file for file in files if _generation(path, file) <= latest]
    return files


def _load(
    path: Path, file: Path, *, mmap: bool, later: bool, vectors: Callable[[RowIds], Vectors] | None
) -> Loaded:
    record, arrays = read_arrays(file, later=later)
    if record["format"] != _FORMAT:
        raise ValueError("it is of another version")
    stamp = record["stamp"]
    if file.name != _arrays_file(path, stamp["generation"]).name:
        raise ValueError("it is of another generation than its name says")
    index = None
    if "index" in record:
        index = _read_vectors(path, record, arrays, vectors, mmap=mmap)
    return Loaded(index, stamp, arrays)


def _read_vectors(
    path: Path,
    record: Mapping[str, Any],
    arrays: dict[str, Any],
    vectors: Callable[[RowIds], Vectors] | None,
    *,
    mmap: bool,
) -> VectorIndex:
    """Return the index of a record, if all of its parts fit each other."""
    described = record["index"]
    dim = described["dim"]
    ids = arrays.pop(_IDS)
    if ids.ndim != 1 or ids.dtype != np.int64 or type(dim) is not int or not 0 < dim < 1 << 20:
        raise ValueError("the ids or dimensions are of another type")
    content: Any
    mapped = False
    if _FAISS in record:
        with_generation = _arrays_file(path, record["stamp"]["generation"]).with_suffix("")
        faiss_file = _faiss_file(with_generation, record[_FAISS])
        content, mapped = _read_index(faiss_file, record, mmap=mmap)
        shape = (content.ntotal, content.d)
    else:
        if described["kind"] != EXACT or vectors is None:
            raise ValueError("its vectors are missing")
        content = Matrix(_gathered(ids, dim, Similarity(described["similarity"]), vectors))
        shape = content.vectors.shape
    if shape != (len(ids), dim):
        raise ValueError("the vectors are not those of the ids, or of other dimensions")
    return VectorIndex(**described, _content=content, _ids=ids, _mapped=mapped)


def _gathered(
    ids: RowIds, dim: int, similarity: Similarity, vectors: Callable[[RowIds], Vectors]
) -> Vectors:
    """Return the vectors of some ids in the form that is compared. Shape: (n, dim)."""
    content = np.empty((len(ids), dim), np.float32)
    for start in range(0, len(ids), _BLOCK):
        block = slice(start, start + _BLOCK)
        some = normalized(vectors(ids[block]), similarity)
        if some.shape != content[block].shape:
            raise ValueError("the vectors are of other dimensions")
        content[block] = some
    return content


def _read_index(file: Path, record: Mapping[str, Any], *, mmap: bool) -> tuple[Any, bool]:
    """Return the index that FAISS reads from an expected file, and whether it was mapped."""
    expected = record[_FAISS]
    with open_regular(file) as source:
        size = file.stat().st_size
        digest = hashlib.file_digest(source, "sha256").hexdigest()
    if (size, digest) != (expected["size"], expected["sha256"]):
        raise ValueError(f"{file.name} is not the file that was written")
    kind = check_kind(record["index"]["kind"], record["index"]["dim"])
    return read_faiss(file, kind, record["index"]["dim"], mmap=mmap)


def _write_faiss_file(path: Path, generation: int, index: Any) -> dict[str, Any]:
    """Write an index under the name that its content gives it. Return its size and SHA-256."""
    with_generation = _arrays_file(path, generation).with_suffix("")
    with part_beside(with_generation.with_suffix(f".{_FAISS}")) as part:
        with part.open("wb") as raw:
            out = HashingWriter(raw)
            write_faiss(index, out.write)
        written = {"size": out.size, "sha256": out.hash.hexdigest()}
        move_into_place(part, _faiss_file(with_generation, written))
    return written


def _remove_replaced(path: Path, generation: int, record: Mapping[str, Any]) -> None:
    """Remove FAISS's files that an earlier record of the same generation named, or none yet."""
    with_generation = _arrays_file(path, generation).with_suffix("")
    named = None
    if _FAISS in record:
        named = _faiss_file(with_generation, record[_FAISS])
    for file in index_files(path):
        if file.suffix == f".{_FAISS}" and _generation(path, file) == generation and file != named:
            file.unlink(missing_ok=True)
