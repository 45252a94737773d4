"""MediaWiki XML dumps, such as Wikipedia's, as articles and redirects."""

from __future__ import annotations

import multiprocessing
import re
import signal
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Set
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError, iterparse

from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.articles.names import canonical_title
from factoid.entities.importers.wikitext import links, plain_text, strip_tags
from factoid.errors import UnreadableFileError
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.lines import DAMAGE, opened
from factoid.units import whole_number

# Templates at the foot of disambiguation pages, on the largest Wikipedias. "Disambiguation needed"
# and "dablink" do not count: they stand in articles.
_DISAMBIGUATION = re.compile(
    r"\{\{\s*+(?:"
    r"(?:[\w -]{0,60}[ _-])?(?:disambig(?:uation)?|disamb|dab)(?:[ _-]?(?:page|cleanup))?|"
    r"(?:hn|geo|number|math|school|hospital|road|callsign|letter|church|airport|station"
    r"|species)dis(?:ambig)?|"
    r"begriffsklärung|homonymie|paronymie|desambiguación|desambiguação|desambiguació|disambigua"
    r"|неоднозначность|"
    r"багатозначність|doorverwijspagina|dp|曖昧さ回避|aimai|ujednoznacznienie|消歧义|消歧義|동음이의|förgrening"
    r"|gren|توضيح|"
    r"rozcestník|egyért|anlam ayrımı|täsmennyssivu|dezambiguizare|flertydig|peker"
    r")\s*(?:\||\}\})|__DISAMBIG__",
    re.IGNORECASE,
)
_DISAMBIGUATION_TITLE = re.compile(
    r".*\((?:disambiguation|Begriffsklärung|homonymie|desambiguación|desambiguação)\)",
    re.IGNORECASE,
)
_ENCODING = re.compile(rb"""[^<]{0,8}<\?xml[^<>]{0,100}\sencoding\s*=\s*["']([\w.-]+)""")
_HIDDEN = ("6", "14")  # namespaces whose links show nothing: files and categories
_MOST_DIGITS = 18  # of a page's or a revision's id, which is a 64-bit integer
_BATCH = 50  # pages that one process cleans at a time
_BATCHES_AHEAD = 3  # for each process


class MediaWikiDump:
    """A source of articles: one or several XML dumps of a wiki.

    A page becomes an article, with the links of the whole page and the first words of its text; a
    redirect becomes a redirect. Pages of other namespaces, pages that are not wikitext, and
    disambiguation pages, which are not about one entity, are left out and counted by reason in
    `left_out`, which is complete once all was read.

    Args:
        paths: A file, or several files, read one after the other: `.xml`, plain or compressed with
            bzip2 (also multistream), gzip or xz.
        workers: Processes that clean pages; 1 cleans in this process. With more, a script must
            guard what it runs with `if __name__ == "__main__":`.
        words: Clean a page only until it has this many words, to the end of a paragraph; None for
            whole pages.
        limits: Of what is read at once: `unpacked_bytes` of a page, and `depth` of its elements. A
            dump may have any size.
    """

    def __init__(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        workers: int = 1,
        words: int | None = 1000,
        limits: ReadLimits = DEFAULT_LIMITS,
    ) -> None:
        self._paths = [Path(paths)] if isinstance(paths, str | Path) else [*map(Path, paths)]
        self._workers = whole_number("workers", workers)
        self._words = words if words is None else whole_number("words", words)
        self._limits = limits
        # prefixes of links that show nothing, and the wiki's own
        self._hidden = {"file", "image", "media", "category"}
        self.left_out: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Record]:
        return self.read()

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the records from number `skip` on. Skipped pages are unpacked, but not cleaned.

        Raises:
            UnreadableFileError: A file is damaged, not a dump or above a limit.
        """
        self.left_out.clear()
        pages = islice(chain.from_iterable(map(self._read_file, self._paths)), skip, None)
        if self._workers == 1:
            yield from (_clean(page, self._hidden, self._words) for page in pages)
        else:
            yield from self._clean_batches(pages)

    def _read_file(self, file: Path) -> Iterator[Record]:
        """Yield redirects, and articles in wikitext without links; count the other pages."""
        title = ""
        try:
            with opened(file) as content:
                pages = _Pages(content, file, self._limits)
                # A page is limited, and no entities are declared.
                events = iterparse(pages, ("start", "end"))  # noqa: S314
                _, root = next(events)
                pages.has_begun = True
                if not root.tag.endswith("mediawiki"):
                    raise ParseError(f"it begins with <{root.tag}>")
                depth = 1
                for event, element in events:
                    if event == "start":
                        depth += 1
                    else:
                        depth -= 1
                    if depth > self._limits.depth:
                        self._limits.refuse(
                            f"{file}, after the page {title!r}: elements are nested",
                            "depth",
                            "deep",
                        )
                    if (
                        event == "end"
                        and element.tag.endswith("namespace")
                        and element.get("key") in _HIDDEN
                    ):
                        self._hidden.add((element.text or "").lower())
                    elif event == "end" and element.tag.endswith("page"):
                        title = element.findtext("{*}title", "").strip()
                        record = _record(element, title)
                        root.clear()
                        pages.size = 0
                        if isinstance(record, str):
                            self.left_out[record] += 1
                        else:
                            yield record
        except UnreadableFileError:
            raise
        except (
            ParseError,
            ValueError,
            LookupError,
            *DAMAGE,
        ) as error:  # the latter two: an encoding that expat does not know
            raise UnreadableFileError(
                f"{file} is cut off or damaged after the page {title!r}, or is not a MediaWiki "
                f"XML export: {error}. Download it again, and compare its checksum with the dump's"
            ) from error

    def _clean_batches(self, pages: Iterator[Record]) -> Iterator[Record]:
        """Yield the records of pages in order, cleaned in several processes."""
        # Forked processes could inherit locks that other threads hold. An interrupt is the parent's
        # business.
        executor = ProcessPoolExecutor(
            self._workers,
            multiprocessing.get_context("spawn"),
            signal.signal,
            (signal.SIGINT, signal.SIG_IGN),
        )
        waiting: deque[Future[list[Record]]] = deque()
        try:
            while batch := list(islice(pages, _BATCH)):
                waiting.append(executor.submit(_clean_all, batch, self._hidden, self._words))
                if len(waiting) >= _BATCHES_AHEAD * self._workers:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


class _Pages:
    """A dump that is read in pieces; refuses what a parser could not bear."""

    def __init__(self, content: BinaryIO, file: Path, limits: ReadLimits) -> None:
        self._content = content
        self._file = file
        self._limits = limits
        self._head = b""  # all before the root element
        self.size = 0  # of what was read since the last page
        self.has_begun = False  # the root element was read

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes.

        Raises:
            UnreadableFileError: There is more between two pages than the limit allows.
            ParseError: The dump begins with a declaration.
        """
        piece = self._content.read(size)
        self.size += len(piece)
        if self.size > self._limits.unpacked_bytes:
            self._limits.refuse(f"{self._file}: a page has", "unpacked_bytes", "bytes")
        if not self.has_begun:
            self._head += piece.replace(b"\0", b"")  # of UTF-16
            self._check_head()
        return piece

    def _check_head(self) -> None:
        encoding = _ENCODING.match(self._head)
        if encoding and encoding[1].lower() not in (b"utf-8", b"utf-16", b"us-ascii"):
            raise ParseError(f"its encoding is {encoding[1].decode()}: dumps are in UTF-8")
        if b"<!DOCTYPE" in self._head:
            raise ParseError(
                "it declares a document type, as no dump does: entities allow an attack by "
                "amplification"
            )


def _record(page: Element, title: str) -> Record | str:
    """Return an article in wikitext, a redirect, or the reason why the page is left out."""
    if page.findtext("{*}ns") != "0":
        return "pages of other namespaces"
    redirect = page.find("{*}redirect")
    if redirect is not None:
        return Redirect(title, canonical_title(redirect.get("title", "").partition("#")[0]))
    revision = [page, *page.findall("{*}revision")][-1]
    if revision.findtext("{*}model", "wikitext").strip() != "wikitext":
        return "pages that are not wikitext"
    text = revision.findtext("{*}text", "")
    if is_disambiguation(title, text):
        return "disambiguation pages"
    return Article(title, text, metadata={"page_id": _id(page), "revision_id": _id(revision)})


def _id(element: Element) -> int:
    text = element.findtext("{*}id", "0").strip()
    if not (text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise ParseError(f"it has the id {text:.40}")
    return int(text)


def is_disambiguation(title: str, wikitext: str) -> bool:
    """Tell by its title or templates whether a page only lists what a name may mean."""
    return (
        _DISAMBIGUATION_TITLE.fullmatch(title) is not None
        or _DISAMBIGUATION.search(wikitext) is not None
    )


def _clean(record: Record, hidden: Set[str], words: int | None) -> Record:
    if isinstance(record, Redirect):
        return record
    prepared = strip_tags(record.text)
    text = plain_text(prepared, hidden, words=words)
    return replace(record, text=text, links=tuple(links(prepared, hidden)))


def _clean_all(records: list[Record], hidden: Set[str], words: int | None) -> list[Record]:
    return [_clean(record, hidden, words) for record in records]
