"""What wikiextractor makes of a Wikipedia dump with --json."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from factoid.entities.articles.article import Article, Record
from factoid.entities.articles.names import canonical_title
from factoid.entities.articles.sources import describe_files
from factoid.entities.importers.json_lines import Fields, is_json_lines, read_json_lines, text_field
from factoid.entities.importers.paths import Paths, list_files

_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL)
_EXPECTED = "files such as AA/wiki_00 or AA/wiki_00.bz2"
_KEPT = ("id", "url")


class WikiExtractorJson:
    """Lines such as `{"id": …, "revid": …, "url": …, "title": …, "text": …}`.

    wikiextractor drops redirects: give them beside it with `RedirectLines`. Links are there if it ran with --links.

    Args:
        paths: Its output folder, or files of it, plain or compressed by bzip2 or gzip.
    """

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    @property
    def name(self) -> str:
        """What is read."""
        return describe_files("WikiExtractorJson", self._files())

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the articles from number `skip` on.

        Raises:
            UnreadableFileError: A file is missing or damaged, or a line holds something else.
        """
        return read_json_lines(self._files(), _article, skip=skip, one_each=True)

    def _files(self) -> list[Path]:
        return list_files(self._paths, accept=_is_output, expected=_EXPECTED)


def link_target(address: str) -> str:
    """Return the title that a link's address means, or "" for a place on the same page or outside the wiki."""
    title = unquote(address).partition("#")[0]
    return "" if "://" in title else canonical_title(title)


def _is_output(file: Path) -> bool:
    return file.name.startswith("wiki_") or is_json_lines(file)


def _article(fields: Fields) -> Sequence[Record]:
    title, text = text_field(fields, "title"), html.unescape(text_field(fields, "text"))
    text = text.removeprefix(f"{title}\n\n")  # versions before 3 repeat the title
    links = tuple((html.unescape(shown), link_target(address)) for address, shown in _LINK.findall(text))
    text = _LINK.sub(r"\2", text)
    metadata = {name: fields[name] for name in _KEPT if fields.get(name)}
    return [Article(title, text, links=tuple(link for link in links if link[1]), metadata=metadata)]
