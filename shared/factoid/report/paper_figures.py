"""The figures of a comparison for a paper, as SVG and PNG: one column wide, readable in grey."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.evaluate.comparison import Comparison
from factoid.evaluate.measures import BUDGETS
from factoid.files.atomic import write_file
from factoid.report.figures import span

_SIZE = (3.5, 2.6)  # inches: one column
_COLORS = ("#0b5cad", "#a84300", "#18715a", "#7a3fb0", "#b0206a", "#5b6000", "#555f6b", "#8c1d18")
_DASHES = ("-", "--", ":", "-.")
_MARKS = "osD^vPX*"
_STYLE = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",  # letters stay letters
    "svg.hashsalt": "factoid",  # the same numbers give the same file
}


def write_figures(comparison: Comparison, folder: str | Path) -> list[Path]:
    """Write the words curve (Dense X Retrieval, Figure 4), and quality over size; return the files.

    With popularity also its figure (Figures 3 and 6). Each is written as SVG and as PNG of 300 dots
    per inch.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    matplotlib = require("matplotlib", extra="figures")
    figures: dict[str, Callable[[Any, Comparison], None]] = {
        "words": _words,
        "size": _size,
    }
    if comparison.bins:
        figures["popularity"] = _popularity
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with matplotlib.rc_context(_STYLE):
        for name, draw in figures.items():
            figure = require("matplotlib.figure", extra="figures").Figure(
                figsize=_SIZE, layout="constrained"
            )
            draw(figure.subplots(), comparison)
            figure.legend(loc="outside lower center", fontsize=6, ncols=2, frameon=False)
            for kind in ("svg", "png"):
                files.append(_saved(figure, folder / f"{name}.{kind}", kind))
    return files


def _saved(figure: Any, file: Path, kind: str) -> Path:
    content = io.BytesIO()
    metadata = None
    if kind == "svg":
        metadata = {"Date": None}
    figure.savefig(content, format=kind, dpi=300, metadata=metadata)
    write_file(file, lambda out: out.write(content.getvalue()))
    return file


def _look(number: int) -> dict[str, Any]:
    return {
        "color": _COLORS[number % len(_COLORS)],
        "linestyle": _DASHES[number % len(_DASHES)],
        "marker": _MARKS[number % len(_MARKS)],
        "markersize": 3,
        "linewidth": 1,
    }


def _words(axes: Any, comparison: Comparison) -> None:
    for number, tried in enumerate(comparison.tried):
        shares = [100 * share for share in comparison.curves[tried.name]]
        axes.plot(BUDGETS, shares, label=tried.name, **_look(number))
    axes.set_xlabel("words of context")
    axes.set_ylabel("answered, %")
    axes.set_xlim(0)
    axes.set_ylim(0, 100)


def _size(axes: Any, comparison: Comparison) -> None:
    for number, row in enumerate(comparison.rows):
        mean = 100 * row.means[comparison.measure]
        bars = [[mean - 100 * row.low], [100 * row.high - mean]]
        look = {**_look(number), "linestyle": "none", "capsize": 2}
        axes.errorbar([row.tried.bytes / 1e6], [mean], yerr=bars, label=row.tried.name, **look)
    axes.set_xlabel("MB of vectors")
    axes.set_ylabel(f"{comparison.measure}, %")


def _popularity(axes: Any, comparison: Comparison) -> None:
    bins = comparison.bins
    places = list(range(len(bins)))
    for number, tried in enumerate(comparison.tried):
        means = [100 * of_bin.means[tried.name] for of_bin in bins]
        axes.plot(places, means, label=tried.name, **_look(number))
    axes.set_xticks(places, [span(of_bin) for of_bin in bins])
    axes.set_xlabel("popularity")
    axes.set_ylabel(f"{comparison.measure}, %")
    axes.set_ylim(0, 100)
