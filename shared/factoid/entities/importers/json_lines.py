"""Articles from JSON Lines: your own, SpEL's, wikiextractor's and KILT's (Petroni et al., 2021); and redirects."""

from __future__ import annotations

import html
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.articles.names import canonical_title
from factoid.entities.importers.own_documents import read_names
from factoid.entities.importers.source_files import KEYS_HINT, FileSource, Paths
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.lines import filled_lines, located, parse_object

JSON_LINES = ("*.jsonl", "*.ndjson")
_LINK = re.compile(r'<a href="([^"]*)">((?:(?!<a href=").)*?)</a>', re.DOTALL)
_HEADING, _BULLET = "Section::::", re.compile(r"\ABULLET::::[-*#:; ]*")


class _JsonLines(FileSource):
    """Files in which each non-blank line is a JSON object that yields records."""

    def _records(self, file: Path) -> Iterator[Record]:
        for number, line in filled_lines(file):
            with located(f"{file}:{number}"):
                yield from self._of_object(parse_object(line))

    @abstractmethod
    def _of_object(self, fields: dict[str, Any]) -> Sequence[Record]: ...


class ArticleJsonl(_JsonLines):
    """Lines such as `{"id": …, "title": …, "text": …, "aliases": […], "redirects": […], "metadata": {…}}`.

    Only the title and the text are required, in the fields `title_key` and `text_key`. The id becomes that of a retriever's
    hit. Redirects are other names that lead to the article; they go before aliases. Aliases may also stand in the metadata, as
    those of `OwnDocuments` do; a single name may be a string.
    """

    patterns = JSON_LINES

    def __init__(self, paths: Paths, *, title_key: str = "title", text_key: str = "text") -> None:
        super().__init__(paths, title_key=title_key, text_key=text_key)

    def _of_object(self, fields: dict[str, Any]) -> Sequence[Record]:
        title, text = (_text_field(fields, self._options[key], KEYS_HINT) for key in ("title_key", "text_key"))
        metadata = fields.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise InvalidInputError(f"expected an object in 'metadata', got {metadata!r:.60}")
        aliases = tuple(dict.fromkeys(_names(fields, "aliases") + _names(metadata, "aliases")))
        id_ = fields.get("id")
        id_ = "" if id_ is None else str(id_) if type(id_) is int else id_
        article = Article(title, text, aliases, metadata=metadata, document_id=id_)
        return [article, *(Redirect(name, title) for name in _names(fields, "redirects"))]


class TitleTextJsonl(_JsonLines):
    """Lines such as `{"title of an article": "its text"}`, one or more titles a line, as SpEL's articles are published."""

    patterns = JSON_LINES

    def _of_object(self, fields: dict[str, Any]) -> Sequence[Record]:
        return [Article(title, _text_field(fields, title)) for title in fields]


class WikiExtractorJson(_JsonLines):
    """Lines such as `{"id": …, "revid": …, "url": …, "title": …, "text": …}`, as wikiextractor writes with --json.

    wikiextractor drops redirects: add them with `RedirectLines`. It keeps links if run with --links.
    """

    patterns = ("wiki_*", *JSON_LINES)

    def _of_object(self, fields: dict[str, Any]) -> Sequence[Record]:
        title, text = _text_field(fields, "title"), html.unescape(_text_field(fields, "text"))
        text = text.removeprefix(f"{title}\n\n")  # versions before 3 repeat the title
        links = [(html.unescape(anchor), _link_target(address)) for address, anchor in _LINK.findall(text)]
        links = [link for link in links if link[1]]
        metadata = {name: fields[name] for name in ("id", "url") if fields.get(name)}
        return [Article(title, _LINK.sub(r"\2", text), links=tuple(links), metadata=metadata)]


class KiltJsonl(_JsonLines):
    """Lines such as `{"wikipedia_title": …, "text": ["Title", "First paragraph", …], "anchors": […], …}`.

    Headings are left out, since they are not sentences. Aliases are those of Wikidata. KILT has no redirects: add them with
    `RedirectLines`.
    """

    patterns = ("*.json", *JSON_LINES)

    def _of_object(self, fields: dict[str, Any]) -> Sequence[Record]:
        title, lines = _text_field(fields, "wikipedia_title"), fields.get("text")
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise InvalidInputError(f"expected a list of paragraphs in 'text', got {lines!r:.60}")
        paragraphs = [line.strip() for line in lines if not line.startswith(_HEADING)]
        if paragraphs and paragraphs[0] == title.strip():
            del paragraphs[0]
        text = "\n".join(_BULLET.sub("", paragraph) for paragraph in paragraphs)
        links: list[tuple[str, str]] = []
        for anchor in fields.get("anchors") or ():
            match anchor:
                case {"text": str(surface), "href": str(address)} if target := _link_target(address):
                    links.append((surface, target))
        wikidata = fields.get("wikidata_info") or {}
        aliases = _names(wikidata.get("aliases") or {}, "alias")
        ids = {"id": fields.get("wikipedia_id"), "wikidata_id": wikidata.get("wikidata_id")}
        return [Article(title, text, aliases, tuple(links), {name: value for name, value in ids.items() if value})]


class RedirectLines(FileSource):
    """Lines with a name, a tab, and the article or redirect that it leads to."""

    patterns = ("*.tsv",)

    def _records(self, file: Path) -> Iterator[Redirect]:
        for number, line in filled_lines(file):
            try:
                names = line.decode("utf-8-sig").strip("\r\n").split("\t")
            except UnicodeDecodeError as error:
                raise UnreadableFileError(f"{file}:{number}: not a redirect: {error}") from error
            if len(names) != 2 or not all(map(str.strip, names)):
                raise UnreadableFileError(f"{file}:{number}: expected a name, a tab and a target, got {line!r:.80}")
            yield Redirect(*names)


def _text_field(fields: dict[str, Any], name: str, hint: str = "") -> str:
    """Return a string field; the hint goes into the error if it is missing."""
    if name not in fields:
        names = ", ".join(map(repr, list(fields)[:8])) or "an empty object"
        raise InvalidInputError(f"expected a field {name!r}, got {names}{hint}")
    if not isinstance(fields[name], str):
        raise InvalidInputError(f"expected a string in {name!r}, got {fields[name]!r:.60}")
    return str(fields[name])


def _names(fields: dict[str, Any], name: str) -> tuple[str, ...]:
    return read_names(fields.get(name), f"expected a list of strings in {name!r}")


def _link_target(address: str) -> str:
    """Return the title that a link's address leads to, or "" for a place on the same page or outside the wiki."""
    title = unquote(address).partition("#")[0]
    return "" if "://" in title else canonical_title(title)
