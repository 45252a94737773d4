"""A cleaned document: its text in sections, figures, references and tables, each traced to the content, pages and boxes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from factoid.documents.boxes import LAYOUT, Box, lines, pack
from factoid.documents.layout import Layout
from factoid.documents.table_sentences import row_propositions
from factoid.documents.tables import Region, Table
from factoid.documents.trace import TracedText
from factoid.errors import InvalidInputError
from factoid.sentences import Span
from factoid.units import LINES, PROPOSITIONS, Document

PartKind = Literal["text", "table", "figure", "reference"]
KINDS: tuple[PartKind, ...] = ("text", "table", "figure")  # what is indexed by default: references state no facts


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, with its span in the clean text."""

    role: Literal["title", "heading", "text", "code", "formula", "footnote", "caption", "figure", "reference"]
    start: int
    end: int
    section: tuple[str, ...]  # path of headings, outermost first


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the text below it, up to the next heading: a span of the clean text without figures and references."""

    heading: str  # as printed, number included; "" for the text before the first heading
    path: tuple[str, ...]  # headings, outermost first, its own included
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: a span of the clean text with its caption and, if it is text such as a listing, its paragraphs."""

    caption: str
    start: int
    end: int
    inside: str = ""  # text in the picture, such as labels of axes, as the service read it; not in the clean text
    section: tuple[str, ...] = ()  # path of headings
    pages: tuple[int, ...] = ()  # page numbers


@dataclass(frozen=True, slots=True, eq=False)
class LayoutDocument:
    """A document that `factoid.documents.clean` made from a layout. The texts of its tables are clean as well."""

    title: str
    traced: TracedText  # the clean text, with the position of each character in the content
    paragraphs: tuple[Paragraph, ...]  # all of the clean text, in order
    sections: tuple[Section, ...]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    layout: Layout  # the layout that was cleaned
    changes: Mapping[str, int] = field(default_factory=dict)  # how often each rule of `CleaningOptions` was applied

    @property
    def text(self) -> str:
        """The clean text, in Markdown: each section with its footnotes, then its figures' captions. Tables are separate."""
        return self.traced.text

    @property
    def references(self) -> tuple[Span, ...]:
        """Spans of the entries of the reference list in the clean text."""
        return tuple((part.start, part.end) for part in self.paragraphs if part.role == "reference")

    def sources(self, start: int, end: int) -> list[Span]:
        """Return where a part of the clean text is in the content, in order; inserted characters have no place."""
        return self.traced.sources(start, end)

    def locate(self, start: int, end: int) -> list[Region]:
        """Return where a part of the clean text is on the pages, line by line.

        If pages are known but words are not, a region is a whole page and has no polygon.

        Raises:
            InvalidInputError: The span is not within the text.
        """
        if not 0 <= start <= end <= len(self.text):
            raise InvalidInputError(f"expected a span in the {len(self.text)} characters of the text, got {start, end}")
        return lines(self.boxes(start, end))

    def boxes(self, start: int, end: int) -> list[Box]:
        """Return the words of a part of the clean text, with their spans in the clean text."""
        words = self.layout.words
        boxes: list[Box] = []
        last = -1
        for run in self.traced.cut(start, end).runs:
            stop = run.origin + run.end - run.start
            if not len(words) and (page := self.layout.page_at(run.origin)):
                boxes.append(Box(start + run.start, start + run.end, page, ()))
            for place in words.within(run.origin, stop):
                word = words.box(place)
                begin = start + run.start + max(word.start - run.origin, 0)
                finish = start + run.start + min(word.end, stop) - run.origin
                if place == last:  # its other half, such as after a removed hyphen
                    begin = boxes.pop().start
                boxes.append(Box(begin, finish, word.page, word.polygon))
                last = place
        return boxes

    def documents(
        self,
        kinds: Iterable[PartKind] = KINDS,
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> list[Document]:
        """Return what to index: a document for each section, table and figure, and on request for each entry of the references.

        Sections include their heading, so that splitters name it; the path above it is the document's `section`. A table's text
        is its caption and a sentence for each value, on lines that already are propositions. Added to the given `metadata`, such
        as the file's name, are `kind`, the `pages`, where the text begins in the clean text (`offset`, except for tables), the
        index of a table in `tables` (`table`), and the boxes of the words (`layout`), which `factoid.documents.regions` reads for
        any unit, from any store.

        Raises:
            InvalidInputError: A kind is unknown.
        """
        makers = {"text": self._texts, "table": self._tables, "figure": self._figures, "reference": self._references}
        kinds = list(kinds)
        if unknown := [kind for kind in kinds if kind not in makers]:
            raise InvalidInputError(f"kinds must be among {', '.join(makers)}, got {', '.join(map(repr, unknown))}")
        return [document for kind in makers if kind in kinds for document in makers[kind](dict(metadata or {}))]

    def _texts(self, metadata: dict[str, Any]) -> Iterator[Document]:
        elsewhere = [part.section for part in self.paragraphs if part.role not in ("title", "heading")]
        elsewhere += [section.path[:-1] for section in self.sections if section.path]
        named = {path[:depth] for path in elsewhere for depth in range(len(path) + 1)}
        of_tables = {table.section for table in self.tables}
        starts = [part.start for part in self.paragraphs]
        for section in self.sections:
            first, last = bisect_left(starts, section.start), bisect_left(starts, section.end)
            bare = all(part.role in ("title", "heading") for part in self.paragraphs[first:last])
            if not bare or (section.path not in named and ", ".join(section.path) not in of_tables):
                yield self._part("text", section.start, section.end, section.path[:-1], metadata)

    def _figures(self, metadata: dict[str, Any]) -> Iterator[Document]:
        for figure in self.figures:
            if figure.start < figure.end:
                yield self._part("figure", figure.start, figure.end, figure.section, metadata)

    def _references(self, metadata: dict[str, Any]) -> Iterator[Document]:
        for part in self.paragraphs:
            if part.role == "reference":
                yield self._part("reference", part.start, part.end, part.section, metadata)

    def _part(self, kind: PartKind, start: int, end: int, path: Sequence[str], metadata: dict[str, Any]) -> Document:
        boxes = [box._replace(start=box.start - start, end=box.end - start) for box in self.boxes(start, end)]
        pages = sorted({box.page for box in boxes} or self.layout.pages_of(self.sources(start, end)))
        facts = {"kind": kind, "pages": pages, "offset": start, LAYOUT: pack(boxes)}
        return Document(self.text[start:end], self.title, ", ".join(path), metadata=metadata | _known(facts))

    def _tables(self, metadata: dict[str, Any]) -> Iterator[Document]:
        for number, table in enumerate(self.tables):
            text, boxes = "", []
            for separator, line, places in self._table_lines(table):
                text += separator if text else ""
                start, text = len(text), text + line
                boxes += [Box(start, len(text), at.page, at.polygon) for at in places if len(at.polygon) in (0, 8)]
            if text:
                facts = {"kind": "table", "pages": list(table.pages), "table": number, LAYOUT: pack(boxes)}
                facts |= {PROPOSITIONS: LINES}
                yield Document(text, self.title, table.section, metadata=metadata | _known(facts))

    def _table_lines(self, table: Table) -> Iterator[tuple[str, str, Sequence[Region]]]:
        """Yield caption, a line for each value and footnotes, each with its separator before it and where it is printed."""
        if table.caption:
            printed = lines(self.layout.boxes([table.caption_span])) if table.caption_span else []
            yield "\n\n", table.caption, printed or table.regions
        last = -1
        for value in row_propositions(table, text=self.text):
            words = self.layout.boxes(cell.span for cell in value.cells if cell.span)
            printed = lines(words) or [region for cell in value.cells for region in cell.regions]
            yield "\n" if value.row == last else "\n\n", value.text, printed or table.regions
            last = value.row
        for note in table.footnotes:
            yield "\n\n", note, table.regions


def _known(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value not in ("", [])}
