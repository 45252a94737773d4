"""Parse Markdown with markdown-it, with exact positions in the source: blocks of text and code, and what a reader sees."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock

ONLY_MARKS = re.compile(r"[-+*•‣–|:=~`_#>\s]+")  # of lists, tables and rules, without a word
_NEWLINE = re.compile("\n")
_PARAGRAPH = re.compile(r"\S[^\n]*+(?:\n(?![ \t>]*+(?:\n|\Z))[^\n]*+)*+")
_DEEPEST, _DEEPEST_INLINE = (
    100,
    20,
)  # quotes and lists within each other, two levels for each list; links within each other
_SLACK = 300  # characters: what the parser leaves out between two tokens is not longer
_FENCED = re.compile(r"`{3,}[^`\n]*(?:\n|\Z)|~{3,}[^\n]*(?:\n|\Z)")
_INDENTED = re.compile(r"(?: {4}| {0,3}\t)[ \t]*\S")
_CODE_SIGN = re.compile(r"[=(){}\[\];<>/\\_$|#@]|--")
_INLINE_MARK = re.compile(r"[\\`*_\[<&]|\n[ \t]*+>")
_TAG = re.compile(
    r"</?(?:(?P<inline>a|b|code|em|i|mark|s|small|span|strong|sub|sup|u)|abbr|blockquote|br|caption|center|cite|col|colgroup|dd|"
    r"del|details|dfn|div|dl|dt|figcaption|figure|font|h[1-6]|hr|img|ins|kbd|li|ol|p|picture|pre|q|samp|source|summary|table|"
    r"tbody|td|tfoot|th|thead|tr|tt|ul|var|video)\b",
    re.IGNORECASE,
)
_RAISED = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_RAISED_NUMBER = re.compile(r"[\d+−–, -]+")
_YEAR = re.compile(r"\d{4,9}[.)][ \t]+\Z")  # "1984. A novel" is not an item of a list
_QUOTE_MARKS = re.compile(r"(?:[ \t]*>)+[ \t]*")


class Block(NamedTuple):
    """Part of a text, without the marks of lists, quotes and tables before it."""

    kind: Literal["heading", "prose", "code"]  # a table's row is prose
    start: int
    end: int  # code includes its fences or its indentation
    heading: str = ""  # the source of a heading's text, without hashes and underline
    level: int = 0  # of a heading, from 1


class Visible(NamedTuple):
    """What a reader sees of a text: link texts without targets, no emphasis marks, tags and comments.

    A tag that ends a word, such as a line break or a table's cell, is a space. Raised numbers are Unicode's: "10³".
    """

    text: str  # inline code keeps its backticks
    offsets: list[int] | range  # position of each character in the source
    code: list[tuple[int, int]]  # spans of inline code in the text


def read_blocks(text: str, start: int = 0) -> Iterator[Block]:
    """Yield the blocks of a Markdown text from a position on, in order.

    Comments, rules, link definitions and empty fences are not blocks. A heading in a list or a quote is prose. A block that is
    only indented is code if it looks like code and does not end like a sentence: plain texts indent their paragraphs. Quotes and
    lists that are nested too deep for the parser are prose, paragraph by paragraph.
    """
    source = text[start:].replace("\r\n", " \n")  # of the same length
    tokens = block_tokens(source)
    lines = [start, *(start + match.end() for match in _NEWLINE.finditer(source)), len(text) + 1]
    deep = {*_too_deep(tokens)}
    plain = 0  # the line up to which the text is read without its marks
    for index, token in enumerate(tokens):
        if token.map is None:
            continue
        if token.level == 0 and (token.map[0], token.map[1]) in deep:
            plain = token.map[1]
            for part in _PARAGRAPH.finditer(text, lines[token.map[0]], lines[plain] - 1):
                yield from _prose(text, *part.span())
        if token.map[0] < plain:
            continue
        first, last = token.map
        begin, end = lines[first], lines[min(last, len(lines) - 1)] - 1
        inline: Any = tokens[index + 1] if index + 1 < len(tokens) else None
        line = text[begin : lines[first + 1] - 1].rstrip()
        if token.type == "heading_open" and token.level == 0 and "\n" not in inline.content:
            if inline.content.strip():
                yield Block("heading", begin + _indent(line), begin + len(line), inline.content, int(token.tag[1]))
        elif token.type in ("heading_open", "paragraph_open"):
            if opening := inline.content.partition("\n")[0].rstrip():
                before = line[: line.rfind(opening)]
                year = _YEAR.search(before)
                underlined = token.type == "heading_open" and token.markup in ("=", "-")
                stop = lines[last - 1] - 1 if underlined else end
                yield from _prose(text, begin + (year.start() if year else len(before)), stop)
        elif token.type == "fence" and token.content.strip():
            yield Block("code", text.index(token.markup, begin), begin + len(text[begin:end].rstrip()))
        elif token.type == "code_block" and _is_code_like(token.content):
            yield Block("code", begin, begin + len(text[begin:end].rstrip()))
        elif token.type in ("code_block", "tr_open") or (
            token.type == "html_block" and visible(text[begin:end]).text.strip()
        ):
            yield from _prose(text, begin, end)


def block_tokens(source: str) -> list[Any]:
    """Return markdown-it's tokens of the blocks of a text, for tables without their cells.

    The parser fills up rows to the number of columns, and a text of 2 KB may have 65,000 cells.
    """
    tokens: list[Any] = []
    parser = _parser()
    if source:
        state = _state_without_cells()(source, parser, {}, tokens)
        parser.block.tokenize(state, state.line, state.lineMax)
    return tokens


def _too_deep(tokens: Sequence[Any]) -> list[tuple[int, int]]:
    """Return the lines `[first, end)` of outermost quotes and lists of which the parser skipped a part."""
    spans: list[tuple[int, int]] = []
    outermost = (0, 0)
    for token in tokens:
        if token.level == 0 and token.map is not None:
            outermost = (token.map[0], token.map[1])
        is_deepest = token.level == _DEEPEST - 1 and token.type in ("blockquote_open", "list_item_open")
        if is_deepest and outermost not in spans[-1:]:
            spans.append(outermost)
    return spans


def is_code(text: str) -> bool:
    """Return whether a text begins like a block of code, as `read_blocks` yields it."""
    return _FENCED.match(text) is not None or (_INDENTED.match(text) is not None and _is_code_like(text))


def visible(text: str) -> Visible:
    """Return what a reader sees of a paragraph, a sentence or a heading; code is unchanged."""
    if not _INLINE_MARK.search(text) or is_code(text):
        return Visible(text, range(len(text)), [])
    parts: list[str] = []
    offsets: list[int] = []
    code: list[tuple[int, int]] = []
    at = 0  # the source before this has been read
    broken = raised = False
    for token, hint in _inline_tokens(text):
        content, begin = token.content, max(at, hint)
        if token.type in ("softbreak", "hardbreak"):
            content = " "
        elif token.type == "code_inline":
            closing = re.compile(rf"(?<!`){token.markup}(?!`)").search(text, begin + len(token.markup))
            content = text[begin : closing.end() if closing else len(text)]
        elif token.type == "html_inline" and (content.startswith("<!--") or _TAG.match(content)):
            tag = _TAG.match(content)
            if tag and not tag["inline"]:
                offsets.append(begin)
                parts.append(" ")
            raised = content.lower().startswith("<sup") or (raised and not content.lower().startswith("</sup"))
            at = begin + len(content)
            continue
        elif token.type == "text_special" or not content:
            begin += len(token.markup) - len(content) if token.info == "escape" else 0
        else:
            place = text.find(content, begin, begin + len(content) + _SLACK)
            begin = begin if place < 0 else place
            if broken and (marks := _QUOTE_MARKS.match(content)):
                content, begin = content[marks.end() :], begin + marks.end()
            if raised and _RAISED_NUMBER.fullmatch(content):
                content = content.translate(_RAISED)
        broken = token.type in ("softbreak", "hardbreak")
        at = min(begin + len(content), len(text))
        if not content:
            continue
        if token.type == "code_inline":
            code.append((len(offsets), len(offsets) + len(content)))
        offsets.extend(min(begin + position, len(text) - 1) for position in range(len(content)))
        parts.append(content)
    return Visible("".join(parts), offsets, code)


def _inline_tokens(text: str) -> Iterator[tuple[Any, int]]:
    """Yield the inline tokens of a text, each with the earliest position in the source where it can be."""
    from markdown_it.rules_inline import StateInline

    hints: dict[int, int] = {}

    class Positioned(StateInline):
        def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Any:
            token = super().push(ttype, tag, nesting)
            hints[id(token)] = self.pos
            return token

        def pushPending(self) -> Any:  # noqa: N802
            token = super().pushPending()
            earliest = max(0, self.pos - len(token.content) - _SLACK)
            hints[id(token)] = max(0, self.src.rfind(token.content, earliest, self.pos))
            return token

    parser = _inline_parser()
    state = Positioned(text, parser, {}, [])
    parser.inline.tokenize(state)
    for rule in parser.inline.ruler2.getRules(""):
        rule(state)
    for token in state.tokens:
        yield token, hints[id(token)]


def _prose(text: str, start: int, end: int) -> list[Block]:
    """Return a stretch of text as a block, or nothing if it has no more than marks."""
    part = text[start:end]
    stripped = part.strip()
    if not stripped or ONLY_MARKS.fullmatch(stripped):
        return []
    start += _indent(part)
    return [Block("prose", start, start + len(stripped))]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_code_like(content: str) -> bool:
    return _CODE_SIGN.search(content) is not None and content.rstrip().rstrip("\"'”’)*_")[-1:] not in set(".!?…。")


@cache
def _state_without_cells() -> type[StateBlock]:
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

    cell = Token("td", "td", 0)

    class StateWithoutCells(StateBlock):
        def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
            is_cell = self.parentType == "table" and tag in ("th", "td", "")
            return cell if is_cell else super().push(ttype, tag, nesting)

    return StateWithoutCells


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable("table")


@cache
def _inline_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST_INLINE})
    parser.inline.ruler2.disable("fragments_join")
    return parser
