"""A clean document with its sections, tables and figures.

Each is traced to the content, the pages and the boxes of its words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

from factoid.documents.blocks import LayoutBlock
from factoid.documents.layout import Layout, grouped
from factoid.documents.table_sentences import row_propositions
from factoid.documents.tables import Region, Table
from factoid.documents.trace import TracedText, inserted, join
from factoid.documents.word_boxes import LAYOUT, Box, lines, pack
from factoid.errors import InvalidInputError
from factoid.units import LINES, PROPOSITIONS, Document

PartKind = Literal["text", "table", "figure", "reference"]
# what is indexed by default: references state no facts
KINDS: tuple[PartKind, ...] = ("text", "table", "figure")
_NOT_RUNNING = frozenset({"title", "heading", "footnote", "table", "figure"})
SUMMARY = "table summary"  # metadata["kind"] of a summary

_SEPARATOR = "\n\n"  # between paragraphs
_REFERENCES = re.compile(
    r"(?:[\dA-Z]{1,2}(?:\.\d{1,2})*\.?\s+)?(?:references|bibliography|works cited|literature"
    r"(?: cited)?|literaturverzeichnis|"
    r"références|referencias)(?: and notes)?\W*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SummaryReport:
    """The summaries of tables, in their order.

    Attributes:
        texts: A summary for each table; "" for one without.
        failures: Why a table has none, by the table's index from 0.
    """

    texts: tuple[str, ...]
    failures: Mapping[int, str] = field(default_factory=dict)

    def metadata(self) -> dict[str, Any]:
        """Return the report as metadata that JSON can hold.

        The keys are `table_count`, `table_summaries` and, if there are failures,
        `table_summary_failures`.
        """
        metadata: dict[str, Any] = {
            "table_count": len(self.texts),
            "table_summaries": list(self.texts),
        }
        if self.failures:
            failures = {str(place): reason for place, reason in self.failures.items()}
            metadata["table_summary_failures"] = failures
        return metadata

    def __str__(self) -> str:
        count = len(self.texts)
        failed = len(self.failures)
        text = f"{count} tables → {count - failed} summaries; {failed} failed"
        if self.failures:
            times = Counter(self.failures.values())
            reasons = ", ".join(f"{number} {reason}" for reason, number in times.items())
            text += f" ({reasons})"
        return text


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A section with its footnotes, a table, a figure, or the list of references.

    Attributes:
        kind: A "heading" has no text below it, and parts that name it in their paths.
        traced: The text; of a table and a figure the caption.
        path: Headings, outermost first; a section's own included.
        inside: Of a figure, the text in the picture, such as labels of axes, as the service read
            it.
    """

    kind: PartKind | Literal["heading"]
    traced: TracedText
    path: tuple[str, ...]
    table: Table | None = None
    inside: str = ""

    @property
    def text(self) -> str:
        """The clean text, in Markdown.

        `traced` also holds the position of each character in the content.
        """
        return self.traced.text


@dataclass(frozen=True, eq=False)
class LayoutDocument:
    """A document that `factoid.documents.clean` made from a layout.

    The texts of its tables are clean as well.

    Attributes:
        parts: The parts in order; tables and figures follow the section in which they stand.
        layout: The layout that was cleaned.
        changes: How many paragraphs, tables and figures each rule changed.
    """

    title: str
    parts: tuple[Part, ...]
    layout: Layout
    changes: Mapping[str, int]

    @cached_property
    def traced(self) -> TracedText:
        """The clean text, with the position of each character in the content.

        Inserted characters have none.
        """
        return join([part.traced for part in self.parts if part.text], _SEPARATOR)

    @property
    def text(self) -> str:
        """The clean text, in Markdown: all parts, of tables and figures the captions."""
        return self.traced.text

    @property
    def tables(self) -> list[Table]:
        """The tables, in order."""
        tables = []
        for part in self.parts:
            if part.table:
                tables.append(part.table)
        return tables

    def documents(
        self,
        kinds: Iterable[PartKind] = KINDS,
        *,
        metadata: Mapping[str, Any] | None = None,
        summaries: SummaryReport | None = None,
    ) -> list[Document]:
        """Return what to index.

        A document for each section, table and figure, and on request for the references. Sections
        include their heading, so that splitters name it; the path above it is the document's
        `section`. A table's text is its caption and a sentence for each value, on lines that
        already are propositions. Added to the given `metadata`, such as the file's name, are
        `kind`, the `pages`, where the text begins in the clean text (`offset`, except for tables),
        the index of a table in `tables` (`table`), and the boxes of the words (`layout`), which
        `factoid.documents.regions` reads for any unit, from any store.

        With `summaries` of the tables, each table is followed by its summary, of the kind "table
        summary" and with the id of the table's document under `table_id`, for stores that look the
        table up. `add_layout` puts both into one of factoid's.

        Raises:
            InvalidInputError: A kind is unknown, or the numbers of summaries and tables differ.
        """
        chosen = self._chosen(kinds, summaries)
        documents: list[Document] = []
        offset = number = 0
        for part in self.parts:
            if part.table:
                document = None
                if "table" in chosen:
                    document = self._table(part.table, part.traced, number, metadata or {})
                if document:
                    documents.append(document)
                    if summaries and (summary := summaries.texts[number]):
                        documents.append(_summary(document, summary))
                number += 1
            elif part.kind in chosen and part.text:
                documents.append(self._text(part, offset, metadata or {}))
            if part.text:
                offset += len(part.text) + len(_SEPARATOR)
        return documents

    def whole_document(
        self,
        kinds: Iterable[PartKind] = KINDS,
        *,
        metadata: Mapping[str, Any] | None = None,
        summaries: SummaryReport | None = None,
    ) -> Document:
        """Return all parts as one document, tables as Markdown, with the tables in its metadata.

        Added to the given `metadata` are `table_count` and, with `summaries`, `table_summaries`:
        one string for each table of the document, in order, "" for one without a summary;
        `table_summary_failures` says why. Places on pages are known only of `documents`.

        Raises:
            InvalidInputError: A kind is unknown, or the numbers of summaries and tables differ.
        """
        chosen = self._chosen(kinds, summaries)
        texts = []
        for part in self.parts:
            if part.table is not None:
                if "table" in chosen:
                    texts.append(part.table.to_markdown())
            elif part.kind in chosen or part.kind == "heading":
                texts.append(part.text)
        facts: dict[str, Any] = {"table_count": len(self.tables)}
        if summaries is not None:
            facts = summaries.metadata()
        text = _SEPARATOR.join(filter(None, texts))
        return Document(text, self.title, metadata={**(metadata or {}), **facts})

    def _chosen(self, kinds: Iterable[PartKind], summaries: SummaryReport | None) -> set[PartKind]:
        """Return checked kinds; refuse summaries of other tables."""
        chosen = set(kinds)
        unknown = chosen - set(get_args(PartKind))
        if unknown:
            raise InvalidInputError(
                f"kinds are {', '.join(get_args(PartKind))}, got {', '.join(map(repr, unknown))}"
            )
        if summaries and len(summaries.texts) != len(self.tables):
            raise InvalidInputError(
                f"got {len(summaries.texts)} summaries for {len(self.tables)} tables"
            )
        return chosen

    def _text(self, part: Part, offset: int, metadata: Mapping[str, Any]) -> Document:
        boxes = self.layout.boxes(part.traced)
        pages = sorted({box.page for box in boxes})
        path = part.path
        if part.kind != "figure":
            path = part.path[:-1]  # without the heading, which is in the text
        facts = {"kind": part.kind, "pages": pages, "offset": offset, LAYOUT: pack(boxes)}
        of_part = {**metadata, **_known(facts)}
        return Document(part.text, self.title, ", ".join(path), metadata=of_part)

    def _table(
        self, table: Table, caption: TracedText, number: int, metadata: Mapping[str, Any]
    ) -> Document | None:
        texts: list[str] = []
        boxes: list[Box] = []
        end = 0
        for separator, line, places in self._table_lines(table, caption):
            start = 0
            if texts:
                texts.append(separator)
                start = end + len(separator)
            texts.append(line)
            end = start + len(line)
            boxes += [Box(start, end, place.page, place.rectangle) for place in places]
        text = "".join(texts)
        facts = {
            "kind": "table",
            "pages": list(table.pages),
            "table": number,
            LAYOUT: pack(boxes),
            PROPOSITIONS: LINES,
        }
        if text:
            return Document(text, self.title, table.section, metadata={**metadata, **_known(facts)})
        return None

    def _table_lines(
        self, table: Table, caption: TracedText
    ) -> Iterator[tuple[str, str, Sequence[Region]]]:
        """Yield the caption, a line for each value, and the footnotes.

        Each comes with the separator before it, and where it is printed.
        """
        if table.caption:
            yield _SEPARATOR, table.caption, lines(self.layout.boxes(caption)) or table.regions
        last = -1
        for value in row_propositions(table):
            cell, *heads = value.cells
            places = list(cell.regions)
            for head in heads:
                places += head.regions[:1]
            separator = _SEPARATOR
            if value.row == last:
                separator = "\n"
            yield separator, value.text, places or table.regions
            last = value.row
        for note in table.footnotes:
            yield _SEPARATOR, note, table.regions


def _summary(table: Document, text: str) -> Document:
    facts = {"kind": SUMMARY, PROPOSITIONS: LINES, "table_id": table.id}
    metadata = {}
    for key, value in table.metadata.items():
        if key != LAYOUT:
            metadata[key] = value
    return Document(text, table.title, table.section, metadata=metadata | facts)


def _known(facts: Mapping[str, Any]) -> dict[str, Any]:
    known = {}
    for name, value in facts.items():
        if value not in ("", []):
            known[name] = value
    return known


def assembled(
    blocks: Sequence[LayoutBlock], layout: Layout, changes: Mapping[str, int]
) -> LayoutDocument:
    """Return the document of clean blocks.

    Paragraphs go to the section of the last heading, its footnotes last.
    """
    title = next((block.text.text for block in blocks if block.kind == "title"), "")
    levels = sorted({block.level for block in blocks if block.kind == "heading"})
    parts: list[Part] = []
    headings: list[tuple[int, str]] = []  # the path, each heading with its depth from 1
    for group in grouped(blocks, lambda _, block: block.kind in ("title", "heading")):
        head = group[0]
        texts = []
        footnotes = []
        for block in group:
            if block.kind == "footnote":
                footnotes.append(block.text)
            elif block.kind not in _NOT_RUNNING:
                texts.append(block.text)
        texts += footnotes
        kind: Literal["text", "heading", "reference"] = "heading"
        if texts:
            kind = "text"
        if head.kind == "heading":
            depth = levels.index(head.level) + 1
            name = " ".join(head.text.text.split())
            headings = [*(step for step in headings if step[0] < depth), (depth, name)]
            if texts and _REFERENCES.fullmatch(name):
                kind = "reference"
            texts.insert(0, join([inserted("#" * min(depth + 1, 6) + " "), head.text]))
        elif head.kind == "title":
            texts.insert(0, join([inserted("# "), head.text]))
        path = tuple(name for _, name in headings)
        if texts:
            parts.append(Part(kind, join(texts, _SEPARATOR), path))
        for block in group:
            if block.kind == "figure":
                parts.append(Part("figure", block.text, path, inside=block.inside))
            elif block.table:
                pages = block.table.pages
                if not pages and block.page:
                    pages = (block.page,)
                table = replace(block.table, title=title, section=", ".join(path), pages=pages)
                parts.append(Part("table", block.text, path, table))
    for place, part in enumerate(parts):
        if part.kind != "heading":
            continue
        below = parts[place + 1 : place + 2]
        if not below or below[0].path[: len(part.path)] != part.path:
            parts[place] = replace(part, kind="text")  # nothing else names it
    return LayoutDocument(title, tuple(parts), layout, changes)
