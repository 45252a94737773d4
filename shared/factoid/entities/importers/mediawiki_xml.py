"""Reading the pages of a MediaWiki XML export (https://www.mediawiki.org/wiki/Help:Export) one by one, in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO, cast
from xml.etree.ElementTree import Element, ParseError, iterparse

from factoid.entities.wikitext.site import Site
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.lines import DAMAGE, located, opened

_CHUNK = 1 << 18  # bytes
# The beginning up to the first element. A document type could hide an attack, and no export declares one.
_BEGIN = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(?:<\?xml[^>]*+>\s*+)?(?:<!--.*?-->\s*+)*+<mediawiki[\s>]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of an export with its latest revision."""

    site: Site  # the wiki's namespaces, from the head of the export
    title: str  # with its namespace
    namespace: int
    page_id: int  # this and the next: the wiki's numbers; 0 if the export has none
    revision_id: int
    redirect: str | None  # target title of the page's `<redirect>` element
    model: str  # "wikitext" for articles
    text: str = field(repr=False)  # wikitext


def read_pages(path: Path) -> Iterator[Page]:
    """Yield the pages of an export; after the last whole page before any damage, raise an UnreadableFileError."""
    last = None
    try:
        with opened(path) as file, located(path):
            start = file.read1(_CHUNK)  # read() would lose what precedes the damage
            if not _BEGIN.match(start):
                raise UnreadableFileError(
                    f"{path} is not a MediaWiki XML export: it begins with {start[:60]!r}. Expected XML that begins with "
                    "<mediawiki> and declares no document type, also in bzip2 or gzip"
                )
            chunks = chain([start], iter(partial(file.read1, _CHUNK), b""))
            for last in _pages(chunks):
                yield last
    except UnreadableFileError:
        raise
    except (ParseError, *DAMAGE) as error:
        place, rest = "before its first page, or not a MediaWiki XML export", ""
        if last is not None:
            place = f"after the page {last.title!r}"
            rest = ", or do without the rest with allow_truncated=True, on the command line with --allow-truncated"
        again = f"Download the file again and compare its checksum with the dump's{rest}"
        raise UnreadableFileError(f"{path} is cut off or damaged {place}: {error}. {again}") from error


def _pages(chunks: Iterator[bytes]) -> Iterator[Page]:
    site = Site()
    ancestors: list[Element] = []
    source = SimpleNamespace(read=lambda _: next(chunks, b""))
    for event, element in iterparse(cast(BinaryIO, source), ("start", "end")):  # noqa: S314 (no document type)
        if event == "start":
            ancestors.append(element)
            continue
        ancestors.pop()
        name = element.tag.rpartition("}")[2]
        if name == "siteinfo":
            spaces = element.iterfind("{*}namespaces/{*}namespace")
            site = Site(
                {" ".join(space.text.lower().split()): _number(space.get("key")) for space in spaces if space.text}
            )
        elif name == "page":
            page = _page(element, site)
            ancestors[0].clear()
            yield page
        elif name == "revision":
            for earlier in ancestors[-1].findall("{*}revision")[:-1]:  # only the last is read
                ancestors[-1].remove(earlier)


def _page(element: Element, site: Site) -> Page:
    namespace, redirect = element.findtext("{*}ns"), element.find("{*}redirect")
    if namespace is None:
        raise InvalidInputError("its pages have no <ns>, like exports from before 2012, which are not read")
    return Page(
        site,
        element.findtext("{*}title", "").strip(),
        _number(namespace),
        _number(element.findtext("{*}id")),
        _number(element.findtext("{*}revision/{*}id")),
        None if redirect is None else redirect.get("title"),
        element.findtext("{*}revision/{*}model", "wikitext").strip(),
        element.findtext("{*}revision/{*}text", ""),
    )


def _number(text: str | None) -> int:
    return int(text) if text and text.strip().lstrip("-").isdecimal() else 0
