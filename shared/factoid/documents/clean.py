"""Drop marks and page furniture, join what was cut, and separate the parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from factoid.documents import rules
from factoid.documents.blocks import LayoutBlock, blocks_of
from factoid.documents.document import LayoutDocument, assembled
from factoid.documents.headings import demote_headings, drop_stamps, mark_title, number_headings
from factoid.documents.hyphens import evidence, hyphen_edits
from factoid.documents.layout import Layout
from factoid.documents.page_furniture import drop_running_heads
from factoid.documents.rejoin import gather_figures, join_tables, rejoin
from factoid.documents.tables import answered
from factoid.documents.trace import Edit, TracedText
from factoid.errors import InvalidInputError

Rule = Callable[[list[LayoutBlock]], list[LayoutBlock]]


def clean(layout: Layout, *, without: Iterable[str] = ()) -> LayoutDocument:
    """Return the clean document of a layout. Code and LaTeX formulas stay unchanged.

    Args:
        layout: What `read_layout`, `read_markdown` or `read_pdf` returned.
        without: Names of rules that are not applied (docs/documents.md explains them).

    Raises:
        InvalidInputError: There is no such rule, or a table cannot be read (see `markdown_tables`).
        MissingDependencyError: A table is in HTML, and lxml is not installed.
    """
    skipped = {*without}
    if unknown := skipped - RULES.keys():
        raise InvalidInputError(f"rules are {', '.join(RULES)}, got {', '.join(sorted(unknown))}")
    blocks = mark_title(blocks_of(layout))
    changes: dict[str, int] = {}
    for name, rule in RULES.items():
        before = blocks
        if name not in skipped:
            blocks = rule(blocks)
        same = {*map(id, blocks)}
        if count := sum(id(block) not in same for block in before):
            changes[name] = count
    return assembled(blocks, layout, changes)


def _edited(rule: Callable[[str], list[Edit]], blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    """Apply a rule to the texts of all blocks but code.

    Blocks that it leaves without text are dropped.
    """

    def edits(text: str) -> list[Edit]:
        proposed = rule(text)
        fixed: set[int] = set()
        if proposed:
            for start, end in rules.verbatim(text):
                fixed.update(range(start, end))
        edited = []
        for edit in proposed:
            if fixed.isdisjoint(range(edit[0], edit[1])):
                edited.append(edit)
        return edited

    def edit(text: str) -> str:
        if changes := edits(text):
            return TracedText.of(text).edit(changes).text.strip()
        return text

    edited: list[LayoutBlock] = []
    for block in blocks:
        if block.kind != "code":
            changes = edits(block.text.text)
            text = block.text
            if changes:
                text = text.edit(changes).strip()
            table = block.table
            if table:
                table = table.map_texts(edit)
            inside = edit(block.inside)
            if (text, table, inside) != (block.text, block.table, block.inside):
                block = replace(block, text=text, table=table, inside=inside)
        if block.text.text or block.kind in ("table", "figure"):
            edited.append(block)
    return edited


def _without_marks(blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    """Remove the marks of boxes from running text; in the cells of tables they are answers."""
    result: list[LayoutBlock] = []
    for block in blocks:
        if block.table:
            table = block.table.map_texts(answered)
            if table != block.table:
                block = replace(block, table=table)
        result.append(block)
    return _edited(rules.selection_marks, result)


def _with_hyphens(blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    texts = [block.text.text for block in blocks]
    for block in blocks:
        if block.table:
            texts += [cell.text for cell in block.table.cells]
    known = evidence(texts)
    return _edited(partial(hyphen_edits, known=known), blocks)


# In the order in which they are applied.
RULES: Mapping[str, Rule] = {
    "selection_marks": _without_marks,
    "image_data": partial(_edited, rules.image_data),
    "side_stamps": drop_stamps,
    "running_heads": drop_running_heads,
    "false_headings": demote_headings,
    "figure_captions": gather_figures,
    "page_furniture": lambda blocks: [block for block in blocks if block.kind != "furniture"],
    "continued_tables": join_tables,
    "numbered_headings": number_headings,
    "characters": partial(_edited, rules.characters),
    "escapes": partial(_edited, rules.escapes),
    "rejoin": rejoin,
    "hyphens": _with_hyphens,
    "footnote_marks": partial(_edited, rules.footnote_marks),
    "bullets": partial(_edited, rules.bullets),
    "line_breaks": partial(_edited, rules.line_breaks),
}
