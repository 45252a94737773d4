"""Print the packages of this environment as constraints for pip.

`make lock` writes constraints.txt with it.
"""

from __future__ import annotations

from importlib.metadata import distributions

_HEAD = """\
# The packages of development and CI, written by `make lock`. Users' installs follow the ranges in
# pyproject.toml instead.
# torch: the CPU build. Without this pin pip takes the newest CUDA build, several gigabytes.
# langchain-tests: its suites are run unmodified, so a new release is a change to look at.
# typer: docs/cli.md is written by it, and compared to the letter."""
_LEFT_OUT = {"factoid", "pip", "setuptools", "wheel"}


def main() -> None:
    """Print the constraints, sorted by name."""
    versions: dict[str, str] = {}
    for distribution in distributions():
        name = distribution.name.lower().replace("_", "-")
        version, _, _ = distribution.version.partition("+")  # torch names its build
        versions[name] = version
    print(_HEAD)
    for name in sorted(versions.keys() - _LEFT_OUT):
        print(f"{name}=={versions[name]}")


if __name__ == "__main__":
    main()
