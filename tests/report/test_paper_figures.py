from __future__ import annotations

import re

import pytest

pytest.importorskip("matplotlib")

from factoid.report.paper_figures import write_figures
from tests.report.saved import comparison, of_granularities


def test_figures_are_written_twice_alike(tmp_path):
    files = write_figures(of_granularities(90), tmp_path / "figures")
    names = [
        f"{name}.{kind}" for name in ("words", "size", "popularity") for kind in ("svg", "png")
    ]
    assert [file.name for file in files] == names
    again = write_figures(of_granularities(90), tmp_path / "again")
    for first, second in zip(files, again, strict=True):
        assert first.read_bytes() == second.read_bytes()
    svg = (tmp_path / "figures" / "words.svg").read_text(encoding="utf-8")
    assert "propositions by vectors" in svg  # letters, no outlines of them
    assert (tmp_path / "figures" / "words.png").read_bytes().startswith(b"\x89PNG")


def test_lines_are_where_the_numbers_are(tmp_path):
    write_figures(comparison(9), tmp_path)
    svg = (tmp_path / "words.svg").read_text(encoding="utf-8")
    # "facts" answer 6 of 9 questions within 25 words already: a level line; passages none before
    # 100.
    [line] = re.findall(
        r'<path d="(M[^"]+)" clip-path[^>]*style="fill: none; stroke-dasharray[^"]*stroke: #a84300',
        svg,
    )
    heights = {round(float(y), 3) for y in re.findall(r"[ML] [\d.]+ ([\d.]+)", line)}
    assert len(heights) == 1
    assert not (tmp_path / "popularity.svg").exists()
