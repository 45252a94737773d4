"""Read reStructuredText into blocks.

Directives, literal blocks and inline markup are read here, the rest as plain text.

Headings are found in `factoid.text.marked_headings`, tables and lists where those of plain text
are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from factoid.text.blocks import Block, Lead, Visible, VisibleText, picked
from factoid.text.cover import FILLER
from factoid.text.dialect_rules import CODE, REST_DIRECTIVE, REST_TARGET, TABLES, UNSEEN
from factoid.text.lines import line_starts
from factoid.text.paragraphs import Above
from factoid.text.plain import plain_blocks
from factoid.text.restructured_tables import directive_table

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_EXPLICIT = re.compile(r"\.\.(?:[ \t]|\Z)")
_NOTE = re.compile(
    r"\.\.[ \t]+\[(?:\d{1,3}|\#[\w-]*|\*|[A-Za-z][\w.-]*)\](?:[ \t]+|\Z)"
)  # of a footnote or a citation
_OPTION = re.compile(r":(?P<name>[A-Za-z][\w-]*):(?:[ \t]+(?P<value>\S.*))?\Z")
_FIELD = re.compile(r":(?P<name>[A-Za-z](?:[^:\n`]|:(?=\w)){0,80}):(?:[ \t]+(?P<value>\S)|\Z)")
_SUBSTITUTION = re.compile(
    r"^(?P<indent>[ \t]*)\.\.[ \t]+\|(?P<name>[^\s|][^|\n]{0,80})\|[ \t]+replace::[ \t]*"
    r"(?P<text>\S[^\n]*(?:\n(?P=indent)[ \t]+\S[^\n]*)*)",
    re.MULTILINE,
)
_LONGEST_SUBSTITUTE = 200  # characters; it may come again and again
_ANONYMOUS = re.compile(r"__[ \t]+\S+\Z")
_LINE_BLOCK = re.compile(r"\|[ \t]+(?=[^|\n]*\Z)")
_VERSION = re.compile(r"v?\d[\w.]*[ \t]*")
_SHOWN_OPTIONS = ("alt", "caption", "title")
_CODE = CODE | {
    "highlight",
    "parsed-literal",
    "prompt",
    "productionlist",
    "math",
    "doctest",
    "testcode",
    "testoutput",
}
_HIDDEN = (UNSEEN - {"eval-rst"}) | {
    "highlight",
    "default-role",
    "role",
    "testsetup",
    "testcleanup",
    "plot",
    "graphviz",
}
_NO_ARGUMENT = frozenset(
    "figure module container rst-class only ifconfig list-table csv-table table tab-set grid hlist "
    "productionlist math "
    "literalinclude code code-block sourcecode code-cell prompt parsed-literal doctest testcode "
    "testoutput".split()
)

_INLINE = re.compile(
    r"""\\(?P<escaped>[^\w\s]|_|\s|\Z)
      | ``(?P<literal>(?=\S)(?:[^\n]|\n(?!\n)){1,1000}?(?<=\S))``(?!`)
      | (?<![\w:]):(?P<role>[A-Za-z][\w:+.-]{0,40}):`(?P<interpreted>[^`]{1,500})`
      | _?`(?P<label>[^`]{1,500}?)`(?:__?(?!\w)|:(?P<behind>[A-Za-z][\w+.-]{0,40}):)?
      | (?<![\w*])\*\*(?=[^\s*])(?P<strong>(?:[^*]|\*(?!\*)){1,1000}?(?<=\S))\*\*(?![\w*])
      | (?<![\w*])\*(?=[^\s*])(?P<emphasis>[^*]{1,500}?(?<=\S))\*(?![\w*])
      | [ ]?\[(?:\d{1,3}|\#[\w-]{0,60}|\*|[A-Za-z][\w.-]{0,60})\]_(?!\w)
      | (?<![\w|])\|(?P<substituted>(?=[^\s|])[^|\n]{1,80}(?<=\S))\|(?:__?)?(?![\w|])
      | (?<![\w`/.])(?P<reference>[^\W_](?:[\w.+-]{0,80}[^\W_])?)__?(?![\w`/(=\[])""",
    re.VERBOSE,
)
_CODE_ROLE = re.compile(r"code(?:-\w+)?")  # ":code:", and ":code-tex:" as documents define it
_TARGET = re.compile(r"\s*<[^<>]{1,500}>\Z")


def restructured_blocks(text: str, start: int = 0) -> list[Block]:
    """Return the blocks of a text in reStructuredText from a place on, in order.

    Titles and texts of directives are shown, their names and options are not, but for the texts of
    pictures; code is a block. Comments, targets and lists of contents are nothing. What a text
    defines as the substitute of a name stands in the name's place.
    """
    return _Reader(text, start).blocks()


def restructured_inline(
    source: str, places: Sequence[int], substitutes: Mapping[str, str] | None = None
) -> Visible:
    """Return what a reader sees of a stretch of reStructuredText without blocks.

    Literals stand between single backticks.

    Args:
        source: The stretch, perhaps with hidden characters.
        places: The place of each of its characters in the document.
        substitutes: The texts that stand for names between bars, by the name.
    """
    if FILLER in source:
        shown = [at for at, character in enumerate(source) if character != FILLER]
        source, places = picked(source, places, shown)
    seen = VisibleText()
    done = 0
    for match in _INLINE.finditer(source):
        seen.add_at(source[done : match.start()], places[done : match.start()])
        substitute = _substitute(match["substituted"], substitutes)
        if substitute:
            seen.put(substitute, places[match.start()])
            _hide(seen, match.start() + 1, match.end(), places)
        else:
            _read_inline(seen, match, places)
        done = match.end()
    seen.add_at(source[done:], places[done:])
    return seen.visible()


def _substitute(name: str | None, substitutes: Mapping[str, str] | None) -> str:
    """Return what stands for a name, "" if nothing does."""
    if not name or not substitutes:
        return ""
    return substitutes.get(_plain_name(name), "")


def _plain_name(name: str) -> str:
    return " ".join(name.split()).lower()


def _read_inline(seen: VisibleText, match: re.Match[str], places: Sequence[int]) -> None:
    """Add what a reader sees of marked text."""
    group = match.lastgroup or ""
    if group == "behind":
        group = "label"
    if group == "":  # a mark of a footnote
        _hide(seen, match.start(), match.end(), places)
        return
    start, end = match.span(group)
    if group == "escaped":
        if match[group].strip():
            seen.add_at(match[group], places[start:end])
        return
    is_code = (
        group == "label" and match[0].startswith("`") and match[0].endswith("`")
    )  # in the default role, mostly code
    is_code_role = group == "interpreted" and _CODE_ROLE.fullmatch(match["role"]) is not None
    is_code = is_code or is_code_role
    is_protected = group in ("literal", "interpreted") or is_code
    if group in ("interpreted", "label") and not is_code_role:
        end = _end_of_label(match[group], start)
    if group == "interpreted" and not is_code_role:
        start += _length_of_path(match.string[start:end])
    first = len(seen)
    if group == "literal" or is_code:
        width = 2 if "`" in match[group] else 1
        _add_code(seen, match.string[start:end], places[start - width : end + width], width)
        start -= width
        end += width
    else:
        seen.add_at(match.string[start:end], places[start:end])
    if is_protected:
        seen.protect(first)
    if match.start() < start:
        seen.opening[places[start - 1] + 1] = places[match.start()]
    _hide(seen, end, match.end(), places)


def _add_code(seen: VisibleText, code: str, places: Sequence[int], width: int) -> None:
    """Add inline code between backticks as CommonMark writes it, with the places of both.

    Two stand around code with a backtick in it, with spaces between if one is at an end of it.
    """
    is_spaced = "`" in (code[:1], code[-1:])
    seen.add_at("`" * width, places[:width])
    if is_spaced:
        seen.put(" ", places[width])
    seen.add_at(code, places[width:-width])
    if is_spaced:
        seen.put(" ", places[-width])
    seen.add_at("`" * width, places[-width:])


def _hide(seen: VisibleText, start: int, end: int, places: Sequence[int]) -> None:
    """Note marks that close something, at the end of the text so far."""
    if start < end:
        seen.closing[places[start]] = places[end - 1] + 1


def _end_of_label(label: str, start: int) -> int:
    """Return where the text of a reference ends, before its target."""
    target = _TARGET.search(label)
    length = target.start() if target and target.start() else len(label)
    return start + length


def _length_of_path(name: str) -> int:
    """Return how many characters of an object's name are not shown.

    "~flask.Flask" is shown as "Flask", "!x" as "x".
    """
    if name.startswith("~"):
        return name.rfind(".") + 1 or 1
    return int(name.startswith("!"))


class _Reader:
    """Reads a text line by line.

    What is hidden of a line is covered before it is read as plain text.
    """

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        spans = [match.span() for match in _LINE.finditer(text, start)]
        self.starts = [first for first, _ in spans]
        self.ends = [first + len(text[first:last].rstrip()) for first, last in spans]
        self.covered: list[tuple[int, int]] = []  # in the lines of the run
        self.first = 0  # of the run of lines that is read as plain text
        self.above = Above()
        self.term: tuple[int, Lead] | None = (
            None  # what the lines define that are more indented than a column
        )
        self.result: list[Block] = []
        self.inline = partial(restructured_inline, substitutes=self._substitutes(start))

    def blocks(self) -> list[Block]:
        """Return all blocks."""
        number = 0
        while number < len(self.starts):
            number = self._read(number)
        self._flush(number)
        return self.result

    def _read(self, number: int) -> int:
        """Read what starts on a line; return the number of the next line to read."""
        content = self._content(number)
        if not content:
            return number + 1
        column = self._column(number)
        if self.term and column <= self.term[0]:
            self._flush(number)
            self.term = None
        at = self.starts[number] + column
        if _EXPLICIT.match(content):
            self._flush(number)
            return self._go_on(self._read_explicit(number, at, content))
        if _ANONYMOUS.match(content):
            return self._hide(number)
        if content.startswith(">>> "):
            self._flush(number)
            end = number
            while end < len(self.starts) and self._content(end):
                end += 1
            self._add_code(number, end)
            return self._go_on(end)
        if field := _FIELD.match(content):
            if not field["value"] and not self._is_below(number, column):
                return self._hide(number)
            self._flush(number)
            self.covered.append((at, at + 1))
        elif content.startswith("#. "):  # of a list that counts itself
            self._flush(number)
            self.covered.append((at, at + 3))
        elif bar := _LINE_BLOCK.match(content):
            self.covered.append((at, at + bar.end()))
        if content.endswith("::") and (end := self._literal_end(number, column)):
            self._cover_colons(number, content)
            self._flush(number + 1)
            self._add_code(number + 1, end)
            return self._go_on(end)
        if self._is_term(number, column, content):
            self._flush(number)
            self._flush(number + 1)
            block = self.result[-1] if self.result else None
            if block is not None:
                self.term = (
                    column,
                    Lead(block.start, block.end, " ".join(block.visible.text.split())),
                )
        return number + 1

    def _substitutes(self, start: int) -> dict[str, str]:
        """Return the substitutes that the text defines, on whatever line, as a reader sees them."""
        substitutes: dict[str, str] = {}
        for match in _SUBSTITUTION.finditer(self.text, start):
            first, last = match.span("text")
            seen = restructured_inline(match["text"], range(first, last)).text
            if len(seen) <= _LONGEST_SUBSTITUTE:
                substitutes.setdefault(_plain_name(match["name"]), " ".join(seen.split()))
        return substitutes

    # Lines

    def _content(self, number: int) -> str:
        return self.text[self.starts[number] : self.ends[number]].lstrip()

    def _column(self, number: int) -> int:
        line = self.text[self.starts[number] : self.ends[number]]
        return len(line) - len(line.lstrip())

    def _is_below(self, number: int, column: int) -> bool:
        """Return whether the next line is more indented than a column."""
        following = number + 1
        return (
            following < len(self.starts)
            and bool(self._content(following))
            and self._column(following) > column
        )

    def _is_term(self, number: int, column: int, content: str) -> bool:
        """Return whether a line is a term whose definition is indented below it."""
        is_first = (
            number == self.first
            or not self._content(number - 1)
            or self._column(number - 1) > column
        )
        is_marked = (
            bool(line_starts(content))
            or content.startswith("#. ")
            or _FIELD.match(content) is not None
        )
        return is_first and self._is_below(number, column) and not is_marked

    def _behind_body(self, number: int, column: int) -> int:
        """Return the line behind those that are more indented than a column.

        Blank lines at the end are left out.
        """
        last = number
        for other in range(number + 1, len(self.starts)):
            if self._content(other):
                if self._column(other) <= column:
                    break
                last = other
        return last + 1

    def _literal_end(self, number: int, column: int) -> int:
        """Return the line behind the literal block that a line announces, 0 if there is none."""
        following = number + 1
        if following >= len(self.starts) or self._content(following):
            return 0
        end = self._behind_body(number, column)
        return end if end > following else 0

    # What is hidden

    def _hide(self, number: int) -> int:
        self._flush(number)
        return self._go_on(number + 1)

    def _go_on(self, number: int) -> int:
        """Begin another run of lines."""
        self.first = number
        return number

    def _cover_colons(self, number: int, content: str) -> None:
        end = self.ends[number]
        is_apart = content == "::" or content[-3:-2].isspace()
        self.covered.append((end - 2 if is_apart else end - 1, end))

    def _read_explicit(self, number: int, at: int, content: str) -> int:
        """Read a directive, a note, a target or a comment; return the line to go on with."""
        column = at - self.starts[number]
        behind = self._behind_body(number, column)
        if REST_TARGET.fullmatch(content):
            return number + 1
        if note := _NOTE.match(content):
            self.covered.append((at, at + note.end()))
            last = self._behind_paragraph(number, behind)
            self._add_lines(number, last)
            return last
        directive = REST_DIRECTIVE.fullmatch(content)
        if directive is None or content.startswith(".. |"):
            return behind
        domain, _, name = directive["name"].lower().rpartition(":")
        items = self.above.items
        while name not in _CODE and items and items[-1][0] >= column:
            items.pop()  # their list ends above the directive; code may stand within it
        if domain == "rst" and name == "role":
            name = "describe"  # what a role is for, not the definition of one
        first = number + 1  # of the options
        if directive["title"] and name not in _NO_ARGUMENT | _HIDDEN:
            begin = directive.start("title")
            if name.startswith(("version", "deprecated")):
                version = _VERSION.match(directive["title"])
                begin += version.end() if version else 0
            self.covered.append((at, at + begin))
            first = self._behind_paragraph(number, behind)
            self._add_lines(number, first)
        options = self._options(first - 1, behind)
        line = first
        while line < options:
            following = self._behind_option(line, options)
            self._show_option(line, following)
            line = following
        if name in _HIDDEN:
            return behind
        if name in TABLES:
            self._add_table(name, number, options, behind)
            return behind
        if name in _CODE:
            self._add_code(options, behind)
            return behind
        return options

    def _behind_paragraph(self, number: int, behind: int) -> int:
        """Return the line behind those that go on with a line.

        A blank line, options and other markup end them.
        """
        following = number + 1
        while following < behind and self._content(following):
            content = self._content(following)
            if _OPTION.match(content) or _EXPLICIT.match(content) or line_starts(content):
                break
            following += 1
        return following

    def _options(self, number: int, behind: int) -> int:
        """Return the line behind the options of a directive."""
        following = number + 1
        while following < behind and _OPTION.match(self._content(following)):
            following = self._behind_option(following, behind)
        return following

    def _behind_option(self, number: int, behind: int) -> int:
        """Return the line behind an option and the lines that its value goes on in."""
        following = number + 1
        while following < behind and self._is_below(following - 1, self._column(number)):
            following += 1
        return following

    def _add_table(self, name: str, number: int, options: int, behind: int) -> None:
        """Add the rows of a table that a directive holds."""
        directive = REST_DIRECTIVE.fullmatch(self._content(number))
        title = None
        if directive and directive["title"]:
            title = (self.ends[number] - len(directive["title"]), self.ends[number])
        values: dict[str, tuple[int, int]] = {}
        for line in range(number + 1, options):
            option = _OPTION.match(self._content(line))
            if option and option["value"]:
                values[option["name"]] = (self.ends[line] - len(option["value"]), self.ends[line])
        lines = [(self.starts[line], self.ends[line]) for line in range(options, behind)]
        blocks = directive_table(name, self.text, title, values, lines, self.inline)
        self.result += blocks
        self.above.last = blocks[-1] if blocks else None

    def _show_option(self, number: int, behind: int) -> None:
        """Add the text for a picture, or the title of code."""
        content = self._content(number)
        option = _OPTION.match(content)
        if option is None or option["name"] not in _SHOWN_OPTIONS:
            return
        start = self.starts[number] + self._column(number)
        if option["value"]:
            length = option.start("value")
        else:
            length = len(content)
        self.covered.append((start, start + length))
        self._add_lines(number, behind)

    # Blocks

    def _flush(self, number: int) -> None:
        """Add the lines from the first of the run to one as plain text."""
        if number > self.first:
            start, end = self.starts[self.first], self.ends[number - 1]
            source = self._covered_text(start, end)
            self._add_plain(source, start)
        self.covered = []
        self.first = number

    def _add_lines(self, first: int, behind: int) -> None:
        """Add some lines as plain text."""
        self.first = first
        self._flush(behind)

    def _covered_text(self, start: int, end: int) -> str:
        parts: list[str] = []
        for first, last in self.covered:
            parts.append(self.text[start:first])
            parts.append(FILLER * (last - first))
            start = last
        parts.append(self.text[start:end])
        return "".join(parts)

    def _add_plain(self, source: str, start: int) -> None:
        if not source.replace(FILLER, "").strip():
            return
        blocks = plain_blocks(
            source, base=start, inline=self.inline, above=self.above, finds_code=False
        )
        if self.term:
            leads = (self.term[1],)
            for number, block in enumerate(blocks):
                if block.kind == "paragraph":
                    blocks[number] = replace(block, kind="item", leads=leads)
        self.result += blocks

    def _add_code(self, first: int, behind: int) -> None:
        """Add lines as code, without the indentation that all have."""
        while first < behind and not self._content(first):
            first += 1
        filled = [number for number in range(first, behind) if self._content(number)]
        if not filled:
            return
        indentation = min(map(self._column, filled))
        parts: list[str] = []
        offsets: list[int] = []
        for number in range(first, filled[-1] + 1):
            start = min(self.starts[number] + indentation, self.ends[number])
            parts.append(self.text[start : self.ends[number]] + "\n")
            offsets += range(start, self.ends[number] + 1)
        code = "".join(parts).rstrip("\n")
        visible = Visible(code, offsets[: len(code)], ((0, len(code)),))
        block = Block("code", self.starts[first] + indentation, self.ends[filled[-1]], visible)
        self.result.append(block)
        self.above.last = block
