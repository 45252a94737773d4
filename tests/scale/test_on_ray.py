"""Workers leave CPUs to what reads; that Ray makes the same shards is in test_killed.py."""

from __future__ import annotations

import pytest

from factoid.errors import InvalidInputError
from factoid.scale import RayOptions
from factoid.scale.on_ray import _share


@pytest.mark.parametrize(
    ("workers", "total", "share"),
    [(2, 2, 0.75), (1, 1, 0.5), (4, 1, 0.12), (8, 64, 1), (3, 2, 0.5)],
)
def test_workers_share_all_but_half_a_cpu(workers, total, share):
    assert _share(RayOptions(workers=workers), total) == share


@pytest.mark.parametrize(("workers", "cpus", "total"), [(2, 1, 2), (2, 0.9, 2), (1, -1, 2)])
def test_workers_that_leave_nothing_are_refused(workers, cpus, total):
    with pytest.raises(InvalidInputError, match="Ray would wait forever"):
        _share(RayOptions(workers=workers, cpus=cpus), total)


def test_some_is_left():
    assert _share(RayOptions(workers=2, cpus=0.875), 2) == 0.875
    assert _share(RayOptions(workers=1, gpus=1, cpus=0), 1) == 0
