"""Print the packages of an installation report of pip as constraints.

    pip install --dry-run --ignore-installed --report report.json …
    python tools/lock.py report.json

`make lock` writes constraints.txt with it. The report is one resolution of all that is installed
together, so that no group contradicts another. Nothing is installed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

_HEAD = """\
# The packages of development and CI, written by `make lock`. Users' installs follow the ranges in
# pyproject.toml instead.
# torch: the CPU build. Without this pin pip takes the newest CUDA build, several gigabytes.
# langchain-tests: its suites are run unmodified, so a new release is a change to look at.
# typer: docs/cli.md is written by it, and compared to the letter."""
_LEFT_OUT = {"factoid", "pip", "setuptools", "wheel"}


def main() -> None:
    """Print the constraints, sorted by name."""
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    versions: dict[str, str] = {}
    for item in report["install"]:
        name = item["metadata"]["name"].lower().replace("_", "-")
        version, _, _ = item["metadata"]["version"].partition("+")  # torch names its build
        versions[name] = version
    print(_HEAD)
    for name in sorted(versions.keys() - _LEFT_OUT):
        print(f"{name}=={versions[name]}")


if __name__ == "__main__":
    main()
