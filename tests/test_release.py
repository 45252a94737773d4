"""What is published with a version."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= citation.keys()
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] in PROJECT["license"]


def test_every_python_of_ci_is_a_classifier():
    workflow = yaml.safe_load(
        (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    )
    tried = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    named = [
        line.rpartition(" ")[2]
        for line in PROJECT["classifiers"]
        if re.search(r"Python :: 3\.\d+$", line)
    ]
    assert named == tried


@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"]))
def test_every_extra_is_explained(extra):
    page = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    assert f"`{extra}`" in page


def test_servers_and_their_clients_are_apart_from_all():
    [everything] = PROJECT["optional-dependencies"]["all"]
    assert "mcp" not in everything
