"""Find tables in plain text whose columns only white space holds apart.

People type them, and tools print them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from factoid.text.lines import line_spans, line_starts
from factoid.words import count_words

Line = tuple[int, int]  # where a line begins and ends in its text
Columns = list[tuple[int, int]]  # from where to where each column reaches, in characters of a line
Cell = list[int]  # the place in the text of each of its characters
Row = list[Cell]

_GAP = re.compile(r"\S(?: {2,}|[ ]*\t[\t ]*)\S")
_SENTENCE_GAP = re.compile(r"[.!?…][\"'”’)]? {2}\S")
_LEADER = re.compile(
    r"(?<=[^\W_])(?:(?: \.{4,}| \.{3}(?= \d)|(?: \.){3,}) ?(?=[^\s.a-z])"
    r"|(?: ?\.{6,}|(?: \.){6,}) ?(?=[^\s.]))"
)  # from a name to its value: "Weight ..... 12 kg"
_RULE = re.compile(r"\s*[-=]{2,}(?:\s+[-=]{2,})*\s*")
_CROSSED_RULE = re.compile(r"^[ \t]*-{2,}(?:\+-{2,})+[ \t]*$", re.MULTILINE)
_BARS = re.compile(r"(?<= )\|(?=[ \n])|(?<=-)\+(?=-)")
_INK = re.compile(r"\S+")
_NARROWEST_GAP = 2  # blank characters between two columns in all lines
_WIDEST_LINE = 500  # characters; no table that somebody typed is as wide
_LONGEST_CELL = 40  # words
_LONG_CELLS = (
    5  # words on average; two columns of longer cells are prose that was set in two columns
)


@dataclass(frozen=True)
class AlignedTable:
    """Lines of a text whose words stand below one another in columns.

    Attributes:
        start: Where its first line begins in the text.
        end: Where its last line ends.
        rows: The cells of each row; the last cell may go on in further lines.
        is_ruled: Whether a rule stands below the first row: it names the columns.
    """

    start: int
    end: int
    rows: list[Row]
    is_ruled: bool


def aligned_tables(text: str) -> Iterator[AlignedTable]:
    """Yield the aligned tables of a paragraph, in order."""
    may_have_gaps = "  " in text or "\t" in text
    may_have_leaders = "..." in text or " . ." in text
    if not (may_have_gaps or may_have_leaders):
        return
    if _GAP.search(text) is None and _LEADER.search(text) is None:
        return
    source = text
    if _CROSSED_RULE.search(text):  # as psql prints tables: bars stand between columns
        text = _BARS.sub(" ", text)
    text = _LEADER.sub(lambda leader: " " * len(leader[0]), text)
    lines = line_spans(text)
    number = 0
    while number < len(lines):
        run, rows, is_ruled = _run(text, lines, number)
        is_table = not _is_running_text(text, run) and _is_table(text, rows, is_ruled=is_ruled)
        if not is_table:
            led, led_rows = _led(source, lines, number)
            if len(led) > 1:
                run = led
                rows = led_rows
                is_table = True
        if is_table:
            yield AlignedTable(run[0][0], run[-1][1], rows, is_ruled)
        number += max(len(run), 1)


def cell_source(text: str, cell: Cell, places: Sequence[int]) -> tuple[str, list[int]]:
    """Return the characters of a cell and their places in the source.

    `places` are those of the text's characters.
    """
    return _written(text, cell), [places[place] for place in cell]


def _written(text: str, cell: Cell) -> str:
    """Return the characters of a cell; any white space is one blank."""
    return "".join(" " if text[place].isspace() else text[place] for place in cell)


def _is_running_text(text: str, run: Sequence[Line]) -> bool:
    """Return whether lines are items of a list, or sentences with two blanks between them."""
    if not run or line_starts(text[run[0][0] : run[-1][1]]):
        return True
    return all(_SENTENCE_GAP.search(text, *line) for line in run)


def _is_table(text: str, rows: Sequence[Row], *, is_ruled: bool) -> bool:
    """Return whether there are enough rows, of cells that are not sentences side by side."""
    count = len(rows)
    width = max(map(len, rows), default=0)
    if count < 2 or width < 2 or (count < 3 and width < 3 and not is_ruled):
        return False
    long_columns = 0
    for column in range(width):
        words = [count_words(_written(text, row[column])) for row in rows if row[column]]
        if max(words, default=0) > _LONGEST_CELL:
            return False
        if sum(words) > _LONG_CELLS * len(words):
            long_columns += 1
    return long_columns < 2


def _run(text: str, lines: Sequence[Line], first: int) -> tuple[Sequence[Line], list[Row], bool]:
    """Return the lines from one on that stand in the same columns.

    The result also has their rows, and whether a rule is below the first.
    """
    start, end = lines[first]
    line = text[start:end]
    if len(line) > _WIDEST_LINE or _GAP.search(line) is None:
        return [], [], False
    if "\t" in line.strip():
        run, rows = _tabbed(text, lines, first)
        return run, rows, False
    return _spaced(text, lines, first)


def _tabbed(text: str, lines: Sequence[Line], first: int) -> tuple[Sequence[Line], list[Row]]:
    """Return the lines from one on that have tabs in them.

    The result also has their rows if all have as many cells.
    """
    last = first
    while last < len(lines) and "\t" in text[slice(*lines[last])].strip():
        last += 1
    run = lines[first:last]
    for separator in ("\t", "\t+"):
        rows = [_cells_between(text, line, separator) for line in run]
        if len(set(map(len, rows))) == 1:
            return run, rows
    return run, []


def _led(text: str, lines: Sequence[Line], first: int) -> tuple[Sequence[Line], list[Row]]:
    """Return the lines from one on in which dots lead from a name to its value, and their rows."""
    last = first
    rows: list[Row] = []
    while last < len(lines):
        start, end = lines[last]
        leaders = list(_LEADER.finditer(text, start, end))
        if len(leaders) != 1:
            break
        rows.append([_inked(text, start, leaders[0].start()), _inked(text, leaders[0].end(), end)])
        last += 1
    return lines[first:last], rows


def _cells_between(text: str, line: Line, separator: str) -> Row:
    """Return the cells of a line between separators."""
    start, end = line
    cells = []
    for match in re.finditer(separator, text[start:end]):
        cells.append(_inked(text, start, line[0] + match.start()))
        start = line[0] + match.end()
    return [*cells, _inked(text, start, end)]


def _spaced(text: str, lines: Sequence[Line], first: int) -> tuple[Sequence[Line], list[Row], bool]:
    """Return the lines from one on that leave the same places blank.

    The result also has their rows, and whether a rule is below the first.
    """
    ink = 0
    columns: Columns = []
    count = 0
    while first + count < len(lines):
        line = text[slice(*lines[first + count])]
        if "\t" in line or len(line) > _WIDEST_LINE:
            break
        if not _RULE.fullmatch(line):
            together = ink | _ink(line)
            wider = _columns(together)
            if len(wider) < 2 or not _fits(line, wider, is_first=count == 0):
                break
            ink = together
            columns = wider
        count += 1
    run = lines[first : first + count]
    rows: list[Row] = []
    is_ruled = False
    for start, end in run:
        if _RULE.fullmatch(text[start:end]):
            is_ruled = is_ruled or len(rows) == 1
            continue
        cells = [_inked(text, start + left, min(start + right, end)) for left, right in columns]
        filled = [number for number, cell in enumerate(cells) if cell]
        if rows and filled == [len(columns) - 1]:
            _go_on(rows[-1][-1], cells[-1])
        else:
            rows.append(cells)
    return run, rows, is_ruled


def _fits(line: str, columns: Columns, *, is_first: bool) -> bool:
    """Return whether a line is a row of some columns, or goes on in the last one."""
    filled = [number for number, (start, end) in enumerate(columns) if line[start:end].strip()]
    if len(filled) > 1:
        return filled[0] == 0
    return filled == [len(columns) - 1] and not is_first


def _go_on(cell: Cell, below: Cell) -> None:
    """Append a cell of a line below to a cell, with the white space before it."""
    if cell:
        cell.append(below[0] - 1)
    cell += below


def _inked(text: str, start: int, end: int) -> Cell:
    """Return the places of a part of a line without white space at its ends."""
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    return list(range(start, start + len(part.strip())))


def _ink(line: str) -> int:
    """Return which characters of a line are not blank, a bit each."""
    bits = 0
    for match in _INK.finditer(line):
        width = match.end() - match.start()
        bits |= ((1 << width) - 1) << match.start()
    return bits


def _columns(ink: int) -> Columns:
    """Return the columns of lines whose characters are not blank at some places."""
    columns: Columns = []
    for run in re.finditer("1+", f"{ink:b}"[::-1]):
        start, end = run.span()
        if columns and start - columns[-1][1] < _NARROWEST_GAP:
            columns[-1] = (columns[-1][0], end)
        else:
            columns.append((start, end))
    return columns
