"""The site of the documentation: every page in a group, no broken link, nothing from other
servers.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from shutil import copytree

import pytest

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
GROUPS = {name: pages for group in SETTINGS["nav"] for name, pages in group.items()}


def paths(group: str) -> list[str]:
    """Return the pages of a group."""
    return [path for page in GROUPS[group] for path in page.values()]


def test_every_page_is_in_one_of_four_groups() -> None:
    assert [*GROUPS] == ["Start", "How to", "Reference", "Measurements"]
    listed = [path for group in GROUPS for path in paths(group)]
    assert sorted(listed) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` builds it."""
    pytest.importorskip("zensical", reason="needs the group docs")
    folder = tmp_path_factory.mktemp("site")
    copytree(ROOT / "docs", folder / "docs")
    (folder / "zensical.toml").write_bytes((ROOT / "zensical.toml").read_bytes())
    for package in ("shared", "langchain_factoid", "llama_index_factoid", "tools"):
        (folder / package).symlink_to(ROOT / package)
    built = build(folder)
    printed = built.stdout + built.stderr
    assert built.returncode == 0, printed
    assert "griffe:" not in printed, "a docstring describes what is not there"
    return folder / "build" / "site"


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def test_pages_need_no_other_server(site: Path) -> None:
    for page in site.glob("*.html"):
        html = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe)[^>]+src=\"https?://[^\"]+", html), page
        assert not re.findall(r"<link[^>]+rel=\"stylesheet\"[^>]+href=\"https?://[^\"]+", html), (
            page
        )


def test_search_finds_the_guides(site: Path) -> None:
    index = (site / "search.json").read_text(encoding="utf-8")
    assert "Leaning Tower" in index
    assert "factoid mcp" in index


def test_texts_for_models_hold_the_guides(site: Path) -> None:
    short = (site / "llms.txt").read_text(encoding="utf-8")
    full = (site / "llms-full.txt").read_text(encoding="utf-8")
    for path in [
        *paths("Start"),
        "langchain.md",
        "llama-index.md",
        "agents.md",
        "mcp.md",
        "store.md",
    ]:
        assert f"/{path}>" in short, path
        heading = (ROOT / "docs" / path).read_text(encoding="utf-8").partition("\n")[0]
        assert heading in full, path


@pytest.mark.parametrize(
    ("package", "page"),
    [
        ("factoid", "reference"),
        ("langchain_factoid", "reference-langchain"),
        ("llama_index_factoid", "reference-llama-index"),
    ],
)
def test_the_reference_holds_all_public_names(site: Path, package: str, page: str) -> None:
    html = (site / f"{page}.html").read_text(encoding="utf-8")
    missing = [
        name for name in import_module(package).__all__ if f'id="{package}.{name}"' not in html
    ]
    assert not missing


def test_the_reference_is_made_from_docstrings(site: Path) -> None:
    html = (site / "reference.html").read_text(encoding="utf-8")
    assert 'id="factoid.UnitStore.search"' in html
    assert "Whether short paragraphs of a section become one passage" in html
    assert ":::" not in html


def test_a_broken_link_is_an_error(site: Path) -> None:
    folder = site.parents[1]
    page = folder / "docs" / "agents.md"
    kept = page.read_text(encoding="utf-8")
    for link in ("[no page](no-such-page.md)", "[no place](mcp.md#no-such-place)"):
        page.write_text(f"{kept}\n{link}\n", encoding="utf-8")
        assert build(folder).returncode != 0, link
    page.write_text(kept, encoding="utf-8")
