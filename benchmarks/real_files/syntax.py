"""What of a source is syntax, and why: found by patterns that know nothing of factoid's reading."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from lxml import html
from markdown_it import MarkdownIt

FRONT_MATTER = "front matter"
COMMENT = "comment"
STRUCK = "struck out"
SCRIPT = "script or style"
CODE_MARK = "fence"
DIRECTIVE = "directive"
TARGET = "link target"
IMAGE = "image address"
DEFINITION = "link definition"
TAG = "tag and attributes"
ATTRIBUTES = "attribute list"
FOOTNOTE = "footnote mark"
ICON = "icon"
CONTROL = "form control"
ENTITY = "entity"
NUMBER = "list number"
BOX = "task box"

_FRONT = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*\r?\n.*?\n\1[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FENCE = re.compile(
    r"(?P<prefix>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<mark>`{3,}|~{3,}|:{3,})"
    r"(?P<info>[^\n]*)"
)
_DIRECTIVE_INFO = re.compile(r"\s*\{(?P<name>[\w:.-]+)\}")
_CODE_DIRECTIVES = frozenset(
    "code code-block code-cell sourcecode literalinclude parsed-literal prompt math mermaid "
    "myst".split()
)
_UNSEEN_DIRECTIVES = frozenset(
    "toctree tableofcontents contents include eval-rst bibliography raw meta image index "
    "figure-md autofunction "
    "autoclass automodule list-table-raw iframe video youtube myst-example-raw".split()
)
_OPTIONS = re.compile(
    r"(?:[ \t>]*:[\w-]+:[^\n]*\n)+"
    r"|[ \t>]*---\n(?:[ \t]*[\w-]+:[^\n]*\n|[ \t]+[^\n]*\n)*[ \t>]*---\n"
)
_CAPTION = re.compile(r"caption:[ \t]*(?P<shown>(?:\|\n(?:[ \t]+[^\n]*\n)+)|[^|\s][^\n]*)")
_ROLE_TARGET = re.compile(r"(?<=\})`[^`<\n]*(<[^<>`\n]+>)`")
_COMMENT_LINE = re.compile(r"^%(?: [^\n]*)?$", re.MULTILINE)
_PRE = re.compile(r"<pre\b.*?</pre\s*>", re.DOTALL)
_INLINE_CODE = re.compile(
    r"(?<![`\\])(`+)(?!`)((?:(?!\n[ \t>]*(?:\n|(?:[-*+]|\d+\.)\s)).)+?)(?<!`)\1(?!`)", re.DOTALL
)
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*\}"
_TAG = rf"</?[A-Za-z][\w.:-]*(?:\s(?:[^<>\"'{{}}]|\"[^\"]*\"|'[^']*'|{_BRACES})*)?/?>"

# Each reason with what it looks like, outside of code; the first that matches a character counts.
_PATTERNS = (
    # options of mkdocstrings, kramdown's tables of contents, and what is behind a link of Liquid
    (DIRECTIVE, r"^[ \t>]*:::[ \t]*[\w.]+\n(?:[ \t]+[^\n]*\n)+|^[ \t]*\d+\. [^\n]*\n\{:[ ]*toc\}"),
    (TARGET, r"\]\(\{%[^%\n]*%\}[^()\s]*\)"),
    (
        COMMENT,
        r"<!--.*?-->|\{/\*.*?\*/\}|\{\{-? ?/\*.*?\*/ ?-?\}\}"
        r"|\{%-? *comment *-?%\}.*?\{%-? *endcomment *-?%\}|^% [^\n]*",
    ),
    (
        STRUCK,
        r"(?<!~)~~(?![~\s])(?:[^~\n]|~(?!~)|\n(?!\s*\n))+?(?<!\s)~~(?!~)"
        r"|<(?P<struck>del|s|strike)>[^<]*</(?P=struck)>",
    ),
    (SCRIPT, r"<(?P<name>script|style|svg|template)\b[^>]*>.*?</(?P=name)\s*>"),
    (CONTROL, r"<(?P<name>button|select|option|textarea|noscript)\b[^>]*>.*?</(?P=name)\s*>"),
    (
        DIRECTIVE,
        r"\{\{[<%].*?[>%]\}\}|\{%(?!raw).*?%\}|^[ \t>]*:{3,}[^\n]*"
        r"|^[ \t>:]*(?:!!!|\?\?\?\+?|===[!+]?) [^\n]*",
    ),
    (
        DIRECTIVE,
        r"^[ \t]*(?:import\s[^\n]*?['\"][^\n]*|import \{[^}]*\} from[^\n]*)|^export (?:[^\n]+\n)+"
        r"|\[![A-Za-z]+[^\]]*\]",
    ),
    (
        DIRECTIVE,
        r"^[ \t>-]*-{1,2}8<-+[^\n]*|^[ \t>]*:[A-Za-z][\w-]*:(?:[ \t][^\n]*)?$"
        r"|^\([\w:. /-]+\)=[ \t]*$|\{[a-z][\w:.+-]*\}(?=`)",
    ),
    (
        DIRECTIVE,
        r"\[\[?_?toc_?\]\]?|\{!.*?!\}|\{\{#\w+[^}]*\}\}|^[ \t]*///[^\n]*|^::[\w-]+[^\n]*"
        r"|^@\w+\([^\n]*\)$|^<<<[^\n]*",
    ),
    (DIRECTIVE, r"^\s*\*\[[^\]\n]+\]:[^\n]*|^:{3,}[^\n]*|\{\*[^}]*\*\}"),
    (TARGET, r"\[\[[^\]|\n]+(?=\|)|\|[^\]|\n]+(?=\]\])|(?<=`)[^`<]*(?=<)|<[^<>`\n]+>(?=`)"),
    (
        IMAGE,
        r"(?<=!\[)(?P<alt>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?:<[^>\n]*>|(?:[^()\s]|\((?:[^()]|\("
        r"(?:[^()]|\([^()]*\))*\))*\))*)(?:\s+(?:\"[^\"]*\"|'[^']*'|=\w*))?\s*\)",
    ),
    (
        TARGET,
        r"\]\(\s*(?:<[^>\n]*>|(?:[^()\s]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*)(?:\s+"
        r"(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)|\]\[[^\[\]]*\]",
    ),
    (DEFINITION, r"^[ \t>]*\[(?!\^)[^\]\n]+\]:[ \t]*\n?[ \t]*\S+[^\n]*"),
    (ATTRIBUTES, r"\{ *:? *[.#][^{}\n]*\}|\{:? *[\w-]+=[^{}\n]*\}|\{:[^{}\n]*\}|\{-\}"),
    (FOOTNOTE, r"\[\^[^\]\s]+\]:?"),
    (ATTRIBUTES, r"(?<=^\$\$) \([\w:.-]+\)$"),
    (TAG, _TAG),
    (ICON, r":[a-z]+(?:-[a-z0-9]+)+:|(?<![\w:]):[a-z0-9_+-]+:(?![\w`])"),
    (ENTITY, r"&#?\w+;"),
    (NUMBER, r"^[ \t>]*(?:[-*+][ \t]+)*\d{1,9}[.)](?=\s)"),
    (BOX, r"^[ \t>]*(?:[-*+]|\d+[.)])[ \t]+\[[xX]\]"),
)
PATTERNS = [
    (reason, re.compile(pattern, re.DOTALL | re.MULTILINE)) for reason, pattern in _PATTERNS
]
_IN_PRE = ((TAG, _TAG), (ENTITY, r"&#?\w+;"))  # HTML in an element for code
_UNSHOWN = (DIRECTIVE, FRONT_MATTER, ICON, ATTRIBUTES)


# Of reStructuredText: directives with what readers do not see of them, and marks within lines.
_REST_UNSEEN = (
    r"toctree|contents|include|literalinclude|image|index|raw|meta|highlight|default-role|role"
    r"|currentmodule|automodule"
    r"|autoclass|autofunction|autoexception|autodata|automethod|autosummary|sectionauthor"
    r"|tabularcolumns"
    r"|testsetup|plot|graphviz|click|program|bibliography|youtube|tableofcontents"
)
_HTML_CODE = re.compile(r"</?code\b[^<>]*>")
_DESCRIBED = re.compile(r"[ \t]*\.\. +rst:directive::")
_REST_BODY = r"(?:\n(?:[ \t]*\n)*(?P=indent)[ \t]+\S[^\n]*)*"
_REST_PATTERNS = (
    (
        DIRECTIVE,
        rf"^(?P<indent>[ \t]*)\.\. +(?:(?!rst:role)[a-z]+:)?(?:{_REST_UNSEEN})::[^\n]*{_REST_BODY}",
    ),
    (DEFINITION, r"^[ \t]*\.\. +(?:_[^\n]*|__:[^\n]*)|^[ \t]*__ \S+$"),
    (DEFINITION, rf"^(?P<indent>[ \t]*)\.\. +\|[^\n]*{_REST_BODY}"),
    (FOOTNOTE, r"\.\. +\[[^\]\n]+\](?=\s)|\[[\w#*.-]+\]_"),
    (
        DIRECTIVE,
        r"^[ \t]*\.\. +(?:version[\w-]+|deprecated):: *[\w.]*"
        r"|^[ \t]*\.\. +(?:code|code-block|sourcecode|figure|prompt|tabs?|"
        r"tab-set|container|rst-class|parsed-literal|list-table|csv-table|grid|only|ifconfig|math"
        r"|(?:py:|js:)?module)::(?: [^\n]*)?"
        r"|^[ \t]*\.\. +[\w:+.-]+::",
    ),
    (
        COMMENT,
        rf"^(?P<indent>[ \t]*)\.\.(?! +[\w+.-]+(?::[\w+.-]+)*::(?:\s|$))(?: +[^\n]*)?{_REST_BODY}",
    ),
    (
        DIRECTIVE,
        r"(?<=::)(?:[^\n]*\n)(?:[ \t]+:[\w-]+:(?: [^\n]*)?\n)+|^[ \t]+:[\w-]+:(?: [^\n]*)?$"
        r"|^:[\w-]+:$",
    ),
    (DIRECTIVE, r"(?<![\w:]):[A-Za-z][\w:+.-]*:(?=`)|(?<=`):[a-z]+:"),
    (TARGET, r"(?<=`)[^`<]*(?P<alt>)<[^<>`]+>(?=`)|(?<=:`)~[\w.:-]*\.(?=\w+(?:\(\))?`)"),
)


class _Fence(NamedTuple):
    """An opened block of code."""

    mark: str
    start: int  # of the line with the mark
    body: int
    column: int  # of the mark
    is_unseen: bool  # a directive of which readers see nothing

    def is_closed_by(self, line: str) -> bool:
        """Say whether a line is the closing mark."""
        stripped = line.strip(" \t>\r\n")
        is_mark = stripped != "" and not stripped.strip(self.mark[0])
        indent = len(line) - len(line.lstrip())
        is_near = indent < self.column + 4  # else it is code to CommonMark
        return is_near and is_mark and len(stripped) >= len(self.mark)


class Source:
    """A document's text with its code and its syntax.

    Attributes:
        text: The text.
        code: The spans of code, without fences.
        reasons: For each character, why it is syntax; "" where it is not.
    """

    def __init__(self, text: str, *, markup: str = "markdown") -> None:
        self.text = text
        self.code: list[tuple[int, int]] = []
        self.fences: list[tuple[int, int]] = []  # code with its fences
        self.inline_code: list[tuple[int, int]] = []
        self.marks: list[tuple[int, int]] = []  # of fences around Markdown
        self.reasons = [""] * len(text)
        self.markup = markup
        if markup == "rst":
            self._read_restructured()
        elif markup == "markdown":
            self._read_markdown()

    def _read_restructured(self) -> None:
        for reason, pattern in _REST_PATTERNS:
            for match in re.finditer(pattern, self.text, re.MULTILINE):
                self._paint_behind_alternative(match, reason)

    def _read_markdown(self) -> None:
        text = self.text
        # -- What is no Markdown: front matter and code --
        front = _FRONT.match(text)
        self.start = front.end() if front else 0
        if front:
            self._paint(0, front.end(), FRONT_MATTER)
        self._read_fences()
        for match in _PRE.finditer(text):
            if not self.is_fenced(match.start()):
                self.fences.append(match.span())
        self.fences.sort()
        unfenced = _masked(text, (*self.fences, *self.marks), "\n")
        self.inline_code = [match.span() for match in _INLINE_CODE.finditer(unfenced, self.start)]

        # -- Syntax outside of code --
        masked = _masked(unfenced, self.inline_code, "\n`")
        for reason, pattern in PATTERNS:
            for match in pattern.finditer(masked, self.start):
                self._paint_behind_alternative(match, reason)

        # -- Syntax that code is no reason to leave out --
        for block in _PRE.finditer(text):
            for reason, tag in _IN_PRE:
                for match in re.finditer(tag, block[0]):
                    self._paint(block.start() + match.start(), block.start() + match.end(), reason)
        for match in _COMMENT_LINE.finditer(text):
            if not self.is_fenced(match.start()):
                self._paint(*match.span(), COMMENT)
        for match in _ROLE_TARGET.finditer(text):
            self._paint(*match.span(1), TARGET)
        for match in re.finditer(_TAG, text):  # attributes may hold backticks
            if not self.is_code(match.start()) and not self.is_inline_code(match.start()):
                self._paint(*match.span(), TAG)

    def _paint_behind_alternative(self, match: re.Match[str], reason: str) -> None:
        """Paint what a pattern matches, but for an alternative text that readers see."""
        start = match.start()
        if match.groupdict().get("alt") is not None:
            start = match.end("alt")
        self._paint(start, match.end(), reason)

    def is_code(self, at: int) -> bool:
        """Say whether a place is in a block of code."""
        return _is_in(self.code, at)

    def is_inline_code(self, at: int) -> bool:
        """Say whether a place is in code within a line."""
        return _is_in(self.inline_code, at)

    def is_signature(self, at: int) -> bool:
        """Say whether a place is in what describes a directive: readers see ".. note:: title"."""
        line = self.text.rfind("\n", 0, at) + 1
        return _DESCRIBED.match(self.text, line) is not None

    def is_fenced(self, at: int) -> bool:
        """Say whether a place is in a block of code or in its fences."""
        return _is_in(self.fences, at)

    def rendered(self) -> str:
        """Return the text that markdown-it and lxml show, without code and without what is a
        directive.
        """
        shown = list(self.text)
        for at, reason in enumerate(self.reasons):
            if reason in _UNSHOWN and shown[at] != "\n":
                shown[at] = " "
        # Inline code of Markdown is left out, not that of HTML, which factoid shows as text.
        return rendered(_HTML_CODE.sub("", "".join(shown)))

    def _paint_options(self, options: re.Match[str]) -> None:
        """Paint the options of a directive but for its caption, which readers see."""
        captions = [match.span("shown") for match in _CAPTION.finditer(options[0])]
        for at in range(options.start(), options.end()):
            if not _is_in(captions, at - options.start()):
                self._paint(at, at + 1, DIRECTIVE)

    def _paint(self, start: int, end: int, reason: str) -> None:
        for at in range(start, end):
            if not self.reasons[at]:
                self.reasons[at] = reason

    def _read_fences(self) -> None:
        fence: _Fence | None = None
        containers: list[str] = []  # marks of opened directives that hold Markdown
        is_comment = False
        end = 0
        for line in self.text.splitlines(keepends=True):
            start = end
            end += len(line)
            if start < self.start:
                continue
            if fence is not None:
                if fence.is_closed_by(line):
                    self._close(fence, start, end)
                    fence = None
                continue
            begins_comment = line.strip(" \t>\r\n").startswith("<!--") and "-->" not in line
            if is_comment or begins_comment:
                is_comment = "-->" not in line
                continue
            match = _FENCE.match(line)
            if match is not None:
                fence = self._opened(match, start, end, containers)
        if fence is not None and not fence.is_unseen:  # the text ends in code
            self._close(fence, len(self.text), len(self.text))

    def _close(self, fence: _Fence, start: int, end: int) -> None:
        """Note the block of a fence, whose closing line is at a place."""
        if fence.is_unseen:
            self._paint(fence.body, start, DIRECTIVE)
        else:
            self.code.append((fence.body, start))
            self.fences.append((fence.start, end))

    def _opened(
        self, match: re.Match[str], start: int, end: int, containers: list[str]
    ) -> _Fence | None:
        """Return the block of code that a line opens; None if it opens or closes a container, or
        is no fence.
        """
        mark = match["mark"]
        info = match["info"]
        directive = _DIRECTIVE_INFO.match(info)
        name = directive["name"].lower() if directive else ""
        holds_code = name in _CODE_DIRECTIVES | _UNSEEN_DIRECTIVES
        if containers and not info.strip() and mark.startswith(containers[-1]):
            containers.pop()
            self.marks.append((start, end))
            self._paint(start, end, CODE_MARK)
            return None
        if mark[0] == ":" and not holds_code:
            return None
        if directive and not holds_code:
            containers.append(mark)
            self.marks.append((start, end))
            self._paint(start, end, DIRECTIVE)
            return None
        if mark[0] == "`" and "`" in info:
            return None
        options = _OPTIONS.match(self.text, end)
        if directive and options:
            self._paint_options(options)
        column = len(match["prefix"])
        self._paint(start + column, end, CODE_MARK)
        return _Fence(mark, start, end, column, is_unseen=name in _UNSEEN_DIRECTIVES)


def _masked(text: str, spans: Sequence[tuple[int, int]], keep: str) -> str:
    masked = list(text)
    for start, end in spans:
        for at in range(start, end):
            if masked[at] not in keep:
                masked[at] = " "
    return "".join(masked)


def _is_in(spans: Sequence[tuple[int, int]], at: int) -> bool:
    index = bisect_right(spans, at, key=lambda span: span[0]) - 1
    return index >= 0 and at < spans[index][1]


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


def rendered(source: str, *, keep_code: bool = False) -> str:
    """Return the text of the HTML that markdown-it makes of Markdown, on one line, with alternative
    texts.
    """
    markup = _parser().render(source)
    if not markup.strip():
        return ""
    root = html.fromstring(f"<div>{markup}</div>")
    for element in list(root.iter()):
        if not isinstance(element.tag, str):
            element.drop_tree() if element.getparent() is not None else None
        elif element.tag in ("script", "style") or (element.tag == "code" and not keep_code):
            element.drop_tree()
        elif element.tag == "img":
            element.tail = f" {element.get('alt') or ''} {element.tail or ''}"
    return " ".join(root.text_content().split())


def letters(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return "".join(character for character in text.casefold() if character.isalnum())


def words(text: str) -> Iterator[str]:
    """Yield the words of a text."""
    return (match[0] for match in re.finditer(r"[^\W_]+", text))
