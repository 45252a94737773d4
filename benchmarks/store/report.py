"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.store.contestant import BASELINE, CONTESTANTS
from benchmarks.store.operations import FILTERS, SEARCHES, Operation
from benchmarks.store.rounds import Searched

_WRONG = 0.05  # where fewer answers are right than this, a speed would mislead
_FEW = 20  # answers below this are counted in the cell
_STORAGE = [
    "units/s added",
    "units/CPU s",
    "1 000 more, s",
    "load, s",
    "bytes/unit on disk",
    "peak GiB",
]


def tables(
    searched: Mapping[str, Mapping[str, Searched]],
    stored: Mapping[str, Mapping[str, Any]],
    heading: str,
) -> str:
    """Return the page's part: what was measured, three tables, and what to know about the
    contestants.
    """
    names = list(stored)
    parts = [
        heading,
        "Cells: queries a second, × raw FAISS of the same rounds, share of answers that are "
        "exactly those of brute "
        "force in their order, ties apart; in brackets the number of different queries where "
        "there were few.",
        _searches("search", SEARCHES, names, searched),
        (
            "Milliseconds of one query, the median and the 99th percentile of all rounds, in which "
            "all contestants are open."
        ),
        _latencies(names, searched),
        "Searches for 10 units with a filter that lets through this share of the units: the first "
        "time that a value is "
        "asked for, and one filter again and again.",
        _searches("filter", FILTERS, names, searched),
        "Storage: adding everything until it is on disk and searchable, by the clock and by the "
        "processor, all threads together; adding 1 000 units more "
        "until they are on disk "
        "and found; opening in a new process until the first answer, imports apart, the files in "
        "the "
        "machine's cache; the most memory that the process "
        "held that answered all of this, imports included.",
        markdown(["store", *_STORAGE], [[_label(name), *_storage(stored[name])] for name in names]),
        "\n".join(_remarks(names)),
    ]
    return "\n\n".join(filter(None, parts))


def _remarks(names: Sequence[str]) -> list[str]:
    """Return lines of what to know about contestants."""
    lines = []
    for name in names:
        contestant = CONTESTANTS[name]
        if contestant.remark:
            lines.append(f"* {contestant.label}: {contestant.remark}")
    return lines


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rules = [":--", *["--:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rules, *rows))


def fill(page: Path, name: str, text: str) -> None:
    """Put text between the page's comments "table: name" and "end".

    Raises:
        SystemExit: The page has none.
    """
    before, marker, after = page.read_text(encoding="utf-8").partition(f"<!-- table: {name} -->\n")
    if not marker:
        raise SystemExit(f"{page} has no comment <!-- table: {name} -->")
    _, end, rest = after.partition("<!-- end -->")
    page.write_text(f"{before}{marker}\n{text}\n\n{end}{rest}", encoding="utf-8")


def _searches(
    head: str,
    operations: Sequence[Operation],
    names: Sequence[str],
    searched: Mapping[str, Mapping[str, Searched]],
) -> str:
    rows = []
    for name in names:
        cells = []
        for operation in operations:
            own = searched[name][operation.name]
            base = searched.get(BASELINE, {}).get(operation.name)
            base = base if base and base.rates and name != BASELINE else None
            fault = CONTESTANTS[name].fault(operation) if own.right < _WRONG else ""
            cells.append(own.cannot or fault or _cell(own, base))
        rows.append([_label(name), *cells])
    return markdown([head, *(operation.name for operation in operations)], rows)


def _latencies(names: Sequence[str], searched: Mapping[str, Mapping[str, Searched]]) -> str:
    operations = [operation for operation in SEARCHES if not operation.batch]
    head = ["one query"]
    for operation in operations:
        head += [f"{operation.name}, median", "99 %"]
    rows = []
    for name in names:
        cells = [_label(name)]
        for operation in operations:
            own = searched[name][operation.name]
            if own.took and own.right >= _WRONG:
                cells += [f"{own.milliseconds(50):.1f}", f"{own.milliseconds(99):.1f}"]
            else:
                cells += ["–", "–"]
        rows.append(cells)
    return markdown(head, rows)


def _cell(own: Searched, base: Searched | None) -> str:
    ratio = f" · {_ratio(own.ratio(base))}" if base else ""
    few = f" ({len(own.answers)})" if len(own.answers) < _FEW else ""
    recall = "" if own.right in (0.0, 1.0) else f", recall {own.recall:.3f}"
    return f"{_number(own.rate)}{ratio} · {_share(own.right)}{recall}{few}"


def _storage(own: Mapping[str, Any]) -> list[str]:
    def cell(key: str, form: str) -> str:
        return format(own[key], form) if key in own else own.get(f"{key} cannot", "–")

    return [
        cell("added", ",.0f"),
        cell("added cpu", ",.0f"),
        cell("more", ".2f"),
        cell("load", ".2f"),
        cell("bytes", ",.0f"),
        cell("peak", ".2f"),
    ]


def _label(name: str) -> str:
    return CONTESTANTS[name].label


def _number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}×" if ratio >= 0.1 else f"{ratio:.1g}×"


def _share(share: float) -> str:
    """Return a percentage that says 100 only of all, and 0 only of none."""
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    return f"{min(max(100 * share, 0.1), 99.9):.1f} %".replace(".0 %", " %")
