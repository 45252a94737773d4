"""What holds for the repository as a whole."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "factoid": "numpy",
    "langchain_factoid": "langchain_core",
    "llama_index_factoid": "llama_index",
}
MODELS = ["torch", "transformers", "sentence_transformers", "faiss", "openai", "spacy"]
HEAVY = [*MODELS, "langchain_core", "llama_index"]
HEAVY += [
    "numpy",
    "tqdm",
    "rich",
    "sqlite3",
    "asyncio",
    "markitdown",
]  # what help and completion do not need


def test_the_version_is_the_newest_in_the_changelog():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    newest = re.search(
        r"^## \[(.+?)\] - (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert newest is not None
    assert newest[1] == project["version"] == version("factoid")
    assert re.fullmatch(r"Unreleased|\d{4}-\d{2}-\d{2}", newest[2])


@pytest.mark.parametrize("name", PACKAGES)
def test_all_is_complete_and_sorted(name):
    pytest.importorskip(PACKAGES[name])
    package = import_module(name)
    assert all(getattr(package, name) is not None for name in package.__all__)
    public = {
        own
        for own, value in vars(package).items()
        if not own.startswith("_")
        and not isinstance(value, ModuleType)
        and own not in {"require", "annotations"}
    }
    assert set(package.__all__) == public
    assert list(package.__all__) == sorted(package.__all__)


@pytest.mark.parametrize(
    "module", ["factoid", "factoid.cli", "langchain_factoid", "llama_index_factoid"]
)
def test_importing_loads_nothing_heavy(module):
    heavy = MODELS if module in list(PACKAGES)[1:] else HEAVY
    code = f"import sys, {module}; print(*[name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
    assert run.stderr == ""


@pytest.mark.parametrize(
    ("package", "absent", "extra"),
    [
        ("langchain_factoid", "langchain_core", "langchain"),
        ("langchain_factoid", "langchain_text_splitters", "langchain"),
        ("llama_index_factoid", "llama_index", "llama-index"),
    ],
)
def test_without_a_framework_the_error_says_what_to_install(package, absent, extra):
    code = f"import sys; sys.modules[{absent!r}] = None; import {package}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert re.search(rf'MissingDependencyError: .*pip install "factoid\[{extra}\]"', run.stderr)
    assert "The above exception was the direct cause" in run.stderr


def test_the_core_is_alone_in_its_folder_and_every_package_typed():
    assert [path.name for path in (ROOT / "shared").iterdir() if path.name != "__pycache__"] == [
        "factoid"
    ]
    assert all(
        (ROOT / folder / "py.typed").exists() for folder in ("shared/factoid", *list(PACKAGES)[1:])
    )


@pytest.mark.parametrize(
    ("tool", "page"),
    [("cli_help.py", "cli.md"), ("quotes.py", "production.md")],
)
def test_generated_pages_are_up_to_date(tool, page):
    render = runpy.run_path(str(ROOT / "tools" / tool))["render"]
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == render(), "run make docs"


def requirements() -> list[Requirement]:
    """Return what is installed together: the extras `all` and `demo`, and three groups."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = settings["project"]["optional-dependencies"]
    groups = settings["dependency-groups"]
    pending = [*settings["project"]["dependencies"], "factoid[all,demo]"]
    pending += [*groups["dev"], *groups["docs"], *groups["stores"]]
    found = []
    while pending:
        entry = pending.pop()
        if isinstance(entry, dict):
            pending += groups[entry["include-group"]]
            continue
        requirement = Requirement(entry)
        if requirement.name == "factoid":
            for extra in requirement.extras:
                pending += extras[extra]
        elif requirement.marker is None or requirement.marker.evaluate():
            found.append(requirement)
    return found


def test_the_lock_holds_all_that_is_installed_together():
    locked = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, _, number = line.partition("==")
            locked[canonicalize_name(name)] = number
    missing = []
    for requirement in requirements():
        number = locked.get(canonicalize_name(requirement.name))
        if number is None or not requirement.specifier.contains(number, prereleases=True):
            missing.append(f"{requirement}: {number}")
    assert missing == []
    assert len(requirements()) > 60
