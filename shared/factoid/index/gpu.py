"""Searching on GPUs: copies of an index there, which stays on the CPU, where it is changed and saved.

| what | where it is searched |
|---|---|
| `Flat` and `IVF…` of `Flat`, `SQ…`, `PQ…`, also behind a linear transform | GPU |
| other kinds | CPU, with a line in the log |
| k or `nprobe` above 2048, which is what a GPU sorts at once | CPU |
| a filter that lets much through | GPU, for more than k, until k are allowed; CPU where that takes more than 2048 |
| a filter that lets little through | CPU |
| no GPU, or a FAISS without them | CPU, with one line in the log of the process |

A GPU's memory that is too small, or that fails in a search, is logged once, and the CPU goes on.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from factoid._optional import require
from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.index.gpu_copy import Copy, OnGpu, copy_to_gpus
from factoid.index.ids import RowIds
from factoid.index.kinds import innermost
from factoid.index.part import Part
from factoid.index.vector_index import VectorIndex

MOST_RESULTS = 2048  # k and nprobe of FAISS's GPU selection

# Up to this many results the GPU is asked for more than k and the filter is applied to them.
_MOST_WIDENED = MOST_RESULTS // 4

# Both packages write into one folder, so the one that was installed last counts, and removing one breaks the other.
_INSTALL = (
    " (this FAISS was built without GPUs; on a machine with one: pip uninstall -y faiss-cpu faiss-gpu; "
    'pip install "factoid[gpu]")'
)

logger = logging.getLogger(__name__)


def count_gpus() -> int:
    """Return how many GPUs FAISS can use: 0 with faiss-cpu."""
    faiss = require("faiss", extra="cpu")
    return int(faiss.get_num_gpus()) if hasattr(faiss, "StandardGpuResources") else 0


def check_device(device: str | Sequence[str]) -> list[int]:
    """Return the numbers of the GPUs to search on: none for the CPU, or where there is no GPU, which is logged once.

    Raises:
        InvalidInputError: There is no such device.
        MissingDependencyError: A GPU is asked for, and FAISS is not installed.
    """
    if device == "cpu":
        return []
    numbers = _numbers(device)
    faiss = require("faiss", extra="gpu")
    present = count_gpus()
    if not present:
        advice = "" if hasattr(faiss, "StandardGpuResources") else _INSTALL
        _say_once(f"there is no GPU that FAISS {faiss.__version__} can use: searching on the CPU{advice}")
        return []
    if max(numbers) >= present:
        message = f"there is no device cuda:{max(numbers)}: FAISS sees {present} GPU{'s' * (present > 1)}"
        raise InvalidInputError(message)
    return numbers


def to_gpu(
    index: VectorIndex,
    *,
    device: str | Sequence[str] = "cuda",
    shard: bool = False,
    float16: bool = False,
    temporary_bytes: int | None = None,
) -> VectorIndex:
    """Return an index that searches on GPUs what `index` holds.

    It takes over the vectors on the CPU: from then on only it may be changed, and it is copied anew at its next search.
    `save` writes it as it would write `index`.

    Args:
        index: What to search.
        device: "cuda" is the first GPU, "cuda:1" the second; several hold a copy each, and share the queries. "cpu" gives
            `index` back.
        shard: Several GPUs hold a part each instead, for indexes that are too large for one.
        float16: `Flat` is held in half precision, in half the memory. It then counts as lossy.
        temporary_bytes: Memory that FAISS sets aside on each GPU; None for its own choice.

    Raises:
        InvalidInputError: There is no such device.
    """
    numbers = check_device(device)
    if not numbers:
        return index
    if not _has_gpu_form(index):
        logger.warning("indexes of the kind %r have no GPU form: searching on the CPU", index.kind)
        return index
    copy = Copy(tuple(numbers), shard=shard, float16=float16, temporary_bytes=temporary_bytes)
    return GpuIndex(index, copy)


class GpuIndex(VectorIndex):
    """A `VectorIndex` that searches on GPUs. To be made with `to_gpu`.

    Args:
        index: What is searched.
        copy: Where its copy lies.
    """

    def __init__(self, index: VectorIndex, copy: Copy) -> None:
        lock = threading.Lock()  # one for all parts: they share GPUs
        several = copy.shard and index.shards > 1
        parts = []
        for number, part in enumerate(index.parts):
            own = replace(copy, devices=(copy.devices[number % len(copy.devices)],)) if several else copy
            parts.append(GpuPart(part, own, lock))
        super().__init__(index.dim, kind=index.kind, similarity=index.similarity, shards=index.shards, _parts=parts)
        if copy.float16 and index.exact:
            self.ability = replace(self.ability, exact=False, lossy=True)


class GpuPart(Part):
    """A part with a copy on GPUs, made by the first search after a change.

    Args:
        part: What is copied; it shares its FAISS index and its ids.
        copy: Where to.
        lock: Held by each search on a GPU: FAISS's memory there serves one at a time.
    """

    def __init__(self, part: Part, copy: Copy, lock: threading.Lock) -> None:
        self.__dict__.update(vars(part))
        self._copy = copy
        self._lock = lock
        self._on_gpu: OnGpu | None = None
        self._failed = False

    def add(self, ids: RowIds, vectors: Vectors) -> None:
        """Add vectors, and forget the copy."""
        self._on_gpu = None
        super().add(ids, vectors)

    def remove(self, ids: RowIds) -> None:
        """Remove vectors, and forget the copy."""
        self._on_gpu = None
        super().remove(ids)

    def _find(
        self, queries: Vectors, k: int, selected: RowIds | None, given: Mapping[str, int]
    ) -> tuple[Vectors, RowIds]:
        gpu = not self._failed and self.kind.family == "flat"
        # Of the vectors that a GPU finds, about as many are allowed as of all.
        if gpu and selected is not None and 2 * k * len(self.ids.by_position) <= _MOST_WIDENED * len(selected):
            return self._widen(queries, k, selected, given)
        return super()._find(queries, k, selected, given)

    def _run(self, queries: Vectors, k: int, values: Mapping[str, int], selector: Any) -> tuple[Vectors, RowIds]:
        within = k <= MOST_RESULTS and values.get("nprobe", 1) <= MOST_RESULTS
        if selector is None and within and not self._failed:
            with self._lock:
                try:
                    if self._on_gpu is None:
                        self._on_gpu = copy_to_gpus(self.index, self._copy)
                    return self._on_gpu.search(queries, k, values)
                except RuntimeError as error:  # FAISS's exceptions, those of CUDA among them
                    self._on_gpu, self._failed = None, True
                    reason = str(error).strip().split("\n")[0]
                    logger.warning("the GPU failed (%s): from now on searching on the CPU", reason)
        return super()._run(queries, k, values, selector)


def _numbers(device: object) -> list[int]:
    devices = list(device) if isinstance(device, Sequence) and not isinstance(device, str) else [device]
    found = [re.fullmatch(r"cuda(?::(\d+))?", device) if isinstance(device, str) else None for device in devices]
    numbers = [int(match[1] or 0) for match in found if match]
    if not numbers or len(numbers) < len(found) or len(set(numbers)) < len(numbers):
        message = f'expected a device such as "cpu", "cuda", "cuda:1" or ["cuda:0", "cuda:1"], got {device!r}'
        raise InvalidInputError(message)
    return numbers


def _has_gpu_form(index: VectorIndex) -> bool:
    faiss = require("faiss", extra="cpu")
    core, _ = innermost(index.parts[0].index)
    lists = (faiss.IndexIVFFlat, faiss.IndexIVFScalarQuantizer, faiss.IndexIVFPQ)
    return index.ability.family == "flat" or type(core) in lists


@lru_cache(maxsize=8)
def _say_once(message: str) -> None:
    logger.warning(message)
