"""Spans of propositions over real texts: what stands in its passage as it is has exactly that span."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from factoid import Document, SyntaxPropositionizer, split_passages, split_sentences
from factoid.propositions import decompose
from factoid.words import stands_in

ROOT = Path(__file__).parents[3]
MARKDOWN = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ENCYCLOPEDIA = sorted((ROOT / "examples" / "data" / "encyclopedia").glob("*.md"))


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("paths", [MARKDOWN[:6], ENCYCLOPEDIA[:8]], ids=["Markdown", "encyclopedia"])
def test_verbatim_spans_are_exact(paths: list[Path], atomic: bool) -> None:
    verbatim = 0
    propositionizer = SyntaxPropositionizer(atomic=atomic)
    for path in paths:
        document = Document(path.read_text(encoding="utf-8"))
        passages = {passage.id: passage for passage in split_passages(document)}
        for unit in decompose(list(passages.values()), propositionizer).units:
            passage = passages[unit.parent_id]
            source = document.text[unit.start : unit.end]
            assert any(sentence.start <= unit.start < unit.end <= sentence.end for sentence in split_sentences(passage))
            if stands_in(unit.text, passage.text):
                verbatim += 1
                assert flat(source) == flat(unit.text)
    assert verbatim > 20


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: path.name)
def test_markdown_leaves_no_marks_in_facts(path: Path) -> None:
    document = Document(path.read_text(encoding="utf-8"))
    for unit in decompose(split_passages(document), SyntaxPropositionizer()).units:
        if unit.text.startswith(("```", "    ")):
            assert document.text[unit.start : unit.end] == unit.text  # code
            continue
        assert "](" not in unit.text
        assert "<!--" not in re.sub("`[^`]*`", "", unit.text)
        assert not unit.text.startswith(("- ", "* ", "#", "|", ">", "1. "))
        assert unit.text.count("`") % 2 == 0 or document.text[unit.start : unit.end].count("`") % 2
