"""Parse tables in Markdown and HTML, in the dialects of document-intelligence services and converters.

Azure Document Intelligence up to 2024-02 writes pipe tables that GFM cannot hold: several header rows before the delimiter, `||`
for a position that a merged cell covers, rows of a wrapped cell one below the other. It writes `| - | - |` as delimiter row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from factoid._optional import require
from factoid.documents.tables import SELECTION, Cell, Table, is_number
from factoid.markdown import visible
from factoid.sentences import Span

# An unclosed comment or fenced code extends to the end.
COMMENT = re.compile(r"<!--.*?(?:-->|(?P<unclosed>\Z))", re.DOTALL)
FENCE = re.compile(
    r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|(?P<unclosed>\Z))", re.DOTALL | re.MULTILINE
)

_PIPE = re.compile(r"(?<!\\)\|")
_AZURE_DELIMITER = re.compile(r"[\s>]*\|(?: - \|)+\s*")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_NO_TABLE = r"<(?!table\b)"
# A table begins with a part of one: "<table>" in prose is text.
_HTML_TABLE = re.compile(
    rf"""<table\b(?:"(?:[^"<]|{_NO_TABLE})*+"|'(?:[^'<]|{_NO_TABLE})*+'|[^'"<>])*+>
    (?=\s*<(?:caption|col|t[bdfhr])).*?(?:</table\s*>|\Z)""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_RAISED = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")  # "10⁶" is not 106
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_CAPTION = re.compile(r"[*_]{0,3}(?:Table|Tab\.|Exhibit|Schedule)\s+[A-Z]?[\dIVXLC]++(?:\.\d++)*+[a-z]?\s*[:.|—–*-]")
_OPEN_WORDS = 5  # a cell wrapped into the next row has at least this many words
_MOST_SPAN = 1000  # rows or columns of one HTML cell, the limit of browsers
_END_OF_SENTENCE = (".", "!", "?", "…", '."', '?"', ".”")

_COVERED = None  # nothing between two pipes: in Azure's dialect a merged cell covers it
_Texts = list[str | None]


def markdown_tables(text: str) -> list[Table]:
    """Return the tables of a Markdown text, pipe tables and HTML, in order, with captions and spans.

    Texts of cells are as a reader sees them; selection marks and line-end hyphens stay. A row that only continues the cells of
    the row above is part of that row. A paragraph that begins like "Table 2:" is the caption of the table before it or, if there
    is none, of the one after it.

    Raises:
        MissingDependencyError: A table is in HTML, and lxml is not installed.
    """
    return with_captions(text, [*_pipe_tables(text), *_html_tables(text)])


def _html_table(source: str, start: int) -> Table:
    """Return a table from its HTML, which begins at `start` in the content."""
    lxml_html: Any = require("lxml.html", extra="documents")
    element = lxml_html.fragment_fromstring(source, create_parent="div").find(".//table")
    cells: list[Cell] = []
    taken: set[tuple[int, int]] = set()
    rows = element.xpath("./tr | ./*/tr")
    for index, row in enumerate(rows):
        in_head = row.getparent().tag == "thead" or not row.xpath("./td")
        column = 0
        for cell in row.xpath("./td | ./th"):
            while (index, column) in taken:
                column += 1
            row_span, column_span = min(_count(cell.get("rowspan")), len(rows) - index), _count(cell.get("colspan"))
            kind = "columnHeader" if in_head else "content" if cell.tag == "td" else "rowHeader"
            cells.append(Cell(index, column, _text(cell), row_span, column_span, kind))
            taken |= {(index + down, column + right) for down in range(row_span) for right in range(column_span)}
            column += column_span
    caption = next(map(_text, element.xpath("./caption")), "")
    width = max((column + 1 for _, column in taken), default=0)
    return Table(tuple(cells), len(rows), width, caption, span=(start, start + len(source)))


def _count(value: str | None) -> int:
    return min(max(int(value), 1), _MOST_SPAN) if value and value.strip().isdecimal() else 1


def _text(element: Any) -> str:
    """Return the text of an element on one line; breaks and blocks within it end words."""
    for raised in element.iter("sup"):
        raised.text = (raised.text or "").translate(_RAISED)
    for block in element.iter("br", "p", "div", "li"):
        block.tail = f" {block.tail or ''}"
    return " ".join(element.text_content().split())


def _plain_line(source: str) -> str:
    """Return what a reader sees of Markdown, on one line."""
    return " ".join(visible(source).text.split())


def _stripped(text: str, start: int, end: int) -> Span:
    """Return a span without the white space at its ends."""
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    return start, start + len(part.strip())


def _hidden(text: str) -> str:
    """Return the text with comments and fenced code blanked out; offsets stay."""
    for pattern in (COMMENT, FENCE):
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return text


def _html_tables(text: str) -> Iterator[Table]:
    for match in _HTML_TABLE.finditer(_hidden(text)):
        yield _html_table(match[0], match.start())


def _pipe_tables(text: str) -> Iterator[Table]:
    """Yield the tables around the delimiter rows that markdown-it recognises."""
    from markdown_it import MarkdownIt

    hidden = _hidden(text)
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
        lines = [text[starts[line] : starts[line + 1] - 1] for line in range(first, end)]
        is_azure = _AZURE_DELIMITER.fullmatch(lines[delimiter - first]) is not None
        rows = [_texts(line) for line in lines[: delimiter - first] + lines[delimiter - first + 1 :]]
        span = _stripped(text, starts[first], starts[end] - 1)
        yield _pipe_table(rows, delimiter - first, span, is_azure=is_azure)


def _texts(line: str) -> _Texts:
    """Return the texts between the pipes of a line."""
    line = line.lstrip(" \t>").rstrip()
    parts = _PIPE.split(line.removeprefix("|"))
    if len(parts) > 1 and not parts[-1].strip():
        parts.pop()
    return [_plain_line(_BREAK.sub(" ", part.strip().replace("\\|", "|"))) if part else _COVERED for part in parts]


def _pipe_table(rows: list[_Texts], header_count: int, span: Span, *, is_azure: bool) -> Table:
    width = max(map(len, rows), default=0)
    rows = [[*row, *[""] * (width - len(row))] for row in rows]
    if not is_azure:
        rows = [[text or "" for text in row] for row in rows]
    while header_count and not any(rows[0]):
        rows, header_count = rows[1:], header_count - 1
    header, body = rows[:header_count], rows[header_count:]
    if is_azure:
        header, body = _with_split_headers(header), _with_first_section(_without_wrapped(body))
    return Table(tuple(_cells(header + body, header_count)), len(header + body), width, span=span)


def _with_split_headers(header: list[_Texts]) -> list[_Texts]:
    """Give each column its own header if one text of the last row holds those of a whole group, like "R@5 R@20"."""
    if len(header) < 2:
        return header
    leaves = list(header[-1])
    groups = [index for index, text in enumerate(header[0]) if text] + [len(leaves)]
    for first, end in pairwise(groups):
        tokens = " ".join(filter(None, leaves[first:end])).split()
        shapes = {re.sub(r"\d+", "0", token) for token in tokens}
        if len(tokens) == end - first > 1 == len(shapes) and "0" in shapes.pop():
            leaves[first:end] = tokens
    return [*header[:-1], leaves]


def _without_wrapped(body: list[_Texts]) -> list[_Texts]:
    """Join rows that only hold the rest of cells above, which are long and end within a sentence."""
    rows: list[_Texts] = []
    for row in body:
        if rows and _continues(rows[-1], row):
            pairs = zip(rows[-1], row, strict=True)
            rows[-1] = [f"{SELECTION.sub('', above or '')} {text}" if text else above for above, text in pairs]
        else:
            rows.append(row)
    return rows


def _continues(above: _Texts, row: _Texts) -> bool:
    pairs = [(SELECTION.sub("", before or ""), text) for before, text in zip(above, row, strict=True) if text]
    if not pairs or (row[0] and not row[0][0].islower()):
        return False
    return all(
        len(before.split()) >= _OPEN_WORDS and not before.endswith(_END_OF_SENTENCE) and not is_number(text)
        for before, text in pairs
    )


def _with_first_section(body: list[_Texts]) -> list[_Texts]:
    """Let a single text at the start span the first row if one spans a later row: Azure mixes both forms in one table."""
    if not body or not body[0][0] or any(body[0][1:]):
        return body
    if not any(row[0] and row[1:] and all(text is _COVERED for text in row[1:]) for row in body):
        return body
    return [[body[0][0], *[_COVERED] * (len(body[0]) - 1)], *body[1:]]


def _cells(rows: Sequence[_Texts], header_count: int) -> list[Cell]:
    """Return cells. A covered position belongs to the cell at its left; at the start of a row, to the cell above it."""
    cells: list[Cell] = []
    owner: dict[tuple[int, int], int] = {}
    for index, row in enumerate(rows):
        kind = "columnHeader" if index < header_count else "content"
        for column, text in enumerate(row):
            if text is _COVERED:
                beside = owner.get((index, column - 1))
                if beside is not None and cells[beside].row == index and cells[beside].text:
                    cells[beside] = replace(cells[beside], column_span=column - cells[beside].column + 1)
                    owner[index, column] = beside
                    continue
                above = owner.get((index - 1, column)) if index != header_count else None
                if above is not None and cells[above].column_span == 1 and cells[above].text:
                    cells[above] = replace(cells[above], row_span=index - cells[above].row + 1)
                    owner[index, column] = above
                    continue
            owner[index, column] = len(cells)
            cells.append(Cell(index, column, text or "", kind=kind))
    return cells


def with_captions(text: str, tables: Sequence[Table]) -> list[Table]:
    """Return tables in order, with the paragraphs that name them: the next one, or else the one before."""
    tables = sorted(tables, key=lambda table: table.span or (0, 0))
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
