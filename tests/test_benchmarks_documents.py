"""What the benchmark of cleaning counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.documents import answered, faults, plain, read_body
from factoid import Granularity
from factoid.units import Unit


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The mill was re- built of 3 - 4 stones, self-contained, pre- and post-war.", ["broken hyphen"]),
        ("</figcaption> A mill.", ["figure markup"]),
        ("Sacks :unselected: here", ["selection mark"]),
        ("1\\. A mill", ["escape"]),
        ("<!-- A mill", ["comment"]),
        ("| Rye | 5 |", ["row of a table"]),
        ("Mills\n===\nText", ["underlined heading"]),
        ("12.3 (5)", ["no word"]),
        ("arXiv:2401.01234v2 [cs.IR]", ["side stamp"]),
        ("A mill of the year 1820 has 3 wheels: state-of-the-art.", []),
    ],
)
def test_rules(text: str, names: list[str]) -> None:
    unit = Unit("", text, Granularity.PASSAGE, document_id="d", parent_id="d", start=0, end=len(text))
    assert faults(unit) == names


def test_answers_are_compared_without_case_marks_and_line_ends() -> None:
    assert plain("A Wind-\nmill, (built 1,820)!") == "a windmill built 1 820"
    questions = [{"question": "q", "answer": "Windmill"}, {"question": "r", "answer": "river"}]
    assert answered(lambda question: ["the sea", "a wind- mill"], questions) == (0, 1)
    assert answered(lambda question: ["a windmill at the River"], questions) == (2, 2)


def test_a_printout_has_a_body(tmp_path: Path) -> None:
    path = tmp_path / "printout.txt"
    path.write_text("log\nPage Content 1: # Mills\n\nText.\nMetadata 1: {}", encoding="utf-8")
    assert read_body(path) == "# Mills\n\nText.\n"
    path.write_text("log", encoding="utf-8")
    with pytest.raises(SystemExit, match="holds no"):
        read_body(path)
