"""HTML and XML from strangers: HTML made regular, XML checked, neither nested deeply."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import Any
from xml.parsers import expat

from factoid._optional import require
from factoid.errors import UnreadableFileError
from factoid.files.limits import ReadLimits

_CHUNK = 1 << 20
_BOM = b"\xef\xbb\xbf"
# In XHTML, an element such as <title/> is empty; HTML would take all that follows for a title.
_EMPTY_ELEMENT = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)"
    r"""([a-z][\w:.-]*)((?:\s[^<>]*["'\s])?)/>""",
    re.IGNORECASE,
)
_MOST_ATTRIBUTES = 500  # of one tag: libxml2 compares each with all before it
_ATTRIBUTE = re.compile(
    r"""[\s/]++
      | [^\s/>][^\s/>=]*+
        (?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+)?+)?+""",
    re.VERBOSE,
)
_OPENING_TAG = re.compile(
    rf"<[a-z][^\s/>]*+(?P<attributes>(?:{_ATTRIBUTE.pattern})*+)", re.IGNORECASE | re.VERBOSE
)


def without_many_attributes(source: str) -> str:
    """Return some HTML of which no tag has more than 500 attributes; further ones are cut off.

    No text is lost: what stands in a tag is not shown, and a tag that is not closed reaches to the
    end. libxml2 takes quadratic time for the attributes of a tag.
    """
    return _OPENING_TAG.sub(_with_first_attributes, source)


def _with_first_attributes(tag: re.Match[str]) -> str:
    start, end = tag.span("attributes")
    if end - start < 2 * _MOST_ATTRIBUTES:  # a name and a space each
        return tag[0]
    attributes = (
        part for part in _ATTRIBUTE.finditer(tag.string, start, end) if not part[0].isspace()
    )
    further = next(islice(attributes, _MOST_ATTRIBUTES, None), None)
    if further is None:
        return tag[0]
    return tag.string[tag.start() : further.start()]


def regular_html(raw: bytes, place: str, limits: ReadLimits) -> bytes:
    """Return a page of HTML or XHTML as lxml reads it.

    Every element is closed, and scripts, styles and comments are left out. markitdown's parser,
    Python's own, takes quadratic time for tags that are never closed: an hour for 700 KB of "<a ".

    Raises:
        UnreadableFileError: Elements are nested more deeply than the limit.
        MissingDependencyError: lxml is not installed.
    """
    root = parse_html(raw, place, limits)
    if root is None:
        return b""
    return html_source(root)


def parse_html(raw: bytes, place: str, limits: ReadLimits) -> Any:
    """Return the root element of a page, without scripts, styles and comments.

    None if there is nothing in it.

    Raises:
        UnreadableFileError, MissingDependencyError: See `regular_html`.
    """
    etree: Any = require("lxml.etree", extra="documents")
    text = without_many_attributes(_decode(raw).replace("\0", ""))
    text = _EMPTY_ELEMENT.sub(r"<\1\2></\1>", text)
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:  # there is nothing in it
        return None
    if root is None:
        return None
    depth = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            depth += 1
        else:
            depth -= 1
        if depth > limits.depth:
            limits.refuse(f"{place} has elements nested", "depth", "deep")
    etree.strip_elements(root, "script", "style", with_tail=False)
    return root


def html_source(element: Any) -> bytes:
    """Return the source of an element of a page in which every element is closed."""
    etree: Any = require("lxml.etree", extra="documents")
    source: bytes = etree.tostring(element, encoding="utf-8", method="xml", with_tail=False)
    return source


def _decode(raw: bytes) -> str:
    try:
        return raw.removeprefix(_BOM).decode()
    except UnicodeDecodeError:
        dammit: Any = require("bs4.dammit", extra="documents")
        return str(dammit.UnicodeDammit(raw, is_html=True).unicode_markup or "")


def check_xml(content: bytes, place: str, limits: ReadLimits) -> Counter[str]:
    """Return how often each element occurs in some XML, by its name without a prefix.

    Raises:
        UnreadableFileError: The XML is damaged, declares entities, which may expand to any size, or
            is nested too deeply.
    """
    counts: Counter[str] = Counter()
    depth = 0

    def start(name: str, _: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        counts[name.rpartition(":")[2]] += 1
        if depth > limits.depth:
            limits.refuse(f"{place} has elements nested", "depth", "deep")

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    def declare(name: str, *_: object) -> None:
        raise UnreadableFileError(
            f"{place} declares the entity {name!r}: entities may expand to any size, and are not "
            "read"
        )

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.EntityDeclHandler = declare
    try:
        for at in range(0, len(content), _CHUNK):
            parser.Parse(content[at : at + _CHUNK])
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise UnreadableFileError(f"{place} is damaged: {error}") from error
    return counts
