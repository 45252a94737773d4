"""MediaWiki XML dumps (Wikipedia's pages-articles, and any other wiki's export) as articles and redirects."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from factoid._optional import require
from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.articles.sources import describe_files
from factoid.entities.importers.in_processes import map_in_processes
from factoid.entities.importers.mediawiki_xml import CutOffError, Page, read_pages
from factoid.entities.wikitext.clean import clean
from factoid.entities.wikitext.disambiguation import is_disambiguation
from factoid.entities.wikitext.links import links
from factoid.entities.wikitext.prepare import prepare
from factoid.entities.wikitext.site import Site
from factoid.errors import InvalidInputError, UnreadableFileError

_log = logging.getLogger(__name__)

# Exports before 2009 have no <redirect> element: English, and the largest other wikis.
_REDIRECT = re.compile(
    r"\s*#(?:REDIRECT|WEITERLEITUNG|REDIRECTION|REDIRECCI[OÓ]N|RINVIA|DOORVERWIJZING|OMDIRIGERING|PATRZ|TAM|"
    r"REDIRECIONAMENTO|ПЕРЕНАПРАВЛЕНИЕ|転送|リダイレクト|重定向|넘겨주기|تحويل)\s*:?\s*\[\[([^][{}|\n]+)(?:\|[^][]*)?\]\]",
    re.IGNORECASE,
)
_BATCH_CHARS, _BATCH_PAGES = 400_000, 100  # what one process is given at a time


class MediaWikiDump:
    """A source of articles: one or several XML dumps of a wiki.

    A page becomes an article, with the links of the whole page and the first words of its text; a redirect becomes a
    redirect. What is left out, see `left_out`: pages of other namespaces, redirects to them, pages that are no wikitext, and
    disambiguation pages, which are about no entity (their titles' readings are known from the titles and links of the
    articles).

    Args:
        paths: A file or several, read one after the other: `.xml`, or packed with bzip2 (multistream too) or gzip.
        workers: Processes that clean pages; with 1, all is done in this one. Where more are used, a script must guard what
            it runs with `if __name__ == "__main__":`.
        namespaces: Numbers of the namespaces whose pages are read; 0 holds the articles.
        words: Clean only as much of a page as gives this many words, to the end of a paragraph; None for whole pages.
        allow_truncated: Read a file that is cut off or damaged up to there, with a warning; else it is an error.

    Attributes:
        left_out: How many pages the latest `read` left out, by reason. Complete when it has been read to the end.

    Raises:
        InvalidInputError: No file is given, `words` or `workers` is less than 1.
    """

    def __init__(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        workers: int = 1,
        namespaces: Iterable[int] = (0,),
        words: int | None = 1000,
        allow_truncated: bool = False,
    ) -> None:
        self.paths = (Path(paths),) if isinstance(paths, str | Path) else tuple(Path(path) for path in paths)
        self.workers = workers
        self.namespaces = frozenset(namespaces)
        self.words = words
        self.allow_truncated = allow_truncated
        self.left_out: Counter[str] = Counter()
        if not self.paths:
            message = "MediaWikiDump needs at least one file, got none"
            raise InvalidInputError(message)
        for name, number in (("workers", workers), ("words", words)):
            if number is not None and number < 1:
                message = f"{name} must be at least 1, got {number}"
                raise InvalidInputError(message)

    @property
    def name(self) -> str:
        """What is read, and how: the same for two sources that give the same records as far as both give any.

        Raises:
            UnreadableFileError: A file is missing.
        """
        return describe_files("MediaWikiDump", self.paths, words=self.words, namespaces=sorted(self.namespaces))

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the records from number `skip` on. What is skipped is unpacked, and not cleaned.

        Raises:
            MissingDependencyError: mwparserfromhell is not installed.
            UnreadableFileError: A file is missing, is no dump, or is damaged or cut off; the records of all whole pages
                before have been yielded then.
        """
        require("mwparserfromhell", extra="wikipedia")
        self.left_out.clear()
        batches = _batches(islice(self._pages(), skip, None))
        to_records = partial(_to_records, words=self.words, namespaces=self.namespaces)
        for records in map_in_processes(to_records, batches, workers=self.workers):
            yield from records
        if self.left_out:
            counts = ", ".join(f"{count} {reason}" for reason, count in self.left_out.most_common())
            _log.info("Left out of the dump: %s", counts)

    def _pages(self) -> Iterator[Page | Redirect]:
        """Yield what gives a record, each exactly one, and count what gives none."""
        for path in self.paths:
            for page in self._whole_pages(path):
                if reason := self._reason_to_leave_out(page):
                    self.left_out[reason] += 1
                    continue
                target = _redirect_target(page)
                yield page if target is None else Redirect(page.title, page.site.target(target).title)

    def _whole_pages(self, path: Path) -> Iterator[Page]:
        try:
            yield from read_pages(path)
        except CutOffError as error:
            if not self.allow_truncated:
                raise
            self.left_out["rests of files that are cut off or damaged"] += 1
            _log.warning("%s was read only as far as it is whole: %s", path, error.__cause__)

    def _reason_to_leave_out(self, page: Page) -> str:
        if page.namespace not in self.namespaces:
            return "pages of other namespaces"
        if not page.title:
            return "pages without a title"
        target = _redirect_target(page)
        if target is not None:
            found = page.site.target(target)
            return "" if found.namespace in self.namespaces and found.title else "redirects to other namespaces"
        if page.model != "wikitext":
            return "pages that are no wikitext"
        return "disambiguation pages" if is_disambiguation(page.title, page.text) else ""


def _redirect_target(page: Page) -> str | None:
    if page.redirect is not None:
        return page.redirect
    match = _REDIRECT.match(page.text)
    return match[1] if match else None


def _batches(pages: Iterable[Page | Redirect]) -> Iterator[list[Page | Redirect]]:
    """Yield pages in lists; those before an error of `pages`, and then the error."""
    batch: list[Page | Redirect] = []
    chars = 0
    try:
        for page in pages:
            batch.append(page)
            chars += len(page.text) if isinstance(page, Page) else 0
            if chars >= _BATCH_CHARS or len(batch) >= _BATCH_PAGES:
                yield batch
                batch, chars = [], 0
    except UnreadableFileError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _to_records(pages: Sequence[Page | Redirect], *, words: int | None, namespaces: frozenset[int]) -> list[Record]:
    return [page if isinstance(page, Redirect) else _article(page, words, namespaces) for page in pages]


def _article(page: Page, words: int | None, namespaces: frozenset[int]) -> Article:
    site: Site = page.site
    prepared = prepare(page.text)
    return Article(
        page.title,
        clean(prepared, site, words=words),
        links=tuple(links(prepared, site, namespaces=namespaces)),
        metadata={"page_id": page.page_id, "revision_id": page.revision_id},
    )
