"""Web pages as Markdown.

Headings, lists, tables with their headers, and what a reader of the page sees; no navigation.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

from factoid._optional import require
from factoid.documents.table_parsers import html_table
from factoid.documents.tables import Table, answered, is_number
from factoid.files.limits import ReadLimits
from factoid.files.safe_markup import html_source, parse_html
from factoid.text.html.tags import is_struck
from factoid.words import RAISED

_EXTRA = "documents"
# What is no text of the page: code, controls, and the way to other pages.
_UNSEEN = (
    "template noscript nav svg iframe object canvas audio video dialog button select textarea "
    "datalist head".split()
)
_ROLES = frozenset("navigation search menu menubar toolbar tablist dialog alertdialog".split())
_ANCHORS = frozenset(
    "headerlink anchor header-anchor hash-link heading-anchor permalink anchor-link "
    "anchorjs-link".split()
)
_TRAILS = frozenset("breadcrumb breadcrumbs breadcrumb-section breadcrumb-list".split())
_SKIPS = re.compile(
    r"\s*(?:skip|jump) (?:to|past) (?:the )?(?:main|content|navigation)", re.IGNORECASE
)
_SPACES = re.compile(r"[ \t]{2,}")
_ANCHOR_SIGNS = frozenset(("¶", "#", "§", "🔗", "", "\u200b", "\uf0c1"))
# Paragraphs of their own to a browser, and not to the converter.
_PARAGRAPHS = frozenset(
    """
    address aside center details dialog fieldset figure footer form header hgroup legend main
    summary
    """.split()
)
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_TABLE_PARTS = ("table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption", "colgroup", "col")
_PLACE = "data-factoid-table"
_RAISED_NUMBER = re.compile(r"\s*[\d+−–-]+\s*")
# Characters that Markdown would read as marks, in a line and at its start.
_MARK = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|[*`]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|(?<=\])[(\[:]|&"
    r"(?=#?\w{1,32};)|~~+|\^\^+|(?<=[\w)\]])[~^](?=\S)|\{(?=\+\+|--|~~|==|>>)"
    r"|\[(?=[^\[\]]*@[\w{])"  # of sources
    r"|(?<![\w:]):(?=[a-z0-9_+-]{1,40}:(?![\w`]))"  # an emoji
)
_LINE_MARK = re.compile(r"^(?:#{1,6}(?=\s)|>|[+-](?=\s)|\d{1,9}(?=[.)]\s))", re.MULTILINE)
_HEADER_WORDS = 5  # most words of a name of a column, where nothing marks the header
_CELL_WORDS = 40  # most words of a table that is within a cell, and not part of the page
_LEAST_COLUMNS = 3  # of a table whose first row is a header although nothing but its form says so


def page_markdown(raw: bytes, place: str, limits: ReadLimits) -> tuple[str, str]:
    """Return the text of a page of HTML as Markdown, and its title or "".

    Tables are pipe tables in which merged cells are repeated; tables for the layout are text.
    Characters that Markdown would read as marks are escaped.

    Raises:
        UnreadableFileError: Elements are nested more deeply than the limit.
        InvalidInputError: A table has far more positions than cells (see
            `factoid.documents.Table`).
        MissingDependencyError: lxml or markdownify is not installed.
    """
    root = parse_html(raw, place, limits)
    if root is None:
        return "", ""
    title = " ".join(
        "".join(next(iter(root.xpath("//title")), root.makeelement("p")).itertext()).split()
    )
    _drop_unseen(root)
    _collapse_spaces(root)
    for element in root.iter(*_PARAGRAPHS):
        element.tag = "div"
    tables = _take_tables(root)
    converter = _converter()(tables)
    markdown: str = converter.convert(html_source(root).decode())
    return markdown.strip(), title


def _drop_unseen(root: Any) -> None:
    for element in [*root.iter()]:
        if not isinstance(element.tag, str) or element.getparent() is None:
            continue
        is_hidden = element.get("hidden") is not None or "display:none" in element.get(
            "style", ""
        ).replace(" ", "")
        if (
            element.tag in _UNSEEN
            or element.get("role") in _ROLES
            or is_hidden
            or _is_anchor(element)
            or _leads_through_the_site(element)
        ):
            _drop(element)
        elif _is_struck_out(element):
            _drop(element)
            _withdraw_row(element)


def _withdraw_row(element: Any) -> None:
    """Empty the row that an element stands in, if what names the row was struck out."""
    cell = next(element.iterancestors("td", "th"), None)
    if cell is None or cell.getprevious() is not None or "".join(cell.itertext()).strip():
        return
    cells = cell.getparent().findall("*")
    if all(other.tag == "th" for other in cells):
        return  # of names of columns
    for other in cells:
        if other.get("rowspan", "1") == "1":
            other.text = None
            for child in list(other):
                other.remove(child)


def _collapse_spaces(root: Any) -> None:
    """Make runs of spaces and tabs outside of preformatted text one space, as browsers do.

    markdownify takes quadratic time for them.
    """
    preformatted: set[Any] = set()
    for element in root.iter("pre", "textarea", "listing"):
        preformatted.update(element.iter())
    for element in root.iter():
        if element.text and element not in preformatted:
            element.text = _SPACES.sub(" ", element.text)
        if element.tail and element.getparent() not in preformatted:
            element.tail = _SPACES.sub(" ", element.tail)


def _is_struck_out(element: Any) -> bool:
    """Return whether an element says what holds no longer; in code, it is a difference."""
    if not is_struck(element.tag, element.get("style", "")):
        return False
    return next(element.iterancestors("pre"), None) is None


def _is_anchor(element: Any) -> bool:
    """Return whether an element is the sign beside a heading that links to it."""
    if (
        element.tag != "a"
        or not element.get("href", "").startswith("#")
        or element.find(".//img") is not None
    ):
        return False
    text = "".join(element.itertext()).strip()
    classes = set(element.get("class", "").lower().split())
    in_heading = any(parent.tag in _HEADINGS for parent in element.iterancestors())
    return text in _ANCHOR_SIGNS and (in_heading or not classes.isdisjoint(_ANCHORS))


def _leads_through_the_site(element: Any) -> bool:
    """Return whether an element is a trail of pages above this one, or a link past the menu."""
    names = {element.get("id", "").lower(), *element.get("class", "").lower().split()}
    if not names.isdisjoint(_TRAILS) and element.tag not in ("html", "body", "main", "article"):
        return True
    is_link = element.tag == "a" and element.get("href", "").startswith("#")
    return is_link and _SKIPS.match("".join(element.itertext())) is not None


def _drop(element: Any) -> None:
    """Leave nothing of an element, but for the text behind it."""
    element.clear(keep_tail=True)
    element.tag = "span"


# Tables


def _take_tables(root: Any) -> list[str]:
    """Put marks in the place of the tables of a page, and return these as Markdown.

    Those for its layout become text.
    """
    sources: list[str] = []
    for element in [*root.iter("table")]:
        if (
            any(parent.tag == "table" for parent in element.iterancestors())
            or element.getparent() is None
        ):
            continue  # in the cell of a table
        _take_table(element, sources)
    return sources


def _take_table(element: Any, sources: list[str]) -> None:
    if _is_layout(element):
        inner = [table for table in element.iter("table") if table is not element]
        outermost = [table for table in inner if next(table.iterancestors("table")) is element]
        for table in outermost:
            _take_table(table, sources)
        for part in [element, *_parts_of(element)]:
            part.tag = "div"
        return
    _mark_header(element)
    mark = element.makeelement("div", {_PLACE: str(len(sources))})
    mark.tail = element.tail
    source = html_source(element).decode()
    element.getparent().replace(element, mark)
    sources.append(table_markdown(html_table(source, 0)))


def _mark_header(table: Any) -> None:
    """Make the cells of a first row that alone is in bold header cells."""
    rows = table.xpath("./tr | ./*/tr")
    if (
        table.find(".//th") is None
        and len(rows) > 1
        and _is_bold(rows[0])
        and not any(map(_is_bold, rows[1:]))
    ):
        for cell in rows[0].xpath("./td"):
            cell.tag = "th"


def _is_bold(row: Any) -> bool:
    cells = row.xpath("./td")
    return bool(cells) and all(
        "".join(cell.itertext()).strip() and _has_only_bold(cell) for cell in cells
    )


def _has_only_bold(element: Any) -> bool:
    if element.tag in ("b", "strong"):
        return True
    if (element.text or "").strip():
        return False
    return all(_has_only_bold(child) and not (child.tail or "").strip() for child in element)


def _parts_of(table: Any) -> list[Any]:
    parts = []
    for part in table.iter(*_TABLE_PARTS):
        if next(part.iterancestors("table"), None) in (table, None):
            parts.append(part)
    return parts


def _is_layout(table: Any) -> bool:
    """Return whether a table only arranges a page.

    It holds headings, or tables without a header of its own, or one column.
    """
    if table.get("role") in ("presentation", "none"):
        return True
    if any(element.tag in _HEADINGS for element in table.iter()):
        return True
    if table.find(".//th") is not None or table.find("caption") is not None:
        return False
    rows = table.xpath("./tr | ./*/tr")
    has_tables = any(
        len("".join(inner.itertext()).split()) > _CELL_WORDS for inner in table.iterfind(".//table")
    )
    return has_tables or all(len(row.xpath("./td")) <= 1 for row in rows)


def table_markdown(table: Table) -> str:
    """Return a table in Markdown, below its caption, with escapes.

    Merged cells are repeated in each column and row.
    """
    table = _with_header(table.map_texts(answered))
    if _has_named_values(table):
        return "\n".join(f"- {_pair(*row)}" for row in table.texts() if any(row))
    lines: list[str] = []
    names = table.names() if table.header_rows else [""] * table.column_count
    if table.column_count:
        lines = [_line(names), _line(["---"] * table.column_count)]
    grid = table.grid()
    for number, row in enumerate(grid[table.header_rows :], start=table.header_rows):
        below = grid[number + 1] if number + 1 < len(grid) else []
        if below and all(
            cell is None or cell is below[column] or not cell.text
            for column, cell in enumerate(row)
        ):
            continue  # only what the rows below repeat
        cells = list(dict.fromkeys(cell for cell in row if cell))
        texts = []
        for cell in row:
            if cell:
                texts.append(cell.text)
            else:
                texts.append("")
        if len(cells) == 1 and cells[0].column_span == table.column_count:
            # a text across the table, not one in each column
            texts = [cells[0].text, *[""] * (table.column_count - 1)]
        if any(texts):
            lines.append(_line(texts))
    caption = [escaped(table.caption), ""] if table.caption else []
    notes = [f"\n{escaped(note)}" for note in table.footnotes]
    return "\n".join([*caption, *lines, *notes])


def _has_named_values(table: Table) -> bool:
    """Return whether each row is a name and its value, without a header above them."""
    are_names = all(cell.kind == "rowHeader" for cell in table.cells if cell.column == 0)
    is_plain = not (table.header_rows or table.caption or table.footnotes)
    is_one_by_one = all(cell.row_span == cell.column_span == 1 for cell in table.cells)
    return table.column_count == 2 and are_names and is_plain and is_one_by_one


def _pair(name: str, value: str) -> str:
    return ": ".join(escaped(text, lines=False) for text in (name.rstrip(":"), value) if text)


def _line(texts: list[str]) -> str:
    return f"| {' | '.join(map(_cell, texts))} |"


def _cell(text: str) -> str:
    return escaped(text, lines=False).replace("|", "\\|")


def _with_header(table: Table) -> Table:
    """Make the first row the header of a table without one, if its form says so.

    A wrong header makes every row false.
    """
    if table.header_rows or table.row_count < 2 or table.column_count < 2:
        return table
    texts = table.texts()
    if any(cell.row == 0 and cell.kind == "rowHeader" for cell in table.cells):
        return table  # it names the rows
    first = texts[0]
    is_named = all(first) and len({*first}) == len(first) and not any(map(is_number, first))
    if not is_named or any(len(text.split()) > _HEADER_WORDS for text in first):
        return table
    columns = []
    for column in range(table.column_count):
        columns.append([row[column] for row in texts[1:] if row[column]])
    has_numbers = any(column and all(map(is_number, column)) for column in columns)
    is_capitalized = all(text[0].isalpha() and not text[0].islower() for text in first)
    has_form = (
        table.column_count >= _LEAST_COLUMNS
        and is_capitalized
        and len({row[0] for row in texts}) == len(texts)
    )
    if not (has_numbers or has_form):
        return table
    cells = []
    for cell in table.cells:
        if cell.row == 0:
            cell = replace(cell, kind="columnHeader")
        cells.append(cell)
    return replace(table, cells=tuple(cells))


# Text


def escaped(text: str, *, lines: bool = True) -> str:
    """Return a text in Markdown that shows it unchanged.

    Without `lines`, marks of headings, quotes and lists are meant.
    """
    text = _MARK.sub(lambda match: _escape(match[0]), text)
    if lines:
        return _LINE_MARK.sub(lambda match: _escape(match[0]), text)
    return text


def _escape(mark: str) -> str:
    if mark[0].isdigit():
        return f"{mark}\\"  # what follows the number would make it one of a list
    return "".join(f"\\{character}" for character in mark)


@cache
def _converter() -> type[Any]:
    markdownify: Any = require("markdownify", extra=_EXTRA)

    class Converter(markdownify.MarkdownConverter):  # type: ignore[misc]
        """Writes Markdown; `tables` are the tables that marks stand for."""

        def __init__(self, tables: list[str]) -> None:
            super().__init__(heading_style=markdownify.ATX, bullets="-", autolinks=False)
            self._tables = tables

        def escape(self, text: str, parent_tags: set[str]) -> str:
            if parent_tags & {"pre", "code", "kbd", "samp"}:
                return text
            return escaped(text)

        def convert_div(self, el: Any, text: str, parent_tags: set[str]) -> str:
            if el.has_attr(_PLACE):
                table = self._tables[int(el[_PLACE])]
                if "_inline" in parent_tags:
                    return f" {' '.join(table.split())} "
                return f"\n\n{table}\n\n"
            return str(super().convert_div(el, text, parent_tags))

        def convert_sup(self, el: Any, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
            if _RAISED_NUMBER.fullmatch(text):
                return text.translate(RAISED)
            return text

        def convert_img(self, el: Any, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
            alt = escaped(" ".join((el.get("alt") or "").split()))
            source = el.get("src") or ""
            is_data = source[:5].lower() == "data:"
            if not alt or not source or is_data or re.search(r"[\s()<>]", source):
                return alt
            return f"![{alt}]({source})"

        def convert_a(self, el: Any, text: str, parent_tags: set[str]) -> str:
            target = (el.get("href") or "").strip()
            is_plain = target[:1] in ("", "#") or re.match(
                r"(?!https?:|mailto:|ftp:)[\w+.-]+:", target, re.IGNORECASE
            )
            if is_plain or re.search(r"[\s()<>]", target):
                return text
            return str(super().convert_a(el, text, parent_tags))

        def convert_b(self, el: Any, text: str, parent_tags: set[str]) -> str:
            if el.find_parent(["b", "strong"]):
                return text
            return str(super().convert_b(el, text, parent_tags))

        def convert_em(self, el: Any, text: str, parent_tags: set[str]) -> str:
            if el.find_parent(["i", "em"]):
                return text
            return str(super().convert_em(el, text, parent_tags))

        convert_strong = convert_b
        convert_i = convert_em

        def convert_input(self, el: Any, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002
            if (el.get("type") or "").lower() != "checkbox":
                return ""
            if el.has_attr("checked"):
                return "☒ "
            return "☐ "

    return Converter
