"""Two small articles, a store of them, and commands run without models."""

from __future__ import annotations

import json
import re

import pytest

from factoid.cli import main
from factoid.testing import HashEncoder, ScriptedPropositionizer

PISA = """# Leaning Tower of Pisa

The tower is 56 m high. John Burland straightened it.

## History

Building began in 1173. The tower leaned by 1178.
"""
VASA = "# Vasa\r\n\r\nThe Vasa sank in 1628. She carried too little ballast.\r\n"


@pytest.fixture(autouse=True)
def fakes(monkeypatch):
    """Models that need none: sentences as propositions, and hashed words as vectors."""
    propositionizer = ScriptedPropositionizer(lambda passage: re.split(r"(?<=\.)\s", passage.text))
    monkeypatch.setattr(
        "factoid.propositions.SyntaxPropositionizer", lambda **_options: propositionizer
    )
    monkeypatch.setattr("factoid.encode.SentenceTransformerEncoder", lambda _name: HashEncoder())


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "pisa.md").write_bytes(PISA.encode())
    (folder / "vasa.md").write_bytes(VASA.encode())
    return folder


@pytest.fixture
def run(capsys):
    """Run a command; return exit code, stdout and stderr."""

    def run(*argv):
        code = main([str(part) for part in argv])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def report(run):
    """Run a command with --json; return what it prints."""

    def report(*argv):
        code, out, err = run(*argv, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return report


@pytest.fixture
def fails(run):
    """Run a command that fails; return the one line of its error."""

    def fails(*argv):
        code, out, err = run(*argv)
        assert (code, out) == (1, "")
        assert err.startswith("factoid: error: ")
        assert err.count("\n") == 1, err
        return err

    return fails


@pytest.fixture
def store(tmp_path, docs, run):
    path = tmp_path / "store"
    assert run("index", docs, "--store", path)[0] == 0
    return path
