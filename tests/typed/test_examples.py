"""All examples pass both type checkers in their strictest or usual mode, as do small programs of
users.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.faults.worker import ENVIRONMENT

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = [
    file
    for file in sorted((ROOT / "examples").rglob("*.py"))
    if not file.name.startswith("existing_")  # these import what `make test-stores` installs
]
PROGRAMS = [*EXAMPLES, *sorted((ROOT / "tests" / "typed" / "programs").glob("*.py"))]
CALLS = sorted((ROOT / "tests" / "typed").glob("*_calls.py"))

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def packages():
    for package in ("fastapi", "langchain_openai", "langchain_text_splitters", "llama_index"):
        if find_spec(package) is None:
            pytest.skip(f"an example imports {package}, which is not installed")


def test_mypy_strict(monkeypatch):
    api = pytest.importorskip("mypy.api")
    monkeypatch.setenv("MYPYPATH", f"{ROOT / 'shared'}:{ROOT}:{ROOT / 'examples' / 'production'}")
    monkeypatch.chdir(ROOT)  # where the cache of `make check` is
    output, errors, status = api.run(["--strict", *map(str, PROGRAMS)])
    assert not errors
    assert status == 0, output


def test_mypy_over_stores_of_others(monkeypatch):
    api = pytest.importorskip("mypy.api")
    for package in ("langchain_chroma", "langchain_postgres", "llama_index.vector_stores.chroma"):
        pytest.importorskip(package, reason=f"needs {package}, of the group `stores`")
    monkeypatch.setenv("MYPYPATH", f"{ROOT / 'shared'}:{ROOT}")
    monkeypatch.chdir(ROOT)
    programs = sorted((ROOT / "examples").glob("existing_*.py"))
    output, errors, status = api.run(["--strict", *map(str, programs)])
    assert not errors
    assert status == 0, output


@pytest.fixture(scope="module")
def problems():
    """What pyright says of all programs: the file, the number of the line, and the message."""
    if find_spec("pyright") is None:
        pytest.skip('pyright is not installed: pip install "pyright[nodejs]"')
    files = [str(file) for file in (*PROGRAMS, *CALLS)]
    command = [
        sys.executable,
        "-m",
        "pyright",
        "--outputjson",
        "--pythonpath",
        sys.executable,
        *files,
    ]
    done = subprocess.run(
        command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright cannot run here: {(done.stdout + done.stderr)[-300:]}")
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(files)
    return [
        (Path(each["file"]), each["range"]["start"]["line"] + 1, each["message"])
        for each in report["generalDiagnostics"]
    ]


def test_pyright(problems):
    assert [problem for problem in problems if problem[0] not in CALLS] == []


@pytest.mark.parametrize("file", CALLS, ids=lambda file: file.name)
def test_pyright_refuses_the_wrong_calls_and_no_others(problems, file):
    refused = {number for place, number, _ in problems if place == file}
    lines = file.read_text(encoding="utf-8").splitlines()
    assert refused == {
        number for number, line in enumerate(lines, start=1) if line.endswith("# wrong")
    }, problems
