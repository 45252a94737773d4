"""Read Markdown into blocks.

The parser markdown-it-py finds the blocks, `factoid.text.inline` what a reader sees in them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from factoid.text.blocks import Block, BlockKind, Lead, Visible, picked
from factoid.text.dialect_rules import DIRECTIVE, TABLES
from factoid.text.dialects import BREAK, FILLER, without_dialects
from factoid.text.directive_options import directive_options
from factoid.text.html import html_blocks
from factoid.text.inline import inline
from factoid.text.lines import number_length
from factoid.text.paragraphs import (
    LONGEST_LEAD,
    SENTENCE_ENDS,
    Above,
    Source,
    caption_of,
    is_introduction,
    label_of,
    lead_of,
    paragraph_blocks,
    span_of,
    table_blocks,
)
from factoid.text.plain import is_code_like
from factoid.text.restructured_tables import directive_table, joined_lines
from factoid.words import count_words

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

_NEWLINE = re.compile("\n")
_SPACE_BEFORE_HIDDEN = re.compile(rf" [{FILLER}{BREAK}]++(?=[.,;!?)])")
_PARAGRAPH = re.compile(r"\S[^\n]*+(?:\n(?![ \t>]*+(?:\n|\Z))[^\n]*+)*+")
_DEEPEST = 100  # quotes and lists within each other, two levels for each list
_YEAR = re.compile(r"\d{4,9}[.)][ \t]+\Z")  # "1984. A novel" is not an item of a list
_QUOTE = re.compile(r"[ \t>]*")
_ITEM = re.compile(r"(?:[ \t>]|(?:[-+*]|\d{1,9}[.)])(?=[ \t]))*")
_TASK = re.compile(r"\[([ xX])\](?=\s)")
_ADMONITION = re.compile(
    r"(?:!!!|\?\?\?\+?|===[!+]?)[ \t]+(?P<kind>[\w-]+(?:[ \t]+[\w-]+){0,5})?[ \t]*"
    r"(?:\"(?P<title>[^\n]*)\")?[ \t]*\Z"
)
_UNQUOTED = re.compile(
    r"(?:!!!|\?\?\?\+?)[ \t]+[\w-]+[ \t]+"
    r"(?P<title>(?:[A-Z]|(?:[\w-]+[ \t]+){3})[^\"\n]*[^\"\s])[ \t]*\Z"
)
_SIGN_LINE = re.compile(
    r"(?:<(?:img|br)\b[^<>]{0,500}>\s*|<a\s+(?:id|name)=[^<>]{0,200}>\s*(?:</a>\s*)?){1,9}"
)
_MATH = re.compile(r"(?P<dollars>\$\$)|(?P<bracket>\\\[)|\\begin\{(?P<name>[\w*]{1,30})\}")
_LABEL = re.compile(r"\([^()\n]+\)")  # of a formula in MyST
_MATH_LINES = 100  # most lines of a formula
_DEEPEST_ADMONITION = 20  # within each other
_CONTINUED = re.compile(
    r"[ \t>]*(?:\[\^|:[ \t])"
)  # a footnote, a definition: the lines below belong to it
_DEFINITION = re.compile(r"[ \t>]*:[ \t]")
# What begins an admonition, a tab or the like with its title. The first line of MyST's notes is no
# title, but their text.
_TITLED = re.compile(
    r"[ \t>]*(?:\[!|/{3,}|\{%[ ]*tab\b"
    r"|\{\{[<%][ \t]*(?:alert|admonition|notice|callout|expand|details|tab|accordion|card)\b"
    r"|<[A-Z]\w*+[^<>\n]*+(?<!/)>"
    r"|:{3,}[ \t]*(?!\{|(?:image|row|column|video|code|zone|moniker)\b)"
    r"|(?:`{3,}|:{3,})\{(?:admonition|dropdown|card|grid-item-card|tab-item|topic|sidebar|exercise"
    r"|proof|prf:\w+)\})"
)
_TERM_WORDS = 8  # most words of a term that shares its definition with others
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)*+")
_SHORTENED_HTML = 50  # most blocks of HTML in a text that end before a fence
_RAW_HTML = re.compile(r"<(?:pre|script|style|textarea)\b|<[!?]", re.IGNORECASE)
_REFERENCE = re.compile(r"^[ ]{0,3}\[[^\]\n]{1,999}\]:", re.MULTILINE)
# A definition of a link that no prose looks like, also right below a paragraph or a footnote.
_SURE_REFERENCE = re.compile(
    r"\[(?!\^)[^\[\]\n]{1,200}\]:[ \t]+<?(?:https?://|mailto:|\.{0,2}/|\#)[^\s<>]*>?"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t\r]*"
)
_CLOSING_TAG = re.compile(r"</[A-Za-z][\w-]{0,40}>[ \t]*\Z")
_TABLE = re.compile(r"<(?P<end>/?)(?P<name>table|dl)(?=[\s>/])", re.IGNORECASE)
_MARKED_LINE = re.compile(
    r"^[ \t]*(?:```|~~~|[-*+][ \t]|\d{1,9}[.)][ \t]|\#{1,6}[ \t]|>|\|)", re.MULTILINE
)


def markdown_blocks(
    text: str, start: int = 0, *, lines: bool = True, references: Mapping[str, Any] | None = None
) -> list[Block]:
    """Return the blocks of a Markdown text from a place on, in order.

    Without `lines`, a paragraph is one block, also where its lines are items of a list that
    Markdown does not know, rows of a table without a rule, or formulas.

    Comments, rules, link definitions and empty fences are not blocks. A heading in a list or a
    quote is a paragraph. A block that is only indented is code if it looks like code and does not
    end like a sentence. Quotes and lists that are nested too deep for the parser are read paragraph
    by paragraph.

    The text may be part of another one, whose definitions of links are its `references`.
    """
    return _Reader(text, start, lines=lines, references=references).blocks()


def references_in(text: str, start: int = 0) -> dict[str, Any]:
    """Return the definitions of links in a Markdown text.

    `markdown_blocks` takes them to read parts of the text.
    """
    env: dict[str, Any] = {}
    if _REFERENCE.search(text, start):
        block_tokens(text[start:], env)
    references: dict[str, Any] = env.get("references", {})
    return references


class _Reader:
    """Reads the blocks of a text, token by token."""

    def __init__(
        self, text: str, start: int, *, lines: bool, references: Mapping[str, Any] | None = None
    ) -> None:
        self.text = text
        self.cuts_lines = lines
        self.start = start
        original = text[start:].replace("\r\n", " \n")  # of the same length
        self.source = without_dialects(original)
        self.env: dict[str, Any] = {"lines": lines, "references": dict(references or {})}
        self.tokens = block_tokens(self.source, self.env)
        ends = [match.end() for match in _NEWLINE.finditer(self.source)]
        self.lines = [0, *ends, len(self.source) + 1]  # where each begins, within the source
        self.above = [Above()]
        self.column = 0  # of the outermost list
        self.result: list[Block] = []

    def blocks(self) -> list[Block]:
        """Return all blocks."""
        deep = set(_too_deep(self.tokens))
        read_to = 0  # the line up to which the text is read without its marks
        for index, token in enumerate(self.tokens):
            if token.nesting < 0:
                self._leave(token)
            if token.map is None:
                continue
            first, last = token.map
            if token.level == 0 and (first, last) in deep:
                read_to = last
                self._read_flat(first, last)
            if first < read_to:
                continue
            if token.nesting > 0:
                self._enter(token, index)
            self._read(token, index, first, last)
        return self.result

    # Lists and quotes

    def _enter(self, token: Token, index: int) -> None:
        above = self.above[-1]
        if token.type in ("bullet_list_open", "ordered_list_open"):
            introduction = self._introduction(token, index)
            if not is_introduction(introduction):
                # What the item is about, above its paragraphs.
                introduction = lead_of(above.item) or introduction
            elif above.last is not above.item and not above.is_bare:
                introduction = (*label_of(above.item), *introduction)
            leads = above.again or (*above.leads, *_leads_above(above), *introduction)
            leads = (*leads, *lead_of(above.unfinished), *above.title)
            around = above.again if above.unfinished else None
            if len(self.above) == 1:
                self.column = self._column(token.map[0] if token.map else 0)
            self.above.append(Above(leads=leads, level=above.level + 1, around=around))
        elif token.type == "list_item_open":
            item = Above(leads=above.leads, level=above.level, is_item_start=True)
            item.is_bare = above.is_bare
            self.above.append(item)
        elif token.type == "blockquote_open":
            self.above.append(Above(last=above.last))

    def _introduction(self, token: Token, index: int) -> tuple[Lead, ...]:
        """Return what a list that a token opens goes on from, of the block above it."""
        last = self.above[-1].last
        if last is None or token.map is None:
            return ()
        first_item = self.tokens[index + 3 : index + 4]  # behind its opening and its paragraph's
        item = ""
        if first_item and first_item[0].type == "inline":
            item = first_item[0].content
        between = self.text[last.end : self.start + self.lines[token.map[0]]]
        return lead_of(last, item, is_right_above=between.count("\n") < 2)

    def _leave(self, token: Token) -> None:
        names = ("bullet_list_close", "ordered_list_close", "list_item_close", "blockquote_close")
        if token.type in names and len(self.above) > 1:
            closed = self.above.pop()
            above = self.above[-1]
            above.is_bare = closed.item is not None and closed.last is closed.item
            above.last = None
            is_list = token.type in ("bullet_list_close", "ordered_list_close")
            above.again = ()
            last = closed.last
            if is_list:
                last = closed.unfinished
                above.again = closed.leads
                if closed.around is not None:
                    above.again = closed.around
            is_unfinished = (
                last is not None
                and last.kind in ("item", "paragraph")
                and last.visible.text.endswith((":", "："))
            )
            above.unfinished = last if is_unfinished else None

    # Blocks

    def _read(self, token: Token, index: int, first: int, last: int) -> None:
        kind = token.type
        if kind in ("heading_open", "paragraph_open"):
            content = self.tokens[index + 1].content
            is_heading = kind == "heading_open" and "\n" not in content
            if is_heading:
                self._read_heading(token, content, first)
            else:
                count = content.count("\n") + 1 if content else 0
                self._read_paragraph(first, first + count)
        elif (
            kind == "fence"
            and token.info.lstrip().startswith("{")
            and self._read_directive(token, first, last)
        ):
            return
        elif kind == "fence" and token.content.strip():
            self._read_code(token, first + 1, first, last)
        elif kind == "code_block" and is_code_like(token.content):
            self._read_code(token, first, first, last)
        elif kind == "code_block":
            self._read_paragraph(first, last)
        elif kind == "table_open":
            self._read_table(first, last)
        elif kind == "html_block":
            self._read_html(first, last)
        elif kind == "math_block":
            self._read_verbatim(first, last)
        elif kind == "admonition_title":
            self._read_title(token, first)

    def _read_heading(self, token: Token, content: str, first: int) -> None:
        start, end = self._line(first)
        at = self.source.find(content, start, end)
        if at < 0 or not content:
            return
        hidden = content.replace(FILLER, "").replace(BREAK, "")
        if not hidden.strip():
            return
        visible = self._inline(*self._shown(at, at + len(content)))
        if not visible.text:
            return
        marks = (_ITEM if token.level else _QUOTE).match(self.source, start, at)
        begin = marks.end() if marks else start
        stop = start + len(self.source[start:end].rstrip())
        self._add(
            Block(
                "heading", self.start + begin, self.start + stop, visible, level=int(token.tag[1])
            )
        )

    def _read_paragraph(self, first: int, last: int) -> None:
        """Read lines of prose; those that a dialect sets apart are paragraphs of their own."""
        above = self.above[-1]
        parts: list[list[int]] = []
        around: list[int] = []  # lines of an item of the list around this one
        is_apart = False
        for number in range(first, last):
            line = self._text_of(number)
            if not line.replace(FILLER, "").strip():
                continue
            if parts and self._is_item_around(number, line):
                around = list(range(number, last))
                break
            starts = BREAK in line
            if starts or not parts or is_apart:
                parts.append([number])
            else:
                parts[-1].append(number)
            is_apart = starts and not _CONTINUED.match(self.text, self.start + self.lines[number])
        for numbers in parts:
            source = self._lines_of(numbers, first)
            if _DEFINITION.match(
                self.text, self.start + self.lines[numbers[0]]
            ) and BREAK in self._text_of(numbers[0]):
                self._read_definition(source, above)
            else:
                self._read_source(source, above)
                if BREAK in self._text_of(numbers[0]) and _TITLED.match(
                    self.text, self.start + self.lines[numbers[0]]
                ):
                    above.title = _lead(above.last)
        if around:
            self._read_item_around(around)

    def _is_item_around(self, number: int, line: str) -> bool:
        """Return whether a line that seems to continue an item is an item itself.

        Its list, around that item, is one that Markdown does not know: "B. ".
        """
        items = self.above[0].items
        if len(self.above) == 1 or not items or self._column(number) > self.column:
            return False
        return bool(number_length(line.lstrip())) and self._column(number) == items[-1][0]

    def _read_item_around(self, numbers: Sequence[int]) -> None:
        """Read lines as an item of the outermost list; the items below it go on from this one."""
        above = self.above[0]
        self._extend(paragraph_blocks(self._lines_of(numbers, numbers[0]), self._inline, above))
        if above.last is not None:
            self.above[1].leads = (*above.leads, *_leads_above(above), *lead_of(above.last))

    def _column(self, number: int) -> int:
        line = self._text_of(number)
        return len(line) - len(line.lstrip())

    def _read_source(self, source: Source, above: Above) -> None:
        kind: BlockKind = "item" if above.is_item_start else "paragraph"
        if kind == "item" and (task := _TASK.match(source[0])):
            box = "☐" if task[1] == " " else "☒"
            source = (box + source[0][3:], [source[1][0], *source[1][3:]])
        if not self.cuts_lines:
            visible = self._inline(*source)
            if visible.text:
                self._add(Block(kind, *span_of(visible), visible, above.level))
            return
        label = label_of(above.item)
        has_colon = bool(label) and label[-1].text.endswith((":", "："))
        if (has_colon and above.has_code) or (above.is_bare and not has_colon):
            label = ()
        blocks = paragraph_blocks(source, self._inline, above, kind)
        if label and blocks and blocks[0].kind == "paragraph":
            blocks[0] = replace(blocks[0], leads=(*above.leads, *label))
        self._extend(blocks)

    def _read_definition(self, source: Source, above: Above) -> None:
        term = above.last
        leads: tuple[Lead, ...] = above.leads
        if term is not None and term.kind in ("paragraph", "item") and len(term.visible.text) < 200:
            lines = [" ".join(line.split()) for line in term.visible.text.split("\n")]
            name = ", ".join(lines) if all(map(_is_term, lines)) else lines[-1]
            leads = (*leads, Lead(term.start, term.end, name))
        for block in paragraph_blocks(source, self._inline, Above(level=above.level)):
            if block.kind == "paragraph":
                block = replace(block, kind="item", leads=leads)
            self.result.append(block)

    def _read_table(self, first: int, last: int) -> None:
        above = self.above[-1]
        bare = min(first + 2, last)  # a paragraph below, which the parser takes for rows
        while bare < last and self._is_row(bare):
            bare += 1
        rows = [self._row(number) for number in range(first, bare)]
        leads = (*above.leads, *above.title, *caption_of(above.last))
        above.title = ()
        self._extend(table_blocks(rows, self._inline, leads))
        above.last = self.result[-1] if self.result else None
        if bare < last:
            self._read_paragraph(bare, last)

    def _is_row(self, number: int) -> bool:
        """Return whether a line below a table's header is a row.

        A row has a bar, or the table has one column.
        """
        line = self._text_of(number)
        return "|" in line or "|" not in self._text_of(number - 1).strip(" \t>|")

    def _read_code(self, token: Token, content: int, first: int, last: int) -> None:
        """Read code, whose lines are what the parser left of those from `content` on."""
        parts: list[str] = []
        offsets: list[int] = []
        for number, line in enumerate(token.content.removesuffix("\n").split("\n"), start=content):
            start, end = self._line(number)
            text = line.lstrip(" \t")
            indentation = len(line) - len(text)
            at = end - len(text)
            parts.append(line + "\n")
            for place in range(at - indentation, at):
                offsets.append(max(start, place))
            offsets += range(at, at + len(text) + 1)
        text = "".join(parts)
        blank = _BLANK_LINES.match(text)  # options of a directive are hidden
        begin = blank.end() if blank else 0
        stripped = text[begin:].rstrip()
        places = [self.start + at for at in offsets[begin : begin + len(stripped)]]
        if not stripped.strip():
            return
        if FILLER in stripped or BREAK in stripped:  # in code, nothing is hidden
            signs = list(stripped)
            for number, sign in enumerate(signs):
                if sign in (FILLER, BREAK):
                    signs[number] = self.text[places[number]]
            stripped = "".join(signs)
        start = self.lines[first]
        if token.type == "fence":
            start = self.source.index(token.markup, start)
        block_text = self.source[self.lines[first] : self.lines[last] - 1]
        end = self.lines[first] + len(block_text.rstrip())
        visible = Visible(stripped, places, ((0, len(stripped)),))
        self._add(Block("code", self.start + start, self.start + end, visible))

    def _read_directive(self, token: Token, first: int, last: int) -> bool:
        """Read what a directive of MyST has beside its code.

        Beside code stands a caption; a table is read as a whole. The result is whether the
        directive was a table.
        """
        directive = DIRECTIVE.fullmatch(token.info.strip())
        if directive is None:
            return False
        lines = [self._line_in_text(number) for number in range(first + 1, last - 1)]
        options, count = directive_options(self.text, lines)
        values: dict[str, tuple[int, int]] = {}
        for option in options:
            if option.lines:
                values[option.name] = option.lines[0]
            if option.name == "caption" and option.lines and token.content.strip():
                caption = self._inline(*joined_lines(self.text, option.lines))
                if caption.text:
                    start, end = option.lines[0][0], option.lines[-1][1]
                    self._add(Block("paragraph", start, end, caption))
        if directive["name"] not in TABLES:
            return False
        title = None
        if directive["title"]:
            start, end = self._line_in_text(first)
            at = self.text.rfind(directive["title"].strip(), start, end)
            if at >= 0:
                title = (at, at + len(directive["title"].strip()))
        blocks = directive_table(
            directive["name"], self.text, title, values, lines[count:], self._inline
        )
        self._extend(blocks)
        self.above[-1].last = blocks[-1] if blocks else None
        return True

    def _line_in_text(self, number: int) -> tuple[int, int]:
        """Return where a line begins and ends in the whole text, without white space at its end."""
        start, end = self._line(number)
        line = self.text[self.start + start : self.start + end]
        return self.start + start, self.start + start + len(line.rstrip())

    def _read_verbatim(self, first: int, last: int) -> None:
        text, places = self._lines_of(list(range(first, last)), first)
        if text.startswith("$$"):  # without a label
            text = text[: text.rfind("$$") + 2]
        visible = Visible(text.rstrip(), places[: len(text.rstrip())], ((0, len(text.rstrip())),))
        if visible.text:
            self._add(
                Block(
                    "paragraph",
                    visible.offsets[0],
                    visible.offsets[-1] + 1,
                    visible,
                    self.above[-1].level,
                )
            )

    def _read_html(self, first: int, last: int) -> None:
        begin = self.lines[first]
        end = self.lines[min(last, len(self.lines) - 1)] - 1
        source = self.source[begin:end]
        if len(self.above) > 1:  # without the marks of quotes and lists
            source = "\n".join(_blank_marks(line) for line in source.split("\n"))
        source = source.replace(FILLER, " ").replace(BREAK, " ")
        for block in html_blocks(source, 0, len(source), self._inline):
            self._add(block.moved(self.start + begin))

    def _read_title(self, token: Token, first: int) -> None:
        start, end = self._line(first)
        at = self.source.find(token.content, start, end)
        if at >= 0 and token.content:
            visible = self._inline(*self._shown(at, at + len(token.content)))
            if visible.text:
                block = Block(
                    "paragraph", self.start + at, self.start + at + len(token.content), visible
                )
                self._add(block)
                self.above[-1].title = _lead(block) if token.meta["has_body"] else ()

    def _read_flat(self, first: int, last: int) -> None:
        begin = self.start + self.lines[first]
        end = self.start + self.lines[last] - 1
        for part in _PARAGRAPH.finditer(self.text, begin, end):
            places = range(part.start(), part.end())
            self._extend(paragraph_blocks((part[0], places), self._inline, Above()))

    # Parts of the source

    def _line(self, number: int) -> tuple[int, int]:
        start = self.lines[number]
        return start, self.lines[min(number + 1, len(self.lines) - 1)] - 1

    def _text_of(self, number: int) -> str:
        start, end = self._line(number)
        return self.source[start:end]

    def _lines_of(self, numbers: Sequence[int], first: int) -> Source:
        """Return lines without the marks of quotes and lists before them."""
        parts: list[str] = []
        places: list[int] = []
        for number in numbers:
            start, end = self._line(number)
            line = self.source[start:end]
            marks = (_ITEM if number == first else _QUOTE).match(line)
            begin = marks.end() if marks else 0
            if number == first and (year := _YEAR.search(line[:begin])):
                begin = year.start()
            text, at = self._shown(start + begin, start + len(line.rstrip(" \t\r")))
            if parts:
                parts.append("\n")
                places.append(self.start + self.lines[number] - 1)
            parts.append(text)
            places += at
        return "".join(parts), places

    def _row(self, number: int) -> Source:
        start, end = self._line(number)
        marks = (_ITEM if self.above[-1].is_item_start else _QUOTE).match(self.source, start, end)
        return self._shown(marks.end() if marks else start, end)

    def _shown(self, start: int, end: int) -> Source:
        """Return a part of the source without hidden characters, and the places of the others."""
        text = self.source[start:end]
        places = range(self.start + start, self.start + end)
        if FILLER not in text and BREAK not in text:
            return text, places
        text = _SPACE_BEFORE_HIDDEN.sub(lambda match: FILLER * len(match[0]), text)
        shown = [at for at, character in enumerate(text) if character not in (FILLER, BREAK)]
        return picked(text, places, shown)

    def _inline(self, content: str, places: Sequence[int]) -> Visible:
        return inline(content, places, self.env.get("references"))

    def _add(self, block: Block) -> None:
        above = self.above[-1]
        if block.kind == "heading" and len(self.above) > 1:
            block = replace(block, kind="paragraph", level=above.level, leads=())
            if above.is_item_start:
                block = replace(block, kind="item", leads=above.leads)
        block = _titled(block, above)
        self.result.append(block)
        above.last = block
        above.has_code = above.has_code or block.kind == "code"
        if above.is_item_start:
            above.item = block
        above.is_item_start = False
        above.again = ()
        above.unfinished = None

    def _extend(self, blocks: Sequence[Block]) -> None:
        if blocks:
            self.result.append(_titled(blocks[0], self.above[-1]))
            self.result += blocks[1:]
            if self.above[-1].is_item_start:
                self.above[-1].item = blocks[0]
            self.above[-1].is_item_start = False
            self.above[-1].again = ()
            self.above[-1].unfinished = None


def _is_term(line: str) -> bool:
    return count_words(line) <= _TERM_WORDS and line[-1:] not in SENTENCE_ENDS


def _lead(title: Block | None) -> tuple[Lead, ...]:
    """Return a title as what the blocks below it go on from."""
    if title is None or count_words(title.visible.text) > LONGEST_LEAD:
        return ()
    return (Lead(title.start, title.end, " ".join(title.visible.text.split())),)


def _titled(block: Block, above: Above) -> Block:
    """Return a block with the title above it, which holds for no other one."""
    title = above.title
    above.title = ()
    if title and block.kind in ("paragraph", "item"):
        return replace(block, leads=(*block.leads, *title))
    return block


def _leads_above(above: Above) -> tuple[Lead, ...]:
    """Return what the item above a list goes on from, which Markdown takes for a paragraph."""
    if above.last is None or above.last.kind != "item":
        return ()
    return tuple(lead for lead in above.last.leads if lead not in above.leads)


def _blank_marks(line: str) -> str:
    marks = _ITEM.match(line)
    length = marks.end() if marks else 0
    return " " * length + line[length:]


def _too_deep(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the lines of outermost quotes and lists of which the parser skipped a part.

    The lines are `[first, end)`.
    """
    outermost = (0, 0)
    for token in tokens:
        if token.level == 0 and token.map is not None:
            outermost = (token.map[0], token.map[1])
        if token.level == _DEEPEST - 1 and token.type in ("blockquote_open", "list_item_open"):
            yield outermost


# The parser


def block_tokens(source: str, env: dict[str, Any] | None = None) -> list[Token]:
    """Return markdown-it's tokens of the blocks of a text; tables have none for their cells.

    Definitions of links are added to `env`, as the parser does.
    """
    tokens: list[Token] = []
    parser = _parser()
    if source:
        state = _state_class()(source, parser, {} if env is None else env, tokens)
        parser.block.tokenize(state, state.line, state.lineMax)
    return tokens


@cache
def _state_class() -> type[StateBlock]:
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

    cell = Token("td", "td", 0)

    class StateWithoutCells(StateBlock):
        """Makes no tokens for the cells of tables.

        Rows are filled up to the number of columns, and 2 KB may have 65,000.
        """

        def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
            is_cell = self.parentType == "table" and tag in ("th", "td", "")
            return cell if is_cell else super().push(ttype, tag, nesting)

    return StateWithoutCells


def _closing_tables(state: Any) -> dict[int, int]:
    """Return where each table and list of terms in HTML ends, by where it starts."""
    ends: dict[int, int] = state.env.setdefault("tables", {})
    if "tables_read" not in state.env:
        state.env["tables_read"] = True
        open_tables: dict[str, list[int]] = {"table": [], "dl": []}
        for tag in _TABLE.finditer(state.src):
            same = open_tables[tag["name"].lower()]
            if not tag["end"]:
                same.append(tag.start())
            elif same:
                ends[same.pop()] = tag.end()
    return ends


def _has_marked_lines(state: Any, start: int, end: int) -> bool:
    """Return whether a line between two places begins a list, a fence or the like in Markdown."""
    if "marked_lines" not in state.env:
        state.env["marked_lines"] = [line.start() for line in _MARKED_LINE.finditer(state.src)]
    lines: list[int] = state.env["marked_lines"]
    return bisect_left(lines, start) < bisect_left(lines, end)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable("table")
    terminators: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    ruler = parser.block.ruler
    ruler.before("fence", "admonition", _admonition, terminators)
    ruler.before("fence", "math_block", _math, terminators)
    ruler.before("html_block", "html_table", _html_table, terminators)
    ruler.before("reference", "sure_reference", _ends_before_reference, {"alt": ["paragraph"]})
    ruler.at("html_block", _html_block, terminators)
    return parser


def _ends_before_reference(state: Any, first: int, last: int, silent: bool) -> bool:  # noqa: ARG001
    """Say that a paragraph ends before a definition of a link, which the parser then reads."""
    start = state.bMarks[first] + state.tShift[first]
    return silent and _SURE_REFERENCE.fullmatch(state.src, start, state.eMarks[first]) is not None


def _admonition(state: Any, first: int, last: int, silent: bool) -> bool:
    """Read a block of MkDocs, `!!! note "Title"`, with the indented lines below it."""
    begin = state.bMarks[first] + state.tShift[first]
    start = begin
    while state.src.startswith((FILLER, BREAK), start):  # the indentation of a definition
        start += 1
    if state.is_code_block(first) or state.src[start : start + 3] not in ("!!!", "???", "==="):
        return False
    line = state.src[start : state.eMarks[first]]
    match = _UNQUOTED.match(line) or _ADMONITION.match(line)
    if match is None or (line.startswith("===") and match["title"] is None):
        return False
    if silent:
        return True
    depth = state.env.get("admonitions", 0)
    if depth >= _DEEPEST_ADMONITION:
        return False
    indentation = state.sCount[first] + start - begin + 4
    end = first + 1
    while end < last and (state.isEmpty(end) or state.sCount[end] >= indentation):
        end += 1
    if match["title"]:
        token = state.push("admonition_title", "", 0)
        token.map = [first, first + 1]
        token.content = match["title"]
        token.meta["has_body"] = any(not state.isEmpty(line) for line in range(first + 1, end))
    outer_indentation = state.blkIndent
    outer_end = state.lineMax
    state.blkIndent = indentation
    state.lineMax = end
    state.env["admonitions"] = depth + 1
    state.md.block.tokenize(state, first + 1, end)
    state.env["admonitions"] = depth
    state.blkIndent = outer_indentation
    state.lineMax = outer_end
    state.line = end
    return True


def _math(state: Any, first: int, last: int, silent: bool) -> bool:
    """Read a formula on lines of its own: nothing in it is Markdown."""
    start = state.bMarks[first] + state.tShift[first]
    match = _MATH.match(state.src, start, state.eMarks[first])
    if match is None or state.is_code_block(first) or not state.env.get("lines", True):
        return False
    if match["dollars"]:
        closing = "$$"
    elif match["bracket"]:
        closing = "\\]"
    else:
        closing = f"\\end{{{match['name']}}}"
    end = first
    at = state.src.find(closing, match.end(), state.eMarks[first])
    while at < 0:
        end += 1
        if (
            end >= last
            or end - first > _MATH_LINES
            or state.isEmpty(end)
            or state.sCount[end] < state.blkIndent
        ):
            return False
        at = state.src.find(closing, state.bMarks[end], state.eMarks[end])
    rest = state.src[at + len(closing) : state.eMarks[end]].strip()
    if rest and not (match["dollars"] and _LABEL.fullmatch(rest)):
        return False  # a formula in a line of prose
    if silent:
        return True
    token = state.push("math_block", "", 0)
    token.map = [first, end + 1]
    state.line = end + 1
    return True


def _html_block(state: Any, first: int, last: int, silent: bool) -> bool:
    """Read a block of HTML, which ends before a fence or an image right below a closing tag.

    A line of nothing but pictures and targets of links is a block of its own, as in MkDocs.
    CommonMark goes on to a blank line.
    """
    from markdown_it.rules_block import html_block

    if not html_block(state, first, last, silent):
        return False
    start = state.bMarks[first] + state.tShift[first]
    if silent or _RAW_HTML.match(state.src, start):
        return True
    # What is behind the end is looked through again, so that this is done for a few blocks only.
    shortened = state.env.get("shortened_html", 0)
    if shortened >= _SHORTENED_HTML:
        return True
    for number in range(first + 1, state.line):
        begin = state.bMarks[number] + state.tShift[number]
        is_below_tag = _CLOSING_TAG.search(
            state.src, state.bMarks[number - 1], state.eMarks[number - 1]
        )
        is_fence = is_below_tag and state.src.startswith(("```", "~~~", "!["), begin)
        is_below_sign = number == first + 1 and _SIGN_LINE.fullmatch(
            state.src, start, state.eMarks[first]
        )
        if is_fence or (is_below_sign and not state.src.startswith("<", begin)):
            state.line = number
            state.tokens[-1].map = [first, number]
            state.env["shortened_html"] = shortened + 1
            break
    return True


def _html_table(state: Any, first: int, last: int, silent: bool) -> bool:
    """Read a table or a list of terms in HTML to its end, also behind a blank line.

    CommonMark ends a block of HTML at a blank line. In a list of terms, blocks of Markdown may
    stand between blank lines, which HTML has not.
    """
    start = state.bMarks[first] + state.tShift[first]
    tag = _TABLE.match(state.src, start, state.eMarks[first])
    if state.is_code_block(first) or tag is None:
        return False
    closing = _closing_tables(state).get(start, -1)
    if closing < 0:
        return False
    if tag["name"].lower() == "dl" and _has_marked_lines(state, start, closing):
        return False
    end = first
    while state.eMarks[end] < closing:
        end += 1
        if end >= last or (not state.isEmpty(end) and state.sCount[end] < state.blkIndent):
            return False
    if silent:
        return True
    token = state.push("html_block", "", 0)
    token.map = [first, end + 1]
    state.line = end + 1
    return True
