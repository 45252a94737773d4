"""The programs in docs/langchain.md and docs/llama-index.md print what the pages say."""

from __future__ import annotations

import contextlib
import gc
import io
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_classic")
pytest.importorskip("llama_index.core")

import fsspec

from factoid import UnitStore
from factoid.testing import HashEncoder
from langchain_factoid import MultiGranularFAISS
from llama_index_factoid import EncoderEmbedding

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.parametrize("page", ["langchain.md", "llama-index.md"])
def test_the_programs_print_what_the_page_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text(encoding="utf-8")
    names: dict[str, Any] = {"embed_model": EncoderEmbedding(HashEncoder())}
    programs = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.DOTALL)
    assert len(programs) == text.count("```python") > 9
    for program, printed in programs:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(program, page, "exec"), names)
        assert output.getvalue() == printed, program
    fsspec.filesystem("memory").store.clear()
    for store in (part for part in gc.get_objects() if type(part) is UnitStore):
        store.close()


def test_every_method_named_is_there() -> None:
    page = (DOCS / "langchain.md").read_text(encoding="utf-8")
    for name in re.findall(r"`(\w+_search\w*|add_\w+|save_local|load_local|merge_from)", page):
        assert hasattr(MultiGranularFAISS, name)
