"""Rows of tables, as markdown-it, lxml and csv read them, and whether propositions name their
columns.
"""

from __future__ import annotations

import csv
import html as entities
import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import NamedTuple

from lxml import etree, html
from markdown_it import MarkdownIt

from benchmarks.real_files.syntax import (
    ATTRIBUTES,
    COMMENT,
    DIRECTIVE,
    FOOTNOTE,
    ICON,
    PATTERNS,
    Source,
    letters,
    rendered,
)

_RULE = re.compile(r"^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_DEFINITION = re.compile(r"^ {0,3}\[(?!\^)[^\]\n]+\]:[^\n]+$", re.MULTILINE)  # of a link
_HTML_TABLE = re.compile(r"<table\b(?:(?!<table\b).)*?</table\s*>", re.DOTALL | re.IGNORECASE)
_HIDDEN = (ATTRIBUTES, COMMENT, DIRECTIVE, FOOTNOTE, ICON)


LONG = 150  # letters of a cell that may be several propositions
PIECE = 25


class Row(NamedTuple):
    """A row below a header: the name of the column and the text of each cell that is not empty, and
    whose markup it is.
    """

    kind: str
    cells: Sequence[tuple[str, str]]


def rows_of(source: Source) -> Iterator[Row]:
    """Yield the rows of the tables of a Markdown text."""
    yield from _pipe_rows(source)
    yield from _html_rows(source)


def csv_rows(text: str) -> Iterator[Row]:
    """Yield the rows of a table in CSV."""
    first = text.partition("\n")[0]
    delimiter = max(",;\t|:", key=first.count)
    table = [row for row in csv.reader(StringIO(text), delimiter=delimiter) if "".join(row).strip()]
    names = list(map(str.strip, table[0]))
    for row in table[1:]:
        cells = []
        for name, cell in zip(names, map(str.strip, row), strict=False):
            if cell:
                cells.append((name, cell))
        yield Row("csv", cells)


def is_named(row: Row, propositions: Sequence[str]) -> bool:
    """Say whether each cell of a row stands with the name of its column, and the row's first cell,
    in a proposition.

    Args:
        row: The row.
        propositions: The letters of each proposition of the document.
    """
    is_header = not any(letters(name) for name, _ in row.cells)  # below one that is empty
    key = "" if is_header else letters(row.cells[0][1])
    for name, cell in row.cells:
        text = letters(cell)
        pieces = [text]
        if len(text) >= LONG:  # a long cell is several propositions
            pieces = [text[:PIECE], text[-PIECE:]]
        for piece in pieces:
            parts = {letters(name), piece, key if len(key) < LONG else ""}
            if not any(_holds_all(proposition, parts) for proposition in propositions):
                return False
    return True


def _holds_all(proposition: str, parts: Iterable[str]) -> bool:
    return all(part in proposition for part in parts)


def _filled(names: Sequence[str], cells: Sequence[str]) -> list[tuple[str, str]]:
    """Return the cells of a row that hold anything, each after the name of its column."""
    return [(name, cell) for name, cell in zip(names, cells, strict=False) if letters(cell)]


def _pipe_rows(source: Source) -> Iterator[Row]:
    definitions = ""
    for match in _DEFINITION.finditer(source.text):
        if not rendered(match[0]):
            definitions += f"{match[0]}\n"
    lines = source.text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    number = 1
    while number < len(lines):
        is_rule = (
            _RULE.match(lines[number])
            and "|" in lines[number - 1]
            and "-" in lines[number]
            and "|" in lines[number]
        )
        if not is_rule or source.is_code(starts[number]) or source.reasons[starts[number]]:
            number += 1
            continue
        end = number + 1
        while end < len(lines) and lines[end].strip(" \t>") and "|" in lines[end]:
            end += 1
        block = re.sub(
            r"^(?:[ \t>]|[-*+][ \t])*", "", "\n".join(lines[number - 1 : end]), flags=re.MULTILINE
        )
        yield from _parsed_rows(block, definitions)
        number = end


def _parsed_rows(block: str, definitions: str) -> Iterator[Row]:
    tokens = MarkdownIt("commonmark").enable("table").parse(block)
    names: list[str] = []
    cells: list[str] = []
    for number, token in enumerate(tokens):
        if token.type in ("th_open", "td_open"):
            cells.append(_shown(tokens[number + 1].content, definitions))
        elif token.type == "tr_close":
            if not names:
                names = cells or [""]
            else:
                filled = _filled(names, cells)
                if filled:
                    yield Row("markdown", filled)
            cells = []


def _without_hidden(cell: str) -> str:
    for reason, pattern in PATTERNS:
        if reason in _HIDDEN:
            cell = pattern.sub(" ", cell)
    return cell


def _shown(cell: str, definitions: str) -> str:
    cell = _without_hidden(cell)
    table = f"| {cell.replace('|', chr(92) + '|')} |\n|---|"
    return rendered(f"{table}\n\n{definitions}", keep_code=True)


def _html_rows(source: Source) -> Iterator[Row]:
    for match in _HTML_TABLE.finditer(source.text):
        at = match.start()
        if source.is_code(at) or source.reasons[at] in (COMMENT, DIRECTIVE):
            continue
        if source.is_inline_code(at):
            continue
        try:
            table = html.fromstring(match[0])
        except etree.ParserError:
            continue
        if any(map(_is_merged, table.xpath(".//td|.//th"))):
            continue
        names: list[str] = []
        for row in table.xpath(".//tr"):
            columns = row.xpath("./td|./th")
            texts = [_shown_in_html(cell) for cell in columns]
            if not names:
                if not columns or any(cell.tag != "th" for cell in columns):
                    break  # nothing says that it is a header
                names = texts
                continue
            filled = _filled(names, texts)
            if filled:
                yield Row("html", filled)


def _is_merged(cell: html.HtmlElement) -> bool:
    return cell.get("colspan", "1") != "1" or cell.get("rowspan", "1") != "1"


def _shown_in_html(cell: html.HtmlElement) -> str:
    text = rendered(_without_hidden(_inner(cell)), keep_code=True)
    return " ".join(entities.unescape(text).split())


def _inner(cell: html.HtmlElement) -> str:
    parts = [cell.text or ""]
    parts += [html.tostring(child, encoding="unicode") for child in cell]
    return "".join(parts).strip()
