"""Parse tables in Markdown and HTML, in the dialects of services and converters.

Azure Document Intelligence up to 2024-02 writes pipe tables that GFM cannot hold: several header
rows before the delimiter, `||` for a position that a merged cell covers, rows of a wrapped cell one
below the other. It writes `| - | - |` as delimiter row.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from factoid._optional import require
from factoid.documents.tables import SELECTION, Cell, Table, check_unfilled, is_number
from factoid.errors import InvalidInputError
from factoid.files.safe_markup import without_many_attributes
from factoid.sentences import Span
from factoid.text.html.tags import is_struck
from factoid.text.inline import inline
from factoid.text.markdown import block_tokens
from factoid.words import RAISED

# An unclosed comment or fenced code extends to the end.
COMMENT = re.compile(r"<!--.*?(?:-->|(?P<unclosed>\Z))", re.DOTALL)
FENCE = re.compile(
    r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|(?P<unclosed>\Z))",
    re.DOTALL | re.MULTILINE,
)

_PIPE = re.compile(r"(?<!\\)\|")
_AZURE_DELIMITER = re.compile(r"[\s>]*\|(?: - \|)+\s*")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_NO_TABLE = r"<(?!table\b)"
# A table begins with a part of one: "<table>" in prose is text.
_TABLE_START = re.compile(
    rf"""<table\b(?:"(?:[^"<]|{_NO_TABLE})*+"|'(?:[^'<]|{_NO_TABLE})*+'|[^'"<>])*+>
    (?=\s*<(?:caption|col|t[bdfhr]))""",
    re.IGNORECASE | re.VERBOSE,
)
_TABLE_TAG = re.compile(r"<(/?)table(?![\w-])[^<>]*>", re.IGNORECASE)
# Elements that begin and end words.
_BLOCKS = frozenset(
    "address article aside blockquote br caption dd div dl dt figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 header hr li main "
    "nav ol p pre section table tbody td tfoot th thead tr ul".split()
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_CAPTION = re.compile(
    r"[*_]{0,3}(?:Table|Tab\.|Exhibit|Schedule)\s+[A-Z]?[\dIVXLC]++(?:\.\d++)*+[a-z]?\s*[:.|—–*-]"
)
_OPEN_WORDS = 5  # a cell wrapped into the next row has at least this many words
_MOST_SPAN = 1000  # rows or columns of one HTML cell, the limit of browsers
_END_OF_SENTENCE = (".", "!", "?", "…", '."', '?"', ".”")

# characters that XML cannot hold
_NO_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

_COVERED = None  # nothing between two pipes: in Azure's dialect a merged cell covers it
_Texts = list[str | None]


def markdown_tables(text: str) -> list[Table]:
    """Return the tables of a Markdown text, with captions and spans.

    These are pipe tables and HTML, in order. Texts of cells are as a reader sees them; selection
    marks and line-end hyphens stay. A row that only continues the cells of the row above is part of
    that row. A paragraph that begins like "Table 2:" is the caption of the table before it or, if
    there is none, of the one after it.

    Raises:
        MissingDependencyError: A table is in HTML, and lxml is not installed.
        InvalidInputError: A table in HTML is nested deeper than 250 tags, or a table has far more
            positions than cells (`factoid.documents.tables.MOST_UNFILLED`).
    """
    return with_captions(text, [*_pipe_tables(text), *_html_tables(text)])


def html_table(source: str, start: int) -> Table:
    """Return a table from its HTML, which begins at `start` in the content."""
    lxml_html: Any = require("lxml.html", extra="documents")
    parser = lxml_html.HTMLParser()
    checked = without_many_attributes(_NO_XML.sub(" ", source))
    parent = lxml_html.fragment_fromstring(checked, create_parent="div", parser=parser)
    for entry in parser.error_log:
        if entry.level_name == "FATAL":  # the parser's limit of depth; it drops the rest
            raise InvalidInputError(
                f"the table in HTML at character {start:,} cannot be parsed: {entry.message}"
            )
    element = parent.find(".//table")
    cells: list[Cell] = []
    rows = element.xpath("./tr | ./*/tr")
    # where the head, the body and the foot end
    groups = {}
    for index, row in enumerate(rows):
        groups[row.getparent()] = index + 1
    above: list[_Covered] = []  # by merged cells of the rows above, from left to right
    covered = 0
    for index, row in enumerate(rows):
        group = row.getparent()
        in_head = group.tag == "thead" or _names_columns(rows, index)
        above = [columns for columns in above if columns.below > index]
        covered += len(above)
        check_unfilled(len(rows), len(cells), len(cells) + covered)
        merged: list[_Covered] = []
        column = following = 0
        for cell in row.xpath("./td | ./th"):
            while following < len(above) and above[following].start <= column:
                column = max(column, above[following].end)
                following += 1
            below = min(index + _count(cell.get("rowspan")), groups[group])
            end = column + _count(cell.get("colspan"))
            if in_head:
                kind = "columnHeader"
            elif cell.tag == "td":
                kind = "content"
            else:
                kind = "rowHeader"
            cells.append(Cell(index, column, _text(cell), below - index, end - column, kind))
            if below > index + 1:
                merged.append(_Covered(column, end, below))
            column = end
        above = sorted([*above, *merged])
    caption = next(map(_text, element.xpath("./caption")), "")
    cells, width = _without_empty_columns(cells)
    return Table(tuple(cells), len(rows), width, caption, span=(start, start + len(source)))


def _names_columns(rows: Sequence[Any], index: int) -> bool:
    """Return whether a row has only header cells for the whole table.

    A header of the rows below it, such as a year for its months, does not count.
    """
    row = rows[index]
    if row.xpath("./td"):
        return False
    depth = max((_count(cell.get("rowspan")) for cell in row.xpath("./th")), default=1)
    return not any(below.xpath("./td") for below in rows[index + 1 : index + depth])


class _Covered(NamedTuple):
    """Columns `[start, end)` that a merged cell covers in the rows above `below`."""

    start: int
    end: int
    below: int


def _without_empty_columns(cells: Iterable[Cell]) -> tuple[list[Cell], int]:
    """Leave out the columns in which no cell begins, which browsers do not show.

    Return the number of those that are left.
    """
    starts = sorted({cell.column for cell in cells})
    places: list[Cell] = []
    for cell in cells:
        column = bisect_left(starts, cell.column)
        end = bisect_left(starts, cell.column + cell.column_span)
        places.append(replace(cell, column=column, column_span=end - column))
    return places, len(starts)


def _count(value: str | None) -> int:
    digits = (value or "").strip()
    if not digits.isdecimal():
        return 1
    if len(digits) <= len(str(_MOST_SPAN)):
        return min(max(int(digits), 1), _MOST_SPAN)
    return _MOST_SPAN


def _text(element: Any) -> str:
    """Return the text of an element on one line.

    Blocks and cells within it are words of their own.
    """
    parts: list[str] = []
    _add_text(element, parts)
    return " ".join("".join(parts).split())


def _add_text(element: Any, parts: list[str]) -> None:
    is_raised = element.tag == "sup"
    text = element.text or ""
    if is_raised:
        text = text.translate(RAISED)
    parts.append(text)
    for child in element:
        is_block = child.tag in _BLOCKS
        if is_block:
            parts.append(" ")
        if child.tag == "input" and child.get("type", "").lower() == "checkbox":
            if child.get("checked") is None:
                parts.append("☐ ")
            else:
                parts.append("☒ ")
        elif child.tag == "img":
            parts.append(child.get("alt") or "")
        elif isinstance(child.tag, str) and _is_seen(child):
            _add_text(child, parts)
        if is_block:
            parts.append(" ")
        parts.append(child.tail or "")


def _is_seen(element: Any) -> bool:
    if element.tag in ("script", "style", "template"):
        return False
    return not is_struck(element.tag, element.get("style", ""))


def _plain_line(source: str) -> str:
    """Return what a reader sees of Markdown, on one line."""
    return " ".join(inline(source, range(len(source))).text.split())


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
    hidden = _hidden(text)
    tags = [(match.start(), match.end(), bool(match[1])) for match in _TABLE_TAG.finditer(hidden)]
    end = place = 0
    for match in _TABLE_START.finditer(hidden):
        if match.start() < end:  # within the table before
            continue
        while place < len(tags) and tags[place][0] <= match.start():
            place += 1
        # of a table that is never closed; one with an open table inside ends at the first end
        ends = [len(text)]
        depth = 1
        following = place
        while following < len(tags) and depth:
            _, end, is_end = tags[following]
            if is_end:
                depth -= 1
                ends.append(end)
            else:
                depth += 1
            following += 1
        if depth == 0:
            end = ends[-1]
        else:
            end = ends[:2][-1]
        yield html_table(hidden[match.start() : end], match.start())


def _pipe_tables(text: str) -> Iterator[Table]:
    """Yield the tables around the delimiter rows that markdown-it recognises."""
    hidden = _hidden(text)
    tokens = block_tokens(hidden.replace("\r", " "))
    starts = [0]  # of the lines
    for line_end in re.finditer("\n", text):
        starts.append(line_end.end())
    starts.append(len(text) + 1)
    last = 0
    for token in tokens:
        if token.type != "table_open" or token.map is None:
            continue
        first, end = token.map
        delimiter = first + 1
        while first > last:  # headers of several rows
            above = hidden[starts[first - 1] : starts[first] - 1]
            if not above.strip().startswith("|"):
                break
            first -= 1
        last = end
        lines = [text[starts[line] : starts[line + 1] - 1] for line in range(first, end)]
        is_azure = _AZURE_DELIMITER.fullmatch(lines[delimiter - first]) is not None
        rows = []
        for line in lines[: delimiter - first] + lines[delimiter - first + 1 :]:
            rows.append(_texts(line))
        span = _stripped(text, starts[first], starts[end] - 1)
        yield _pipe_table(rows, delimiter - first, span, is_azure=is_azure)


def _texts(line: str) -> _Texts:
    """Return the texts between the pipes of a line."""
    line = line.lstrip(" \t>").rstrip()
    parts = _PIPE.split(line.removeprefix("|"))
    if len(parts) > 1 and not parts[-1].strip():
        parts.pop()
    result: _Texts = []
    for part in parts:
        if part:
            result.append(_plain_line(_BREAK.sub(" ", part.strip().replace("\\|", "|"))))
        else:
            result.append(_COVERED)
    return result


def _without_none(row: _Texts) -> _Texts:
    return [text or "" for text in row]


def _pipe_table(rows: list[_Texts], header_count: int, span: Span, *, is_azure: bool) -> Table:
    width = max(map(len, rows), default=0)
    check_unfilled(len(rows), sum(map(len, rows)), len(rows) * width)
    rows = [[*row, *[""] * (width - len(row))] for row in rows]
    if not is_azure:
        rows = list(map(_without_none, rows))
    while header_count and not any(rows[0]):
        rows = rows[1:]
        header_count = header_count - 1
    header = rows[:header_count]
    body = rows[header_count:]
    if is_azure:
        header = _with_split_headers(header)
        body = _with_first_section(_without_wrapped(body))
    return Table(tuple(_cells(header + body, header_count)), len(header + body), width, span=span)


def _with_split_headers(header: list[_Texts]) -> list[_Texts]:
    """Give each column its own header if one text holds those of a group.

    Such a text is "R@5 R@20" in the last row.
    """
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
    """Join rows that only hold the rest of the cells above.

    Those are long and end within a sentence.
    """
    rows: list[_Texts] = []
    wrapped: list[_Texts] = []  # the last row, with the rest of its cells
    ends: list[str] = []  # of the texts of the last row, without selection marks
    for row in body:
        if rows and _continues(ends, row):
            wrapped.append(row)
            ends = list(map(_end, ends, row))
            continue
        if rows:
            rows[-1] = _unwrapped(wrapped)
        rows.append(row)
        wrapped = [row]
        ends = [_end("", text) for text in row]
    if rows:
        rows[-1] = _unwrapped(wrapped)
    return rows


def _end(end: str, text: str | None) -> str:
    """Return the last words of a text that goes on.

    There are so many that they show whether it goes on again.
    """
    words = f"{end} {SELECTION.sub('', text or '')}".split()
    return " ".join(words[-_OPEN_WORDS:])


def _unwrapped(rows: Sequence[_Texts]) -> _Texts:
    """Return the row whose cells go on in the rows below it."""
    first = rows[0]
    if len(rows) == 1:
        return first
    texts: _Texts = []
    for column, text in enumerate(first):
        parts = []
        for row in rows:
            if part := row[column]:
                parts.append(part)
        if parts:
            unmarked = [SELECTION.sub("", part) for part in parts[:-1]]
            text = " ".join([*unmarked, parts[-1]])
        texts.append(text)
    return texts


def _continues(ends: Sequence[str], row: _Texts) -> bool:
    if not any(row) or (row[0] and not row[0][0].islower()):
        return False
    for before, text in zip(ends, row, strict=True):
        if text and (is_number(text) or not _is_open(before)):
            return False
    return True


def _is_open(text: str) -> bool:
    """Return whether a text of some words may go on in the next row."""
    return len(text.split()) >= _OPEN_WORDS and not text.endswith(_END_OF_SENTENCE)


def _is_section(row: _Texts) -> bool:
    """Return whether the first text of a row spans all of it."""
    return bool(row[0] and row[1:]) and all(text is _COVERED for text in row[1:])


def _with_first_section(body: list[_Texts]) -> list[_Texts]:
    """Let a single text at the start span the first row if one spans a later row.

    Azure mixes both forms in one table.
    """
    if not body or not body[0][0] or any(body[0][1:]):
        return body
    if not any(map(_is_section, body)):
        return body
    return [[body[0][0], *[_COVERED] * (len(body[0]) - 1)], *body[1:]]


def _cells(rows: Sequence[_Texts], header_count: int) -> list[Cell]:
    """Return cells. A covered position belongs to the cell at its left.

    At the start of a row it belongs to the cell above it.
    """
    cells: list[Cell] = []
    owner: dict[tuple[int, int], int] = {}
    for index, row in enumerate(rows):
        kind = "content"
        if index < header_count:
            kind = "columnHeader"
        for column, text in enumerate(row):
            if text is _COVERED:
                beside = owner.get((index, column - 1))
                if beside is not None and cells[beside].row == index and cells[beside].text:
                    width = column - cells[beside].column + 1
                    cells[beside] = replace(cells[beside], column_span=width)
                    owner[index, column] = beside
                    continue
                above = None
                if index != header_count:
                    above = owner.get((index - 1, column))
                if above is not None and cells[above].column_span == 1 and cells[above].text:
                    height = index - cells[above].row + 1
                    cells[above] = replace(cells[above], row_span=height)
                    owner[index, column] = above
                    continue
            owner[index, column] = len(cells)
            cells.append(Cell(index, column, text or "", kind=kind))
    return cells


def with_captions(text: str, tables: Sequence[Table]) -> list[Table]:
    """Return tables in order, with the paragraphs that name them.

    It is the next one, or else the one before.
    """
    tables = sorted(tables, key=lambda table: table.span or (0, 0))
    results: list[Table] = []
    taken: set[int] = set()
    spans = [(0, 0)]
    for table in tables:
        spans.append(table.span or (0, 0))
    spans.append((len(text), len(text)))
    for place, table in enumerate(tables):
        _, floor = spans[place]
        start, end = spans[place + 1]
        limit, _ = spans[place + 2]
        for span in (_paragraph_after(text, end, limit), _paragraph_before(text, floor, start)):
            if not table.caption and span[0] not in taken and _CAPTION.match(text, *span):
                taken.add(span[0])
                table = replace(table, caption=_plain_line(text[slice(*span)]), caption_span=span)
        results.append(table)
    return results


def _paragraph_after(text: str, start: int, limit: int) -> Span:
    start, limit = _stripped(text, start, limit)
    end = _BLANK_LINE.search(text, start, limit)
    if end:
        limit = end.start()
    return _stripped(text, start, limit)


def _paragraph_before(text: str, floor: int, end: int) -> Span:
    start, end = _stripped(text, floor, end)
    blank = text.rfind("\n\n", start, end)
    return _stripped(text, max(blank, start), end)
