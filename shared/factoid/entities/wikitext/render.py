"""One line of prepared wikitext as text, read with mwparserfromhell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.entities.wikitext.lines import Line
from factoid.entities.wikitext.site import Place, Site
from factoid.entities.wikitext.templates import Arguments, renderer, template_name

if TYPE_CHECKING:
    from mwparserfromhell.nodes import Template, Wikilink
    from mwparserfromhell.wikicode import Wikicode

_NEEDS_PARSER = re.compile(r"\{\{|\[\[|\[?(?:https?:|ftp:|//|mailto:|irc:|news:)", re.IGNORECASE)
_DISTINCTION = re.compile(r"(?:.*?:)?(.+?)(?:\s*\([^()]*\)|,\s.*)?")

# Of what is opened and never closed, the parser reads everything that follows again and again: minutes for some thousands.
_MOST_UNCLOSED = 30
_PAIRS = [("{{", "}}", re.compile(r"\{\{|\}\}")), ("[", "]", re.compile(r"[][]"))]
_INNERMOST = re.compile(r"\{\{[^{}]*\}\}|\[\[(?:[^][|]*\|)?([^][|]*)\]\]")
_DEEPEST = 40
_URL = re.compile(r"\[?(?:https?:|ftp:)?//[^\s\]]*", re.IGNORECASE)


def render(text: str, site: Site) -> str:
    """Return a line as text. HTML entities, quotes for bold, and what is damaged stay for `tidy`."""
    if not _NEEDS_PARSER.search(text):
        return text
    if any(_unclosed(text, pair) > _MOST_UNCLOSED for pair in _PAIRS):
        return _without_markup(text)
    parser = require("mwparserfromhell", extra="wikipedia")
    try:
        return _code(parser.parse(text, skip_style_tags=True), site)
    except (parser.parser.ParserError, RecursionError):
        return _without_markup(text)


def _unclosed(text: str, pair: tuple[str, str, re.Pattern[str]]) -> int:
    """Return how many openings have no closing; 0 where there are few of both."""
    opening, closing, either = pair
    if text.count(opening) <= _MOST_UNCLOSED:
        return 0
    depth = 0
    for sign in either.finditer(text):
        depth = max(0, depth - 1) if sign[0] == closing else depth + 1
    return depth


def _without_markup(text: str) -> str:
    """Return a line without templates and with the texts of its links: for lines that are too damaged to be parsed."""
    for _ in range(_DEEPEST):
        shorter = _INNERMOST.sub(lambda match: match[1] or "", text)
        if shorter == text:
            break
        text = shorter
    return _URL.sub("", text)


def shows_nothing(line: Line, site: Site) -> bool:
    """Tell whether a line is one table, box or picture, without reading it: they are the longest lines of a page."""
    text = line.text.strip(" \t:*#")
    if text.startswith("{|"):
        return True
    if line.closed != len(line.text.rstrip()) or not line.text.startswith(("{{", "[[")):
        return False
    if text.startswith("[["):
        return site.target(text[2:].partition("|")[0].partition("]]")[0]).place is Place.HIDDEN
    written = re.split(r"[|{}<\n]", text[2:], maxsplit=1)[0]
    return renderer(template_name(written)) is None


def _code(code: Wikicode, site: Site) -> str:
    return "".join(_node(node, site) for node in code.nodes)


def _node(node: Any, site: Site) -> str:
    match type(node).__name__:
        case "Text":
            return str(node.value)
        case "Wikilink":
            return _wikilink(node, site)
        case "Template":
            return _template(node, site)
        case "ExternalLink":
            return _code(node.title, site) if node.title is not None else ""
        case "Tag":
            return _code(node.contents, site) if node.contents is not None else ""
        case "Argument":
            return _code(node.default, site) if node.default is not None else ""
        case "Comment":
            return ""
        case _:  # HTMLEntity, and Heading where it is none
            return str(node)


def _wikilink(link: Wikilink, site: Site) -> str:
    written = _code(link.title, site)
    target = site.target(written)
    if target.place is Place.HIDDEN:
        return ""
    if link.text is None:
        return shown_target(written)
    return _code(link.text, site) or pipe_trick(written)


def shown_target(written: str) -> str:
    """Return the text of a link `[[written]]`: its page without leading colon and section, or a section of this page."""
    page, _, section = written.strip().lstrip(":").partition("#")
    return (page or section).replace("_", " ").strip()


def pipe_trick(written: str) -> str:
    """Return the text of `[[written|]]`: the title without its namespace and what tells it from others of its name."""
    found = _DISTINCTION.fullmatch(shown_target(written))
    return found[1].strip() if found else ""


def _template(template: Template, site: Site) -> str:
    show = renderer(template_name(str(template.name)))
    if show is None:
        return ""
    listed: list[str] = []
    named: dict[str, str] = {}
    for parameter in template.params:
        shown = _code(parameter.value, site)
        if not parameter.showkey:
            listed.append(shown.strip("\n"))
            continue
        name = str(parameter.name).strip()
        named[name] = shown.strip()
        if name == str(len(listed) + 1):  # {{lang|1=fr|2=…}}
            listed.append(shown.strip())
    return show(Arguments(tuple(listed), named))
