"""Layouts into clean documents: marks, markup and page furniture out, what was cut whole again, each part in its place."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from factoid.documents import rules
from factoid.documents.blocks import Block, blocks_of
from factoid.documents.document import Figure, LayoutDocument, Paragraph, Section
from factoid.documents.flow import (
    drop_running_heads,
    entries,
    gather_figures,
    gather_formulas,
    gather_legends,
    is_reference_heading,
    rejoin,
)
from factoid.documents.headings import demote_headings, drop_stamps, with_sections, with_title
from factoid.documents.hyphens import Evidence, evidence, hyphen_edits
from factoid.documents.layout import Layout
from factoid.documents.tables import SELECTION, Table
from factoid.documents.trace import Edit, TracedText, join
from factoid.errors import InvalidInputError
from factoid.sentences import Span

References = Literal["split", "keep", "drop"]

_FURNITURE = ("header", "footer", "number", "comment")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningOptions:
    """Which rules clean a document. Each can be turned off by its name; `LayoutDocument.changes` counts what each did.

    Attributes:
        selection_marks: Take out ":selected:", ":unselected:" and ticked or empty boxes.
        page_furniture: Leave out headers, footers and numbers of pages, and comments.
        running_heads: Leave out short lines that begin or end three pages or more alike, but for page numbers.
        side_stamps: Leave out headings that run along the margin, and stamps of preprint servers.
        false_headings: Turn headings that are none into text.
        numbered_headings: Take the depth of headings from their numbers.
        figure_captions: Put captions, also those read as footers, with their figures.
        legends: Take rows of scraps right before a figure for a part of it.
        formulas: Join the scraps of a formula.
        rejoin: Join running text that columns, pages, figures, tables or footnotes have cut.
        references: "split" the list of references into entries, "keep" it as one part, or "drop" it.
        hyphens: Restore words that were cut at the ends of lines.
        vocabulary: Words in lower case that decide on cut words which the document does not have elsewhere.
        soft_hyphens: Take out soft hyphens and characters without width.
        ligatures: Write ligatures as letters.
        escapes: Take out the backslashes of Markdown.
        footnote_marks: Take out raised numbers and daggers behind words; write other tags of raised and lowered text as Unicode.
        bullets: Write "- " for the bullets of lists.
        line_breaks: Write the lines of a paragraph as one.
        spaces: Write one blank for several.

    Raises:
        InvalidInputError: `references` is none of the three.
    """

    selection_marks: bool = True
    page_furniture: bool = True
    running_heads: bool = True
    side_stamps: bool = True
    false_headings: bool = True
    numbered_headings: bool = True
    figure_captions: bool = True
    legends: bool = True
    formulas: bool = True
    rejoin: bool = True
    references: References = "split"
    hyphens: bool = True
    vocabulary: Collection[str] = frozenset()
    soft_hyphens: bool = True
    ligatures: bool = True
    escapes: bool = True
    footnote_marks: bool = True
    bullets: bool = True
    line_breaks: bool = True
    spaces: bool = True

    def __post_init__(self) -> None:
        if self.references not in get_args(References):
            message = f"references must be 'split', 'keep' or 'drop', got {self.references!r}"
            raise InvalidInputError(message)


def clean(layout: Layout, options: CleaningOptions | None = None) -> LayoutDocument:
    """Return the clean document of a layout. Code and formulas of LaTeX stay as they are.

    Args:
        layout: As `read_layout` or `read_markdown` returns it.
        options: The rules; None for all of them.
    """
    options = options or CleaningOptions()
    changes: Counter[str] = Counter()
    blocks, changes["selection_marks"] = blocks_of(layout, marks=options.selection_marks)
    blocks = _arranged(with_title(blocks), layout, options, changes)
    blocks = with_sections(blocks, numbers=options.numbered_headings)
    cleaner = _Cleaner(options, changes)
    blocks = [cleaner.before_joining(block) for block in blocks]
    if options.rejoin:
        blocks, changes["rejoin"] = rejoin(blocks)
    blocks = list(_with_references(blocks, options, changes))
    known = evidence(_texts(blocks), options.vocabulary) if options.hyphens else Evidence()
    first = next((place for place, block in enumerate(blocks) if block.kind == "heading"), 0)
    blocks = [cleaner.after_joining(block, known, front=place < first) for place, block in enumerate(blocks)]
    return _assembled(blocks, layout, {name: count for name, count in changes.items() if count})


def _arranged(blocks: list[Block], layout: Layout, options: CleaningOptions, changes: Counter[str]) -> list[Block]:
    """Apply the rules that look at whole blocks."""
    if options.side_stamps:
        blocks, changes["side_stamps"] = drop_stamps(blocks, layout)
    if options.running_heads:
        blocks, changes["running_heads"] = drop_running_heads(blocks, layout)
    if options.false_headings:
        blocks, changes["false_headings"] = demote_headings(blocks)
    if options.figure_captions:
        blocks, changes["figure_captions"] = gather_figures(blocks)
    if options.page_furniture:
        rest = [block for block in blocks if block.kind not in _FURNITURE]
        changes["page_furniture"] = len(blocks) - len(rest)
        blocks = rest
    if options.legends:
        blocks, changes["legends"] = gather_legends(blocks)
    if options.formulas:
        blocks, changes["formulas"] = gather_formulas(blocks)
    return blocks


def _with_references(blocks: Sequence[Block], options: CleaningOptions, changes: Counter[str]) -> Iterator[Block]:
    """Yield blocks in which the text below the heading of the references is references: an entry a block, or all in one."""
    waiting: list[Block] = []
    for block in [*blocks, Block("comment", TracedText("", ()))]:
        if block.kind == "text" and block.section and is_reference_heading(block.section[-1]):
            waiting.append(block)
            continue
        if waiting and (block.kind in ("heading", "comment")):
            texts = entries([part.text for part in waiting])
            changes["references"] += len(texts)
            if options.references == "keep":
                texts = [join(texts, "\n\n")]
            if options.references != "drop":
                yield from (replace(waiting[0], kind="reference", text=text) for text in texts)
            waiting = []
        yield block


def _texts(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        yield from (part.text for part in (block.text, *block.body))
        if block.table:
            yield from (cell.text for cell in block.table.cells)


class _Cleaner:
    """The rules for characters, as chosen, and the count of what they did."""

    def __init__(self, options: CleaningOptions, changes: Counter[str]) -> None:
        self._options, self._changes = options, changes

    def before_joining(self, block: Block) -> Block:
        """Return a block without what hides how its text begins and ends."""
        if block.kind == "code":
            return block
        names = ("soft_hyphens", "ligatures", "escapes")
        return self._mapped(block, lambda text: self._apply(text, names))

    def after_joining(self, block: Block, known: Evidence, *, front: bool) -> Block:
        """Return a block with whole words on one line."""
        if block.kind == "code":
            return block

        def finish(text: TracedText) -> TracedText:
            if self._options.hyphens:
                text = self._edited(text, "hyphens", hyphen_edits(text.text, known))
            if self._options.footnote_marks and ((front and block.kind == "text") or block.kind == "footnote"):
                text = self._edited(text, "footnote_marks", rules.footnote_marks(text.text, front=True))
                text = self._edited(text, "footnote_marks", rules.author_marks(text.text))
            names = ("footnote_marks", "bullets", "line_breaks", "spaces")
            return self._apply(text, names).strip()

        block = self._mapped(block, finish)
        if block.table:
            table = block.table.map_texts(
                lambda text: finish(self._apply(TracedText.of(text), ("soft_hyphens", "ligatures", "escapes"))).text
            )
            block = replace(block, table=self._without_marks(table))
        return block

    def _without_marks(self, table: Table) -> Table:
        if not self._options.selection_marks:
            return table
        return table.map_texts(lambda text: " ".join(SELECTION.sub(" ", text).split()))

    def _mapped(self, block: Block, change: Callable[[TracedText], TracedText]) -> Block:
        inside = change(TracedText.of(block.inside)).text if block.inside else ""
        return replace(block, text=change(block.text), body=tuple(map(change, block.body)), inside=inside)

    def _apply(self, text: TracedText, names: Iterable[str]) -> TracedText:
        for name in names:
            if getattr(self._options, name):
                text = self._edited(text, name, getattr(rules, name)(text.text))
        return text

    def _edited(self, text: TracedText, name: str, edits: list[Edit]) -> TracedText:
        if edits and (verbatim := rules.verbatim(text.text)):
            edits = [edit for edit in edits if not _overlaps(edit, verbatim)]
        self._changes[name] += len(edits)
        return text.edit(edits)


def _overlaps(edit: Edit, spans: Sequence[Span]) -> bool:
    """Tell whether an edit reaches into one of the spans, which are in order and apart."""
    place = bisect_left(spans, edit[1], key=lambda span: span[0]) - 1
    return place >= 0 and spans[place][1] > edit[0]


class _Writer:
    """The clean text while it is put together."""

    def __init__(self) -> None:
        self.parts: list[TracedText] = []
        self.paragraphs: list[Paragraph] = []
        self._length = 0

    def add(self, role: str, text: TracedText, section: tuple[str, ...], *, mark: str = "") -> Span:
        """Append a paragraph behind a blank line, and return its span."""
        begin = self._length + (2 if self.parts else 0)
        part = join([TracedText(mark, ()), text])
        self.parts.append(part)
        self._length = begin + len(part.text)
        self.paragraphs.append(Paragraph(role, begin, self._length, section))  # type: ignore[arg-type]
        return begin, self._length


def _assembled(blocks: Sequence[Block], layout: Layout, changes: dict[str, int]) -> LayoutDocument:
    writer = _Writer()
    title = next((block.text.text for block in blocks if block.kind == "title"), "")
    sections: list[Section] = []
    figures: list[Figure] = []
    tables: list[Table] = []
    references: list[Span] = []
    for group in _groups(blocks):
        path = group[0].section
        spans: list[Span] = []
        heading = ""
        for block in sorted(group, key=lambda block: block.kind == "footnote"):
            if block.kind in ("title", "heading"):
                heading = block.text.text
                spans.append(
                    writer.add(
                        block.kind, block.text, path, mark="#" * min(block.level + (block.kind == "heading"), 6) + " "
                    )
                )
            elif block.kind not in ("figure", "table", "caption", "reference") and block.text.text:
                role = block.kind if block.kind in ("code", "formula", "footnote") else "text"
                spans.append(writer.add(role, block.text, path))
        if spans:
            sections.append(Section(heading, path, spans[0][0], spans[-1][1]))
        for block in group:
            if block.kind == "reference":
                references.append(writer.add("reference", block.text, path))
            elif block.kind == "caption":
                writer.add("caption", block.text, path)
            elif block.kind == "figure":
                figures.append(_figure(block, writer, layout))
            elif block.table:
                tables.append(_table(block.table, title, path, layout))
    traced = join(writer.parts, "\n\n")
    return LayoutDocument(
        title,
        traced,
        tuple(writer.paragraphs),
        tuple(sections),
        tuple(figures),
        tuple(tables),
        tuple(references),
        layout,
        changes,
    )


def _groups(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield a heading with the blocks below it."""
    group: list[Block] = []
    for block in blocks:
        if block.kind in ("title", "heading") and group:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _figure(block: Block, writer: _Writer, layout: Layout) -> Figure:
    parts = [("caption", block.text)] if block.text.text else []
    parts += [("figure", text) for text in block.body]
    spans = [writer.add(role, text, block.section) for role, text in parts]
    start, end = (spans[0][0], spans[-1][1]) if spans else (0, 0)
    pages = {layout.page_at(origin) for _, text in parts for origin, _ in text.sources()} - {None}
    return Figure(
        block.text.text, start, end, block.inside, block.section, tuple(sorted(page for page in pages if page))
    )


def _table(table: Table, title: str, path: tuple[str, ...], layout: Layout) -> Table:
    pages = table.pages
    if not pages and table.span and (page := layout.page_at(table.span[0])) is not None:
        pages = (page,)
    return replace(table, title=title, section=", ".join(path), pages=pages)
