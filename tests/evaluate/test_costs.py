from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from factoid.errors import UnreadableFileError
from factoid.evaluate import costs
from factoid.evaluate.costs import disk_bytes, measure, peak_memory

MIB = 2**20


def hold(megabytes):
    return len(bytearray(b"x") * (megabytes * MIB))


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak can be set back on Linux only")
def test_each_piece_of_work_has_a_peak_of_its_own():
    result, least = measure(lambda: time.sleep(0.05) or "done")
    assert result == "done"
    assert 0.04 < least.seconds < 60
    size, large = measure(lambda: hold(96))
    _, small = measure(lambda: None)
    assert size == 96 * MIB
    assert large.peak_memory - least.peak_memory > 90 * MIB
    assert large.peak_memory - small.peak_memory > 90 * MIB
    assert peak_memory() >= small.peak_memory


def test_systems_that_cannot_reset_or_tell_the_peak(monkeypatch, tmp_path):
    pytest.importorskip("resource", reason="only Unix tells it")
    hold(96)
    monkeypatch.setattr(costs, "_PROC", tmp_path / "none")
    _, cost = measure(lambda: None)
    assert cost.peak_memory > 96 * MIB
    monkeypatch.setitem(sys.modules, "resource", None)
    with pytest.raises(costs.FactoidError, match="measure on Linux or macOS"):
        peak_memory()


def test_bytes_of_files_and_folders(tmp_path):
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    first, second = tmp_path / "deep" / "first", tmp_path / "deep" / "deeper" / "second"
    first.write_bytes(bytes(1000))
    second.write_bytes(bytes(200))
    (tmp_path / "deep" / "circle").symlink_to(tmp_path)
    (tmp_path / "deep" / "linked").symlink_to(second)
    (tmp_path / "deep" / "dangling").symlink_to(tmp_path / "nowhere")
    assert disk_bytes(first) == 1000
    assert disk_bytes(tmp_path) == 1200
    assert disk_bytes(tmp_path, first, str(second)) == 1200
    (tmp_path / "empty").mkdir()
    assert disk_bytes(tmp_path / "empty") == 0
    assert disk_bytes() == 0
    with pytest.raises(UnreadableFileError, match="nowhere"):
        disk_bytes(first, tmp_path / "nowhere")
