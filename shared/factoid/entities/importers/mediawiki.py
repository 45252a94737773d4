"""MediaWiki XML dumps (Wikipedia's pages-articles, and any other wiki's export) as articles and redirects."""

from __future__ import annotations

import logging
import multiprocessing
import re
import signal
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice

from factoid._optional import require
from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.importers.mediawiki_xml import Page, read_pages
from factoid.entities.importers.source_files import FileSource, Paths
from factoid.entities.wikitext.clean import clean, links
from factoid.entities.wikitext.prepare import prepare
from factoid.errors import FactoidError, UnreadableFileError
from factoid.units import whole_number

_log = logging.getLogger(__name__)

# Templates at the foot of disambiguation pages, on the largest Wikipedias. "Disambiguation needed" and "dablink" do not count:
# they stand in articles.
_DISAMBIGUATION = re.compile(
    r"\{\{\s*+(?:"
    r"(?:[\w -]{0,60}[ _-])?(?:disambig(?:uation)?|disamb|dab)(?:[ _-]?(?:page|cleanup|acronym|\w{1,40}dis))?|"
    r"(?:hn|geo|number|math|school|hospital|road|callsign|call sign |letter|church|airport|station|species|tv)dis(?:ambig)?|"
    r"begriffsklärung|homonymie|paronymie|desambiguación|desambiguação|desambiguació|disambigua|неоднозначность|"
    r"багатозначність|doorverwijspagina|dp|曖昧さ回避|aimai|ujednoznacznienie|消歧义|消歧義|동음이의|förgrening|gren|توضيح|"
    r"rozcestník|egyért|anlam ayrımı|täsmennyssivu|dezambiguizare|flertydig|peker"
    r")\s*(?:\||\}\})|__DISAMBIG__",
    re.IGNORECASE,
)
_DISAMBIGUATION_TITLE = re.compile(
    r".*\((?:disambiguation|Begriffsklärung|homonymie|desambiguación|desambiguação)\)", re.IGNORECASE
)
_BATCH = 50  # pages that one process cleans at a time
_BATCHES_AHEAD = 3  # for each process


class MediaWikiDump(FileSource):
    """A source of articles: one or several XML dumps of a wiki.

    A page becomes an article, with the links of the whole page and the first words of its text; a redirect becomes a
    redirect. Pages of other namespaces, redirects to them, pages that are not wikitext, and disambiguation pages, which are
    not about one entity, are left out and counted by reason in `left_out`, which is complete after a whole `read`.

    Args:
        paths: A file, several files, read one after the other, or a folder of them: `.xml`, plain or compressed with bzip2
            (also multistream) or gzip.
        workers: Processes that clean pages; 1 cleans in this process. With more, a script must guard what it runs with
            `if __name__ == "__main__":`.
        words: Clean a page only until it has this many words, to the end of a paragraph; None for whole pages.
        allow_truncated: Read a file that is cut off or damaged as far as it is whole, with a warning, not an error.
    """

    patterns = ("*.xml", "*pages-articles*")

    def __init__(
        self,
        paths: Paths,
        *,
        workers: int = 1,
        words: int | None = 1000,
        allow_truncated: bool = False,
    ) -> None:
        self._workers, self._allow_truncated = whole_number("workers", workers), allow_truncated
        self._words = words if words is None else whole_number("words", words)
        super().__init__(paths, words=words)
        self.left_out: Counter[str] = Counter()

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the records from number `skip` on. Skipped records are unpacked, but not cleaned.

        Raises:
            UnreadableFileError: A file is damaged or not a dump.
        """
        require("mwparserfromhell", extra="wikipedia")
        self.left_out.clear()
        pages = islice(self._pages(), skip, None)
        if self._workers == 1:
            yield from (_to_record(page, self._words) for page in pages)
        else:
            yield from _clean_batches(pages, self._words, self._workers)

    def _pages(self) -> Iterator[Page | Redirect]:
        """Yield each page or redirect that makes a record, and count the others."""
        for path in self._files():
            page = None
            try:
                for page in read_pages(path):
                    record = self._record(page)
                    if isinstance(record, str):
                        self.left_out[record] += 1
                    else:
                        yield record
            except UnreadableFileError as error:
                if page is None or not self._allow_truncated:
                    raise
                self.left_out["rests of files that are cut off or damaged"] += 1
                _log.warning("%s was read only as far as it is whole: %s", path, error.__cause__)

    def _record(self, page: Page) -> Page | Redirect | str:
        """Return a page for an article, a redirect, or the reason why the page is left out."""
        if page.namespace:
            return "pages of other namespaces"
        if not page.title:
            return "pages without a title"
        if page.redirect is not None:
            target = page.site.target(page.redirect)
            inside = target.namespace == 0 and target.title
            return Redirect(page.title, target.title) if inside else "redirects to other namespaces"
        if page.model != "wikitext":
            return "pages that are not wikitext"
        return "disambiguation pages" if is_disambiguation(page.title, page.text) else page


def is_disambiguation(title: str, wikitext: str) -> bool:
    """Tell by its title or templates whether a page only lists what a name may mean. The text is not parsed."""
    return _DISAMBIGUATION_TITLE.fullmatch(title) is not None or _DISAMBIGUATION.search(wikitext) is not None


def _clean_batches(pages: Iterator[Page | Redirect], words: int | None, workers: int) -> Iterator[Record]:
    """Yield the records of pages in order, cleaned in several processes."""
    # Forked processes could inherit locks that other threads hold. An interrupt is the parent's business.
    executor = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
    )
    waiting: deque[Future[list[Record]]] = deque()
    try:
        while batch := list(islice(pages, _BATCH)):
            waiting.append(executor.submit(_to_records, batch, words))
            if len(waiting) >= _BATCHES_AHEAD * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool as error:
        raise FactoidError(
            "a process that cleaned pages died: out of memory, killed, or the script lacks "
            'if __name__ == "__main__": around what it runs. Use workers=1 to work in this process'
        ) from error
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _to_records(pages: list[Page | Redirect], words: int | None) -> list[Record]:
    return [_to_record(page, words) for page in pages]


def _to_record(page: Page | Redirect, words: int | None) -> Record:
    if isinstance(page, Redirect):
        return page
    prepared = prepare(page.text)
    text = clean(prepared, page.site, words=words)
    metadata = {"page_id": page.page_id, "revision_id": page.revision_id}
    return Article(page.title, text, links=tuple(links(prepared, page.site)), metadata=metadata)
