"""Plain text of a prepared page, cleaned line by line until there are enough words, and its links."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.entities.wikitext.prepare import BREAK
from factoid.entities.wikitext.site import Site
from factoid.entities.wikitext.templates import GAP, renderer
from factoid.words import count_words

if TYPE_CHECKING:
    from mwparserfromhell.wikicode import Wikicode

# Headings of notes and lists that are not part of the article itself, in the languages of the largest Wikipedias.
_APPENDICES = frozenset(
    name.casefold()
    for name in (
        "See also|References|External links|Notes|Further reading|Bibliography|Sources|Citations|Footnotes|Gallery|"
        "Notes and references|References and notes|References and further reading|Works cited|Notes and citations|"
        "Sources and references|Explanatory notes|General references|Cited works|Image gallery|Endnotes|"
        "Einzelnachweise|Weblinks|Siehe auch|Literatur|Anmerkungen|Quellen|Voir aussi|Notes et références|Références|"
        "Liens externes|Articles connexes|Bibliographie|Véase también|Referencias|Enlaces externos|Bibliografía|Notas|"
        "Note|Bibliografia|Voci correlate|Altri progetti|Collegamenti esterni|Ver também|Referências|Ligações externas|"
        "Zie ook|Bronnen|Externe links|Externe link|Referenties|См. также|Примечания|Литература|Ссылки|Zobacz też|"
        "Przypisy|Linki zewnętrzne|脚注|関連項目|外部リンク|参考文献|参考资料|参见|外部链接"
    ).split("|")
)
_LIST = re.compile(r"[*#:;]+\s*")
_RULE = re.compile(r"\A-{4,}")
_LEFT_OF_TABLE = re.compile(r"\s*(?:[|!]|\{\||\{\{[^{}]*$)")  # rows of a table or box that was never closed
_BREAKS = re.compile(rf"[\n{BREAK}]")
_TERM = re.compile(r"(?<!\s)\s++:\s*+")
# Letters right after a link belong to it: "[[bus]]es" shows "buses". Only in scripts with spaces between words.
_LINK = re.compile(
    r"\[\[([^][{}|<>\n]+)(?:\|([^][]*(?:\[(?!\[)[^][]*\](?!\])[^][]*)*))?\]\]([a-zß-öø-ÿā-ſά-ώа-џ]*)", re.IGNORECASE
)
_LONGEST = 300  # characters; a longer text is not a name

_QUOTES = re.compile(r"'{2,}")
_STRAY = re.compile(r"\{\{+|\}\}+|\[\[+|\]\]+|\{\||~~~+")
_INVISIBLE = re.compile("[\ue001\u00ad\u200b\u200e\u200f\u2060\ufeff\x00-\x08\x0b-\x1f\x7f]")
_SPACES = re.compile(r"\s+")
_GAP_AFTER_DIGIT = re.compile(rf"(?<=\d){GAP}")

# Leftovers of brackets whose content, or part of it, showed nothing. All are applied until nothing changes.
_BRACKETS = [
    (re.compile(r"\(\s*+(?:(?:[,;:.–—/-]|\bor\b|\band\b|\balso\b)\s*+)?\)|\[\s*\]"), ""),
    # "($ in dollars)", an amount that a template computes, and "(years ago)"
    (re.compile(r"\((?:[^()\d]{0,30}[ (])?[$£€](?: [^()]{0,60})?\)"), ""),
    (re.compile(r"\((?:aged?|years? (?:ago|old))\)", re.IGNORECASE), ""),
    (re.compile(r":\s*,"), ":"),
    (re.compile(r",\s*\.(?=\s|$)"), "."),
    (re.compile(r"([(\[])(?:\s++[,;:]?|\s*+[,;:])(?:\s*+[,;:])*+\s*+"), r"\1"),
    (re.compile(r"(?<![,;:\s])(?:\s*+[,;:])++\s*+([)\]])"), r"\1"),
    (re.compile(r"(?<!\s)\s++([)\]])"), r"\1"),
    (re.compile(r"([,;])(?:\s*+[,;])++"), r"\1"),
    (re.compile(r'(?<!\S)""(?!\S)|“\s*”|«\s*»'), ""),
]
_MAYBE_GAP = re.compile(r"[(\[;\"“«]|[,:]\s*[,.]")
_BEFORE_POINT = re.compile(r"(?<=[^\s.(]) +([,;](?=\s|$)|\.(?=\s(?!\.)|$)|[?!:](?=\s|$))")
_DEEPEST = 5  # brackets in brackets
_EMPTY = re.compile(r"[\W_]*")

_SIGN = re.compile(r"\{\{|\}\}|\[\[|\]\]|^[ \t:*#]*\{\||^[ \t]*\|\}(?!\}(?!\}))|\n", re.MULTILINE)
_OPENING = {"}}": "{{", "]]": "[[", "|}": "{|"}
_HEADING = re.compile(r"(={1,6})(.+)\1")
_CHAPTER = re.compile(r"==[^=\n].*==[ \t]*$", re.MULTILINE)
_NEEDS_PARSER = re.compile(r"\{\{|\[\[|\[?(?:https?:|ftp:|//|mailto:|irc:|news:)", re.IGNORECASE)

# After something that is never closed, the parser reads the rest again and again: minutes for some thousands.
_MOST_UNCLOSED, _PAIRS = 30, (("{{", "}}"), ("[", "]"), ("{|", "|}"))
_INNERMOST = re.compile(r"\{\{[^{}]*\}\}|\[\[(?:[^][|]*\|)?([^][|]*)\]\]")
_URL = re.compile(r"\[?(?:https?:|ftp:)?//[^\s\]]*", re.IGNORECASE)


@dataclass(slots=True)
class _Page:
    """The part of a page read so far: its blocks, and the headings whose sections are still empty."""

    blocks: list[str] = field(default_factory=list)
    words: int = 0
    headings: list[tuple[int, str]] = field(default_factory=list)
    last: str = ""  # kind of the previous line: "text", "item", or "" for none

    def open_section(self, level: int, title: str) -> None:
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        self.headings.append((level, title))
        self.last = ""

    def add(self, text: str, kind: str) -> None:
        self.blocks.extend(title for _, title in self.headings if title)
        self.words += count_words(text) + sum(count_words(title) for _, title in self.headings)
        self.headings.clear()
        if self.last == kind:
            self.blocks[-1] += ("\n" if kind == "item" else "" if text[0] in ",;." else " ") + text
        else:
            self.blocks.append(text)
        self.last = kind


def clean(prepared: str, site: Site, *, words: int | None = None) -> str:
    """Return a prepared page's text: paragraphs with a blank line between them, headings and list items in lines of their own.

    It ends with the line, or with the template, that brings the text to `words` words; None for the whole page.
    """
    page = _Page()
    appendix = 0  # level of the current appendix
    for line in lines(prepared):
        if line.level:
            if not appendix or line.level <= appendix:
                title = tidy(render(line.text, site))
                appendix = line.level if title.strip(" :").casefold() in _APPENDICES else 0
                if not appendix:
                    page.open_section(line.level, title)
        elif not appendix:
            _add_line(page, line, site)
            if words is not None and page.words >= words:
                break
    return "\n\n".join(page.blocks)


def _add_line(page: _Page, line: Line, site: Site) -> None:
    if not line.text.strip() or shows_nothing(line, site):
        page.last = page.last if page.last == "item" and not line.text.strip() else ""
        return
    mark = _LIST.match(line.text)
    text = line.text[mark.end() :] if mark else line.text
    if mark and ";" in mark[0]:
        text = _TERM.sub(": ", text, count=1)
    for number, part in enumerate(_BREAKS.split(render(_RULE.sub("", text), site))):
        if not part.strip():
            if not mark:
                page.last = ""
            continue
        inner = _LIST.match(part) if number else None  # a list in a template
        if _LEFT_OF_TABLE.match(part):
            continue
        if shown := tidy(part[inner.end() :] if inner else part):
            page.add(shown, "item" if mark or inner else "text")


def links(prepared: str, site: Site) -> Iterator[tuple[str, str]]:
    """Yield the links of a prepared page to articles in order, each as its text and its target's title."""
    for match in _LINK.finditer(prepared):
        written, text, trail = match.groups()
        target = site.target(written)
        if target.title and target.is_shown and target.namespace == 0:
            text = (text or shown_target(written)) + trail
            shown = tidy(render(text, site) if "{{" in text else text)
            if shown and len(shown) <= _LONGEST:
                yield shown, target.title


def tidy(line: str) -> str:
    """Return a rendered line as prose; "" if it has no text."""
    if "''" in line:
        line = _without_quotes(line)
    line = _STRAY.sub("", line)
    line = html.unescape(line)
    line = _INVISIBLE.sub("", _GAP_AFTER_DIGIT.sub(" ", line)).replace(GAP, "")
    line = _SPACES.sub(" ", line)
    for _ in range(_DEEPEST if _MAYBE_GAP.search(line) else 0):
        before = line
        for pattern, replacement in _BRACKETS:
            line = pattern.sub(replacement, line)
        if before == line:
            break
    line = _SPACES.sub(" ", _BEFORE_POINT.sub(r"\1", line)).strip()
    return "" if _EMPTY.fullmatch(line) else line


def _without_quotes(line: str) -> str:
    """Drop the quotes that mean bold and italics, and keep those that are apostrophes, as MediaWiki does.

    Four are an apostrophe and bold; more than five are apostrophes and five. Where italics and bold are both left open, one of
    the three is an apostrophe, as in "l'''Étranger''": the first after a word, else the first.
    """
    runs = list(_QUOTES.finditer(line))
    literal = {run.start(): 1 if len(run[0]) == 4 else max(0, len(run[0]) - 5) for run in runs}
    sizes = Counter(len(run[0]) - literal[run.start()] for run in runs)
    bold = [run.start() for run in runs if len(run[0]) in (3, 4)]
    if (sizes[3] + sizes[5]) % 2 and (sizes[2] + sizes[5]) % 2 and bold:
        literal[next((at for at in bold if at and not line[at - 1].isspace()), bold[0])] += 1
    return _QUOTES.sub(lambda run: "'" * literal[run.start()], line)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page, with all the lines of the templates, tables and links that begin in it."""

    text: str  # wikitext; for a heading, the text between the signs
    level: int = 0  # for a heading, the number of signs
    closed: int = -1  # where the first template, table or link of the line ends; -1 without one


def lines(text: str) -> Iterator[Line]:
    """Yield the lines of a prepared page. An unclosed template or table ends at the next section, a link with its paragraph."""
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
    """Return a line as text. HTML entities, quotes for bold, and damaged markup are left to `tidy`."""
    if not _NEEDS_PARSER.search(text):
        return text
    if any(text.count(opening) > text.count(closing) + _MOST_UNCLOSED for opening, closing in _PAIRS):
        return _without_markup(text)
    parser = require("mwparserfromhell", extra="wikipedia")
    try:
        return _code(parser.parse(text, skip_style_tags=True), site)
    except (parser.parser.ParserError, RecursionError):
        return _without_markup(text)


def _without_markup(text: str) -> str:
    """Return a line without templates and with the texts of its links: for lines too damaged to parse."""
    for _ in range(40):  # templates in templates
        before, text = text, _INNERMOST.sub(lambda match: match[1] or "", text)
        if before == text:
            break
    return _URL.sub("", text)


def shows_nothing(line: Line, site: Site) -> bool:
    """Tell without reading it whether a line is one table, box or picture: these are the longest lines of a page."""
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
            if (show := renderer(str(node.name))) is None:
                return ""
            arguments: dict[str, str] = {}
            for parameter in node.params:
                shown = _code(parameter.value, site)
                arguments[str(parameter.name).strip()] = shown.strip() if parameter.showkey else shown.strip("\n")
            return show(arguments)
        case "ExternalLink":
            return _code(node.title, site)
        case "Tag":
            return _code(node.contents, site)
        case "Argument":
            return _code(node.default, site)
        case _:  # Text, HTMLEntity, and what only looks like a Heading
            return str(node)


def shown_target(written: str) -> str:
    """Return the text of a link `[[written]]`: its page without leading colon and section, or a section of this page."""
    page, _, section = written.strip().lstrip(":").partition("#")
    return (page or section).replace("_", " ").strip()
