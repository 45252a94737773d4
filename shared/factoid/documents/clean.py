"""Clean layouts: drop marks, markup and page furniture, join what was cut, and separate text, tables and figures."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

from factoid.documents import rules
from factoid.documents.blocks import Furniture, LayoutBlock, blocks_of
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
from factoid.documents.layout import Layout, grouped
from factoid.documents.tables import SELECTION, Table
from factoid.documents.trace import Edit, TracedText, join
from factoid.errors import InvalidInputError
from factoid.sentences import Span

References = Literal["split", "keep", "drop"]

_FURNITURE = get_args(Furniture)
_SEPARATOR = "\n\n"  # between paragraphs


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningOptions:
    """The rules that clean a document. Each can be turned off by name; `LayoutDocument.changes` counts what each did.

    Raises:
        InvalidInputError: `references` is not one of the three values.
    """

    selection_marks: bool = True  # remove ":selected:", ":unselected:" and ticked or empty boxes
    page_furniture: bool = True  # remove page headers, footers and numbers, and comments
    # remove short lines that begin or end three or more pages alike, except for page numbers
    running_heads: bool = True
    side_stamps: bool = True  # remove headings that run along the margin, and stamps of preprint servers
    false_headings: bool = True  # turn false headings into text
    numbered_headings: bool = True  # take the depth of headings from their numbers
    figure_captions: bool = True  # put captions, also those read as footers, with their figures
    legends: bool = True  # treat rows of scraps directly before a figure as part of it
    formulas: bool = True  # join the scraps of a formula
    rejoin: bool = True  # join running text cut by columns, pages, figures, tables or footnotes
    references: References = "split"  # "split" their list into entries, "keep" it as one part, or "drop" it
    hyphens: bool = True  # restore words cut at line ends
    vocabulary: Collection[str] = frozenset()  # in lower case; decides on cut words that occur nowhere else
    soft_hyphens: bool = True  # remove soft hyphens and zero-width characters
    ligatures: bool = True  # write ligatures as letters
    escapes: bool = True  # remove Markdown's backslashes
    footnote_marks: bool = True  # remove raised numbers and daggers after words; write "m<sup>2</sup>" as "m²"
    bullets: bool = True  # write "- " for the bullets of lists
    line_breaks: bool = True  # join the lines of a paragraph
    spaces: bool = True  # replace several spaces by one

    def __post_init__(self) -> None:
        if self.references not in get_args(References):
            raise InvalidInputError(f"references must be 'split', 'keep' or 'drop', got {self.references!r}")


def clean(layout: Layout, options: CleaningOptions | None = None) -> LayoutDocument:
    """Return the clean document of a layout, by all rules if `options` is None. Code and LaTeX formulas stay unchanged."""
    options = options or CleaningOptions()
    changes: Counter[str] = Counter()
    blocks, changes["selection_marks"] = blocks_of(layout, marks=options.selection_marks)
    blocks = with_title(blocks)
    block_rules: dict[str, Callable[[list[LayoutBlock]], tuple[list[LayoutBlock], int]]] = {
        "side_stamps": partial(drop_stamps, layout=layout),
        "running_heads": partial(drop_running_heads, layout=layout),
        "false_headings": demote_headings,
        "figure_captions": gather_figures,
        "page_furniture": _drop_furniture,
        "legends": gather_legends,
        "formulas": gather_formulas,
    }
    for name, rule in block_rules.items():
        if getattr(options, name):
            blocks, changes[name] = rule(blocks)
    blocks = with_sections(blocks, numbers=options.numbered_headings)
    cleaner = _Cleaner(options, changes)
    blocks = list(map(cleaner.before_joining, blocks))
    if options.rejoin:
        blocks, changes["rejoin"] = rejoin(blocks)
    blocks = list(_with_references(blocks, options, changes))
    known = evidence(_texts(blocks), options.vocabulary) if options.hyphens else Evidence()
    first = next((place for place, block in enumerate(blocks) if block.kind == "heading"), 0)
    blocks = [cleaner.after_joining(block, known, front=place < first) for place, block in enumerate(blocks)]
    return _assembled(blocks, layout, {name: count for name, count in changes.items() if count})


def _drop_furniture(blocks: Sequence[LayoutBlock]) -> tuple[list[LayoutBlock], int]:
    rest = [block for block in blocks if block.kind not in _FURNITURE]
    return rest, len(blocks) - len(rest)


def _with_references(
    blocks: Sequence[LayoutBlock], options: CleaningOptions, changes: Counter[str]
) -> Iterator[LayoutBlock]:
    """Yield blocks with the text below the heading "References" as references: one block for each entry, or one for all."""
    waiting: list[LayoutBlock] = []
    for block in [*blocks, LayoutBlock("comment")]:
        if block.kind == "text" and block.section and is_reference_heading(block.section[-1]):
            waiting.append(block)
            continue
        if waiting and block.kind in ("heading", "comment"):
            texts = entries([part.text for part in waiting])
            changes["references"] += len(texts)
            if options.references == "keep":
                texts = [join(texts, _SEPARATOR)]
            if options.references != "drop":
                yield from (replace(waiting[0], kind="reference", text=text) for text in texts)
            waiting = []
        yield block


def _texts(blocks: Iterable[LayoutBlock]) -> Iterator[str]:
    for block in blocks:
        yield from (part.text for part in (block.text, *block.body))
        if block.table:
            yield from (cell.text for cell in block.table.cells)


class _Cleaner:
    """Apply the chosen rules for characters, and count what they did."""

    def __init__(self, options: CleaningOptions, changes: Counter[str]) -> None:
        self._options, self._changes = options, changes

    def before_joining(self, block: LayoutBlock) -> LayoutBlock:
        """Apply the rules that show how the block's text really begins and ends."""
        return self._mapped(block, self._unhide)

    def after_joining(self, block: LayoutBlock, known: Evidence, *, front: bool) -> LayoutBlock:
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

    def _mapped(self, block: LayoutBlock, change: Callable[[TracedText], TracedText]) -> LayoutBlock:
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
    """Return whether an edit overlaps one of the spans, which are in order and disjoint."""
    place = bisect_left(spans, edit[1], key=lambda span: span[0]) - 1
    return place >= 0 and spans[place][1] > edit[0]


def _assembled(blocks: Sequence[LayoutBlock], layout: Layout, changes: dict[str, int]) -> LayoutDocument:
    title = next((block.text.text for block in blocks if block.kind == "title"), "")
    parts: list[TracedText] = []
    paragraphs: list[Paragraph] = []
    sections: list[Section] = []
    figures: list[Figure] = []
    tables: list[Table] = []

    def write(role: Any, text: TracedText, *, mark: str = "") -> Span:
        """Append a paragraph after a blank line, and return its span."""
        begin = paragraphs[-1].end + len(_SEPARATOR) if paragraphs else 0
        parts.append(join([TracedText(mark, ()), text]))
        paragraphs.append(Paragraph(role, begin, begin + len(parts[-1].text), path))
        return begin, paragraphs[-1].end

    for group in grouped(blocks, lambda _, block: block.kind in ("title", "heading")):
        path = group[0].section
        spans: list[Span] = []
        heading = ""
        for block in sorted(group, key=lambda block: block.kind == "footnote"):
            if block.kind in ("title", "heading"):
                heading = block.text.text
                level = min(block.level + (block.kind == "heading"), 6)
                spans.append(write(block.kind, block.text, mark="#" * level + " "))
            elif block.kind not in ("figure", "table", "caption", "reference") and block.text.text:
                spans.append(write(block.kind if block.kind in ("code", "formula", "footnote") else "text", block.text))
        if spans:
            sections.append(Section(heading, path, spans[0][0], spans[-1][1]))
        for block in group:
            if block.kind in ("reference", "caption"):
                write(block.kind, block.text)
            elif block.kind == "figure":
                caption = [("caption", block.text)] if block.text.text else []
                texts = [*caption, *(("figure", text) for text in block.body)]
                spans = [write(role, text) for role, text in texts]
                pages = layout.pages_of(span for _, text in texts for span in text.sources())
                start, end = (spans[0][0], spans[-1][1]) if spans else (0, 0)
                figures.append(Figure(block.text.text, start, end, block.inside, block.section, pages))
            elif block.table:
                pages = block.table.pages or layout.pages_of([block.table.span] if block.table.span else [])[:1]
                tables.append(replace(block.table, title=title, section=", ".join(path), pages=pages))
    return LayoutDocument(
        title=title,
        traced=join(parts, _SEPARATOR),
        paragraphs=tuple(paragraphs),
        sections=tuple(sections),
        figures=tuple(figures),
        tables=tuple(tables),
        layout=layout,
        changes=changes,
    )
