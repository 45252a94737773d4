"""The program in docs/propositionizing.md prints what the page says, and the page names every count there is."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
from pathlib import Path

from factoid.propositions import Report

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "propositionizing.md").read_text(encoding="utf-8")


def test_the_program_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ((program, printed),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(program, "propositionizing.md", "exec"), {})
    assert output.getvalue() == printed


def test_every_count_is_explained():
    for field in dataclasses.fields(Report):
        assert f"\n| `{field.name}` |" in PAGE
