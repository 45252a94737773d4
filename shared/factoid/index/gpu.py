"""Search copies of an index on GPUs; the index itself stays on the CPU, where it is changed and saved.

docs/store.md has a table of what is searched where. If a GPU fails, that is logged once, and the CPU takes over.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np

from factoid._optional import require
from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.index.kinds import search_parameters, unwrap
from factoid.index.part import Part
from factoid.index.scan import RowIds
from factoid.index.vector_index import VectorIndex, shard_pool

_MOST_RESULTS = 2048  # k and nprobe of FAISS's GPU selection
_MOST_WIDENED = _MOST_RESULTS // 4  # results to which a filter is applied, rather than searching on the CPU

# Memory of a block of threads. FAISS's search of lists with scalar quantisers keeps the best results so far there, up to a power
# of two of them in 48 bytes each, beside two numbers for each dimension. If that is too much, it ends the process.
_SHARED_BYTES = 48 << 10
_MOST_BESIDE_TABLES = 512  # twice as many take all

_CHUNK_BYTES = 256 << 20  # float32 vectors copied to a GPU at a time

logger = logging.getLogger(__name__)
_say_once = lru_cache(maxsize=8)(logger.warning)


def count_gpus() -> int:
    """Return the number of GPUs that FAISS can use: 0 with faiss-cpu."""
    faiss = require("faiss", extra="cpu")
    return int(faiss.get_num_gpus()) if hasattr(faiss, "StandardGpuResources") else 0


def check_device(device: str | Sequence[str]) -> list[int]:
    """Return the numbers of the GPUs to search on: none for the CPU, or if there is no GPU, which is logged once.

    Raises:
        InvalidInputError: There is no such device.
        MissingDependencyError: A GPU is requested, and FAISS is not installed.
    """
    if device == "cpu":
        return []
    names = [device] if isinstance(device, str) or not isinstance(device, Sequence) else device
    matches = [re.fullmatch(r"cuda(?::(\d+))?", str(name)) for name in names]
    numbers = [int(match[1] or 0) for match in matches if match]
    if not numbers or len(numbers) < len(matches) or len(set(numbers)) < len(numbers):
        raise InvalidInputError(
            f'expected a device such as "cpu", "cuda", "cuda:1" or ["cuda:0", "cuda:1"], got {device!r}'
        )
    faiss = require("faiss", extra="gpu")
    present = count_gpus()
    if not present:
        advice = ""
        if not hasattr(faiss, "StandardGpuResources"):
            # Both packages write into one folder: the last one installed counts, and removing one breaks the other.
            advice = (
                " (this FAISS was built without GPUs; on a machine with one: pip uninstall -y faiss-cpu faiss-gpu; "
                'pip install "factoid[gpu]")'
            )
        _say_once(f"there is no GPU that FAISS {faiss.__version__} can use: searching on the CPU{advice}")
        return []
    if max(numbers) >= present:
        raise InvalidInputError(
            f"there is no device cuda:{max(numbers)}: FAISS sees {present} GPU{'s' * (present > 1)}"
        )
    return numbers


def to_gpu(
    index: VectorIndex, *, device: str | Sequence[str] = "cuda", shard: bool = False, float16: bool = False
) -> VectorIndex:
    """Return an index that searches the vectors of `index` on GPUs, or `index` itself; raise as `check_device`.

    The returned index takes over the vectors on the CPU: from then on only it may be changed, and it is copied to the GPUs again
    at its next search. `save` writes it as it would write `index`. Several GPUs hold a copy each and share the queries, or with
    `shard` a part each. With `float16` a `Flat` index is held in half precision, and counts as lossy.
    """
    numbers = check_device(device)
    if not numbers:
        return index
    lists = ("IndexIVFFlat", "IndexIVFScalarQuantizer", "IndexIVFPQ")
    if index.ability.family != "flat" and type(unwrap(index.parts[0].index)[1]).__name__ not in lists:
        logger.warning("indexes of the kind %r have no GPU form: searching on the CPU", index.kind)
        return index
    lock = threading.Lock()  # one for all parts: they share GPUs
    parts = list(map(copy, index.parts))  # they share the FAISS index and its ids
    for number, part in enumerate(parts):
        devices = [numbers[number % len(numbers)]] if shard and index.shards > 1 else numbers
        part.gpu = GpuCopy(part, devices, lock, shard=shard, float16=float16)
    there = VectorIndex(index.dim, kind=index.kind, similarity=index.similarity, _parts=parts)
    if float16 and index.exact:
        there.exact, there.lossy = False, True
    return there


class GpuCopy:
    """A copy of a FAISS index on GPUs, made by the first search after a change, one at a time under `lock`. Options: `to_gpu`."""

    def __init__(self, part: Part, devices: Sequence[int], lock: threading.Lock, *, shard: bool, float16: bool) -> None:
        self._devices, self._lock = devices, lock
        self._shard, self._float16 = shard, float16
        self._flat = part.kind.family == "flat"
        self._most_results = _most_results(part.index)
        self._failed = False
        self._replicas: list[Any] = []
        self._resources: list[Any] = []  # memory of the GPUs, and parts of the index: they must live as long

    def widens(self, k: int, selected: int, count: int) -> bool:
        """Return whether a filter that passes `selected` of `count` is better applied to more than k results."""
        return self._flat and not self._failed and 2 * k * count <= _MOST_WIDENED * selected

    def forget(self) -> None:
        """Drop the copy: the index has changed."""
        self._replicas, self._resources = [], []

    def search(self, index: Any, queries: Vectors, k: int, widths: Mapping[str, int]) -> tuple[Vectors, RowIds] | None:
        """Return scores and labels, or None if the CPU should search. Shapes: (n, k) both."""
        if self._failed or k > self._most_results or widths.get("nprobe", 1) > _MOST_RESULTS:
            return None
        with self._lock:
            try:
                if not self._replicas:
                    self._replicas = self._copied(index)
                return self._ask(index, queries, k, widths)
            except RuntimeError as error:  # FAISS's exceptions, those of CUDA among them
                self.forget()
                self._failed = True
                logger.warning(
                    "the GPU failed (%s): from now on searching on the CPU", str(error).strip().split("\n")[0]
                )
        return None

    def _ask(self, index: Any, queries: Vectors, k: int, widths: Mapping[str, int]) -> tuple[Vectors, RowIds]:
        parameters = search_parameters(index, {"nprobe": widths["nprobe"]}) if "nprobe" in widths else None
        blocks = np.array_split(queries, min(len(self._replicas), max(1, len(queries))))
        threads = shard_pool(len(self._replicas))
        jobs = [  # FAISS's IndexReplicas takes no parameters
            threads.submit(replica.search, block, k, params=parameters)
            for replica, block in zip(self._replicas, blocks, strict=False)
        ]
        scores, labels = map(np.concatenate, zip(*(job.result() for job in jobs), strict=True))
        return scores, labels

    def _copied(self, index: Any) -> list[Any]:
        """Copy an index to the GPUs; FAISS raises RuntimeError if memory is short."""
        import faiss

        self._resources = resources = [faiss.StandardGpuResources() for _ in self._devices]
        if isinstance(index, faiss.IndexFlat):
            return self._copied_flat(index)
        options = faiss.GpuMultipleClonerOptions()
        options.useFloat16, options.shard = self._float16, self._shard
        options.allowCpuCoarseQuantizer = True  # a graph that finds the lists has no GPU form
        groups = [(resources, list(self._devices))]
        if not self._shard:
            groups = [([memory], [device]) for memory, device in zip(resources, self._devices, strict=True)]
        return [faiss.index_cpu_to_gpu_multiple_py(memory, index, options, devices) for memory, devices in groups]

    def _copied_flat(self, index: Any) -> list[Any]:
        """Copy a `Flat` index in chunks: copied at once in half precision, it would briefly need three times its memory."""
        import faiss

        count, number, dim = int(index.ntotal), len(self._devices), index.d
        step = max(1, _CHUNK_BYTES // (4 * dim))
        copies = []
        for place, (device, memory) in enumerate(zip(self._devices, self._resources, strict=True)):
            first, last = (count * place // number, count * (place + 1) // number) if self._shard else (0, count)
            config = faiss.GpuIndexFlatConfig()
            config.device, config.useFloat16 = device, self._float16
            there = faiss.GpuIndexFlatIP(memory, dim, config)
            if first < last:
                vectors = faiss.rev_swig_ptr(index.get_xb(), count * dim).reshape(-1, dim)
                for start in range(first, last, step):
                    there.add(vectors[start : min(start + step, last)])
            copies.append(there)
        if number == 1 or not self._shard:
            return copies
        # Shards number their vectors consecutively, so that they return positions in the whole.
        joined = faiss.IndexShards(dim, True, True)
        for there in copies:
            joined.add_shard(there)
        self._resources = [*copies, *self._resources]
        return [joined]


def _most_results(index: Any) -> int:
    import faiss

    _, core = unwrap(index)
    with_tables = [getattr(faiss.ScalarQuantizer, f"QT_{bits}bit") for bits in (4, 6, 8)]
    if type(core) is not faiss.IndexIVFScalarQuantizer or core.sq.qtype not in with_tables:
        return _MOST_RESULTS
    most, room = _MOST_BESIDE_TABLES, _SHARED_BYTES - 2 * 4 * int(core.d)
    while most and 48 * most > room:
        most //= 2
    return most
