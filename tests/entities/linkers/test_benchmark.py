"""The benchmark of linking runs: what it measures is nobody's business here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_speed_on_a_small_store():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.entities.linking", "speed", "--titles", "300", "--questions", "20"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made, _, _, asked, long = done.stdout.splitlines()
    assert made.startswith("300 titles, ")
    assert asked.split(" | ")[1] == "20"
    assert int(long.split(" | ")[0].strip("| ").replace(",", "")) > 5000
