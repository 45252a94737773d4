"""Run a build on Ray Data: readers of parts, and workers that keep their models.

Ray starts readers and workers again when they or their machines die, and gives their work to
others. What was done is known by the shards' names alone: none of Ray's own checkpoints is used.
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from factoid._optional import require
from factoid.errors import InvalidInputError, StoreError
from factoid.scale.folders import Folder
from factoid.scale.inputs import Part, Reading
from factoid.scale.worker import Batch, Making, ShardWorker
from factoid.units import whole_number

_READER_CPUS = 0.25  # that reading a part takes
_SPARE_CPUS = 0.5  # that workers leave to readers: Ray waits forever where they leave none


@dataclass(frozen=True, slots=True, kw_only=True)
class RayOptions:
    """Where and with what a build runs on Ray Data.

    Attributes:
        address: That of a cluster, such as "auto" or "host:6379"; None starts Ray on this machine.
        workers: How many workers there are.
        cpus: That each worker takes; None for an equal share of all but half a CPU, at most 1.
        gpus: That each worker takes; a part of one, such as 0.5, shares it.
    """

    address: str | None = None
    workers: int = 2
    cpus: float | None = None
    gpus: float = 0


def import_ray() -> Any:
    """Return Ray.

    Raises:
        MissingDependencyError: It is not installed.
    """
    # Else what still runs of an execution that was stopped would start Ray again.
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    require("ray.data", extra="scale")
    return require("ray", extra="scale")


def run_on_ray(
    parts: Sequence[Part],
    reading: Reading,
    done: frozenset[str],
    worker: tuple[Making, Folder],
    options: RayOptions,
) -> Generator[Batch, None, None]:
    """Yield what workers return for the missing shards of some parts, in any order.

    Raises:
        InvalidInputError: The workers would take all CPUs.
        StoreError: Ray gives up.
        MissingDependencyError: Ray is not installed.
    """
    ray = import_ray()
    whole_number("workers", options.workers)
    if not parts:
        return
    with _connected(ray, options):
        cpus = _share(options, float(ray.cluster_resources().get("CPU", 0)))
        manifests = _manifests(parts, reading, done, worker, options, cpus)
        try:
            yield from manifests
        except ray.exceptions.RayError as error:
            reason = " ".join(str(error).split())[-500:]
            raise StoreError(f"Ray ended the build: {reason}") from error
        finally:
            manifests.close()
            del manifests
            gc.collect()  # Ray Data ends an execution when nothing refers to its data set


def _manifests(
    parts: Sequence[Part],
    reading: Reading,
    done: frozenset[str],
    worker: tuple[Making, Folder],
    options: RayOptions,
    cpus: float,
) -> Generator[Batch, None, None]:
    """Yield what workers return, as soon as they do."""
    data = require("ray.data", extra="scale")

    def read(batch: Batch) -> Iterator[Batch]:
        for number in batch["part"]:
            for portion in reading.portions(parts[int(number)], done):
                yield {"portion": [portion.to_json()]}

    numbers = [{"part": number} for number in range(len(parts))]
    pool = data.ActorPoolStrategy(size=options.workers, max_tasks_in_flight_per_actor=2)
    with _settings(data):
        rows = data.from_items(numbers, override_num_blocks=len(parts))
        portions = rows.map_batches(read, batch_size=1, num_cpus=_READER_CPUS)
        manifests = portions.map_batches(
            ShardWorker,
            fn_constructor_args=worker,
            batch_size=1,
            num_cpus=cpus,
            num_gpus=options.gpus or None,
            compute=pool,
        )
        yield from manifests.iter_batches(batch_size=None, prefetch_batches=0)


def _share(options: RayOptions, total: float) -> float:
    """Return the CPUs that each worker takes.

    Raises:
        InvalidInputError: Workers would leave nothing to readers.
    """
    cpus = options.cpus
    if cpus is None:
        cpus = min(1.0, int(100 * (total - _SPARE_CPUS) / options.workers) / 100)
    if cpus < 0 or cpus * options.workers > total - _READER_CPUS:
        raise InvalidInputError(
            f"{options.workers} workers with {cpus:g} CPUs each leave nothing of the {total:g} "
            "CPUs that Ray has to the tasks that read: Ray would wait forever. Give them fewer"
        )
    return cpus


@contextmanager
def _connected(ray: Any, options: RayOptions) -> Iterator[None]:
    """Connect to a cluster, or start Ray here, during the block; nothing if there is a connection.

    Raises:
        InvalidInputError: There is no cluster at the address.
    """
    if ray.is_initialized():
        yield
        return
    try:
        ray.init(
            address=options.address or "local",
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (ConnectionError, ValueError) as error:
        raise InvalidInputError(f"there is no Ray at {options.address}: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _settings(data: Any) -> Iterator[None]:
    """Make a block of each portion, and show no bars of Ray beside that of the build."""
    context = data.DataContext.get_current()
    before = context.enable_progress_bars, context.target_max_block_size
    context.enable_progress_bars = False
    context.target_max_block_size = 1  # a portion is a shard's worth of work
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        yield
    finally:
        context.enable_progress_bars, context.target_max_block_size = before
