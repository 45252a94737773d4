"""Read and write FAISS's own files.

They may come from a stranger, so what FAISS does not check is checked here. FAISS trusts the
numbers in a file: a graph whose links lead outside of it would be read from anywhere in memory. So
an index is used only if it is of the expected class, and its parts have the sizes and ranges that
this class needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from factoid.forks import Exclusion, at_work
from factoid.vectors.kinds import Ability, make

_BLOCK = 1 << 20
_ROOM = 8  # FAISS counts up to four bytes for each byte of some arrays

# Fields of an index whose lists hold codes in blocks.
_OF_BLOCKS = ("M", "nbits", "ksub", "M2", "bbs", "qb", "by_residual")

# Fields of what makes codes of a bit a component.
_OF_RABITQ = ("d", "code_size", "nb_bits", "metric_type")

_alone = Exclusion()  # FAISS's limits are those of the process


def read_faiss(file: Path, kind: Ability, dim: int, *, mmap: bool) -> tuple[Any, bool]:
    """Return an index of a kind from a file, and whether it is mapped into memory.

    Raises:
        ValueError: The file holds an index of another class, or one whose parts do not fit each
            other.
        RuntimeError: FAISS cannot read it.
        MemoryError: It asks for more memory than it can need.
    """
    import faiss

    with _limited(file.stat().st_size):
        mapped = False
        index = None
        if mmap:
            with suppress(RuntimeError):  # of a kind that cannot be mapped
                index = faiss.read_index(str(file), faiss.IO_FLAG_MMAP_IFC)
                mapped = True
        if index is None:
            with file.open("rb") as source:
                index = faiss.read_index(faiss.PyCallbackIOReader(source.read, _BLOCK))
    expected = make(kind.name, dim)
    _check_index(index, expected, dim)
    return index, mapped


def write_faiss(index: Any, write: Callable[[bytes], object]) -> None:
    """Write an index by a function that takes bytes."""
    import faiss

    faiss.write_index(index, faiss.PyCallbackIOWriter(write, _BLOCK))


@contextmanager
def _limited(size: int) -> Iterator[None]:
    """Bound the memory and the loops of FAISS by the size of a file, during the block."""
    import faiss

    with at_work(), _alone.lock:
        most_bytes = faiss.get_deserialization_vector_byte_limit()
        most_loops = faiss.get_deserialization_loop_limit()
        limits = {
            faiss.set_deserialization_vector_byte_limit: most_bytes,
            faiss.set_deserialization_loop_limit: most_loops,
        }
        try:
            for change in limits:
                change(_ROOM * size + _BLOCK)
            yield
        finally:
            for change, before in limits.items():
                change(before)


def _check_index(any_index: Any, any_expected: Any, dim: int) -> None:
    """Compare an index, and the indexes in it, with an empty one of the same kind."""
    import faiss

    index = faiss.downcast_index(any_index)
    expected = faiss.downcast_index(any_expected)
    same = type(index) is type(expected)
    # Exact indexes of the inner product may have either class.
    flat = isinstance(index, faiss.IndexFlat) and isinstance(expected, faiss.IndexFlat)
    _check(same or flat, "it is of another kind")
    _check(
        index.d == dim and index.metric_type == faiss.METRIC_INNER_PRODUCT,
        "it compares other vectors",
    )
    if hasattr(expected, "rabitq"):
        for name in _OF_RABITQ:
            _check(
                getattr(index.rabitq, name) == getattr(expected.rabitq, name),
                f"its codes have another {name}",
            )
    if isinstance(index, faiss.IndexIVF):
        _check_lists(index, expected, dim)
    elif isinstance(index, faiss.IndexHNSW):
        _check_index(index.storage, expected.storage, dim)
        _check(
            faiss.downcast_index(index.storage).ntotal == index.ntotal,
            "its graph links other vectors",
        )
        _check_graph(index.hnsw, index.ntotal)
    elif isinstance(index, faiss.IndexFlatCodes):
        _check(index.code_size == expected.code_size, "its codes have another size")
        _check(index.codes.size() == index.ntotal * index.code_size, "codes are missing")


def _check_lists(index: Any, expected: Any, dim: int) -> None:
    import faiss

    _check(
        index.nlist == expected.nlist and index.code_size == expected.code_size,
        "its lists are others",
    )
    _check_index(index.quantizer, expected.quantizer, dim)
    _check(
        faiss.downcast_index(index.quantizer).ntotal == index.nlist, "lists lack their centroids"
    )
    lists = faiss.downcast_InvertedLists(index.invlists)
    others = faiss.downcast_InvertedLists(expected.invlists)
    same = type(lists) is type(others) and lists.code_size == others.code_size
    _check(same and lists.nlist == index.nlist, "its lists have another size")
    if isinstance(index, faiss.IndexIVFRaBitQFastScan):
        same = (lists.n_per_block, lists.block_size) == (others.n_per_block, others.block_size)
        _check(same, "its lists have blocks of another size")
        for name in _OF_BLOCKS:
            _check(
                getattr(index, name) == getattr(expected, name), f"its codes have another {name}"
            )
    total = sum(lists.list_size(number) for number in range(lists.nlist))
    _check(total == index.ntotal, "vectors are missing in its lists")


def _check_graph(graph: Any, count: int) -> None:
    """Check that a walk through a graph (HNSW) of `count` vectors stays within it."""
    import faiss

    levels = faiss.vector_to_array(graph.levels)
    offsets = faiss.vector_to_array(graph.offsets).astype(np.int64)
    neighbours = faiss.vector_to_array(graph.neighbors)
    cumulated = faiss.vector_to_array(graph.cum_nneighbor_per_level)
    _check(len(levels) == count and len(offsets) == count + 1, "its graph has other vectors")
    _check(len(cumulated) > 0 and cumulated[0] == 0, "its graph has no levels")
    _check(bool((np.diff(cumulated) >= 0).all()), "the levels of its graph are not in order")
    _check(
        graph.max_level < len(cumulated) and -1 <= graph.entry_point < count,
        "its graph has no entry",
    )
    _check(
        levels.min(initial=1) >= 1 and levels.max(initial=0) < len(cumulated),
        "a level of its graph does not exist",
    )
    if count:
        _check(
            graph.entry_point >= 0 and levels[graph.entry_point] == graph.max_level + 1,
            "its graph has no entry",
        )
    _check(offsets[0] == 0 and offsets[-1] == len(neighbours), "links of its graph are missing")
    _check(bool((np.diff(offsets) == cumulated[levels]).all()), "links of its graph are missing")
    _check(
        neighbours.min(initial=-1) >= -1 and neighbours.max(initial=-1) < count,
        "a link leaves its graph",
    )
    for level in range(1, graph.max_level + 1):
        vectors = np.flatnonzero(levels > level)
        links = np.arange(cumulated[level], cumulated[level + 1])
        linked = neighbours[offsets[vectors][:, None] + links]
        _check(
            bool((levels[linked[linked >= 0]] > level).all()),
            "a link of its graph leads to a lower level",
        )


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
