"""Search copies of an index on GPUs.

The index itself stays on the CPU, where it is changed and saved. docs/store.md has a table of what
is searched where. If a GPU fails, that is logged, and the CPU takes over for a minute.
"""

from __future__ import annotations

import logging
import os
import re
import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np

from factoid._optional import require
from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.vectors.kinds import EXACT, Ability, lists
from factoid.vectors.matrix import Matrix
from factoid.vectors.vector_index import RowIds, VectorIndex

_MOST_RESULTS = 2048  # k and nprobe of FAISS's GPU selection

# Memory of a block of threads. FAISS's search of lists with scalar quantisers keeps the best
# results so far there, up to a power of two of them in 48 bytes each, beside two numbers for each
# dimension. If that is too much, it ends the process.
_SHARED_BYTES = 48 << 10
_MOST_BESIDE_TABLES = 512  # twice as many take all

_FEWER = 4  # times as many candidates may be wanted as a GPU can give
_BLOCK = 65_536  # vectors that are copied at a time
_TEMPORARY = 256 << 20  # bytes
_ID = 8  # bytes of a vector's id in lists
_SHARE = 0.7  # of a GPU's memory for one index; the rest is for others and for searches
_UNKNOWN = 8 << 30  # if the driver does not say it
_PATIENCE = 60  # seconds until a GPU that failed is tried again

# Indexes share the memory of a GPU, and FAISS is not made for several threads there.
_one_at_a_time = threading.Lock()

logger = logging.getLogger(__name__)
_say_once = lru_cache(maxsize=8)(logger.warning)


def count_gpus() -> int:
    """Return the number of GPUs that FAISS can use: 0 with faiss-cpu."""
    faiss = require("faiss", extra="cpu")
    if not hasattr(faiss, "StandardGpuResources"):
        return 0
    return int(faiss.get_num_gpus())


def check_device(device: str | Sequence[str]) -> list[int]:
    """Return the numbers of the GPUs to search on.

    There are none for the CPU, or if there is no GPU, which is logged once.

    Raises:
        InvalidInputError: There is no such device.
        MissingDependencyError: A GPU is requested, and FAISS is not installed.
    """
    if device == "cpu":
        return []
    names: Sequence[object] = [device]
    if isinstance(device, Sequence) and not isinstance(device, str):
        names = device
    matches = [re.fullmatch(r"cuda(?::(\d+))?", str(name)) for name in names]
    numbers = [int(match[1] or 0) for match in matches if match]
    is_twice = len(set(numbers)) < len(numbers)
    if not numbers or len(numbers) < len(matches) or is_twice:
        raise InvalidInputError(
            'expected a device such as "cpu", "cuda", "cuda:1" or ["cuda:0", "cuda:1"], got '
            f"{device!r}"
        )
    faiss = require("faiss", extra="gpu")
    present = count_gpus()
    if not present:
        advice = ""
        if not hasattr(faiss, "StandardGpuResources"):
            # Both packages write into one folder: the last one installed counts, and removing one
            # breaks the other.
            advice = (
                " (this FAISS was built without GPUs; on a machine with one: pip uninstall -y "
                'faiss-cpu faiss-gpu; pip install "factoid[gpu]")'
            )
        _say_once(
            f"there is no GPU that FAISS {faiss.__version__} can use: searching on the CPU{advice}"
        )
        return []
    if max(numbers) >= present:
        raise InvalidInputError(
            f"there is no device cuda:{max(numbers)}: FAISS sees {present} GPU{'s' * (present > 1)}"
        )
    return numbers


def to_gpu(
    index: VectorIndex,
    *,
    device: str | Sequence[str] = "cuda",
    shard: bool = False,
    float16: bool = False,
) -> VectorIndex:
    """Return an index that searches the vectors of `index` on GPUs, or `index` itself.

    Errors are those of `check_device`. The returned index takes over the vectors on the CPU: from
    then on only it may be changed, and it is copied to the GPUs again at its next search. `save`
    writes it as it would write `index`. Several GPUs hold a copy each and share the queries, or
    with `shard` a part each. With `float16` a `Flat` index is held in half precision.
    """
    numbers = check_device(device)
    if not numbers:
        return index
    there = copy(index)
    there.is_exact = False
    # A card adds in another order, so that its scores differ in their last digits, and two near
    # each other may change places: the best are scored again.
    there.lossy = True
    there.gpu = GpuCopy(there.ability, index.dim, numbers, shard=shard, float16=float16)
    return there


class GpuCopy:
    """A copy of a FAISS index on GPUs, made by the first search after a change, one at a time.

    Options: `to_gpu`.
    """

    def __init__(
        self,
        kind: Ability,
        dim: int,
        devices: Sequence[int],
        *,
        shard: bool,
        float16: bool,
    ) -> None:
        self._kind = kind
        self._devices = devices
        self._shard = shard
        self._float16 = float16
        self._most_results = _most_results(kind.name, dim)
        self._process = os.getpid()
        self._threads = ThreadPoolExecutor(len(devices), thread_name_prefix="factoid-gpu")
        self._retry_at = 0.0
        self._copies: list[Any] = []
        self._count = 0  # vectors on the GPUs

    def forget(self) -> None:
        """Drop the copy: the index has changed."""
        self._copies = []

    def search(
        self, index: Any, queries: Vectors, k: int, width: int = 0
    ) -> tuple[Vectors, RowIds] | None:
        """Return scores and labels, or None if the CPU should search; `width` is `nprobe`.

        Shapes: (n, k) both.
        """
        if os.getpid() != self._process:
            _say_once(
                "this process was forked, and the GPU belongs to its parent: searching on the CPU"
            )
            return None
        # Fewer results than asked for are enough: the best are scored again.
        most = self._most_results
        possible = k <= _FEWER * most
        if not possible or width > _MOST_RESULTS or time.monotonic() < self._retry_at:
            return None
        with _one_at_a_time:
            try:
                if not self._copies:
                    self._copies = self._copied(index)
                if isinstance(index, Matrix):
                    self._append(index.vectors)
                scores, labels = self._asked(queries, min(k, most), width)
            except RuntimeError as error:  # FAISS's exceptions, those of CUDA among them
                self.forget()
                self._retry_at = time.monotonic() + _PATIENCE
                reason = str(error).strip().split("\n")[0]
                logger.warning(
                    "the GPU failed (%s): searching on the CPU for the next %d seconds",
                    reason,
                    _PATIENCE,
                )
                return None
        missing = ((0, 0), (0, k - scores.shape[1]))
        scores = np.pad(scores, missing, constant_values=-np.inf)
        labels = np.pad(labels, missing, constant_values=-1)
        return scores, labels

    def _asked(self, queries: Vectors, k: int, width: int) -> tuple[Vectors, RowIds]:
        import faiss

        parameters = None
        if self._kind.family == "lists":
            parameters = faiss.SearchParametersIVF(nprobe=width)
        # Not by FAISS's IndexReplicas, which takes no parameters.
        blocks = np.array_split(queries, min(len(self._copies), max(1, len(queries))))
        jobs = []
        for there, block in zip(self._copies, blocks, strict=False):
            jobs.append(self._threads.submit(there.search, block, k, params=parameters))
        results = [job.result() for job in jobs]
        scores = np.concatenate([block_scores for block_scores, _ in results])
        labels = np.concatenate([block_labels for _, block_labels in results])
        return scores, labels

    def _copied(self, index: Any) -> list[Any]:
        """Copy an index to the GPUs.

        FAISS raises RuntimeError if the kind has no GPU form; where memory is short, it may end the
        process, so that is found out before. Of an array an empty index is copied, to which
        `_append` adds the vectors.
        """
        import faiss

        self._count = 0
        self._check_memory(index)
        if isinstance(index, Matrix):
            flat = faiss.IndexFlatIP(index.vectors.shape[1])
            if self._shard:  # parts are cut from what is there
                flat.add(index.vectors)
                self._count = len(index.vectors)
            index = flat
        resources = [_resources(device) for device in self._devices]
        options = faiss.GpuMultipleClonerOptions()
        options.useFloat16 = self._float16
        options.shard = self._shard
        options.allowCpuCoarseQuantizer = True  # a graph that finds the lists has no GPU form
        copied = faiss.index_cpu_to_gpu_multiple_py
        if self._shard:
            return [copied(resources, index, options, list(self._devices))]
        copies = []
        for memory, device in zip(resources, self._devices, strict=True):
            copies.append(copied([memory], index, options, [device]))
        return copies

    def _check_memory(self, index: Any) -> None:
        """Raise RuntimeError if a card has too little free memory for its copy of an index."""
        needed = self._bytes_of(index)
        if self._shard:
            needed //= len(self._devices)
        for device in self._devices:
            free = free_memory(device)
            if free is not None and free < needed + _TEMPORARY:
                raise RuntimeError(
                    f"cuda:{device} has {free / 2**30:.1f} GiB of free memory, and the index needs "
                    f"{(needed + _TEMPORARY) / 2**30:.1f} GiB"
                )

    def _bytes_of(self, index: Any) -> int:
        """Return how many bytes an index takes on a card."""
        if isinstance(index, Matrix):
            index = index.vectors
        if isinstance(index, np.ndarray):
            components = int(index.size)
            if self._float16:
                return 2 * components
            return 4 * components
        size_of_code = getattr(index, "code_size", None) or 4 * index.d
        return int(index.ntotal) * (int(size_of_code) + _ID)

    def _append(self, vectors: Vectors) -> None:
        """Add the vectors that are new, block by block.

        No copy of all of them in another form is made on the way.
        """
        if self._count == len(vectors):
            return
        if self._count:  # what is copied at first was checked
            self._check_memory(vectors[self._count :])
        for start in range(self._count, len(vectors), _BLOCK):
            for there in self._copies:
                there.add(vectors[start : start + _BLOCK])
        self._count = len(vectors)

    def may_append(self, index: Any) -> bool:
        """Return whether vectors that are added to an index reach the copy without another one."""
        return isinstance(index, Matrix) and not self._shard


@lru_cache(maxsize=64)
def _resources(device: int) -> Any:  # noqa: ARG001 - one for each
    """Return the memory that FAISS keeps on a GPU for all indexes.

    One for each index would keep 1.5 GiB each.
    """
    import faiss

    resources = faiss.StandardGpuResources()
    resources.setTempMemory(_TEMPORARY)
    return resources


def choose_gpu_kind(count: int, dim: int, memory: int) -> str:
    """Choose a kind that GPUs can search, for this many vectors, within the memory of one."""
    if 4 * dim * count <= memory * _SHARE:
        return EXACT
    return f"{lists(count)},SQ8"


@lru_cache(maxsize=1)
def gpu_memory() -> int:
    """Return the bytes of the smallest GPU's memory, as its driver says."""
    rows = _asked_driver("memory.total")
    if not rows:
        return _UNKNOWN
    return min(int(total) << 20 for (total,) in rows)


def free_memory(device: int) -> int | None:
    """Return the free bytes of a GPU's memory, as its driver says; None if it does not.

    The number is that of CUDA, which counts only the cards of CUDA_VISIBLE_DEVICES.
    """
    rows = _asked_driver("index", "uuid", "memory.free")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    name = str(device)
    if visible != [""]:
        name = visible[device].strip()
    for index, uuid, free in rows:
        if index == name or uuid.startswith(name):
            return int(free) << 20
    return None


def _asked_driver(*fields: str) -> list[list[str]]:
    """Return what the driver says of each GPU; nothing if it says nothing."""
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    rows = []
    with suppress(OSError, subprocess.SubprocessError):
        driver = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=True, timeout=10
        )
        for line in driver.stdout.splitlines():
            row = [value.strip() for value in line.split(",")]
            if len(row) == len(fields) and row[-1].isdigit():
                rows.append(row)
    return rows


def _most_results(kind: str, dim: int) -> int:
    if not re.search(r"IVF.*,SQ\d", kind):
        return _MOST_RESULTS
    most = _MOST_BESIDE_TABLES
    room = _SHARED_BYTES - 2 * 4 * dim
    while most and 48 * most > room:
        most //= 2
    return most
