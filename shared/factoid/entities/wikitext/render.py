"""The lines of a prepared page, up to line ends that no template, table or link holds, and each as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.entities.wikitext.site import Site
from factoid.entities.wikitext.templates import renderer

if TYPE_CHECKING:
    from mwparserfromhell.nodes import Template
    from mwparserfromhell.wikicode import Wikicode

_SIGN = re.compile(r"\{\{|\}\}|\[\[|\]\]|^[ \t:*#]*\{\||^[ \t]*\|\}(?!\}(?!\}))|\n", re.MULTILINE)
_OPENING = {"}}": "{{", "]]": "[[", "|}": "{|"}
_HEADING = re.compile(r"(={1,6})(.+)\1")
_CHAPTER = re.compile(r"==[^=\n].*==[ \t]*$", re.MULTILINE)
_NEEDS_PARSER = re.compile(r"\{\{|\[\[|\[?(?:https?:|ftp:|//|mailto:|irc:|news:)", re.IGNORECASE)

# Of what is opened and never closed, the parser reads everything that follows again and again: minutes for some thousands.
_MOST_UNCLOSED = 30
_INNERMOST = re.compile(r"\{\{[^{}]*\}\}|\[\[(?:[^][|]*\|)?([^][|]*)\]\]")
_DEEPEST = 40
_URL = re.compile(r"\[?(?:https?:|ftp:)?//[^\s\]]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page, with all the lines of the templates, tables and links that begin in it."""

    text: str  # wikitext; of a heading, what stands between the signs
    level: int = 0  # of a heading, the number of signs
    closed: int = -1  # where the first template, table or link of the line ends; -1 without one


def lines(text: str) -> Iterator[Line]:
    """Yield the lines of a prepared page, one by one as they are asked for.

    A template or table that is never closed ends before the next section, and a link at the end of its paragraph: one
    mistake on a page does not swallow the rest.
    """
    start, closed = 0, -1
    stack: list[str] = []
    opened = Counter[str]()  # what the stack holds
    for match in _SIGN.finditer(text):
        sign = match[0].strip(" \t:*#")
        if sign == "\n":
            if stack and _CHAPTER.match(text, match.end()):
                stack.clear()
                opened.clear()
            elif text.startswith("\n", match.end()):
                while stack and stack[-1] == "[[":
                    opened[stack.pop()] -= 1
            if not stack:
                yield _line(text[start : match.start()], closed)
                start, closed = match.end(), -1
        elif sign not in _OPENING:
            stack.append(sign)
            opened[sign] += 1
        elif opened[opening := _OPENING[sign]]:
            while (unclosed := stack.pop()) != opening:
                opened[unclosed] -= 1
            opened[opening] -= 1
            if not stack and closed < 0:
                closed = match.end() - start
    yield _line(text[start:], closed)


def _line(text: str, closed: int) -> Line:
    if text.startswith("=") and (heading := _HEADING.fullmatch(text.rstrip(" \t"))):
        return Line(heading[2].strip(" \t"), level=len(heading[1]))
    return Line(text, closed=closed)


def render(text: str, site: Site) -> str:
    """Return a line as text. HTML entities, quotes for bold, and what is damaged stay for `tidy`."""
    if not _NEEDS_PARSER.search(text):
        return text
    if any(_has_many_unclosed(text, *pair) for pair in (("{{", "}}"), ("[", "]"), ("{|", "|}"))):
        return _without_markup(text)
    parser = require("mwparserfromhell", extra="wikipedia")
    try:
        return _code(parser.parse(text, skip_style_tags=True), site)
    except (parser.parser.ParserError, RecursionError):
        return _without_markup(text)


def _has_many_unclosed(text: str, opening: str, closing: str) -> bool:
    if text.count(opening) <= _MOST_UNCLOSED:
        return False
    depth = 0
    for sign in re.findall(f"{re.escape(opening)}|{re.escape(closing)}", text):
        depth = max(0, depth - 1) if sign == closing else depth + 1
    return depth > _MOST_UNCLOSED


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
        return not site.target(text[2:].partition("|")[0].partition("]]")[0]).is_shown
    return renderer(re.split(r"[|{}<\n]", text[2:], maxsplit=1)[0]) is None


def _code(code: Wikicode | None, site: Site) -> str:
    return "" if code is None else "".join(_node(node, site) for node in code.nodes)


def _node(node: Any, site: Site) -> str:
    match type(node).__name__:
        case "Wikilink":
            written = _code(node.title, site)
            if not site.target(written).is_shown:
                return ""
            return _code(node.text, site) or shown_target(written)
        case "Template":
            return _template(node, site)
        case "ExternalLink":
            return _code(node.title, site)
        case "Tag":
            return _code(node.contents, site)
        case "Argument":
            return _code(node.default, site)
        case _:  # Text, HTMLEntity, and Heading where it is none
            return str(node)


def shown_target(written: str) -> str:
    """Return the text of a link `[[written]]`: its page without leading colon and section, or a section of this page."""
    page, _, section = written.strip().lstrip(":").partition("#")
    return (page or section).replace("_", " ").strip()


def _template(template: Template, site: Site) -> str:
    show = renderer(str(template.name))
    if show is None:
        return ""
    arguments: dict[str, str] = {}
    for parameter in template.params:
        shown = _code(parameter.value, site)
        arguments[str(parameter.name).strip()] = shown.strip() if parameter.showkey else shown.strip("\n")
    return show(arguments)
