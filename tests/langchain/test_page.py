"""The programs in docs/langchain.md print what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from langchain_factoid import MultiGranularFAISS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "langchain.md").read_text(encoding="utf-8")


def test_the_programs_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    programs = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE, re.DOTALL)
    assert len(programs) == 6
    for program, printed in programs:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(program, "langchain.md", "exec"), names)
        assert output.getvalue() == printed


def test_every_method_named_is_there() -> None:
    for name in re.findall(r"`(\w+_search\w*|add_\w+|save_local|load_local|merge_from|update_metadata|clear)", PAGE):
        assert hasattr(MultiGranularFAISS, name)
