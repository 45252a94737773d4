"""Pages of a MediaWiki XML export, one after the other, in bounded memory.

https://www.mediawiki.org/wiki/Help:Export has the format. Expat is used as it is, since it lets us refuse document types, and
with them every attack by entities, before one is read.
"""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast
from xml.parsers import expat

from factoid.entities.wikitext.site import Site
from factoid.errors import UnreadableFileError

_CHUNK = 1 << 18  # bytes
_LONGEST_PAGE = 1 << 26  # characters; MediaWiki itself allows 2 MiB
_FETCHED = {
    ("page", "title"), ("page", "ns"), ("page", "id"), ("revision", "id"), ("revision", "text"), ("revision", "model"),
    ("siteinfo", "namespaces"), ("namespaces", "namespace"),
}  # fmt: skip
_NOT_READ = {b"7z\xbc\xaf": "7-Zip", b"PK\x03\x04": "zip", b"\xfd7zX": "xz", b"\x28\xb5\x2f\xfd": "Zstandard"}


class CutOffError(UnreadableFileError):
    """An export whose rest is missing or damaged; the whole pages before were read."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page with its latest revision of an export.

    Attributes:
        site: The wiki's names, from the head of the export.
        title: Full title, with its namespace.
        namespace: Number of the namespace.
        page_id, revision_id: The wiki's numbers; 0 if the export has none.
        redirect: Title to which the page leads, by its `<redirect>` element; None without one.
        model: What the content is; "wikitext" for articles.
        text: Wikitext.
    """

    site: Site
    title: str
    namespace: int
    page_id: int
    revision_id: int
    redirect: str | None
    model: str
    text: str = field(repr=False)


def read_pages(path: Path) -> Iterator[Page]:
    """Yield the pages of an export: XML as it is, or packed with bzip2 (also in several streams) or gzip.

    Raises:
        UnreadableFileError: There is no such file, or it is no export.
        CutOffError: It is damaged or cut off after some page; the whole pages before have been yielded.
    """
    handler = _Handler()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.buffer_size = 1 << 16
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.characters
    parser.StartDoctypeDeclHandler = handler.refuse_document_type
    last = ""
    try:
        with _open(path) as file:
            while True:
                chunk = file.read1(_CHUNK)  # type: ignore[attr-defined]  # not read(): it loses what precedes the damage
                fault: expat.ExpatError | _RefusedError | None = None
                try:
                    parser.Parse(chunk, not chunk)
                except (expat.ExpatError, _RefusedError) as error:
                    fault = error
                for page in handler.take():
                    last = page.title
                    yield page
                if fault is not None:
                    raise fault
                if not chunk:
                    return
    except _RefusedError as error:
        message = f"{path}: {error}"
        raise UnreadableFileError(message) from error
    except (expat.ExpatError, EOFError, OSError, zlib.error) as error:
        kind = CutOffError if last else UnreadableFileError
        raise kind(_damage(path, last, error, began=handler.began)) from error


def _damage(path: Path, last: str, error: Exception, *, began: bool) -> str:
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
        return f"{path} cannot be read: {error.strerror}. Expected a MediaWiki XML export (.xml, .xml.bz2 or .xml.gz)"
    if not began and not isinstance(error, EOFError):
        return f"{path} is no MediaWiki XML export: {error}. Expected XML that begins with <mediawiki>, also in bzip2 or gzip"
    again = "Download the file again and compare its checksum with the dump's"
    if not last:
        return f"{path} is cut off or damaged before its first page: {error}. {again}"
    return (
        f"{path} is cut off or damaged after the page {last!r}: {error}. {again}, or do without the rest with "
        "allow_truncated=True, on the command line with --allow-truncated"
    )


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        head = file.read(6)
    if not head:
        message = "the file is empty"
        raise _RefusedError(message)
    for magic, packer in _NOT_READ.items():
        if head.startswith(magic):
            message = f"it is packed with {packer}, which is not read here; unpack it, or pack it with bzip2 or gzip"
            raise _RefusedError(message)
    if head.startswith(b"BZh"):
        return cast(IO[bytes], bz2.open(path, "rb"))
    if head.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


class _RefusedError(Exception):
    """A file that is whole, and is none that we read."""


class _Handler:
    """Collects what expat reads into pages."""

    def __init__(self) -> None:
        self.began = False
        self._path: list[str] = ["", ""]
        self._site = Site()
        self._namespaces: dict[str, int] = {}
        self._namespace = 0
        self._pages: list[Page] = []
        self._fields: dict[tuple[str, str], str] = {}
        self._redirect: str | None = None
        self._pieces: list[str] | None = None
        self._size = 0

    def take(self) -> list[Page]:
        """Return the pages that are whole, and forget them."""
        pages, self._pages = self._pages, []
        return pages

    def refuse_document_type(self, *_: object) -> None:
        message = (
            "it declares a document type, which no MediaWiki export does and which could hide an attack; it is not read"
        )
        raise _RefusedError(message)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if not self.began:
            if name != "mediawiki":
                message = f"it is XML, but no MediaWiki export: it begins with <{name}>, expected <mediawiki>"
                raise _RefusedError(message)
            self.began = True
        place = (self._path[-1], name)
        self._path.append(name)
        if place in _FETCHED:
            self._pieces, self._size = [], 0
            if name == "namespace":
                self._namespace = _number(attributes.get("key", ""))
        elif place == ("mediawiki", "page"):
            self._fields, self._redirect = {}, None
        elif place == ("page", "redirect"):
            self._redirect = attributes.get("title")

    def characters(self, text: str) -> None:
        if self._pieces is None:
            return
        self._size += len(text)
        if self._size > _LONGEST_PAGE:
            message = f"a page of it, {self._fields.get(('page', 'title'), '')!r}, is longer than {_LONGEST_PAGE:,} characters"
            raise _RefusedError(message)
        self._pieces.append(text)

    def end(self, name: str) -> None:
        self._path.pop()
        place = (self._path[-1], name)
        if place in _FETCHED and self._pieces is not None:
            self._fields[place] = "".join(self._pieces)  # of several revisions, the last
            self._pieces = None
            if name == "namespace":
                self._namespaces[" ".join(self._fields[place].lower().split())] = self._namespace
        elif name == "siteinfo":
            self._site = Site({key: number for key, number in self._namespaces.items() if key})
        elif place == ("mediawiki", "page"):
            self._pages.append(self._page())

    def _page(self) -> Page:
        found = self._fields
        title = found.get(("page", "title"), "").strip()
        number = found.get(("page", "ns"))  # absent in exports before 2012
        return Page(
            self._site,
            title,
            self._site.namespace(title) if number is None else _number(number),
            _number(found.get(("page", "id"), "")),
            _number(found.get(("revision", "id"), "")),
            self._redirect,
            found.get(("revision", "model"), "wikitext").strip(),
            found.get(("revision", "text"), ""),
        )


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0
