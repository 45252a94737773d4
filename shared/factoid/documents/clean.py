"""Clean layouts: drop marks, markup and page furniture, join what was cut, and set text, tables and figures apart."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from factoid.documents import rules
from factoid.documents.blocks import Block, Furniture, blocks_of
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

_FURNITURE = get_args(Furniture)


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
            raise InvalidInputError(f"references must be 'split', 'keep' or 'drop', got {self.references!r}")


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
    rules: dict[str, Callable[[list[Block]], tuple[list[Block], int]]] = {
        "side_stamps": lambda blocks: drop_stamps(blocks, layout),
        "running_heads": lambda blocks: drop_running_heads(blocks, layout),
        "false_headings": demote_headings,
        "figure_captions": gather_figures,
        "page_furniture": _drop_furniture,
        "legends": gather_legends,
        "formulas": gather_formulas,
    }
    for name, rule in rules.items():
        if getattr(options, name):
            blocks, changes[name] = rule(blocks)
    return blocks


def _drop_furniture(blocks: Sequence[Block]) -> tuple[list[Block], int]:
    rest = [block for block in blocks if block.kind not in _FURNITURE]
    return rest, len(blocks) - len(rest)


def _with_references(blocks: Sequence[Block], options: CleaningOptions, changes: Counter[str]) -> Iterator[Block]:
    """Yield blocks with the text below the heading "References" as references: one block for each entry, or one for all."""
    waiting: list[Block] = []
    for block in [*blocks, Block("comment")]:
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
        """Apply the rules that show how the block's text really begins and ends."""
        return self._mapped(block, self._unhide)

    def after_joining(self, block: Block, known: Evidence, *, front: bool) -> Block:
        """Restore cut words and write the block's text on one line."""

        def finish(text: TracedText) -> TracedText:
            if self._options.hyphens:
                text = self._edited(text, "hyphens", hyphen_edits(text.text, known))
            if self._options.footnote_marks and ((front and block.kind == "text") or block.kind == "footnote"):
                text = self._edited(text, "footnote_marks", rules.footnote_marks(text.text, front=True))
                text = self._edited(text, "footnote_marks", rules.author_marks(text.text))
            return self._apply(text, "footnote_marks", "bullets", "line_breaks", "spaces").strip()

        def finish_cell(text: str) -> str:
            text = finish(self._unhide(TracedText.of(text))).text
            return " ".join(SELECTION.sub(" ", text).split()) if self._options.selection_marks else text

        table = block.table.map_texts(finish_cell) if block.table else None
        return replace(self._mapped(block, finish), table=table)

    def _unhide(self, text: TracedText) -> TracedText:
        return self._apply(text, "soft_hyphens", "ligatures", "escapes")

    def _mapped(self, block: Block, change: Callable[[TracedText], TracedText]) -> Block:
        if block.kind == "code":
            return block
        inside = change(TracedText.of(block.inside)).text
        return replace(block, text=change(block.text), body=tuple(map(change, block.body)), inside=inside)

    def _apply(self, text: TracedText, *names: str) -> TracedText:
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
    for group in _groups(blocks):
        path = group[0].section
        spans: list[Span] = []
        heading = ""
        for block in sorted(group, key=lambda block: block.kind == "footnote"):
            if block.kind in ("title", "heading"):
                heading = block.text.text
                level = min(block.level + (block.kind == "heading"), 6)
                spans.append(writer.add(block.kind, block.text, path, mark="#" * level + " "))
            elif block.kind not in ("figure", "table", "caption", "reference") and block.text.text:
                role = block.kind if block.kind in ("code", "formula", "footnote") else "text"
                spans.append(writer.add(role, block.text, path))
        if spans:
            sections.append(Section(heading, path, spans[0][0], spans[-1][1]))
        for block in group:
            if block.kind in ("reference", "caption"):
                writer.add(block.kind, block.text, path)
            elif block.kind == "figure":
                figures.append(_figure(block, writer, layout))
            elif block.table:
                tables.append(_table(block.table, title, path, layout))
    return LayoutDocument(
        title=title,
        traced=join(writer.parts, "\n\n"),
        paragraphs=tuple(writer.paragraphs),
        sections=tuple(sections),
        figures=tuple(figures),
        tables=tuple(tables),
        layout=layout,
        changes=changes,
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
    pages = layout.pages_of(span for _, text in parts for span in text.sources())
    return Figure(block.text.text, start, end, block.inside, block.section, pages)


def _table(table: Table, title: str, path: tuple[str, ...], layout: Layout) -> Table:
    pages = table.pages or layout.pages_of([table.span] if table.span else [])[:1]
    return replace(table, title=title, section=", ".join(path), pages=pages)
