"""Hide the syntax that tools for documentation add to Markdown, so that a parser of CommonMark reads what readers see."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Literal, NamedTuple

FILLER = "\ue0f0"  # one hidden character; the reader of inlines drops it
BREAK = "\ue0f1"  # hidden, too; a line that holds it (first hidden character) is a block of its own

Accepts = Callable[[str, "re.Match[str]"], bool]
# What becomes of the text that a rule shows: it is a block of its own (and hidden where it is not alone on
# its line), flows with the text around it, or is the one if it is alone and else the other.
Shown = Literal["title", "text", "either"]

_SPARE = str.maketrans({FILLER: "\ue0f2", BREAK: "\ue0f2"})
_LONGEST = 2000  # characters of syntax; it may go on over several lines
_LONGEST_BODY = 30_000  # characters of a component
_FARTHEST = 300  # lines between what opens a region and what closes it
_MOST_OPTIONS = 50  # lines


class Rule(NamedTuple):
    """Syntax of a dialect.

    Attributes:
        dialect: Who documents it.
        mark: What it starts with, literally.
        pattern: All of it. A group "shown" is what readers see of it.
        kind: What becomes of the text that it shows.
        shown: Finds what readers see in it, instead of a group of the pattern.
        accepts: Says, of the source and a match, whether it is meant; without it, it is.
    """

    dialect: str
    mark: str
    pattern: re.Pattern[str]
    kind: Shown = "title"
    shown: re.Pattern[str] | None = None
    accepts: Accepts | None = None


class Region(NamedTuple):
    """Lines that readers do not see, or see without their first and last."""

    dialect: str
    mark: str
    opening: re.Pattern[str]
    closing: re.Pattern[str]


# Parts of patterns

_ITEM = (
    r"(?:[#.][A-Za-z_\d-][\w:./-]*+|(?P<key>[A-Za-z_][\w:-]*+)="
    r"""(?:"[^"\n]*+"|'[^'\n]*+'|[^\s{}"'=<>|]++))"""
)
_MORE_ITEMS = _ITEM.replace("?P<key>", "?:")
_ATTRIBUTES = rf"\{{[ ]*+(?P<colon>:?)[ ]*+(?:{_ITEM})(?:[ ]++{_MORE_ITEMS})*+[ ]*+\}}"
_HTML_KEY = re.compile(
    r"(?:id|class|style|width|height|target|rel|title|alt|lang|dir|align|loading|download|type|start|hidden|markdown|role|"
    r"tabindex|key|name|href|src|label|layout|toc|(?:data|aria|fig|tbl|layout|bs|toc)-[\w-]+)"
)
_QUOTED = r"""(?:"(?P<shown>[^"\n]++)"|'(?P<single>[^'\n]++)')"""
_TITLE = re.compile(rf"\b(?:title|label|header|heading|summary|caption)={_QUOTED}")
_ALT = re.compile(r'\balt-text="(?P<shown>[^"\n]++)"')
_BRACES = r"\{[^{}]*+\}"
for _ in range(3):
    _BRACES = rf"\{{(?:[^{{}}]++|{_BRACES})*+\}}"
_GAP = r"(?:[ \t]++(?:\r?\n[ \t]*+)?|\r?\n[ \t]*+)"
_TAG = (
    rf"</?(?P<name>[A-Za-z][\w.]*+)(?P<attributes>(?:{_GAP}(?:[A-Za-z_@:v][\w:.@-]*+"
    rf"(?:=(?:\"[^\"]*+\"|'[^']*+'|{_BRACES}|[^\s\"'=<>`{{}}]++))?|{_BRACES}))*+){_GAP}?/?>"
)
_TAG_TITLE = re.compile(
    r"""\b(?:label|title|header|heading|summary|caption|alt)=\{?(?:"(?P<shown>[^"\n]++)"|'(?P<single>[^'\n]++)')"""
    r"""|<TabItem[^>]*?\svalue="(?P<value>[^"\n]++)\"(?![^>]*\slabel=)"""
)
_LINE_END = re.compile(r"[ \t]*+\r?(?:\n|\Z)")
_NOT_BLANK = r"\n(?![ \t]*+\r?\n)"

# What decides about a match


def _is_quoted(source: str, match: re.Match[str]) -> bool:
    before = source[source.rfind("\n", 0, match.start()) + 1 : match.start()]
    return ">" in before


def _is_attribute_list(source: str, match: re.Match[str]) -> bool:
    """Say whether braces at the end of something are its attributes, and not prose, code or LaTeX."""
    start = match.start()
    before = source[start - 1 : start]
    is_after_space = before in (" ", "\t")
    place = start - 1 if is_after_space else start
    owner = source[place - 1 : place]
    is_last = _LINE_END.match(source, match.end()) is not None
    names_a_place = match["key"] is None
    if match["colon"]:
        return is_last or not is_after_space
    if owner == ")":
        return source.rfind("](", max(0, place - _LONGEST), place) >= 0
    if owner == "]":
        opening = source.rfind("[", max(0, place - _LONGEST), place)
        before = source[opening - 1 : opening] if opening > 0 else ""
        return opening >= 0 and not before.isalnum() and before != "\\" and (names_a_place or not is_after_space)
    if owner in ("`", ":") and not is_after_space:
        return names_a_place or owner == ":" or _HTML_KEY.fullmatch(match["key"]) is not None
    if owner == ":" and names_a_place and source[place - 2 : place - 1].isalnum():
        return True
    if not is_after_space:
        return owner in ("*", "_", "~", "=", "^", "+", ">", '"') and names_a_place
    if is_last:
        line = source[source.rfind("\n", 0, start) + 1 : start].lstrip(" >\t")
        return names_a_place or (line.startswith("#") and _HTML_KEY.fullmatch(match["key"]) is not None)
    return False


def _is_attribute_line(_: str, match: re.Match[str]) -> bool:
    key = match["key"]
    return bool(match["colon"]) or key is None or _HTML_KEY.fullmatch(key) is not None


def _is_component(source: str, match: re.Match[str]) -> bool:
    """Say whether a tag is one of a component, and neither HTML nor a type such as `List<String>`."""
    name = match["name"]
    before = source[match.start() - 1 : match.start()] if match.start() else ""
    attributes = match["attributes"]
    if before.isalnum() or before in ("_", "\\"):
        return False
    if not name[0].isupper():
        return "={" in attributes
    if name.upper() in _UPPER_HTML:
        return name != name.upper()
    if match[0].startswith("</") or match[0].endswith("/>") or "=" in attributes or "{" in attributes:
        return True
    return source.find(f"</{name}>", match.end(), match.end() + _LONGEST_BODY) >= 0


def _is_comment(source: str, match: re.Match[str]) -> bool:
    before = source[match.start() - 1 : match.start()] if match.start() else ""
    behind = source[match.end() : match.end() + 1]
    return not before.isalnum() and not behind.isalnum()


def _is_role(source: str, match: re.Match[str]) -> bool:
    before = source[match.start() - 1 : match.start()] if match.start() else ""
    return not before.isalnum() and before not in ("$", "\\", "`", "}", "_", "^")


def _is_block_id(source: str, match: re.Match[str]) -> bool:
    before = source[match.start() - 1 : match.start()] if match.start() else "\n"
    return before in (" ", "\t", "\n", ">")


_UPPER_HTML = set(
    "A ABBR B BIG BLOCKQUOTE BODY BR CENTER CITE CODE COL DD DEL DIV DL DT EM FONT FORM H1 H2 H3 H4 H5 H6 HEAD HR HTML I IFRAME "
    "IMG INPUT INS KBD LI META OL P PRE Q S SAMP SCRIPT SMALL SPAN STRONG STYLE SUB SUP TABLE TBODY TD TH THEAD TR TT U UL VAR".split()
)


def _line(dialect: str, mark: str, pattern: str, shown: re.Pattern[str] | None = None, accepts: Accepts | None = None) -> Rule:
    return Rule(dialect, mark, re.compile(pattern), "title", shown, accepts)


def _part(
    dialect: str,
    mark: str,
    pattern: str,
    kind: Shown = "title",
    shown: re.Pattern[str] | None = None,
    accepts: Accepts | None = None,
) -> Rule:
    return Rule(dialect, mark, re.compile(pattern), kind, shown, accepts)


# Syntax that has a line for itself. The first rule that matches counts.
LINES = (
    _line(
        "MS Learn: rows, columns, zones, monikers and code",
        ":::",
        r":::[ \t]*+(?:moniker|zone|row|column|code|image|video|form)(?:-end)?\b(?:[^\n\":]|\"[^\"\n]*+\"|:(?!::))*+:*",
        _ALT,
    ),
    _line(
        "Pandoc and Quarto: a div with attributes",
        ":::",
        r":{3,}+[ \t]*+\{[ ]*+[.#A-Za-z](?:[^{}\n\"]|\"[^\"\n]*+\")*+\}[ \t:]*+",
        _TITLE,
        lambda _, match: re.match(r":++[ \t]*+\{[\w:-]++\}", match[0]) is None,
    ),
    _line("VitePress: a group of code", ":::", r":{3,}+[ \t]*+(?:code-group|v-pre|raw|tabs)\b[^\n]*+"),
    _line(
        "Docusaurus: a container with a title in brackets",
        ":::",
        r":{3,}+[ \t]*+[A-Za-z][\w-]*+\[(?P<shown>(?:[^\[\]\n]|\[[^\[\]\n]*+\])*+)\][ \t]*+(?:\{[^{}\n]*+\})?",
    ),
    _line(
        "VuePress, VitePress and Docusaurus: a container",
        ":::",
        r":{3,}+[ \t]*+[A-Za-z][\w-]*+(?:[ \t]++(?P<shown>[^\s{:][^\n{]*+))?[ \t]*+(?:\{[^{}\n]*+\})?[ \t:]*+",
    ),
    _line("All with containers: the end of one", ":::", r":{3,}+"),
    _line(
        "Astro and remark: a directive",
        "::",
        r"::[A-Za-z][\w-]*+(?:\[(?P<shown>[^\[\]\n]*+)\](?:\{[^{}\n]*+\})?|\{[^{}\n]*+\})",
    ),
    _line(
        "MS Learn: what a quote stands for",
        "[!",
        r"\[!(?:div|video)\b[^\]\n]*+\][ \t]*+",
    ),
    _line(
        "GitHub and Obsidian: a callout",
        "[!",
        r"\[!(?!include\b|video\b|code)[A-Za-z][\w -]*+(?:\|[^\]\n]*+)?\][-+]?[ \t]*+(?P<shown>[^\n]*+)",
        accepts=_is_quoted,
    ),
    _line("FastAPI: an included file", "{*", r"\{\*[^\n{}]*+\*\}"),
    _line("pymdownx: a snippet", "--8<--", r"-{1,2}8<-{1,}[ \t]*+\"[^\"\n]*+\"[^\n]*+"),
    _line("pymdownx: a snippet", ";--8<--", r";-{1,2}8<-{1,}[ \t]*+\"[^\"\n]*+\"[^\n]*+"),
    _line("Python-Markdown: a table of contents", "[TOC", r"\[TOC\]"),
    _line("Markdown Preview: a table of contents", "[toc", r"\[toc\]"),
    _line("GitLab and VuePress: a table of contents", "[[", r"\[\[[ ]*+_?(?:TOC|toc|Toc)_?[ ]*+\]\]"),
    _line("kramdown: attributes of a block", "{:", r"\{:{1,2}(?:/?[A-Za-z_-]*+|[A-Za-z][\w-]*+[ \t]++/)\}"),
    _line("kramdown: attributes of a block", "{:", r"\{:[ ]*+(?:toc|[A-Za-z]++:)(?:[ ]++[^{}\n]*+)?\}"),
    _line("kramdown: options", "{::", r"\{::[A-Za-z]++[ ][^{}\n]*+/?\}"),
    _line("kramdown: attributes of a block", "{:", rf"\{{:[ ]*+{_MORE_ITEMS}(?:[ ]++(?:{_MORE_ITEMS}|toc))*+[ ]*+\}}"),
    _line("Python-Markdown: attributes of a block", "{", _ATTRIBUTES, accepts=_is_attribute_line),
    _line("VitePress: a snippet", "<<<", r"<<<[ \t]*+[@./][^\n]*+"),
    _line("VuePress: included code", "@[", r"@\[[\w-]++\]\([^()\n]*+\)"),
    _line("MyST: a target", "(", r"\([A-Za-z][\w:./ -]*+\)=[ \t]*+"),
    _line("Python-Markdown: an abbreviation", "*[", r"\*\[[^\]\n]++\]:[ \t][^\n]*+"),
    _line(
        "MDX: an import",
        "import",
        r"import\s++(?:(?:type\s++)?[\w$*]++(?:\s++as\s++[\w$]++)?\s*+(?:,\s*+\{[\w$,\s]*+\}\s*+)?from\s*+"
        r"|\{[\w$,\s]*+\}\s*+from\s*+)?(?P<quote>['\"])[^'\"\n]++(?P=quote)[ \t]*+;?(?:[ \t]*+//[^\n]*+)?",
    ),
    _line("MDX: a fragment", "<>", r"<>"),
    _line("MDX: a fragment", "</>", r"</>"),
)

# Syntax within a line, or over several.
PARTS = (
    _part(
        "Hugo: a term of the glossary",
        "{{<",
        rf"\{{\{{<[ \t]*+glossary_tooltip\b(?:[^>{{\n]|{_NOT_BLANK}|>(?!\}}\}})|\{{(?!\{{))*+>\}}\}}",
        "text",
        re.compile(rf"\btext={_QUOTED}|\bterm_id=\"(?P<value>[^\"\n]++)\"(?![^\n]*\btext=)"),
    ),
    _part(
        "Hugo: a link",
        "{{<",
        rf"\{{\{{<[ \t]*+(?:link|api-reference)\b(?:[^>{{\n]|{_NOT_BLANK}|>(?!\}}\}})|\{{(?!\{{))*+>\}}\}}",
        "text",
        re.compile(rf"\btext={_QUOTED}"),
    ),
    _part(
        "Hugo: a shortcode",
        "{{<",
        rf"\{{\{{<(?:[^>{{\n]|{_NOT_BLANK}|>(?!\}}\}})|\{{(?!\{{))*+>\}}\}}",
        "title",
        re.compile(
            rf"\b(?:title|label|header|heading|summary|caption)={_QUOTED}"
            r"""|<[ \t]*(?:tab|expand|details|accordion)[ \t]+(?:name=)?"(?P<value>[^"\n]++)\""""
        ),
    ),
    _part(
        "Hugo: a shortcode with Markdown in it",
        "{{%",
        rf"\{{\{{%(?:[^%{{\n]|{_NOT_BLANK}|%(?!\}}\}})|\{{(?!\{{))*+%\}}\}}",
        "title",
        re.compile(
            rf"\b(?:title|label|header|heading|summary|caption)={_QUOTED}"
            r"""|%[ \t]*(?:tab|expand|details|accordion|notice[ \t]+\w+)[ \t]+(?:name=)?"(?P<value>[^"\n]++)\""""
        ),
    ),
    _part(
        "Liquid, Jekyll, GitBook and Markdoc: a tag",
        "{%",
        rf"\{{%[-+~]?\s*+(?=[\w/#.])(?:[^%{{\n]|{_NOT_BLANK}|%(?!\}})|\{{(?!%))*+%\}}",
        "title",
        re.compile(rf"(?<!code )\btitle={_QUOTED}"),
    ),
    _part("mdBook: an included file", "{{#", r"\{\{#(?:\w+_)?(?:include|playground|title|template)\b[^{}\n]*+\}\}"),
    _part("Markdown-Include: an included file", "{!", r"\{!>?[ \t]*+[\w./-][^\n{}!]*+!\}"),
    _part("Docusaurus: an id, MDX: a comment", "{/*", r"\{/\*(?:[^*{]|\*(?!/)|\{(?!/\*))*+\*/\}"),
    _part("MDX: a space", "{", r"\{(?:' '|\" \")\}"),
    _part(
        "Python-Markdown, kramdown and Pandoc: attributes of a heading or an inline",
        "{",
        _ATTRIBUTES,
        accepts=_is_attribute_list,
    ),
    _part("Pandoc: a heading without a number", "{-}", r"\{-\}(?=[ \t]*+\r?(?:\n|\Z))"),
    _part(
        "MyST: a role with a text and a target",
        "{",
        r"\{[a-z][a-z0-9:+._-]*+\}`(?P<shown>[^`<\n]*+)<[^`<>\n]*+>`",
        "text",
        accepts=_is_role,
    ),
    _part("MyST: a role", "{", r"\{[a-z][a-z0-9:+._-]*+\}(?=`)", accepts=_is_role),
    _part("MDX: a component", "<", _TAG, "title", _TAG_TITLE, _is_component),
    _part(
        "MS Learn: an image",
        ":::image",
        r":::image\b(?:[^\n\":]|\"[^\"\n]*+\"|:(?!::))*+:::",
        "either",
        _ALT,
    ),
    _part(
        "MS Learn: an included file",
        "[!",
        r"\[!(?:INCLUDE|Include|include|VIDEO|Video|code-[\w-]++|CODE-[\w-]++|notebook)[ \t]*+"
        r"(?:\[[^\[\]\n]*+\]\([^()\n]*+\)|[^\[\]\n]*+)\]",
    ),
    _part("Obsidian: a comment", "%%", r"%%(?!%)(?:[^%\n]|%(?!%))++%%(?!%)", accepts=_is_comment),
    _part(
        "Obsidian: the id of a block",
        "^",
        r"\^(?=[\w-]*+(?:\s|\Z))(?=[A-Za-z0-9-]*[A-Za-z])[A-Za-z0-9-]{4,60}+(?=[ \t]*+\r?(?:\n|\Z))",
        accepts=_is_block_id,
    ),
    *(
        _part(
            "Material for MkDocs: an icon",
            f":{family}-",
            rf":{family}-[a-z0-9]++(?:-[a-z0-9]++)*+:",
        )
        for family in ("material", "octicons", "fontawesome", "simple")
    ),
)

REGIONS = (
    Region("pymdownx: a snippet", "--8<--", re.compile(r"--8<--"), re.compile(r"--8<--")),
    Region("Obsidian: a comment", "%%", re.compile(r"%%"), re.compile(r"%%")),
    Region("kramdown: a comment", "{::comment}", re.compile(r"\{::comment\}"), re.compile(r"\{:/(?:comment)?\}")),
    Region(
        "Liquid: a comment",
        "{%",
        re.compile(r"\{%-?[ ]*comment[ ]*-?%\}"),
        re.compile(r"\{%-?[ ]*endcomment[ ]*-?%\}"),
    ),
)

# Directives of MyST, by what their bodies are.
_TITLED = set(
    "note warning tip important caution danger attention hint error seealso admonition topic sidebar dropdown tab-item card "
    "grid-item-card rubric centered table list-table exercise solution epigraph todo proof aside margin button-link".split()
)
_TEXTUAL = _TITLED | set(
    "tab-set grid grid-item figure versionadded versionchanged versionremoved deprecated container div only pull-quote highlights "
    "compound glossary hlist tabs card-carousel field-list button-ref blockquote subfigure exercise-start exercise-end "
    "solution-start solution-end".split()
)
_UNSEEN = set(
    "toctree tableofcontents contents include eval-rst bibliography footbibliography image index autosummary automodule autoclass "
    "autofunction raw meta tocdepth sectionauthor currentmodule iframe video youtube embed".split()
)
_CODE = set("code code-block code-cell sourcecode literalinclude".split())
_DIRECTIVE = re.compile(r"\{(?P<name>[A-Za-z][\w:.-]*+)\}[ \t]*+(?P<title>[^\n`]*+)")
_COLONS = re.compile(r":{3,}+")
_VERSION = re.compile(r"v?\d[\w.]*+[ \t]*+")
_OPTION = re.compile(r":[A-Za-z][\w-]*+:(?:[ \t][^\n]*+)?")

_PREFIX = re.compile(r"(?:[ \t]*+(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])))*+[ \t]*+")
_INDENT = re.compile(r"[ \t]*+(?:>[ \t]*+)*+")
_FENCE = re.compile(r"(?P<mark>`{3,}+(?=[^`\n]*+(?:\n|\Z))|~{3,}+)(?P<info>[^\n]*+)")
_RAW_TAG = re.compile(r"<(?P<name>pre|script|style|textarea)(?=[\s>])", re.IGNORECASE)
_SLASHES = re.compile(r"/{3,}+[ \t]*+(?P<name>[a-z][\w-]*+)(?:[ \t]*+\|[ \t]*+(?P<title>[^\n]*+))?")
_SLASHES_END = re.compile(r"/{3,}+")
_SLASHES_OPTION = re.compile(r"(?: {4}|\t)[ \t]*+(?:[\w-]++:|- )[^\n]*+")
_EXPORT = re.compile(
    r"export\s++(?:(?:const|let|var)\s++[\w${\[][^\n=]*+=|(?:async\s++)?function\s*+\w*+\s*+\(|class\s++\w++|"
    r"default\s++(?:function|class|async|\(|\{|[\w.$]++[;(]|[\w.$]++[ \t]*+(?=\r?(?:\n|\Z)))|\{|\*\s++from|type\s++\w++\s*+=)"
)
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,100}+\]:[ \t]*+")
_DEFINITION = re.compile(r":[ \t]++(?=\S)")
_CONTAINER = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]|!!!|\?\?\?|===[ \t]|///|:[ \t]|\[\^|/{3}")
_BLOCK_START = re.compile(r"[-+*>#|]|\d{1,9}[.)][ \t]|```|~~~|!!!|\?\?\?|\{|<|:::|///")
_SUSPECT = re.compile(
    r"[{<]|::|\[!|\[\^|\*\[|@\[|\[\[|%%|\^|--8<|///|:(?:material|octicons|fontawesome|simple)-|\[toc\]|\[TOC\]"
    r"|^[ \t>]*+(?:import|export|:[ \t]|```|~~~|\([A-Za-z]|\+\+\+)",
    re.MULTILINE,
)
_MATH = re.compile(r"\$\$")
_RULE = re.compile(r"---")
_BACKTICKS = re.compile(r"`+")


def without_dialects(source: str) -> str:
    """Return a Markdown text of the same length in which syntax that CommonMark lacks is hidden.

    A line that is hidden as a whole is blank, but for the marks of quotes and lists before it; part of a line
    is `FILLER`. A line of which the rest is a block of its own, such as a title, has one `BREAK` before it.
    Code in fences and inline code stay as they are.

    Args:
        source: A text in Markdown, without its front matter. Line breaks stay where they are; the two hidden
            characters are replaced by another one.
    """
    text = source.translate(_SPARE) if FILLER in source or BREAK in source else source
    if _SUSPECT.search(text) is None:
        return text
    return _Scan(text).result()


class _Scan:
    """One pass over the lines of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.output = list(text)
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.hidden: dict[int, list[tuple[int, int]]] = {}  # by line
        self.shown: dict[int, list[tuple[int, int, Shown]]] = {}
        self.contents: dict[int, int] = {}  # where a line with something hidden starts behind its marks
        self.fence: tuple[str, int, int] | None = None  # its character, its length, the quotes around it
        self.directives: list[tuple[str, int, int]] = []  # open ones with Markdown in them, in the same way
        self.slashes = 0  # open blocks of pymdownx
        self.closings: dict[str, tuple[int, int | None]] = {}
        self.is_after_blank = True
        self.is_in_code = False
        self.container = ""  # what an indented line may belong to
        self.has_toml = text.lstrip("\ufeff").startswith("+++")

    def result(self) -> str:
        """Return the text with everything hidden that a rule hides."""
        number = 0
        while number < len(self.starts):
            number = self._read(number)
        for line in self.hidden:
            self._write(line)
        return "".join(self.output)

    # Lines

    def _end(self, number: int) -> int:
        """Return where a line ends, without white space."""
        start = self.starts[number]
        end = self.starts[number + 1] - 1 if number + 1 < len(self.starts) else len(self.text)
        while end > start and self.text[end - 1] in " \t\r":
            end -= 1
        return end

    def _at(self, number: int) -> int:
        """Return where a line starts behind white space and marks of quotes."""
        match = _INDENT.match(self.text, self.starts[number])
        return match.end() if match else self.starts[number]

    def _read(self, number: int) -> int:
        """Read what starts on a line; return the number of the next line to read."""
        text = self.text
        start = self.starts[number]
        end = self._end(number)
        at = self._at(number)
        if at >= end:
            self.is_after_blank = True
            return number + 1
        depth = text.count(">", start, at)
        if self.fence:
            return self._read_code(number, at, end, depth)
        prefix = _PREFIX.match(text, start, end)
        content = prefix.end() if prefix else at
        self.contents[number] = content
        while self.directives and depth < self.directives[-1][2]:
            self.directives.pop()
        is_code = depth == 0 and self._is_indented_code(number, at)
        following = self._read_tags_only(number, content, end) if is_code else self._read_block(number, at, content, end, depth)
        self.is_after_blank = self._is_hidden(following - 1)
        return following

    def _read_code(self, number: int, at: int, end: int, depth: int) -> int:
        character, length, quotes = self.fence or ("", 0, 0)
        if depth < quotes:
            self.fence = None
            return self._read(number)
        line = self.text[at:end]
        if len(line) >= length and line == character * len(line):
            self.fence = None
            self.is_after_blank = True
        return number + 1

    def _is_indented_code(self, number: int, at: int) -> bool:
        """Say whether a line is code by its indentation; keep the indentation of text in a definition from making it code."""
        indentation = self.text[self.starts[number] : at].expandtabs(4)
        if len(indentation) >= 4 and (self.is_after_blank or self.is_in_code):
            if self.container == "definition" and len(indentation) < 8 and not _BLOCK_START.match(self.text, at):
                self.output[self.starts[number] : at] = FILLER * (at - self.starts[number])
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

    def _read_block(self, number: int, at: int, content: int, end: int, depth: int) -> int:
        text = self.text
        if fence := _FENCE.match(text, content, end):
            return self._read_fence(number, content, end, depth, fence)
        if skipped := self._raw(number, content):
            return skipped
        for region in REGIONS:
            if text.startswith(region.mark, content) and region.opening.fullmatch(text, content, end):
                closing = self._closing(number, region.closing)
                if closing is not None:
                    return self._hide_lines(number, closing + 1)
        if text.startswith("///", content) and (following := self._read_slashes(number, content, end)):
            return following
        colons = _COLONS.match(text, content, end)
        if colons and (directive := _DIRECTIVE.fullmatch(text, colons.end(), end)):
            return self._open_directive(number, content, depth, colons[0], directive)
        if content == at and self._read_definition(number, content, end):
            return number + 1
        if content == self.starts[number]:
            if exported := self._export_end(number, content):
                return self._hide_lines(number, exported)
            if text[content:end] == "+++" and not self.has_toml:
                return self._hide_lines(number, number + 1)
        for rule in LINES:
            if text.startswith(rule.mark, content) and (following := self._apply_to_line(rule, number, content)):
                return following
        return self._read_parts(number, content)

    def _apply_to_line(self, rule: Rule, number: int, content: int) -> int:
        """Return the number of the line behind syntax that has its lines for itself, 0 if there is none."""
        match = rule.pattern.match(self.text, content, content + _LONGEST)
        if not match or not _LINE_END.match(self.text, match.end()):
            return 0
        if rule.accepts and not rule.accepts(self.text, match):
            return 0
        if rule.mark == "import" and content != self.starts[number]:
            return 0
        if "toc" in match[0] and match[0].startswith("{:") and number:
            self._hide_toc_item(number - 1)
        self._hide(number, match.start(), match.end(), _shown(rule, match), "title")
        return self._line_of(match.end()) + 1

    def _hide_toc_item(self, number: int) -> None:
        """Hide the item that stands for a table of contents in kramdown."""
        match = _PREFIX.match(self.text, self.starts[number], self._end(number))
        if match and match[0].strip(" \t>"):
            self.contents[number] = self._at(number)
            self._hide(number, self._at(number), self._end(number))

    def _raw(self, number: int, content: int) -> int:
        """Return the line behind HTML or formulas in which nothing is a dialect, 0 if none starts here."""
        text = self.text
        if text.startswith("<!--", content):
            closing = self._find("-->", content)
        elif tag := _RAW_TAG.match(text, content):
            closing = self._find(f"</{tag['name']}", content)
        elif text.startswith("$$", content) and text[content : self._end(number)] == "$$":
            line = self._closing(number, _MATH)
            return 0 if line is None else line + 1
        else:
            return 0
        last = self._line_of(closing) if closing >= 0 else number
        return last + 1 if last > number else 0

    def _find(self, closing: str, start: int) -> int:
        """Return the next place of a text from a place on, -1 if there is none."""
        before, place = self.closings.get(closing, (0, 0))
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
        last = min(len(self.starts), number + 1 + _FARTHEST)
        for other in range(number + 1, last):
            if closing.fullmatch(self.text, self._at(other), self._end(other)):
                self.closings[closing.pattern] = (other, other)
                return other
        self.closings[closing.pattern] = (last, None)
        return None

    def _line_of(self, place: int) -> int:
        return bisect_right(self.starts, place) - 1

    # Blocks over several lines

    def _read_fence(self, number: int, content: int, end: int, depth: int, fence: re.Match[str]) -> int:
        mark = fence["mark"]
        if self.directives and not fence["info"].strip():
            character, length, _ = self.directives[-1]
            if mark[0] == character and len(mark) >= length:
                self.directives.pop()
                return self._hide_lines(number, number + 1)
        directive = _DIRECTIVE.fullmatch(self.text, fence.start("info"), end)
        if directive:
            return self._open_directive(number, content, depth, mark, directive)
        self.fence = (mark[0], len(mark), depth)
        return number + 1

    def _open_directive(self, number: int, content: int, depth: int, mark: str, directive: re.Match[str]) -> int:
        """Read the first lines of a directive of MyST, or all of it if readers do not see it."""
        name = directive["name"].lower()
        has_colons = mark[0] == ":"
        if name in _UNSEEN:
            closing = self._closing(number, re.compile(f"{mark[0]}{{{len(mark)},}}"))
            if closing is not None:
                return self._hide_lines(number, closing + 1)
        is_code = name in _CODE if has_colons else name not in _TEXTUAL and not name.startswith("prf:")
        if is_code:
            self.fence = ("`" if has_colons else mark[0], len(mark), depth)
            if has_colons:
                self._make_fence(number, content, mark)
            return self._hide_options(number) if name in _CODE else number + 1
        shown = None
        if name in _TITLED or name.startswith(("prf:", "version", "deprecated")):
            version = _VERSION.match(directive["title"]) if name.startswith(("version", "deprecated")) else None
            begin = directive.start("title") + (version.end() if version else 0)
            shown = (begin, directive.end("title"))
        self._hide(number, content, directive.end(), shown)
        if not has_colons:
            self.directives.append((mark[0], len(mark), depth))
        return self._hide_options(number)

    def _make_fence(self, number: int, content: int, mark: str) -> None:
        """Write the colons around code as backticks: CommonMark reads it as code."""
        closing = self._closing(number, re.compile(f":{{{len(mark)}}}"))
        if closing is None:
            self.fence = None
            return
        self.output[content : content + len(mark)] = "`" * len(mark)
        at = self._at(closing)
        self.output[at : at + len(mark)] = "`" * len(mark)
        self.fence = (":", len(mark), 0)

    def _hide_options(self, number: int) -> int:
        """Hide the options below the first line of a directive; return the number of the line behind them."""
        first = number + 1
        following = first
        while following < min(len(self.starts), first + _MOST_OPTIONS):
            if not _OPTION.fullmatch(self.text, self._at(following), self._end(following)):
                break
            following += 1
        if following == first < len(self.starts) and self.text[self._at(first) : self._end(first)] == "---":
            closing = self._closing(first, _RULE)
            if closing is not None and closing < first + _MOST_OPTIONS:
                following = closing + 1
        return self._hide_lines(first, following)

    def _read_slashes(self, number: int, content: int, end: int) -> int:
        if self.slashes and _SLASHES_END.fullmatch(self.text, content, end):
            self.slashes -= 1
            return self._hide_lines(number, number + 1)
        opening = _SLASHES.fullmatch(self.text, content, end)
        if not opening or self._closing(number, _SLASHES_END) is None:
            return 0
        self.slashes += 1
        has_title = opening["title"] and opening["name"] != "html"
        self._hide(number, content, end, opening.span("title") if has_title else None)
        following = number + 1
        while following < min(len(self.starts), number + _MOST_OPTIONS):
            if not _SLASHES_OPTION.fullmatch(self.text, self.starts[following], self._end(following)):
                break
            following += 1
        return self._hide_lines(number + 1, following)

    def _read_definition(self, number: int, content: int, end: int) -> bool:
        """Read the first line of a footnote or of a definition behind its term."""
        if content - self.starts[number] > 3 and not self.container:
            return False
        mark = _FOOTNOTE.match(self.text, content, end)
        if not mark and (definition := _DEFINITION.match(self.text, content, end)):
            above = [other for other in (number - 1, number - 2) if other >= 0 and self._at(other) < self._end(other)]
            mark = definition if above else None
        if not mark:
            return False
        self._hide(number, content, end, (mark.end(), end))
        self._read_parts(number, mark.end())
        return True

    def _export_end(self, number: int, content: int) -> int:
        """Return the line behind what MDX exports, 0 if nothing is exported here."""
        if not self.text.startswith("export", content) or not _EXPORT.match(self.text, content, content + _LONGEST):
            return 0
        known, _ = self.closings.get("export", (0, 0))
        if number < known:
            return 0
        depth = 0
        last = min(len(self.starts), number + _FARTHEST)
        for other in range(number, last):
            line = self.text[self.starts[other] : self._end(other)]
            depth += sum(line.count(bracket) for bracket in "([{")
            depth -= sum(line.count(bracket) for bracket in ")]}")
            if depth <= 0 and not line.endswith(("=", "=>", ",", "?", ":", "&&", "||", "+")):
                return other + 1
        self.closings["export"] = (last, None)
        return 0

    # Parts of lines

    def _read_tags_only(self, number: int, content: int, end: int) -> int:
        """Hide tags of components that are alone on an indented line; other indented lines are code."""
        component = next(rule for rule in PARTS if rule.mark == "<")
        match = component.pattern.match(self.text, content, content + _LONGEST)
        if match and _LINE_END.match(self.text, match.end()) and _is_component(self.text, match):
            self._hide(number, *match.span(), _shown(component, match), component.kind)
            return self._line_of(match.end()) + 1
        return number + 1

    def _read_parts(self, number: int, start: int) -> int:
        """Hide syntax from a place on; return the number of the line behind it."""
        text = self.text
        end = self._end(number)
        if start >= end or not _SUSPECT.search(text, start, end):
            return number + 1
        code = _code_spans(text, start, end)
        farthest = end
        for rule in PARTS:
            at = text.find(rule.mark, start, end)
            while at >= 0:
                match = self._part(rule, at, code)
                if match:
                    self._hide(self._line_of(at), *match.span(), _shown(rule, match), rule.kind)
                    farthest = max(farthest, match.end())
                following = match.end() if match else at + len(rule.mark)
                at = text.find(rule.mark, following, end) if following < end else -1
        last = self._line_of(farthest)
        return self._read_parts(last, farthest) if last > number else number + 1

    def _part(self, rule: Rule, at: int, code: list[tuple[int, int]]) -> re.Match[str] | None:
        index = bisect_right(code, (at, len(self.text))) - 1
        is_in_code = index >= 0 and code[index][0] <= at < code[index][1]
        if is_in_code or self.text[at - 1 : at] == "\\":
            return None
        match = rule.pattern.match(self.text, at, at + _LONGEST)
        if not match or (rule.accepts and not rule.accepts(self.text, match)):
            return None
        return match

    # What is hidden

    def _hide_lines(self, first: int, following: int) -> int:
        """Hide lines but for the marks of quotes before them; return the number of the line behind them."""
        for number in range(first, following):
            content = self.contents.get(number, self._at(number))
            self._hide(number, content, self._end(number))
        return following

    def _hide(
        self, number: int, start: int, end: int, shown: tuple[int, int] | None = None, kind: Shown = "title"
    ) -> None:
        """Hide a stretch that starts on a line but for what is shown."""
        if shown:
            begin, stop = self._stripped(*shown)
            if begin < stop:
                self.shown.setdefault(self._line_of(begin), []).append((begin, stop, kind))
                self._hide(number, start, begin)
                self._hide(self._line_of(stop), stop, end)
                return
        has_quotes = ">" in self.text[self.starts[number] : self.contents.get(number, start)]
        while start < end:
            stop = min(end, self._end(number))
            self.hidden.setdefault(number, []).append((start, stop))
            number += 1
            if number == len(self.starts):
                break
            start = self.starts[number]
            if start < end:
                start = min(end, self._at(number) if has_quotes else self._indent(number))
                self.contents.setdefault(number, start)

    def _indent(self, number: int) -> int:
        at = self.starts[number]
        while at < len(self.text) and self.text[at] in " \t":
            at += 1
        return at

    def _stripped(self, start: int, end: int) -> tuple[int, int]:
        text = self.text[start:end]
        stripped = text.strip()
        begin = start + text.find(stripped)
        return begin, begin + len(stripped)

    def _visible(self, number: int) -> list[tuple[int, int]]:
        """Return the stretches of a line that nothing hides."""
        at = self.contents.setdefault(number, self._at(number))
        parts = []
        for start, end in sorted(self.hidden[number]):
            if at < start:
                parts.append((at, start))
            at = max(at, end)
        end = self._end(number)
        if at < end:
            parts.append((at, end))
        return [part for part in parts if self.text[part[0] : part[1]].strip()]

    def _is_hidden(self, number: int) -> bool:
        return number in self.hidden and not self._visible(number)

    def _write(self, number: int) -> None:
        """Write a line with what is hidden on it."""
        visible = self._visible(number)
        titles = [(begin, stop) for begin, stop, kind in self.shown.get(number, ()) if kind != "text"]
        starts_block = bool(titles) and all(self._stripped(*part) in titles[:1] for part in visible)
        is_alone = starts_block or all(kind != "title" for *_, kind in self.shown.get(number, ()))
        if not is_alone:
            extra = [(begin, stop) for begin, stop, kind in self.shown[number] if kind == "title"]
            self.hidden[number] += extra
            visible = self._visible(number)
        content = self.contents[number]
        if not visible:
            self._fill(content, self._end(number), " ")
            return
        for start, end in self.hidden[number]:
            self._fill(start, end, FILLER)
        if starts_block:
            self._fill(content, visible[0][0], FILLER)
            self.output[content] = BREAK

    def _fill(self, start: int, end: int, character: str) -> None:
        for at in range(start, end):
            if self.text[at] not in "\r\n":
                self.output[at] = character


def _shown(rule: Rule, match: re.Match[str]) -> tuple[int, int] | None:
    """Return where the text is that readers see of a match."""
    found = rule.shown.search(match[0]) if rule.shown else match
    if not found:
        return None
    offset = match.start() if rule.shown else 0
    for group in ("shown", "single", "value"):
        if group in found.re.groupindex and found[group]:
            return found.start(group) + offset, found.end(group) + offset
    return None


def _code_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where the inline code of a line is."""
    runs = [match.span() for match in _BACKTICKS.finditer(text, start, end)]
    by_length: dict[int, list[int]] = {}
    for begin, stop in reversed(runs):
        by_length.setdefault(stop - begin, []).append(begin)
    spans: list[tuple[int, int]] = []
    for begin, stop in runs:
        same = by_length[stop - begin]
        same.pop()
        if spans and begin < spans[-1][1]:
            continue
        if same and text[begin - 1 : begin] != "\\":
            spans.append((begin, same[-1] + stop - begin))
    return spans
