"""The syntax of Markdown's dialects, rule by rule.

Each rule names the tool whose documentation describes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from factoid.text.cover import Shown

Accepts = Callable[[str, "re.Match[str]"], bool]

LONGEST = 2000  # characters of syntax; it may go on over several lines
_LONGEST_BODY = 30_000  # characters of a component
STRUCK = ("del", "s", "strike")  # elements of HTML whose text holds no longer


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
    r"(?:#[\w-][^\s{}\"'=<>|]*+|\.[A-Za-z_-][\w:./-]*+|(?P<key>[A-Za-z_][\w:-]*+)="
    r"""(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[^\s{}"'=<>|]++))"""
)
_MORE_ITEMS = _ITEM.replace("?P<key>", "?:")
_ATTRIBUTES = rf"\{{[ ]*+(?P<colon>:?)[ ]*+(?:{_ITEM})(?:[ ]++{_MORE_ITEMS})*+[ ]*+\}}"
_HTML_KEY = re.compile(
    r"(?:id|class|style|width|height|target|rel|title|alt|lang|dir|align|loading|download|type"
    r"|start|hidden|markdown|role|"
    r"tabindex|key|l|name|href|src|label|layout|toc|(?:data|aria|fig|tbl|layout|bs|toc)-[\w-]+)"
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
    r"\b(?:label|title|header|heading|summary|caption|alt|text)=\{?"
    r"""(?:"(?P<shown>[^"\n]++)"|'(?P<single>[^'\n]++)'|`(?P<rest>[^`\n$]++)`)"""
    r"""|<TabItem[^>]*?\svalue="(?P<value>[^"\n]++)\"(?![^>]*\slabel=)"""
)
LINE_END = re.compile(r"[ \t]*+\r?(?:\n|\Z)")
_IMPORT = (
    r"import\s++(?:(?:type\s++)?[\w$*]++(?:\s++as\s++[\w$]++)?\s*+"
    r"(?:,\s*+\{[\w$,\s]*+\}\s*+)?from\s*+"
    r"|\{[\w$,\s]*+\}\s*+from\s*+)?(?P<quote>['\"])[^'\"\n]++(?P=quote)[ \t]*+;?"
)
_NOT_BLANK = r"\n(?![ \t]*+\r?\n)"

# What decides about a match


def _is_quoted(source: str, match: re.Match[str]) -> bool:
    before = source[source.rfind("\n", 0, match.start()) + 1 : match.start()]
    return ">" in before


def _is_attribute_list(source: str, match: re.Match[str]) -> bool:
    """Say whether braces at the end of something are its attributes.

    Braces may be prose, code or LaTeX as well.
    """
    start = match.start()
    if source.endswith(("%}}", ">}}"), 0, start):  # of what a shortcode makes
        return True
    before = source[start - 1 : start]
    is_after_space = before in (" ", "\t")
    place = start - 1 if is_after_space else start
    owner = source[place - 1 : place]
    is_last = LINE_END.match(source, match.end()) is not None
    names_a_place = match["key"] is None
    if match["colon"]:
        return is_last or not is_after_space
    if owner == ")" and source.rfind("](", max(0, place - LONGEST), place) >= 0:
        return True
    if owner == "]" and not (is_after_space and is_last):
        opening = source.rfind("[", max(0, place - LONGEST), place)
        before = _before(source, opening)
        return (
            opening >= 0
            and not before.isalnum()
            and before != "\\"
            and (names_a_place or not is_after_space)
        )
    if owner in ("`", ":") and not is_after_space:
        return names_a_place or owner == ":" or _HTML_KEY.fullmatch(match["key"]) is not None
    if owner == ":" and names_a_place and source[place - 2 : place - 1].isalnum():
        return True
    if not is_after_space:
        is_meant = names_a_place or _HTML_KEY.fullmatch(match["key"]) is not None
        return owner in ("*", "_", "~", "=", "^", "+", ">", '"') and is_meant
    if is_last:
        line = source[source.rfind("\n", 0, start) + 1 : start].lstrip(" >\t")
        return names_a_place or (
            line.startswith(("#", ":")) and _HTML_KEY.fullmatch(match["key"]) is not None
        )
    return False


def _before(source: str, place: int) -> str:
    """Return the character before a place, "" at the start."""
    return source[place - 1] if place > 0 else ""


def _is_span(source: str, match: re.Match[str]) -> bool:
    before = _before(source, match.start())
    is_meant = match["key"] is None or _HTML_KEY.fullmatch(match["key"]) is not None
    return is_meant and not before.isalnum() and before not in ("]", "!", "\\")


def _is_behind_empty_image(source: str, match: re.Match[str]) -> bool:
    start = source.rfind("![](", max(0, match.start() - LONGEST), match.start())
    return start >= 0 and source.find(")", start, match.start()) == match.start() - 1


def _is_attribute_line(_: str, match: re.Match[str]) -> bool:
    key = match["key"]
    return bool(match["colon"]) or key is None or "-" in key or _HTML_KEY.fullmatch(key) is not None


def is_component(source: str, match: re.Match[str]) -> bool:
    """Say whether a tag is one of a component.

    Other tags are HTML or a type such as `List<String>`.
    """
    name = match["name"]
    before = _before(source, match.start())
    attributes = match["attributes"]
    if not name[0].isupper():
        return "={" in attributes
    if before == "\\" or name in _UPPER_HTML:
        return False
    if (
        match[0].startswith("</")
        or match[0].endswith("/>")
        or "=" in attributes
        or "{" in attributes
    ):
        return True
    if before.isalnum() or before == "_":
        return False
    return source.find(f"</{name}>", match.end(), match.end() + _LONGEST_BODY) >= 0


def component_kind(source: str, tag: re.Match[str]) -> Shown:
    """Return what becomes of the title in a component's tag."""
    name = tag["name"]
    if not name[0].isupper() or name in _HOVERED:
        return "title"
    if tag[0].endswith("/>") or source.startswith(f"</{name}>", tag.end()):
        return "either"
    return "label"


def _is_comment(source: str, match: re.Match[str]) -> bool:
    before = _before(source, match.start())
    behind = source[match.end() : match.end() + 1]
    return not before.isalnum() and not behind.isalnum()


def _is_role(source: str, match: re.Match[str]) -> bool:
    before = _before(source, match.start())
    return not before.isalnum() and before not in ("$", "\\", "`", "}", "_", "^")


def _is_in_heading(source: str, match: re.Match[str]) -> bool:
    before = source[source.rfind("\n", 0, match.start()) + 1 : match.start()]
    return re.fullmatch(r"[ \t>]*#{1,6}[ \t]+", before) is not None


def _is_block_id(source: str, match: re.Match[str]) -> bool:
    return _before(source, match.start()) in ("", " ", "\t", "\n", ">")


# Components whose title is shown only below the pointer.
_HOVERED = set("A Abbr Button Icon Link Popover Tooltip".split())
_UPPER_HTML = set(
    "A ABBR B BIG BLOCKQUOTE BODY BR CENTER CITE CODE COL DD DEL DIV DL DT EM FONT FORM H1 H2 H3 "
    "H4 H5 H6 HEAD HR HTML I IFRAME IMG INPUT INS KBD LI META OL P PRE Q S SAMP SCRIPT SMALL SPAN "
    "STRONG STYLE SUB SUP TABLE TBODY TD TH THEAD TR TT U UL VAR".split()
)


def _line(
    dialect: str,
    mark: str,
    pattern: str,
    shown: re.Pattern[str] | None = None,
    accepts: Accepts | None = None,
) -> Rule:
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
        r":::[ \t]*+(?:moniker|zone|row|column|code|image|video|form)(?:-end)?\b(?:[^\n\":]"
        r"|\"[^\"\n]*+\"|:(?!::))*+:*",
        _ALT,
    ),
    _line(
        "Pandoc and Quarto: a div with attributes",
        ":::",
        r":{3,}+[ \t]*+\{[ ]*+(?=[.#A-Za-z}])(?:[^{}\n\"]|\"[^\"\n]*+\")*+\}[ \t:]*+",
        _TITLE,
        lambda _, match: re.match(r":++[ \t]*+\{[\w:-]++\}", match[0]) is None,
    ),
    _line(
        "mkdocstrings: documentation of an object", ":::", r":::[ \t]++[A-Za-z_]\w*+(?:\.\w++)++"
    ),
    _line(
        "VitePress: a group of code", ":::", r":{3,}+[ \t]*+(?:code-group|v-pre|raw|tabs)\b[^\n]*+"
    ),
    _line(
        "Docusaurus: a container with a title in brackets",
        ":::",
        r":{3,}+[ \t]*+[A-Za-z][\w-]*+\[(?P<shown>(?:[^\[\]\n]"
        r"|\[[^\[\]\n]*+\])*+)\][ \t]*+(?:\{[^{}\n]*+\})?",
    ),
    _line(
        "VuePress, VitePress and Docusaurus: a container",
        ":::",
        r":{3,}+[ \t]*+[A-Za-z][\w-]*+(?:[ \t]++(?P<shown>[^\s{:][^\n{]*+))?[ \t]*+"
        r"(?:\{[^{}\n]*+\})?[ \t:]*+",
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
        r"\[!(?!include\b|video\b|code)[A-Za-z][\w -]*+(?:\|[^\]\n]*+)?\][-+]?[ \t]*+"
        r"(?P<shown>[^\n]*+)",
        accepts=_is_quoted,
    ),
    _line("FastAPI: an included file", "{*", r"\{\*(?:[^\n{}*]|\*(?!\}))*+\*\}"),
    _line("pymdownx: a snippet", "--8<--", r"-{1,2}8<-{1,}[ \t]*+\"[^\"\n]*+\"[^\n]*+"),
    _line("pymdownx: a snippet", ";--8<--", r";-{1,2}8<-{1,}[ \t]*+\"[^\"\n]*+\"[^\n]*+"),
    _line("Python-Markdown: a table of contents", "[TOC", r"\[TOC\]"),
    _line("Markdown Preview: a table of contents", "[toc", r"\[toc\]"),
    _line(
        "GitLab and VuePress: a table of contents", "[[", r"\[\[[ ]*+_?(?:TOC|toc|Toc)_?[ ]*+\]\]"
    ),
    _line(
        "kramdown: attributes of a block",
        "{:",
        r"\{:{1,2}(?:/?[A-Za-z_-]*+|[A-Za-z][\w-]*+[ \t]++/)\}",
    ),
    _line(
        "kramdown: attributes of a block", "{:", r"\{:[ ]*+(?:toc|[A-Za-z]++:)(?:[ ]++[^{}\n]*+)?\}"
    ),
    _line("kramdown: options", "{::", r"\{::[A-Za-z]++[ ][^{}\n]*+/?\}"),
    _line(
        "kramdown: attributes of a block",
        "{:",
        rf"\{{:[ ]*+{_MORE_ITEMS}(?:[ ]++(?:{_MORE_ITEMS}|toc))*+[ ]*+\}}",
    ),
    _line("Python-Markdown: attributes of a block", "{", _ATTRIBUTES, accepts=_is_attribute_line),
    _line("VitePress: a snippet", "<<<", r"<<<[ \t]*+[@./][^\n]*+"),
    _line("VuePress: included code", "@[", r"@\[[\w-]++\]\([^()\n]*+\)"),
    _line("MyST: a target", "(", r"\([A-Za-z][\w:./ -]*+\)=[ \t]*+"),
    _line("Python-Markdown: an abbreviation", "*[", r"\*\[[^\]\n]++\]:[ \t][^\n]*+"),
    _line(
        "MDX: an import",
        "import",
        rf"{_IMPORT}(?:[ \t]*+{_IMPORT.replace('quote', 'other')})*+(?:[ \t]*+//[^\n]*+)?",
    ),
    _line("MDX: a value", "{", r"\{[A-Za-z_$][\w$]*+(?:\.[\w$]++)++\}"),
    _line("MDX: a fragment", "<>", r"<>"),
    _line("MDX: a fragment", "</>", r"</>"),
)

# Syntax within a line, or over several.
PARTS = (
    _part(
        "Hugo: a term of the glossary",
        "{{<",
        rf"\{{\{{<[ \t]*+glossary_tooltip\b(?:[^>{{\n]|{_NOT_BLANK}|>(?!\}}\}})"
        rf"|\{{(?!\{{))*+>\}}\}}",
        "text",
        re.compile(rf"\btext={_QUOTED}|\bterm_id=\"(?P<value>[^\"\n]++)\"(?![^\n]*\btext=)"),
    ),
    _part(
        "Hugo: a link",
        "{{<",
        rf"\{{\{{<[ \t]*+(?:link|api-reference)\b(?:[^>{{\n]|{_NOT_BLANK}|>(?!\}}\}})"
        rf"|\{{(?!\{{))*+>\}}\}}",
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
            r"|%[ \t]*(?:tab|expand|details|accordion|notice[ \t]+\w+)[ \t]+"
            r"""(?:name=)?"(?P<value>[^"\n]++)\""""
        ),
    ),
    _part(
        "Liquid: a comment",
        "{%",
        r"\{%-?[ ]*+comment[ ]*+-?%\}(?:[^{\n]|\{(?!%))*+\{%-?[ ]*+endcomment[ ]*+-?%\}",
    ),
    _part(
        "Liquid, Jekyll, GitBook and Markdoc: a tag",
        "{%",
        rf"\{{%[-+~]?\s*+(?=[\w/#.])(?:[^%{{\n]|{_NOT_BLANK}|%(?!\}})|\{{(?!%))*+%\}}",
        "title",
        re.compile(
            r"(?<!code )\b(?:content|message|text|caption"
            rf"|(?:title|description)(?![^%]*\b(?:content|message)=))={_QUOTED}"
            r"|%[ \t]*update\b[^%]*?\bdate="
            r""""(?P<value>[^"\n]++)"|%[ \t]*details[ \t]+(?P<rest>[^%="\n]*[^%="\s])"""
        ),
    ),
    _part(
        "mkdocstrings: documentation of an object below its name",
        ":::",
        r":::[ \t]++(?P<shown>[A-Za-z_]\w*+(?:\.\w++)*+)",
        "text",
        accepts=_is_in_heading,
    ),
    _part(
        "mdBook: an included file",
        "{{#",
        r"\{\{#(?:\w+_)?(?:include|playground|title|template)\b[^{}\n]*+\}\}",
    ),
    _part("Markdown-Include: an included file", "{!", r"\{!>?[ \t]*+[\w./-][^\n{}!]*+!\}"),
    _part(
        "CriticMarkup: what is added",
        "{++",
        rf"\{{\+\+(?P<shown>(?:[^+\n]|{_NOT_BLANK}|\+(?!\+\}}))++)\+\+\}}",
        "text",
    ),
    _part(
        "CriticMarkup: what is marked",
        "{==",
        rf"\{{==(?P<shown>(?:[^=\n]|{_NOT_BLANK}|=(?!=\}}))++)==\}}",
        "text",
    ),
    _part(
        "CriticMarkup: what is changed",
        "{~~",
        rf"\{{~~(?:[^~\n]|{_NOT_BLANK}|~(?!>|~\}}))*+~>"
        rf"(?P<shown>(?:[^~\n]|{_NOT_BLANK}|~(?!~\}}))*+)~~\}}",
        "text",
    ),
    _part(
        "CriticMarkup: what is deleted",
        "{--",
        rf"\{{--(?!\}})(?:[^\n-]|{_NOT_BLANK}|-(?!-\}}))++--\}}",
    ),
    _part("CriticMarkup: a comment", "{>>", rf"\{{>>(?:[^<\n]|{_NOT_BLANK}|<(?!<\}}))++<<\}}"),
    _part("Hugo: a comment", "{{", r"\{\{-?[ ]?/\*(?:[^*{]|\*(?!/)|\{(?!\{))*+\*/[ ]?-?\}\}"),
    _part("Docusaurus: an id, MDX: a comment", "{/*", r"\{/\*(?:[^*{]|\*(?!/)|\{(?!/\*))*+\*/\}"),
    _part("MDX: a space", "{", r"\{(?:' '|\" \")\}"),
    _part(
        "Pandoc: a span with attributes",
        "[",
        rf"\[(?P<shown>[^\[\]\n]++)\]{_ATTRIBUTES}",
        "text",
        accepts=_is_span,
    ),
    _part(
        "Quarto: the text for an image without one",
        "{",
        _ATTRIBUTES,
        "text",
        re.compile(rf"\b(?:fig-)?alt={_QUOTED}"),
        accepts=_is_behind_empty_image,
    ),
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
    _part("MDX: a component", "<", _TAG, "title", _TAG_TITLE, is_component),
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
        r"\^(?=[\w-]*+(?:\s|\Z))(?=[A-Za-z0-9-]*[A-Za-z])[A-Za-z0-9-]{4,60}+(?=[ \t]*+\r?(?:\n"
        r"|\Z))",
        accepts=_is_block_id,
    ),
    _part("GitBook: an icon", ":", r":[a-z0-9]++(?:-[a-z0-9]++)*+:(?=</i>)"),
    _part("Font Awesome: an icon", ":fa", r":fa[srb]?-[a-z0-9]++(?:-[a-z0-9]++)*+:"),
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
    Region(
        "kramdown: a comment",
        "{::comment}",
        re.compile(r"\{::comment\}"),
        re.compile(r"\{:/(?:comment)?\}"),
    ),
    Region(
        "Liquid: a comment",
        "{%",
        re.compile(r"\{%-?[ ]*comment[ ]*-?%\}"),
        re.compile(r"\{%-?[ ]*endcomment[ ]*-?%\}"),
    ),
    *(
        Region(
            "HTML: paragraphs that are struck out",
            f"<{name}",
            re.compile(rf"<{name}(?:\s[^<>]*+)?>"),
            re.compile(rf"</{name}>"),
        )
        for name in STRUCK
        if name != "s"  # a token of language models as well
    ),
)

# Directives of MyST, by what their bodies are. Text on the first line of a note begins its body.
NOTES = set("note warning tip important caution danger attention hint error seealso".split())
TITLED = NOTES | set(
    "admonition topic sidebar dropdown tab-item card grid-item-card rubric centered table exercise "
    "solution epigraph todo proof aside margin button-link".split()
)
TEXTUAL = TITLED | set(
    "tab-set grid grid-item figure versionadded versionchanged versionremoved deprecated "
    "container div eval-rst only pull-quote highlights compound glossary hlist tabs card-carousel "
    "field- "
    "list button-ref blockquote subfigure exercise-start exercise-end solution-start "
    "solution-end".split()
)
UNSEEN = set(
    "toctree tableofcontents contents include bibliography footbibliography image index "
    "autosummary automodule autoclass autofunction raw meta tocdepth sectionauthor currentmodule "
    "iframe video youtube embed".split()
)
CODE = set("code code-block code-cell sourcecode literalinclude".split())
DOMAINS = (
    "prf:",
    "py:",
    "c:",
    "cpp:",
    "js:",
    "rst:",
    "std:",
)  # of directives that name what their text describes
TABLES = set("list-table csv-table".split())  # read from a fence
# Directives and targets of reStructuredText, which stay behind where documents were moved to
# Markdown.
REST_DIRECTIVE = re.compile(
    r"\.\.[ \t]++(?P<name>[A-Za-z](?:[\w+.-]|:(?!:))*+)::(?:[ \t]++(?P<title>[^\n]*+))?"
)
REST_TARGET = re.compile(r"\.\.[ \t]++(?:_[^:\n`]++|_`[^`\n]++`|__):(?:[ \t][^\n]*+)?")
DIRECTIVE = re.compile(r"\{(?P<name>[A-Za-z][\w:.-]*+)\}[ \t]*+(?P<title>[^\n]*+)")


def shown_in(rule: Rule, match: re.Match[str]) -> tuple[int, int] | None:
    """Return where the text is that readers see of a match."""
    shown = rule.shown.search(match[0]) if rule.shown else match
    if not shown:
        return None
    offset = match.start() if rule.shown else 0
    for group in ("shown", "single", "value", "rest"):
        if group in shown.re.groupindex and shown[group]:
            return shown.start(group) + offset, shown.end(group) + offset
    return None
