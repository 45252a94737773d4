"""Parse tables in Markdown and HTML, in the dialects of document-intelligence services and converters, with exact spans.

Azure Document Intelligence up to 2024-02 writes pipe tables that GFM cannot hold: several header rows before the delimiter, `||`
for a position that a merged cell covers, rows of a wrapped cell one below the other. It pads its cells and writes `| - | - |` as
delimiter row; in tables from other sources `||` is an empty cell. Later versions write HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from factoid._optional import require
from factoid.documents.rules import LOWERED, RAISED
from factoid.documents.tables import SELECTION, Cell, CellKind, Table, is_number
from factoid.markdown import visible
from factoid.sentences import Span

# An unclosed comment or fenced code extends to the end.
COMMENT = re.compile(r"<!--.*?(?:-->|(?P<unclosed>\Z))", re.DOTALL)
FENCE = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|(?P<unclosed>\Z))", re.DOTALL | re.MULTILINE
)

_PIPE = re.compile(r"(?<!\\)\|")
_AZURE_DELIMITER = re.compile(r"[\s>]*\|(?: - \|)+\s*")
_UNPADDED = re.compile(r"(?<!\\)\|[^\s|]")
_SMALL = re.compile(r"<(sup|sub)\b[^<>]*>(.*?)</\1\s*>", re.IGNORECASE | re.DOTALL)
_HAS_SMALL = re.compile(r"[\d+−–=, -]+|[a-z]")  # words stay unchanged, such as "st" in "21st"
_RAISED, _LOWERED = RAISED | {ord("–"): "⁻"}, LOWERED | {ord("–"): "₋"}
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
# A table begins with a part of one: "<table>" in prose is text.
_HTML_TABLE = re.compile(
    r"""<(/)table\s*>|<table\b(?:"[^"]*"|'[^']*'|[^'">])*+>(?=\s*<(?:caption|col|t[bdfhr]))""", re.IGNORECASE
)
_HTML_CELL = re.compile(r"<t[dh]\b[^>]*>", re.IGNORECASE)
_CELL_END = re.compile(r"</?(?:t[dhr]|tbody|thead|tfoot|table)\b", re.IGNORECASE)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_CAPTION = re.compile(r"[*_]{0,3}(?:Table|Tab\.|Exhibit|Schedule)\s+[A-Z]?[\dIVXLC]+[\d.]*[a-z]?\s*[:.|—–*-]")
_OPEN_WORDS = 5  # a cell wrapped into the next row has at least this many words
_MOST_SPAN = 1000  # rows or columns of one HTML cell, the limit of browsers

_END_OF_SENTENCE = (".", "!", "?", "…", '."', '?"', ".”")


class _Field(NamedTuple):
    text: str
    start: int
    end: int
    covered: bool = False  # nothing between two pipes: in Azure's dialect a merged cell covers it


def markdown_tables(text: str) -> list[Table]:
    """Return the tables of a Markdown text, pipe tables and HTML, in order, with captions and spans.

    Texts of cells are as a reader sees them; selection marks and line-end hyphens stay. A row that only continues the cells of
    the row above is part of that row. A paragraph that begins like "Table 2:" is the caption of the table before it or, if there
    is none, of the one after it.
    """
    tables = sorted([*_pipe_tables(text), *_html_tables(text)], key=lambda table: table.span or (0, 0))
    return _with_captions(text, tables)


def is_caption(text: str) -> bool:
    """Return whether a paragraph begins like the caption of a table, "Table 2:"."""
    return _CAPTION.match(text) is not None


def html_table(source: str, *, start: int = 0) -> Table:
    """Return the first table in some HTML; `start` is its position in the content that was read.

    Attributes other than rowspan, colspan and scope are ignored, nested markup is text, and so is a table in a cell.

    Raises:
        MissingDependencyError: lxml is not installed.
    """
    lxml_html: Any = require("lxml.html", extra="documents")
    root = lxml_html.fragment_fromstring(source, create_parent="div")
    element = next(root.iter("table"), None)
    if element is None:
        return Table((), 0, 0, span=(start, start + len(source)))
    spans = _html_cell_spans(source, start)
    cells: list[Cell] = []
    taken: set[tuple[int, int]] = set()
    rows = [row for row in element.iter("tr") if next(row.iterancestors("table")) is element]
    elements = [[cell for cell in row if cell.tag in ("td", "th")] for row in rows]
    count = sum(map(len, elements))
    positions = iter(spans if len(spans) == count else [None] * count)
    for index, (row, row_cells) in enumerate(zip(rows, elements, strict=True)):
        is_header = row.getparent().tag == "thead" or (bool(row_cells) and all(cell.tag == "th" for cell in row_cells))
        column = 0
        for cell in row_cells:
            while (index, column) in taken:
                column += 1
            row_span = min(_count(cell.get("rowspan")), len(rows) - index)
            column_span = _count(cell.get("colspan"))
            kind = _html_kind(cell, is_header and cell.get("scope") != "row", column)
            cells.append(Cell(index, column, _element_text(cell), row_span, column_span, kind, next(positions)))
            taken |= {(index + down, column + right) for down in range(row_span) for right in range(column_span)}
            column += column_span
    caption = next((_element_text(child) for child in element if child.tag == "caption"), "")
    width = max((column + 1 for _, column in taken), default=0)
    return Table(tuple(cells), len(rows), width, caption, span=(start, start + len(source)))


def _count(value: str | None) -> int:
    return min(max(int(value), 1), _MOST_SPAN) if value and value.strip().isdecimal() else 1


def _html_kind(cell: Any, is_header: bool, column: int) -> CellKind:
    if is_header:
        return "columnHeader"
    return "rowHeader" if cell.tag == "th" and (column == 0 or cell.get("scope") == "row") else "content"


def _element_text(element: Any) -> str:
    """Return the text of an element on one line; breaks and blocks within it end words."""
    return " ".join("".join(_in_order(element)).split())


def _in_order(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        block = child.tag in ("br", "p", "div", "li", "ul", "ol", "td", "th", "tr", "table")
        yield " " if block else ""
        if child.tag in ("sup", "sub"):
            yield _small(child.tag, _element_text(child))
        elif isinstance(child.tag, str):  # a comment has none
            yield from _in_order(child)
        yield (" " if block else "") + (child.tail or "")


def _small(tag: str, text: str) -> str:
    """Return raised or lowered text in Unicode's characters for it, so that "10⁶" does not become "106"."""
    is_raised = tag.lower() == "sup"
    return text.translate(_RAISED if is_raised else _LOWERED) if _HAS_SMALL.fullmatch(text) else text


def _plain_line(source: str) -> str:
    """Return what a reader sees of Markdown, on one line."""
    small = _SMALL.sub(lambda match: _small(match[1], visible(match[2]).text.strip()), source)
    return " ".join(visible(small).text.split())


def _html_cell_spans(source: str, start: int) -> list[Span]:
    spans = []
    hidden = _hidden(source, COMMENT)
    for match in _HTML_CELL.finditer(hidden):
        end = _CELL_END.search(hidden, match.end())
        left, right = _stripped(source, match.end(), end.start() if end else len(source))
        spans.append((start + left, start + right))
    return spans


def _stripped(text: str, start: int, end: int) -> Span:
    """Return a span without the white space at its ends."""
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    return start, start + len(part.strip())


def _hidden(text: str, *patterns: re.Pattern[str]) -> str:
    """Return the text with comments or fenced code blanked out; offsets stay."""
    for pattern in patterns:
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return text


def _html_tables(text: str) -> Iterator[Table]:
    depth, begin = 0, 0
    for match in _HTML_TABLE.finditer(_hidden(text, COMMENT, FENCE)):
        if not match[1]:
            begin = begin if depth else match.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield html_table(text[begin : match.end()], start=begin)
    if depth:  # cut off
        yield html_table(text[begin:], start=begin)


def _pipe_tables(text: str) -> Iterator[Table]:
    """Yield the tables around the delimiter rows that markdown-it recognises."""
    from markdown_it import MarkdownIt

    hidden = _hidden(text, COMMENT, FENCE)
    parser = MarkdownIt("commonmark").enable("table")
    tokens: list[Any] = []
    parser.block.parse(hidden.replace("\r", " "), parser, {}, tokens)
    starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text) + 1]
    last = 0
    for token in tokens:
        if token.type != "table_open" or token.map is None:
            continue
        first, end = token.map
        delimiter = first + 1
        while first > last and hidden[starts[first - 1] : starts[first] - 1].strip().startswith("|"):
            first -= 1  # headers of several rows
        last = end
        lines = [(starts[line], text[starts[line] : starts[line + 1] - 1].rstrip("\r")) for line in range(first, end)]
        above, below = lines[: delimiter - first], lines[delimiter - first + 1 :]
        rows = [_fields(line, at) for at, line in above + below]
        is_azure = _AZURE_DELIMITER.fullmatch(lines[delimiter - first][1]) is not None
        is_azure = is_azure and not any(_UNPADDED.search(line) for _, line in above + below)
        yield _pipe_table(rows, len(above), (lines[0][0], lines[-1][0] + len(lines[-1][1])), is_azure=is_azure)


def _fields(line: str, start: int) -> list[_Field]:
    pipes = [match.start() for match in _PIPE.finditer(line)]
    begin = len(line) - len(line.lstrip(" \t>"))
    bounds = [*pipes, len(line)]
    if not pipes or pipes[0] != begin:
        bounds.insert(0, begin - 1)
    if pipes and not line[pipes[-1] + 1 :].strip():
        bounds.pop()
    fields = []
    for left, right in pairwise(bounds):
        begin, end = _stripped(line, left + 1, right)
        shown = _plain_line(_BREAK.sub(" ", line[begin:end].replace("\\|", "|")))
        fields.append(_Field(shown, start + begin, start + end, left + 1 == right))
    return fields


def _pipe_table(rows: list[list[_Field]], header_count: int, span: Span, *, is_azure: bool) -> Table:
    width = max(map(len, rows), default=0)
    rows = [[*row, *[_Field("", span[1], span[1])] * (width - len(row))] for row in rows]
    merged = is_azure and any(field.covered for row in rows for field in row)
    while header_count and not any(field.text for field in rows[0]):
        rows, header_count = rows[1:], header_count - 1
    header, body = rows[:header_count], rows[header_count:]
    if merged:
        header = _with_split_headers(header, body)
        body = _with_first_section(_without_wrapped(body))
    rows = header + body
    cells = _cells(rows, header_count, merged=merged)
    return Table(tuple(cells), len(rows), width, span=span)


def _with_split_headers(header: list[list[_Field]], body: Sequence[Sequence[_Field]]) -> list[list[_Field]]:
    """Give each column its own header if one field of the last row holds those of a whole group, like "R@5 R@20"."""
    if len(header) < 2:
        return header
    leaves, above = list(header[-1]), header[0]
    groups = [index for index, field in enumerate(above) if field.text] + [len(above)]
    for first, end in pairwise(groups):
        texts = [field for field in leaves[first:end] if field.text]
        if len(texts) != 1 or end - first < 2 or not all(any(row[c].text for row in body) for c in range(first, end)):
            continue
        tokens = list(re.finditer(r"\S+", texts[0].text))
        shapes = {re.sub(r"\d+", "0", token.group()) for token in tokens}
        if len(tokens) == end - first and len(shapes) == 1 and "0" in shapes.pop():
            leaves[first:end] = [texts[0]._replace(text=token.group()) for token in tokens]
    return [*header[:-1], leaves]


def _without_wrapped(body: list[list[_Field]]) -> list[list[_Field]]:
    rows: list[list[_Field]] = []
    for row in body:
        if rows and _continues(rows[-1], row):
            rows[-1] = list(map(_joined, rows[-1], row))
        else:
            rows.append(row)
    return rows


def _with_first_section(body: list[list[_Field]]) -> list[list[_Field]]:
    """Let a single text at the start span the first row if one spans a later row: Azure mixes both forms in one table."""
    alone = [not any(field.text for field in row[1:]) and bool(row[0].text) for row in body]
    if not any(alone[1:]) or not alone[0]:
        return body
    if not any(all(field.covered for field in row[1:]) for row, is_alone in zip(body, alone, strict=True) if is_alone):
        return body
    return [[body[0][0], *(field._replace(covered=True) for field in body[0][1:])], *body[1:]]


def _continues(above: Sequence[_Field], row: Sequence[_Field]) -> bool:
    """Return whether a row only holds the rest of cells above, which are long and end within a sentence."""
    if not any(field.text for field in row) or (row[0].text and not row[0].text[0].islower()):
        return False
    for before, field in zip(above, row, strict=True):
        open_text = SELECTION.sub("", before.text)
        is_open = len(open_text.split()) >= _OPEN_WORDS and not open_text.endswith(_END_OF_SENTENCE)
        if field.text and (not is_open or is_number(field.text)):
            return False
    return True


def _joined(before: _Field, field: _Field) -> _Field:
    if not field.text:
        return before
    return _Field(f"{SELECTION.sub('', before.text).rstrip()} {field.text}", before.start, field.end)


def _cells(rows: Sequence[Sequence[_Field]], header_count: int, *, merged: bool) -> list[Cell]:
    """Return cells that cover the positions after them and, at the start of a row, below them.

    A covered position belongs to the cell at its left; at the start of a row, and below a header of one column, to the cell
    above it.
    """
    cells: list[Cell] = []
    owner: dict[tuple[int, int], int] = {}
    for index, row in enumerate(rows):
        kind: CellKind = "columnHeader" if index < header_count else "content"
        for column, field in enumerate(row):
            above = owner.get((index - 1, column)) if index != header_count else None
            beside = owner.get((index, column - 1))
            if merged and field.covered:
                if beside is not None and cells[beside].row == index and cells[beside].text:
                    cells[beside] = replace(cells[beside], column_span=column - cells[beside].column + 1)
                    owner[index, column] = beside
                    continue
                if above is not None and cells[above].column_span == 1 and cells[above].text:
                    cells[above] = replace(cells[above], row_span=index - cells[above].row + 1)
                    owner[index, column] = above
                    continue
            owner[index, column] = len(cells)
            cells.append(Cell(index, column, field.text, kind=kind, span=(field.start, field.end)))
    return cells


def _with_captions(text: str, tables: Sequence[Table]) -> list[Table]:
    """Return tables with the paragraphs that name them: the next one, or else the one before."""
    results: list[Table] = []
    taken: set[int] = set()
    spans = [(0, 0), *(table.span or (0, 0) for table in tables), (len(text), len(text))]
    for table, (_, floor), (start, end), (limit, _) in zip(tables, spans, spans[1:], spans[2:], strict=False):
        for span in (_paragraph_after(text, end, limit), _paragraph_before(text, floor, start)):
            if not table.caption and span[0] not in taken and _CAPTION.match(text, *span):
                taken.add(span[0])
                table = replace(table, caption=_plain_line(text[slice(*span)]), caption_span=span)
        results.append(table)
    return results


def _paragraph_after(text: str, start: int, limit: int) -> Span:
    start, limit = _stripped(text, start, limit)
    end = _BLANK_LINE.search(text, start, limit)
    return _stripped(text, start, end.start() if end else limit)


def _paragraph_before(text: str, floor: int, end: int) -> Span:
    start, end = _stripped(text, floor, end)
    blank = text.rfind("\n\n", start, end)
    return _stripped(text, blank if blank >= 0 else start, end)
