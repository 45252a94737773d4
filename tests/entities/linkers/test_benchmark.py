"""What the linker finds in real questions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.entities.title_sources import entity_questions
from factoid.entities.articles.names import canonical_title
from factoid.entities.linkers.titles import TitleLinker
from tests.entities.linkers.stores import make_store


def test_titles_of_real_questions(tmp_path, data):
    questions = entity_questions(data)[::20]
    titles = [canonical_title(question.title) for question in questions]
    with make_store(tmp_path / "s", sorted(set(titles))) as store:
        mentions = [TitleLinker(store).link(question.text) for question in questions]
    right = [[mention.title for mention in some] == [title] for title, some in zip(titles, mentions, strict=True)]
    assert sum(right) / len(right) > 0.99


@pytest.mark.slow
def test_the_benchmark_runs():
    command = [sys.executable, "-m", "benchmarks.entities.linking", "speed", "--titles", "300", "--questions", "20"]
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("300 titles, "), done.stderr
    assert done.stdout.splitlines()[3].split(" | ")[1] == "20"
