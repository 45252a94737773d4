"""Type checkers know all options: right calls pass mypy's strict mode, and wrong ones do not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["langchain_calls.py", "llama_index_calls.py"])
def test_mypy_refuses_the_wrong_calls_and_no_others(name, monkeypatch):
    api = pytest.importorskip("mypy.api")
    file = Path(__file__).parent / name
    monkeypatch.setenv("MYPYPATH", f"{ROOT / 'shared'}:{ROOT}")
    monkeypatch.chdir(ROOT)  # where the cache of `make check` is
    output, errors, _ = api.run(["--strict", str(file)])
    assert not errors
    refused = {int(line) for line in re.findall(rf"{name}:(\d+): error", output)}
    lines = file.read_text(encoding="utf-8").splitlines()
    assert refused == {
        number for number, line in enumerate(lines, start=1) if line.endswith("# wrong")
    }, output
