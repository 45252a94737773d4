"""The commands and settings in README.md and docs/ are ones that the programs take.

Most need what a test does not have, such as a corpus or hours, so that they are read and not run:
`factoid` reads its own, with options and arguments; of others, modules, options, extras, groups,
targets and files are looked up. Sessions of `factoid` with their output run in other tests.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from factoid.cli import app

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = {"cli", "reference"}  # by tools, from the programs
BLOCK = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if page.stem not in WRITTEN
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# Of other people's programs, which tests do not have.
FOREIGN = {"export", "git", "gunicorn"}
# What other blocks hold, and why no test runs it.
KINDS = {
    "": "pictures in characters, and formulas",
    "text": "output, which the test of the program before it compares",
    "python": "see test_page_fragments.py",
    "sql": "needs a server: tests/scale/test_planner.py and tests/existing run it where one is",
    "dockerfile": "quoted from examples/production, which tests/production check",
}


def blocks(page: Path, *kinds: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind in kinds]


def commands(page: Path) -> list[list[str]]:
    """Return the words of all commands of a page, without what they print."""
    found = []
    for kind in ("sh", "console"):
        for text in blocks(page, kind):
            lines = text.replace("\\\n", " ").splitlines()
            if kind == "console":
                lines = [line[2:] for line in lines if line.startswith("$ ")]
            found += [words for line in lines if (words := shlex.split(line, comments=True))]
    return found


def parse(words: list[str]) -> None:
    """Let the command line read a command, with its options and arguments, and not run it."""
    command: Any = typer.main.get_command(app)
    while words and hasattr(command, "commands"):
        command = command.commands[words[0]]
        words = words[1:]
    command.make_context("factoid", words)


def check_options(source: Path, words: list[str]) -> None:
    """Check that a program names each of the options."""
    folder = [*source.parent.glob("*.py")] if source.stem == "__main__" else [source]
    text = "".join(path.read_text(encoding="utf-8") for path in folder)
    for module in re.findall(r"from (benchmarks[\w.]+) import", text):
        path = ROOT / f"{module.replace('.', '/')}.py"
        text += path.read_text(encoding="utf-8") if path.exists() else ""
    for word in words:
        if word.startswith("--"):
            name = word.partition("=")[0]
            assert re.search(rf"""["']{name}["']""", text), f"{source.name} has no {name}"


def check_python(words: list[str]) -> None:
    """Check a command `python`."""
    if words[0] == "-m":
        path = ROOT / words[1].replace(".", "/")
        source = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
        words = words[2:]
    else:
        folder = "examples/production" if words[0] == "backup.py" else "."
        source = ROOT / folder / words[0]
        words = words[1:]
    assert source.exists(), source
    check_options(source, words)


def check_pip(words: list[str]) -> None:
    """Check a command `pip install`."""
    assert words[0] == "install"
    for word in words:
        for extras in re.findall(r"^(?:factoid|\.)\[(.*)\]", word):
            known = PROJECT["project"]["optional-dependencies"]
            assert {*extras.split(",")} <= {*known}, word
    if "--group" in words:
        assert words[words.index("--group") + 1] in PROJECT["dependency-groups"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_are_understood(page: Path) -> None:
    for words in commands(page):
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            words = words[1:]
        if words[0] == "time":
            words = words[1:]
        program, *rest = words
        if program == "factoid":
            parse(rest)
        elif program == "python":
            check_python(rest)
        elif program == "pip":
            check_pip(rest)
        elif program == "make":
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert re.search(rf"^{rest[0]}:", makefile, re.MULTILINE), rest
        else:
            assert program in FOREIGN, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_settings_are_read(page: Path) -> None:
    for text in blocks(page, "json"):
        settings = json.loads(text)
        for server in settings["mcpServers"].values():
            assert server["command"] == "factoid"
            parse(server["args"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_other_blocks_are_of_known_kinds(page: Path) -> None:
    found = {kind for kind, _ in BLOCK.findall(page.read_text(encoding="utf-8"))}
    assert found <= {"sh", "console", "json", "markdown", *KINDS}


@pytest.mark.parametrize(
    "line",
    [
        "search --store facts Why?",
        "index notes",
        "index notes --store facts --no-such-option",
        "no-such-command",
    ],
)
def test_wrong_commands_are_found(line: str) -> None:
    with pytest.raises((KeyError, typer.BadParameter.__base__)):
        parse(line.split())
