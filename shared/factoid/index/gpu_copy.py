"""The copy of a FAISS index on GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from factoid._optional import require
from factoid.encode import Vectors
from factoid.index.ids import RowIds
from factoid.index.parameters import search_parameters
from factoid.index.shards import pool

_CHUNK_BYTES = 256 << 20  # float32 vectors that are on their way to a GPU at a time


@dataclass(frozen=True, slots=True)
class Copy:
    """Where a copy lies, and how.

    Args:
        devices: Numbers of the GPUs.
        shard: Each holds a part, and not a copy of its own.
        float16: Vectors of `Flat` in half precision.
        temporary_bytes: Memory that FAISS sets aside on each; None for its own choice.
    """

    devices: tuple[int, ...]
    shard: bool = False
    float16: bool = False
    temporary_bytes: int | None = None


class OnGpu:
    """A FAISS index on GPUs and what must live as long.

    Args:
        replicas: The index there; several hold the same, and share the queries.
        source: The index on the CPU, whose build the search parameters follow.
        kept: Memory of the GPUs, and parts of the index.
    """

    def __init__(self, replicas: list[Any], source: Any, kept: list[Any]) -> None:
        self._replicas, self._source, self._kept = replicas, source, kept

    def search(self, queries: Vectors, k: int, values: Mapping[str, int]) -> tuple[Vectors, RowIds]:
        """Return scores and labels. Shapes: (n, k) both."""
        options = {name: value for name, value in values.items() if name == "nprobe"}
        parameters = search_parameters(self._source, options) if options else None
        blocks = np.array_split(queries, min(len(self._replicas), max(1, len(queries))))
        # FAISS's IndexReplicas takes no parameters.
        jobs = [
            pool(len(self._replicas)).submit(replica.search, block, k, params=parameters)
            for replica, block in zip(self._replicas[1:], blocks[1:], strict=False)
        ]
        found = [self._replicas[0].search(blocks[0], k, params=parameters), *(job.result() for job in jobs)]
        return np.concatenate([scores for scores, _ in found]), np.concatenate([labels for _, labels in found])


def copy_to_gpus(index: Any, copy: Copy) -> OnGpu:
    """Copy a FAISS index to GPUs.

    A `Flat` index goes there in chunks: in one piece it would, in half precision, need three times its room for a
    moment. Inverted lists go one by one as they are.

    Raises:
        RuntimeError: FAISS's, where memory is short or the index has no GPU form.
    """
    faiss = require("faiss", extra="cpu")
    resources = [faiss.StandardGpuResources() for _ in copy.devices]
    if copy.temporary_bytes is not None:
        for each in resources:
            each.setTempMemory(copy.temporary_bytes)
    if isinstance(index, faiss.IndexFlat):
        return _copy_flat(index, copy, resources)
    options = faiss.GpuMultipleClonerOptions()
    options.useFloat16 = copy.float16
    options.shard = copy.shard
    options.allowCpuCoarseQuantizer = True  # a graph that finds the lists has no GPU form
    groups = [(resources, list(copy.devices))]
    if not copy.shard:
        groups = [([memory], [device]) for memory, device in zip(resources, copy.devices, strict=True)]
    replicas = [faiss.index_cpu_to_gpu_multiple_py(memory, index, options, devices) for memory, devices in groups]
    return OnGpu(replicas, index, resources)


def _copy_flat(index: Any, copy: Copy, resources: list[Any]) -> OnGpu:
    faiss = require("faiss", extra="cpu")
    count, number = int(index.ntotal), len(copy.devices)
    copies = []
    for place, (device, memory) in enumerate(zip(copy.devices, resources, strict=True)):
        first, last = (count * place // number, count * (place + 1) // number) if copy.shard else (0, count)
        config = faiss.GpuIndexFlatConfig()
        config.device, config.useFloat16 = device, copy.float16
        there = faiss.GpuIndexFlatIP(memory, index.d, config)
        _add_in_chunks(there, index, first, last)
        copies.append(there)
    if number == 1 or not copy.shard:
        return OnGpu(copies, index, resources)
    # Shards count on from one another, so that what they find are positions in the whole.
    joined = faiss.IndexShards(index.d, True, True)
    for there in copies:
        joined.add_shard(there)
    return OnGpu([joined], index, [*copies, *resources])


def _add_in_chunks(there: Any, index: Any, first: int, last: int) -> None:
    if first == last:
        return
    faiss = require("faiss", extra="cpu")
    vectors = faiss.rev_swig_ptr(index.get_xb(), int(index.ntotal) * index.d).reshape(-1, index.d)
    step = max(1, _CHUNK_BYTES // (4 * index.d))
    for start in range(first, last, step):
        there.add(vectors[start : min(start + step, last)])
