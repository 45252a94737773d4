"""Cases of the field, which lie beside a checkout: real inputs that once came out wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT.parent / "shared" / "cases" / "field.py"


def test_cases_of_the_field():
    if not CASES.exists():
        pytest.skip("needs ../shared/cases")
    pytest.importorskip("faiss")
    pytest.importorskip("langchain_core")
    run = subprocess.run(
        [sys.executable, CASES], capture_output=True, text=True, timeout=500, check=False
    )
    last = run.stdout.strip().rpartition("\n")[2]
    assert last.endswith(" cases, 0 fail"), run.stdout + run.stderr
