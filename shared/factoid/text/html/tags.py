"""Find the tags of HTML in a text, and say what kinds of elements there are.

The standard library's parser takes quadratic time for unclosed marks, fails on some, and differs
between versions of Python. So one pattern finds tags here, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from factoid.text.blocks import Span
from factoid.text.dialect_rules import STRUCK

# Without obsolete elements that are names of places to fill in, as in "cd <dir>".
TAGS = frozenset(
    """
    a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big
    blink blockquote body br button canvas caption center cite code col colgroup data datalist
    dd del details dfn dialog div dl dt em embed fieldset figcaption figure font footer form
    frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd
    keygen label legend li link main map mark marquee menu meta meter nav nobr noembed noframes
    noscript object ol optgroup option output p picture plaintext pre progress q rb rp rt rtc
    ruby s samp script search section select slot small source span strike strong style sub
    summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul
    var video wbr xmp
    math annotation annotation-xml maction menclose merror mfrac mi mmultiscripts mn mo mover
    mpadded mphantom mprescripts mroot mrow mspace msqrt mstyle msub msubsup msup mtable mtd
    mtext mtr munder munderover semantics
    """.split()
)
HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
LISTS = frozenset("ul ol menu dl".split())
ITEMS = frozenset("li dt dd".split())
# How far in a table a part of it is.
RANKS = {
    "table": 0,
    "caption": 1,
    "colgroup": 1,
    "thead": 1,
    "tbody": 1,
    "tfoot": 1,
    "tr": 2,
    "td": 3,
    "th": 3,
}
TABLE_PARTS = frozenset(RANKS)
_BLOCKS = frozenset(
    """
    address article aside blockquote body center details dialog div fieldset figcaption figure
    footer form header hgroup hr html legend main nav p pre search section summary xmp
    """.split()
)
BOUNDARIES = HEADINGS | LISTS | ITEMS | TABLE_PARTS | _BLOCKS  # end the paragraph before them
CODE = frozenset("code kbd samp tt".split())
BOLD = frozenset("b strong".split())
KEEPS_SPACE = frozenset("pre xmp".split())
HEAD_CONTENT = frozenset("base bgsound link meta noscript script style template title".split())

_VOID = frozenset(
    """
    area base basefont bgsound br col embed frame hr img input keygen link meta source track wbr
    """.split()
)
_RAW = ("script", "style")
# Code, controls, the way to other pages, and what stands in for what cannot be shown.
_UNSEEN = frozenset(
    """
    annotation annotation-xml applet audio button canvas datalist head iframe meter nav noembed
    noframes noscript object progress rp select svg template textarea title video
    """.split()
)
_UNSEEN_ROLES = frozenset(
    "navigation search menu menubar toolbar tablist dialog alertdialog".split(),
)
# Numbers of lines beside code, texts for screen readers only, and the second form of a formula.
_UNSEEN_CLASSES = frozenset(
    "gutter linenos linenodiv lineno sr-only visually-hidden katex-html".split(),
)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
STRUCK_STYLE = re.compile(
    r"text-decoration(?:-line)?\s*:[^;:\"']{0,60}\bline-through", re.IGNORECASE
)

_MOST_WITHIN = 40  # tags within a struck element of the same name: the time is linear
# A value with a "<" is short, and few are in one tag: else the time would not be linear.
_PLAIN = r"""(?:[^<>"'=]++|["']|=(?!\s*+["'])|=\s*+"[^"<]*+"|=\s*+'[^'<]*+')*+"""
_QUOTED = r"""=\s*+(?:"[^"]{0,1000}+"|'[^']{0,1000}+')"""
_MARKUP = re.compile(
    rf"""(?P<comment><!--) | (?P<data><!\[CDATA\[) | (?P<declaration><[!?][A-Za-z][^<>]*+>)
    | <(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9:-]*+)(?=[\s/>])
      (?P<rest>{_PLAIN}(?:{_QUOTED}{_PLAIN}){{0,4}}+(?=>)|[^<>]*+)>""",
    re.VERBOSE,
)
_CUT = re.compile(
    r"""</(?P<closed>[A-Za-z]\w*+)\Z | <(?P<opened>[A-Za-z]\w*+)\s[^<>=]*+=\s*+["'][^<>]*+\Z""",
    re.VERBOSE,
)
_CUSTOM_END = re.compile(r"</([a-z][a-z0-9]*+-[a-z0-9-]*+)\s*+>", re.IGNORECASE)
_COMMENT_END = re.compile(r"--!?>")
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])[^<>]*+>", re.IGNORECASE) for name in _RAW}
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]*+)))?""")


class ClosingTag(NamedTuple):
    """The end of an element."""

    name: str
    start: int


def tokens(source: str, start: int, end: int) -> Iterator[Tag | ClosingTag | Span]:
    """Yield the tags of a stretch of a text, and the spans between them.

    Comments, declarations, scripts and styles are left out, and a tag that the end of the stretch
    cuts. Other angle brackets are text, but for elements of a page's own, which have a hyphen in
    their name and are closed.
    """
    end = _cut_tag(source, start, end)
    custom = {match[1].lower() for match in _CUSTOM_END.finditer(source, start, end)}
    at = start
    while match := _MARKUP.search(source, at, end):
        if at < match.start():
            yield at, match.start()
        at = match.end()
        if match["comment"]:
            closed = _COMMENT_END.search(source, match.start() + 2, end)  # "<!-->" is closed
            at = closed.end() if closed else end
        elif match["data"]:
            place = source.find("]]>", at, end)
            at = place + 3 if place >= 0 else end
        elif match["name"]:
            name = match["name"].lower()
            if name not in custom and not is_element(name, match["rest"]):
                yield match.span()
            elif match["close"]:
                yield ClosingTag(name, match.start())
            elif name not in _RAW:
                yield Tag(name, match)
            elif not match["rest"].endswith("/"):
                closed = _RAW_END[name].search(source, at, end)
                at = closed.end() if closed else end
    if at < end:
        yield at, end


def _cut_tag(source: str, start: int, end: int) -> int:
    """Return where a tag starts that the end cuts, or else the end."""
    place = source.rfind("<", start, end)
    cut = _CUT.match(source, place, end) if place >= 0 else None
    if not cut:
        return end
    opened = (cut["opened"] or "").lower()
    closed = (cut["closed"] or "").lower()
    is_start_of_name = bool(closed) and any(name.startswith(closed) for name in TAGS)
    return place if opened in TAGS or is_start_of_name else end


def is_element(name: str, rest: str) -> bool:
    """Return whether a name in angle brackets is that of an element, unlike "a<b and c>d"."""
    if name not in TAGS:
        return False
    attributes = rest.strip(" /\n\t\r")
    is_plain = not attributes or "=" in attributes or attributes in ("hidden", "markdown")
    return len(name) > 1 or is_plain


def is_struck(name: str, style: str) -> bool:
    """Return whether an element strikes its text out, by its name or its style."""
    return name in STRUCK or STRUCK_STYLE.search(style) is not None


def is_ended(name: str, text: str, start: int) -> bool:
    """Return whether an element is closed whose opening tag ends at a place in a text.

    Elements of the same name within it are closed first. Where one end was forgotten, none of them
    is known to be closed.
    """
    depth = 1
    tags = re.compile(rf"<(/?){re.escape(name)}(?=[\s/>])", re.IGNORECASE)
    for tag in islice(tags.finditer(text, start), _MOST_WITHIN):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return True
    return False


class Tag:
    """An opening tag; `spans` are the places of the values of its attributes."""

    def __init__(self, name: str, match: re.Match[str]) -> None:
        self.name = name
        self.start = match.start()
        self.end = match.end()
        self.is_empty = name in _VOID or match["rest"].endswith("/")  # as "<br>" and "<a/>"
        self.spans: dict[str, Span] = {}
        self.source = match.string
        if match["rest"]:
            for attribute in _ATTRIBUTE.finditer(match.string, *match.span("rest")):
                span = attribute.span(attribute.lastindex or 1)
                if attribute.lastindex == 1:
                    span = (span[1], span[1])
                self.spans.setdefault(attribute[1].lower(), span)

    def __contains__(self, attribute: str) -> bool:
        return attribute in self.spans

    def get(self, attribute: str) -> str:
        """Return the value of an attribute as it is written, or "" without it."""
        start, end = self.spans.get(attribute, (0, 0))
        return self.source[start:end]

    def words(self, attribute: str) -> set[str]:
        """Return the words of the value of an attribute, in lower case."""
        return set(self.get(attribute).lower().split())

    def number(self, attribute: str) -> int:
        """Return the number that is the value of an attribute, or 1."""
        value = self.get(attribute).strip()
        return int(value) if re.fullmatch(r"[0-9]{1,6}", value) else 1

    def is_unseen(self) -> bool:
        """Return whether a reader sees nothing of the element."""
        if self.name in _UNSEEN or (self.name == "dialog" and "open" not in self):
            return True
        if not self.spans:
            return False
        is_hidden = "hidden" in self or _HIDDEN_STYLE.search(self.get("style")) is not None
        is_control = not self.words("role").isdisjoint(_UNSEEN_ROLES)
        return is_hidden or is_control or not self.words("class").isdisjoint(_UNSEEN_CLASSES)
