"""Write the tables of docs/installing.md: what each extra brings, and the licences of all of it.

python tools/dependencies.py licences          # of what is installed here, with what it needs
python tools/dependencies.py sizes WHEEL       # installs each set of extras afresh, and times it
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("", "langchain,cpu", "llama-index,cpu", "mcp")
# The words of licences in metadata, by the name that a reader looks for.
KINDS = {
    "MIT": r"\bMIT\b|Expat",
    "BSD": r"\bBSD\b|0BSD|Modified BSD",
    "Apache-2.0": r"Apache",
    "PSF": r"PSF|Python Software Foundation|CNRI-Python",
    "MPL-2.0": r"MPL|Mozilla Public",
    "ISC": r"\bISC\b",
    "HPND": r"HPND|MIT-CMU",
    "Unlicense": r"Unlicense",
    "LGPL": r"LGPL|Lesser General Public",
    "GPL": r"(?<!L)GPL|(?<!Lesser )General Public",
    "proprietary": r"LicenseRef-NVIDIA|Proprietary",
}


def licences() -> None:
    """Print a table of licences with the packages under each, for all extras."""
    by_kind: dict[str, list[str]] = {}
    for package in sorted(needed("factoid"), key=lambda package: package.name.lower()):
        by_kind.setdefault(licence_of(package), []).append(package.name)
    print("| licence | packages |\n|---|---|")
    for kind, names in sorted(by_kind.items(), key=lambda item: -len(item[1])):
        print(f"| {kind} | {', '.join(names)} |")


def needed(name: str) -> list[Distribution]:
    """Return what a package needs with all its extras, and what that needs, as far as installed."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    packages: dict[str, Distribution] = {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = [Requirement(text) for text in project["dependencies"]]
    for texts in project["optional-dependencies"].values():
        waiting += [Requirement(text) for text in texts]
    while waiting:
        requirement = waiting.pop()
        key = canonicalize_name(requirement.name)
        if key in packages or key == canonicalize_name(name):
            continue
        try:
            packages[key] = distribution(requirement.name)
        except PackageNotFoundError:
            print(f"{requirement} is not installed", file=sys.stderr)
            continue
        waiting += requirements(packages[key], tuple(requirement.extras))
    return list(packages.values())


def requirements(package: Distribution, extras: tuple[str, ...]) -> Iterator[Any]:
    """Yield what a package needs here with some extras."""
    from packaging.requirements import Requirement  # not in the environments that are measured

    for text in package.requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def licence_of(package: Distribution) -> str:
    """Return the licences that a package's metadata name, in short."""
    fields = [package.metadata.get("License-Expression") or ""]
    for classifier in package.metadata.get_all("Classifier") or ():
        if classifier.startswith("License ::"):
            fields.append(classifier)
    if not any(fields):
        fields.append((package.metadata.get("License") or "").partition("\n")[0])
    said = " ".join(fields)
    kinds = [kind for kind, words in KINDS.items() if re.search(words, said)]
    return " and ".join(kinds) or "not said in the metadata"


def sizes(wheel: str) -> None:
    """Print how many packages and bytes each set of extras installs, and how long that takes."""
    print("| extras | packages | MB | seconds |\n|---|---|---|---|")
    for extras in EXTRAS:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)  # noqa: S603
            python = str(Path(folder, "bin", "python"))
            target = (
                f"{Path(wheel).absolute()}[{extras}]" if extras else str(Path(wheel).absolute())
            )
            start = time.monotonic()
            install = [
                python,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-compile",
                "--disable-pip-version-check",
                target,
            ]
            subprocess.run(install, check=True)  # noqa: S603
            seconds = time.monotonic() - start
            count = [python, str(Path(__file__).absolute()), "installed"]
            counted = subprocess.run(  # noqa: S603
                count, check=True, capture_output=True, text=True
            )
            packages, size = json.loads(counted.stdout)
        print(
            f"| {extras or '(none)'} | {packages} | {size / 1e6:.0f} | {seconds:.0f} |", flush=True
        )


def installed() -> None:
    """Print the number and bytes of the packages of an environment, without pip."""
    packages = 0
    size = 0
    for package in distributions():
        if package.name in ("pip", "setuptools"):
            continue
        packages += 1
        for file in package.files or ():
            path = Path(str(file.locate()))
            if path.is_file():
                size += path.stat().st_size
    print(json.dumps([packages, size]))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["licences"]:
            licences()
        case ["sizes", wheel]:
            sizes(wheel)
        case ["installed"]:
            installed()
        case _:
            sys.exit(__doc__)
