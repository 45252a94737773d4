"""Hide the syntax that tools for documentation add to Markdown.

A parser of CommonMark then reads what readers see.
"""

from __future__ import annotations

import re
from bisect import insort

from factoid.text.cover import BREAK, FILLER, Cover, Shown, code_spans, is_in
from factoid.text.dialect_rules import (
    CODE,
    DIRECTIVE,
    DOMAINS,
    LINE_END,
    LINES,
    LONGEST,
    NOTES,
    PARTS,
    REGIONS,
    REST_DIRECTIVE,
    REST_TARGET,
    TABLES,
    TEXTUAL,
    TITLED,
    UNSEEN,
    Rule,
    component_kind,
    is_component,
    shown_in,
)
from factoid.text.directive_options import directive_options
from factoid.text.emoji import EMOJI

__all__ = ["BREAK", "FILLER", "without_dialects"]

_SPARE = str.maketrans({FILLER: "\ue0f2", BREAK: "\ue0f2"})
_FARTHEST = 300  # lines between what opens a region and what closes it
_MOST_OPTIONS = 50  # lines

_COLONS = re.compile(r":{3,}+")
_VERSION = re.compile(r"v?\d[\w.]*+[ \t]*+")
_PREFIX = re.compile(r"(?:[ \t]*+(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])))*+[ \t]*+")
_FENCE = re.compile(r"(?P<mark>`{3,}+(?=[^`\n]*+(?:\n|\Z))|~{3,}+)(?P<info>[^\n]*+)")
_RAW_TAG = re.compile(r"<(?P<name>pre|script|style|textarea)(?=[\s>])", re.IGNORECASE)
_SLASHES = re.compile(
    r"/{3,}+[ \t]*+(?P<name>[a-z][\w-]*+"
    r"|[A-Z][\w-]*+(?=[ \t]*+\|))(?:[ \t]*+\|[ \t]*+(?P<title>[^\n]*+))?"
)
_SLASHES_END = re.compile(r"/{3,}+")
_INDENTED = re.compile(r"(?: {4}|\t)[ \t]*+(?:[\w-]++:|- )")
_EXPORT = re.compile(
    # An expression over several lines
    r"\{[ ]?(?:[\w$.]++\(|\(\(?\w*\)?[ ]*=>|[\w$.]++[ ]*+&&)[^\n]*[({]\r?\n|"
    r"export\s++(?:(?:const|let|var)\s++[\w${\[][^\n=]*+=|(?:async\s++)?function\s*+\w*+\s*+\("
    r"|class\s++\w++|"
    r"default\s++(?:function|class|async|\(|\{|[\w.$]++[;(]|[\w.$]++[ \t]*+(?=\r?(?:\n|\Z)))|\{"
    r"|\*\s++from|type\s++\w++\s*+=)"
)
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,100}+\]:[ \t]*+")
_DEFINITION = re.compile(r":[ \t]++(?=\S)")
_CONTAINER = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]|!!!|\?\?\?|===[ \t]|///|:[ \t]|\[\^")
_BLOCK = re.compile(r"[:`~#|>$<(%{+*-]|\d{1,9}[.)][ \t]")
_BLOCK_START = re.compile(r"[>#|]|===|\d{1,9}[.)][ \t]|```|~~~|!!!|\?\?\?|\{|<|:::|///")
_SUSPECT = re.compile(
    r"[{<]|::|\[!|\[\^|\*\[|@\[|\[\[|%%|\^|--8<|///|:(?:material|octicons|fontawesome|simple"
    r"|fa[srb]?)-|\[toc\]|\[TOC\]"
    r"|^%|^[ \t>]*+\.\.[ \t]|^[ \t>]*+:[A-Za-z]"
    r"|^[ \t>]*+(?:import|export|:[ \t]|```|~~~|\([A-Za-z]|\+\+\+)",
    re.MULTILINE,
)
_ADMONITION_START = re.compile(r"(?:!!!|\?\?\?\+?|===[!+]?)[ \t]")
_INDENTING = ("definition", "component")  # prose in these is indented
_HTML = re.compile(r"</?[a-z][a-z0-9-]*(?=[\s/>]|\Z)|<!--")
_BLOCK_BREAK = re.compile(r"\+\+\+(?:[ \t]*+\{[^\n]*+)?")
_COMMENT = re.compile(r"%(?:[ \t]|\r?(?:\n|\Z))")  # of MyST
_FIELD = re.compile(
    r":(?!(?:material|octicons|fontawesome"
    r"|simple|fa[srb]?)-)(?P<name>[A-Za-z][\w-]*+(?:[ ]++[\w-]++)*+):[ \t]++(?=\S)"
)  # of a list of fields in MyST
_REST_COMMENT = re.compile(r"\.\.(?=[ \t]++[^\s.]|[ \t]*+(?:\n|\Z))")
_FORMULA_END = re.compile(r"\$\$(?:[ \t]*\([^()\n]+\))?")  # MyST gives it a label
_PARAGRAPH_END = re.compile(r"\n(?=[ \t>]*+(?:\r?\n|\Z|[-+*#|:]|\d{1,9}[.)][ \t]|```|~~~))")


def without_dialects(source: str) -> str:
    """Return a Markdown text of the same length in which syntax that CommonMark lacks is hidden.

    A line that is hidden as a whole is blank, but for the marks of quotes and lists before it; part
    of a line is `FILLER`. A line of which the rest is a block of its own, such as a title, has one
    `BREAK` before it. Code in fences and inline code stay as they are.

    Args:
        source: A text in Markdown, without its front matter. Line breaks stay where they are; the
            two hidden characters are replaced by another one.
    """
    text = source.translate(_SPARE) if FILLER in source or BREAK in source else source
    if _SUSPECT.search(text) is None:
        return text
    return _Scan(text).result()


class _Scan:
    """One pass over the lines of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cover = Cover(text)
        self.fence: tuple[str, int, int] | None = (
            None  # its character, its length, the quotes around it
        )
        self.fence_column = 0
        self.directives: list[
            tuple[str, int, int]
        ] = []  # open ones with Markdown in them, in the same way
        self.slashes = 0  # open blocks of pymdownx
        self.closings: dict[str, tuple[int, int | None]] = {}
        self.is_after_blank = True
        self.is_in_code = False
        self.container = ""  # what an indented line may belong to
        self.is_in_html = False
        self.has_components = False
        self.code: list[
            tuple[int, int]
        ] = []  # inline code of the paragraph that ends at `code_end`
        self.code_end = 0
        self.has_rest = (
            re.search(rf"^[ \t]*+{REST_DIRECTIVE.pattern}", text, re.MULTILINE) is not None
        )
        self.has_toml = text.lstrip("\ufeff").startswith("+++")

    def result(self) -> str:
        """Return the text with everything hidden that a rule hides."""
        number = 0
        while number < len(self.cover.starts):
            number = self._read(number)
        return self.cover.result()

    # Lines

    def _read(self, number: int) -> int:
        """Read what starts on a line; return the number of the next line to read."""
        text = self.text
        start = self.cover.starts[number]
        end = self.cover.end(number)
        at = self.cover.at(number)
        if at >= end:
            self.is_after_blank = True
            self.is_in_html = False
            return number + 1
        depth = text.count(">", start, at)
        if self.fence:
            return self._read_code(number, at, end, depth)
        prefix = _PREFIX.match(text, start, end)
        content = prefix.end() if prefix else at
        self.cover.contents[number] = content
        while self.directives and depth < self.directives[-1][2]:
            self.directives.pop()
        if self.is_after_blank and not self.is_in_html:
            self.is_in_html = _HTML.match(text, content, end) is not None
        if self.is_in_html:
            self.cover.html_lines.add(number)
        is_code = depth == 0 and self._is_indented_code(number, at)
        if is_code:
            following = self._read_tags_only(number, content)
        else:
            following = self._read_block(number, at, content, end, depth)
        self.is_after_blank = (
            self.cover.is_hidden(following - 1) and number not in self.cover.html_lines
        )
        return following

    def _read_code(self, number: int, at: int, end: int, depth: int) -> int:
        character, length, quotes = self.fence or ("", 0, 0)
        if depth < quotes:
            self.fence = None
            return self._read(number)
        line = self.text[at:end]
        is_near = (
            at - self.cover.starts[number] < self.fence_column + 4
        )  # else it is code to CommonMark
        if is_near and len(line) >= length and line == character * len(line):
            self.fence = None
            self.is_after_blank = True
        return number + 1

    def _is_indented_code(self, number: int, at: int) -> bool:
        """Say whether a line is code by its indentation.

        Lines that are prose in their container are kept from being code.
        """
        indentation = self.text[self.cover.starts[number] : at].expandtabs(4)
        if len(indentation) >= 4 and (self.is_after_blank or self.is_in_code):
            if self.container in _INDENTING and len(indentation) < 8:
                if _ADMONITION_START.match(self.text, at):
                    self.cover.fill(self.cover.starts[number], at, FILLER)
                elif not _BLOCK_START.match(self.text, at):
                    self._join_definition(number, at)
            self.is_in_code = not self.container
            return self.is_in_code
        self.is_in_code = False
        if not indentation:
            if _CONTAINER.match(self.text, at):
                is_definition = self.text[at] in ":["
                self.container = "definition" if is_definition else "list"
            elif self.is_after_blank:
                self.container = ""
        return False

    def _join_definition(self, number: int, at: int) -> None:
        """Make an indented paragraph or item of a definition or a component a block.

        CommonMark would read it as code.
        """
        prefix = _PREFIX.match(self.text, at)
        content = prefix.end() if prefix else at
        self.cover.fill(self.cover.starts[number], content, FILLER)
        if content > at:
            self.cover.put(self.cover.starts[number], BREAK)

    def _read_block(self, number: int, at: int, content: int, end: int, depth: int) -> int:
        text = self.text
        if fence := _FENCE.match(text, content, end):
            return self._read_fence(number, content, end, depth, fence)
        if skipped := self._raw(number, content):
            return skipped
        for region in REGIONS:
            if text.startswith(region.mark, content) and region.opening.fullmatch(
                text, content, end
            ):
                closing = self._closing(number, region.closing)
                if closing is not None:
                    return self.cover.hide_lines(number, closing + 1)
        if text.startswith("///", content) and (
            following := self._read_slashes(number, content, end)
        ):
            return following
        colons = _COLONS.match(text, content, end)
        if colons and (directive := DIRECTIVE.fullmatch(text, colons.end(), end)):
            return self._open_directive(number, content, depth, colons[0], directive)
        if text.startswith("..", content) and (following := self._read_rest(number, content, end)):
            return following
        if content == at and self._read_definition(number, content, end):
            return number + 1
        if (
            content == at
            and (field := _FIELD.match(text, content, end))
            and field["name"] not in EMOJI
        ):
            self.cover.hide(number, content, end, (content + 1, end))
            return self._read_parts(number, field.end())
        if content == self.cover.starts[number]:
            comment_end = self._comment_end(number) if number and self.is_after_blank else number
            if comment_end > number:
                return self.cover.hide_lines(number, comment_end)
            if exported := self._export_end(number, content):
                return self.cover.hide_lines(number, exported)
            if _BLOCK_BREAK.fullmatch(text, content, end) and not self.has_toml:
                return self.cover.hide_lines(number, number + 1)
        for rule in LINES:
            if text.startswith(rule.mark, content) and (
                following := self._apply_to_line(rule, number, content)
            ):
                return following
        return self._read_parts(number, content)

    def _apply_to_line(self, rule: Rule, number: int, content: int) -> int:
        """Return the number of the line behind syntax that fills its lines.

        The number is 0 if there is no such syntax.
        """
        match = rule.pattern.match(self.text, content, content + LONGEST)
        if not match or not LINE_END.match(self.text, match.end()):
            return 0
        if rule.accepts and not rule.accepts(self.text, match):
            return 0
        if rule.mark == "import" and content != self.cover.starts[number]:
            return 0
        if "toc" in match[0] and match[0].startswith("{:") and number:
            self._hide_toc_item(number - 1)
        shown = shown_in(rule, match)
        self.cover.hide(number, match.start(), match.end(), shown)
        following = self.cover.line_of(match.end()) + 1
        if shown:
            return self._read_parts(number, shown[0])
        if rule.dialect.startswith("mkdocstrings"):
            return self._hide_indented(following)
        return following

    def _hide_indented(self, number: int) -> int:
        """Hide indented lines from one on; return the number of the line behind them."""
        following = number
        while following < min(len(self.cover.starts), number + _MOST_OPTIONS):
            if not _INDENTED.match(self.text, self.cover.starts[following]):
                break
            following += 1
        return self.cover.hide_lines(number, following)

    def _comment_end(self, number: int) -> int:
        """Return the number of the line behind those of MyST that start with "%"."""
        while number < len(self.cover.starts) and _COMMENT.match(
            self.text, self.cover.starts[number]
        ):
            number += 1
        return number

    def _hide_toc_item(self, number: int) -> None:
        """Hide the item that stands for a table of contents in kramdown."""
        match = _PREFIX.match(self.text, self.cover.starts[number], self.cover.end(number))
        if match and match[0].strip(" \t>"):
            self.cover.contents[number] = self.cover.at(number)
            self.cover.hide(number, self.cover.at(number), self.cover.end(number))

    def _raw(self, number: int, content: int) -> int:
        """Return the line behind HTML or formulas in which nothing is a dialect.

        The result is 0 if none starts here.
        """
        text = self.text
        if text.startswith("<!--", content):
            closing = self._find("-->", content)
        elif tag := _RAW_TAG.match(text, content):
            closing = self._find(f"</{tag['name']}", content)
        elif text.startswith("$$", content) and text[content : self.cover.end(number)] == "$$":
            line = self._closing(number, _FORMULA_END)
            return 0 if line is None else line + 1
        else:
            return 0
        last = self.cover.line_of(closing) if closing >= 0 else number
        return last + 1 if last > number else 0

    def _find(self, closing: str, start: int) -> int:
        """Return the next place of a text from a place on, -1 if there is none."""
        before, place = self.closings.get(closing, (-1, -1))
        if place is None:
            return -1
        if not before <= start <= place:
            place = self.text.find(closing, start)
            self.closings[closing] = (start, None if place < 0 else place)
        return place

    def _closing(self, number: int, closing: re.Pattern[str]) -> int | None:
        """Return the next line that closes something, None if there is none nearby."""
        known, line = self.closings.get(closing.pattern, (-1, -1))
        if number < known:
            return line if line is not None and line > number else None
        last = min(len(self.cover.starts), number + 1 + _FARTHEST)
        for other in range(number + 1, last):
            if closing.fullmatch(self.text, self.cover.at(other), self.cover.end(other)):
                self.closings[closing.pattern] = (other, other)
                return other
        self.closings[closing.pattern] = (last, None)
        return None

    # Blocks over several lines

    def _read_fence(
        self, number: int, content: int, end: int, depth: int, fence: re.Match[str]
    ) -> int:
        mark = fence["mark"]
        self.fence_column = content - self.cover.starts[number]
        if self.directives and not fence["info"].strip():
            character, length, _ = self.directives[-1]
            if mark[0] == character and len(mark) >= length:
                self.directives.pop()
                return self.cover.hide_lines(number, number + 1)
        directive = DIRECTIVE.fullmatch(self.text, fence.start("info"), end)
        if directive:
            return self._open_directive(number, content, depth, mark, directive)
        self.fence = (mark[0], len(mark), depth)
        if self.container in _INDENTING and depth == 0:
            self._dedent_fence(number, content, mark)
        return number + 1

    def _dedent_fence(self, number: int, content: int, mark: str) -> None:
        """Make a fence in a definition a fence to CommonMark.

        CommonMark takes it for code, because four spaces stand before it.

        The spaces from the fourth on become part of the fence, at its end as well.
        """
        indentation = content - self.cover.starts[number]
        closing = self._closing(number, re.compile(f"{mark[0]}{{{len(mark)}}}"))
        if closing is None or not 4 <= indentation < 8:
            return
        at = self.cover.at(closing)
        if (
            at - self.cover.starts[closing] == indentation
            and "\t" not in self.text[self.cover.starts[number] : content]
        ):
            self.cover.fill(self.cover.starts[number] + 3, content, mark[0])
            self.cover.fill(self.cover.starts[closing] + 3, at, mark[0])

    def _open_directive(
        self, number: int, content: int, depth: int, mark: str, directive: re.Match[str]
    ) -> int:
        """Read the first lines of a directive of MyST, or all of it if readers do not see it."""
        name = directive["name"].lower()
        has_colons = mark[0] == ":"
        self.fence_column = content - self.cover.starts[number]
        if name in UNSEEN:
            closing = self._closing(number, re.compile(f"{mark[0]}{{{len(mark)},}}"))
            if closing is not None:
                return self.cover.hide_lines(number, closing + 1)
        if has_colons:
            is_code = name in CODE or name in TABLES
        else:
            is_code = name not in TEXTUAL and not name.startswith(DOMAINS)
        if is_code:
            self.fence = (mark[0], len(mark), depth)
            if has_colons:
                self.fence = ("`", len(mark), depth)
                self._make_fence(number, content, mark)
            return self._hide_options(number)
        shown = None
        if name in TITLED or name.startswith((*DOMAINS, "version", "deprecated")):
            begin = directive.start("title") + _version_length(name, directive["title"])
            shown = (begin, directive.end("title"))
        kind: Shown = "text" if name in NOTES and self._goes_on_below(number) else "title"
        self.cover.hide(number, content, directive.end(), shown, kind)
        if shown:
            self._read_parts(number, shown[0])
        if not has_colons:
            self.directives.append((mark[0], len(mark), depth))
        return self._hide_options(number)

    def _goes_on_below(self, number: int) -> bool:
        """Return whether a line begins a paragraph that has a next line."""
        below = number + 1
        if not self.is_after_blank or below >= len(self.cover.starts):
            return False
        at = self.cover.at(below)
        return at < self.cover.end(below) and not _BLOCK.match(self.text, at)

    def _read_rest(self, number: int, content: int, end: int) -> int:
        """Read a directive, a target or a comment of reStructuredText.

        The result is the line to go on with, 0 if none starts here.
        """
        if REST_TARGET.fullmatch(self.text, content, end):
            return self.cover.hide_lines(number, number + 1)
        directive = REST_DIRECTIVE.fullmatch(self.text, content, end)
        if directive is None and not (
            self.has_rest and self.is_after_blank and _REST_COMMENT.match(self.text, content)
        ):
            return 0
        behind = self._behind_body(number, content)
        if directive is None:
            return self.cover.hide_lines(number, behind)
        name = directive["name"].lower()
        if name in UNSEEN:
            self.cover.hide(number, content, end)
            self._hide_options(number)
            if name in ("image", "index"):
                return behind
            return self.cover.hide_lines(number + 1, behind)
        if name in CODE:
            self.cover.hide(number, content, end)
            first = self._hide_options(number)
            # As far to the right as code has to be for CommonMark.
            for line in range(first, behind):
                start = self.cover.starts[line]
                if self.text.startswith("  ", start):
                    self.cover.put(start, "\t")
            return max(first, behind)
        begin = directive.start("title") + _version_length(name, directive["title"] or "")
        shown = None
        if directive["title"] and name != "figure":
            shown = (begin, end)
        self.cover.hide(number, content, end, shown, "text")
        if shown:
            self._read_parts(number, begin)
        self.container = "definition"  # its lines are indented
        return self._hide_options(number)

    def _behind_body(self, number: int, content: int) -> int:
        """Return the number of the line behind those that are more indented than one.

        Blank lines at the end are left out.
        """
        column = content - self.cover.starts[number]
        last = number
        for other in range(number + 1, min(len(self.cover.starts), number + _FARTHEST)):
            start = self.cover.starts[other]
            end = self.cover.end(other)
            if start >= end:
                continue
            if not self.text[start : min(end, start + column + 1)].isspace():
                break
            last = other
        return last + 1

    def _make_fence(self, number: int, content: int, mark: str) -> None:
        """Write the colons around code as backticks: CommonMark reads it as code."""
        closing = self._closing(number, re.compile(f":{{{len(mark)}}}"))
        if closing is None:
            self.fence = None
            return
        self.cover.fill(content, content + len(mark), "`")
        at = self.cover.at(closing)
        self.cover.fill(at, at + len(mark), "`")
        self.fence = (":", len(mark), 0)

    def _hide_options(self, number: int) -> int:
        """Hide the options below the first line of a directive.

        The result is the number of the line behind them.
        """
        first = number + 1
        lines = []
        for line in range(first, min(len(self.cover.starts), first + _MOST_OPTIONS)):
            lines.append((self.cover.starts[line], self.cover.end(line)))
        options, count = directive_options(self.text, lines)
        shown: set[int] = set()  # lines with the text for an image
        for option in options:
            if option.name != "alt":
                continue
            kind: Shown = "title" if len(option.lines) == 1 else "text"
            for start, end in option.lines:
                line = self.cover.line_of(start)
                self.cover.hide(line, self.cover.at(line), self.cover.end(line), (start, end), kind)
                shown.add(line)
        for line in range(first, first + count):
            if line not in shown:
                self.cover.hide_lines(line, line + 1)
        return first + count

    def _read_slashes(self, number: int, content: int, end: int) -> int:
        if self.slashes and _SLASHES_END.fullmatch(self.text, content, end):
            self.slashes -= 1
            return self.cover.hide_lines(number, number + 1)
        opening = _SLASHES.fullmatch(self.text, content, end)
        if not opening or self._closing(number, _SLASHES_END) is None:
            return 0
        self.slashes += 1
        shown = None
        if opening["title"] and opening["name"] != "html":
            shown = opening.span("title")
        self.cover.hide(number, content, end, shown)
        return self._hide_indented(number + 1)

    def _read_definition(self, number: int, content: int, end: int) -> bool:
        """Read the first line of a footnote or of a definition behind its term."""
        if content - self.cover.starts[number] > 3 and not self.container:
            return False
        mark = _FOOTNOTE.match(self.text, content, end)
        if not mark and (definition := _DEFINITION.match(self.text, content, end)):
            for other in range(max(0, number - 2), number):
                if self.cover.at(other) < self.cover.end(other):
                    mark = definition
        if not mark:
            return False
        self.cover.hide(number, content, end, (mark.end(), end))
        self._read_parts(number, mark.end())
        return True

    def _export_end(self, number: int, content: int) -> int:
        """Return the line behind what MDX exports or computes over several lines.

        The result is 0 if the line starts neither.
        """
        if not _EXPORT.match(self.text, content, content + LONGEST):
            return 0
        known, _ = self.closings.get("export", (0, 0))
        if number < known:
            return 0
        depth = 0
        last = min(len(self.cover.starts), number + _FARTHEST)
        for other in range(number, last):
            line = self.text[self.cover.starts[other] : self.cover.end(other)]
            depth += line.count("(") + line.count("[") + line.count("{")
            depth -= line.count(")") + line.count("]") + line.count("}")
            if depth <= 0 and not line.endswith(("=", "=>", ",", "?", ":", "&&", "||", "+")):
                return other + 1
        self.closings["export"] = (last, None)
        return 0

    # Parts of lines

    def _read_tags_only(self, number: int, content: int) -> int:
        """Hide tags of components that are alone on an indented line.

        Other indented lines are code.
        """
        component = next(rule for rule in PARTS if rule.mark == "<")
        matches = []
        at = content
        while self.has_components and (
            match := component.pattern.match(self.text, at, at + LONGEST)
        ):
            if not is_component(self.text, match):
                return number + 1
            matches.append(match)
            if LINE_END.match(self.text, match.end()):
                for part in matches:
                    self.cover.hide(number, *part.span(), shown_in(component, part), component.kind)
                return self.cover.line_of(match.end()) + 1
            at = match.end()
        return number + 1

    def _read_parts(self, number: int, start: int) -> int:
        """Hide syntax from a place on; return the number of the line behind it."""
        text = self.text
        end = self.cover.end(number)
        if start >= end or not _SUSPECT.search(text, start, end):
            return number + 1
        code = self._code_spans(start, end)
        covered: list[tuple[int, int]] = []
        farthest = end
        for rule in PARTS:
            at = text.find(rule.mark, start, end)
            while at >= 0:
                match = None if is_in(covered, at) or is_in(code, at) else self._part(rule, at)
                if match:
                    insort(covered, match.span())
                    kind = component_kind(text, match) if rule.mark == "<" else rule.kind
                    line = self.cover.line_of(at)
                    self.cover.hide(line, *match.span(), shown_in(rule, match), kind)
                    if rule.mark == "<":
                        self._enter_component(match, at == self.cover.contents[number])
                    farthest = max(farthest, match.end())
                following = match.end() if match else at + len(rule.mark)
                at = text.find(rule.mark, following, end) if following < end else -1
        last = self.cover.line_of(farthest)
        return self._read_parts(last, farthest) if last > number else number + 1

    def _enter_component(self, tag: re.Match[str], is_first: bool) -> None:
        """Note that lines may belong to a component from here on, or no longer."""
        self.has_components = True
        if is_first and not tag[0].endswith("/>"):
            is_closing = tag[0].startswith("</")
            if not is_closing:
                self.container = "component"
            elif self.container == "component":
                self.container = ""

    def _code_spans(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the inline code of the paragraph that a place is in."""
        if start >= self.code_end:
            closing = _PARAGRAPH_END.search(self.text, start)
            self.code_end = max(end, closing.start() if closing else len(self.text))
            self.code = code_spans(self.text, start, self.code_end)
        return self.code

    def _part(self, rule: Rule, at: int) -> re.Match[str] | None:
        is_escaped = self.text[at - 1 : at] == "\\"
        match = rule.pattern.match(self.text, at, at + LONGEST)
        if is_escaped or not match or (rule.accepts and not rule.accepts(self.text, match)):
            return None
        return match


def _version_length(name: str, title: str) -> int:
    """Return how many characters the version takes at the start of a directive's title."""
    if not name.startswith(("version", "deprecated")):
        return 0
    version = _VERSION.match(title)
    return version.end() if version else 0
