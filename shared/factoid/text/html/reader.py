"""Read HTML as blocks of what a reader sees, with the place of each character in the source."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from factoid.text.blocks import Block
from factoid.text.html.flow import Flow, Inline
from factoid.text.html.tables import Cell, Table
from factoid.text.html.tags import (
    BOUNDARIES,
    HEAD_CONTENT,
    ITEMS,
    LISTS,
    RANKS,
    TABLE_PARTS,
    ClosingTag,
    Tag,
    is_ended,
    is_struck,
    tokens,
)

# Words, which may name a row, and no number, price or day, behind a few tags.
_NAME = re.compile(r"(?:\s|<[^<>]{0,100}>){0,9}+[^\W\d_]")
_NESTS = LISTS | {"table"}
_CELL_CONTENT_RANK = 4  # one more than that of a cell
_ALL_ROWS = 1_000_000
_DEEPEST_TABLES = 8  # within each other; the text of deeper ones is that of the cell


def html_blocks(source: str, start: int, end: int, inline: Inline | None = None) -> list[Block]:
    """Return the blocks of a stretch of HTML, in order.

    Of a row, `names` has a name for each of its `cells`: for a cell across columns, those of all.
    A row that is one cell across the table has no names.

    Args:
        source: The text that the stretch is in.
        start: Where the stretch starts.
        end: Where it ends.
        inline: Reads the Markdown in it, which stands behind blank lines; without it, all is HTML.

    Returns:
        Headings, paragraphs, items of lists, rows of tables and code. All places are in the source.
    """
    reader = _Reader(source, start, inline)
    for token in tokens(source, start, end):
        if isinstance(token, Tag):
            reader.open(token)
        elif isinstance(token, ClosingTag):
            reader.close(token.name, token.start)
        else:
            reader.text(*token)
    return reader.finish(end)


@dataclass
class _Skip:
    """An element that a reader does not see, while it is open."""

    name: str
    inner: Counter[str] = field(default_factory=Counter)  # the open elements in it

    def is_ended_by(self, name: str, *, in_table: bool) -> bool:
        """Return whether an opening tag ends the element, whose end is not written."""
        if self.name == "head":
            return name not in HEAD_CONTENT and not self.inner
        if self.inner.keys() & _NESTS:
            return False
        if self.name in ITEMS:
            return name in ITEMS or (in_table and name in RANKS)
        if self.name == "p" and name in BOUNDARIES:
            return True
        return in_table and 0 < RANKS.get(name, 0) <= RANKS.get(self.name, _CELL_CONTENT_RANK)

    def close(self, name: str) -> bool:
        """Close an element in this one, and return whether there was one."""
        if name not in self.inner:
            return False
        self.inner[name] -= 1
        if not self.inner[name]:
            del self.inner[name]
        return True


class _Reader:
    """Makes blocks of the tags and texts of a stretch of HTML."""

    def __init__(self, source: str, start: int, inline: Inline | None) -> None:
        self.flows = [Flow(source, inline)]
        self.source = source
        self.inline = inline
        self.tables: list[Table] = []
        self.skip: _Skip | None = None
        self.at = start  # where the last tag starts

    @property
    def flow(self) -> Flow:
        """The text that is being read."""
        return self.flows[-1]

    def finish(self, end: int) -> list[Block]:
        """Return the blocks of all that was read."""
        self.at = end
        while self.tables:
            self._finish_table()
        self.flow.flush()
        return self.flow.blocks

    def text(self, start: int, end: int) -> None:
        """Read a stretch without tags."""
        is_empty = not self.source[start:end].strip()
        if self.skip and self.skip.name == "head" and not self.skip.inner and not is_empty:
            self.skip = None
        if self.skip:
            return
        if not is_empty:
            self._leave_rows()
        self.flow.add(start, end)

    def open(self, tag: Tag) -> None:
        """Read an opening tag."""
        self.at = tag.start
        name = tag.name
        if self.skip and not self.skip.is_ended_by(name, in_table=bool(self.tables)):
            if not tag.is_empty:
                self.skip.inner[name] += 1
            return
        self.skip = None
        if name in TABLE_PARTS and self._is_part(name):
            self._open_part(tag)
            return
        self._leave_rows()
        flow = self.flow
        if name in BOUNDARIES:
            flow.boundary(tag.start)
        if tag.is_unseen() or self._is_struck(tag):
            if not tag.is_empty:
                self.skip = _Skip(name)
        elif name == "br":
            flow.new_line(tag.start)
        elif name == "img":
            flow.add_apart(tag, *tag.spans.get("alt", (0, 0)))
        elif name == "input" and tag.get("type").lower() == "checkbox":
            flow.put_apart(tag, "☒" if "checked" in tag else "☐")
        elif not tag.is_empty and (name == "table" or name not in TABLE_PARTS):
            flow.open_element(tag)

    def close(self, name: str, place: int) -> None:
        """Read a closing tag."""
        self.at = place
        if self.skip:
            if self.skip.close(name):
                return
            skipped = self.skip.name
            if name == skipped or self._is_around(skipped, name):
                self.skip = None
            if name == skipped and name in BOUNDARIES:
                self.flow.boundary(place)
            if name == skipped or self.skip:
                return
        if name in TABLE_PARTS and self._is_part(name):
            self._close_part(name)
            return
        self._leave_rows()
        if name in BOUNDARIES:
            self.flow.boundary(place)
        self.flow.close_element(name)

    def _is_struck(self, tag: Tag) -> bool:
        """Return whether a tag strikes text out that has an end; in code, nothing is struck out."""
        if self.flow.is_pre or not is_struck(tag.name, tag.get("style")):
            return False
        if not self._is_closed(tag):
            return False
        table = self.tables[-1] if self.tables else None
        if not table or not table.row or not table.row.cells or len(self.flows) <= table.depth:
            return True
        if _NAME.match(self.source, tag.end):
            table.row.cells[-1].has_struck_name = True
        return True

    def _is_closed(self, tag: Tag) -> bool:
        """Return whether an element has an end, which some may do without."""
        return tag.name in BOUNDARIES or is_ended(tag.name, self.source, tag.end)

    def _is_around(self, skipped: str, name: str) -> bool:
        """Return whether an element is open around the one that is skipped."""
        if name in RANKS:
            return bool(self.tables) and RANKS[name] < RANKS.get(skipped, _CELL_CONTENT_RANK)
        return self.flow.key(name) in self.flow.counts

    # Tables

    def _is_part(self, name: str) -> bool:
        """Return whether a tag is part of a table, and not in code or in too deep a table."""
        if "table" in self.flow.counts:
            return False
        if name == "table":
            return not self.flow.is_pre and len(self.tables) < _DEEPEST_TABLES
        return bool(self.tables) or not self.flow.is_pre

    def _open_part(self, tag: Tag) -> None:
        name = tag.name
        if name == "table":
            self.flow.flush()
            self.flow.pop("p")
        else:
            self._end_cell()
            self.flow.flush()
        if name == "tr" and self.tables:
            self.tables[-1].row = None
        if tag.is_unseen() or self._is_struck(tag):
            if not tag.is_empty:
                self.skip = _Skip(name)
            return
        if name == "table":
            is_layout = tag.get("role").lower() in ("presentation", "none")
            self._start_table(is_layout=is_layout)
            return
        if not self.tables:
            self._start_table(is_implicit=True)
        table = self.tables[-1]
        if name in ("td", "th"):
            row = table.row or table.start_row()
            flow = Flow(self.source, self.inline)
            is_header = name == "th" and tag.words("scope").isdisjoint(("row", "rowgroup"))
            columns = max(1, tag.number("colspan"))
            rows = tag.number("rowspan") or _ALL_ROWS
            row.cells.append(Cell(flow.blocks, is_header, columns, rows))
            self.flows.append(flow)
            if tag.is_empty:
                self._end_cell()
            return
        table.row = None
        if name == "tr":
            table.start_row()
        elif name == "caption":
            flow = Flow(self.source, self.inline)
            flow.blocks = table.caption
            self.flows.append(flow)
        else:
            table.in_head = name == "thead"

    def _close_part(self, name: str) -> None:
        self.flow.flush()
        if not self.tables or name in ("td", "th"):
            return  # what stands between two cells belongs to the first
        self._end_cell()
        table = self.tables[-1]
        if name == "table":
            self._finish_table()
        elif name != "caption":
            table.row = None
            table.in_head = table.in_head and name == "tr"

    def _start_table(self, *, is_layout: bool = False, is_implicit: bool = False) -> None:
        table = Table(self.at, len(self.flows), len(self.flow.blocks))
        table.is_layout = is_layout
        table.is_implicit = is_implicit
        self.tables.append(table)

    def _end_cell(self) -> None:
        depth = self.tables[-1].depth if self.tables else 1
        while len(self.flows) > depth:
            self.flows.pop().flush()

    def _finish_table(self) -> None:
        self._end_cell()
        table = self.tables.pop()
        self.flow.flush()
        blocks = self.flow.blocks
        between = blocks[table.first :]  # what stands between rows
        rows = table.blocks(10 * (self.at - table.start))
        blocks[table.first :] = sorted([*between, *rows], key=lambda block: block.start)

    def _leave_rows(self) -> None:
        """End rows without a table's tag around them, where something else follows."""
        table = self.tables[-1] if self.tables else None
        if table and table.is_implicit and not table.row and len(self.flows) == table.depth:
            self._finish_table()
