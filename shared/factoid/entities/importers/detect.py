"""Which importer reads a file, by its name, its first bytes and the fields of its first lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from factoid.entities.articles.article import Source
from factoid.entities.importers.json_lines import (
    ArticleJsonl,
    KiltJsonl,
    RedirectLines,
    TitleTextJsonl,
    WikiExtractorJson,
)
from factoid.entities.importers.mediawiki import MediaWikiDump
from factoid.entities.importers.source_files import KEYS_HINT, is_named
from factoid.entities.importers.table import TABLES, ArticleCsv, WikipediaParquet
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.lines import parse_object, read_lines, visible_files
from factoid.files.tables import has_columns

_XML = (b"<mediawiki", b"<?xml", b"<page")
_NOTES = (".md", ".rst", ".txt", ".html", ".pdf")
_SAMPLE = 20  # lines
_FIELDS = ("title", "text", "content", "name")  # no titles, where there is but one line
IMPORTERS: dict[str, Callable[..., Source]] = {
    "dump": MediaWikiDump,
    "wikiextractor": WikiExtractorJson,
    "kilt": KiltJsonl,
    "parquet": WikipediaParquet,
    "titles": TitleTextJsonl,
    "jsonl": ArticleJsonl,
    "csv": ArticleCsv,
    "redirects": RedirectLines,
}


def make_sources(
    paths: Sequence[Path],
    kind: str = "auto",
    *,
    title_key: str = "title",
    text_key: str = "text",
    **dump_options: Any,
) -> list[Source]:
    """Return the sources of some files and folders, those of one format together.

    The kind is one of IMPORTERS, or "auto" to look at each. Other options are those of `MediaWikiDump`.
    """
    files_by_kind: dict[str, list[Path]] = {}
    for path in paths:
        # In a folder with tables, each is of articles or redirects.
        tables = [file for file in _files(path) if is_named(file, TABLES)] if kind == "auto" else []
        for part in tables or [path]:
            name = detect(part, title_key, text_key) if kind == "auto" else kind
            files_by_kind.setdefault(name, []).append(part)
    keys = {"title_key": title_key, "text_key": text_key}
    options = {"dump": dump_options, "jsonl": keys, "csv": keys}
    return [IMPORTERS[name](files, **options.get(name, {})) for name, files in files_by_kind.items()]


def detect(path: Path, title_key: str = "title", text_key: str = "text") -> str:
    """Return the format of a file, or of the first file of a folder; raise an UnreadableFileError if there is none."""
    files = _files(path)
    if not files:
        raise UnreadableFileError(f"{path} holds no file")
    file = next((file for file in files if file.suffix.lower() not in _NOTES), files[0])
    if is_named(file, WikipediaParquet.patterns):
        return "parquet"
    if is_named(file, TABLES):
        return "redirects" if ".tsv" in file.name.lower() and not has_columns(file, title_key, text_key) else "csv"
    sample = list(islice((line for _, line in read_lines(file) if line.strip()), _SAMPLE))
    if not sample:
        raise UnreadableFileError(f"{file} is empty: expected articles, such as one JSON object per line")
    if sample[0].startswith(b"PAR1"):
        return "parquet"
    if sample[0].lstrip(b"\xef\xbb\xbf \t").startswith(_XML):
        return "dump"
    try:
        return _json_kind(sample, title_key, text_key)
    except InvalidInputError as error:
        raise UnreadableFileError(
            f"{file} is of no known format: {error}. Expected XML of MediaWiki, one JSON object per line, or a table that ends "
            f"in .csv or .tsv, in UTF-8; its first line is {sample[0].strip()[:60]!r}. If it is of another format, name it "
            "with --format"
        ) from error


def _files(path: Path) -> list[Path]:
    return list(visible_files(path)) if path.is_dir() else [path]


def _json_kind(lines: Sequence[bytes], title_key: str, text_key: str) -> str:
    """Return which importer reads JSON Lines; those of SpEL have one field, which differs from line to line."""
    first, usual_keys = parse_object(lines[0]), (title_key, text_key) == ("title", "text")
    if title_key in first and text_key in first:
        return "wikiextractor" if usual_keys and "url" in first else "jsonl"
    if "wikipedia_title" in first:
        return "kilt"
    if set(first) == {"name", "target"}:
        return "redirects"
    if usual_keys:
        fields = [pair for line in lines for pair in parse_object(line).items()]
        titles = {title for title, text in fields if title and isinstance(text, str)}
        is_varied = len(titles) > 1 or (len(lines) == 1 and titles.isdisjoint(_FIELDS))
        if is_varied and len(first) == 1 and len(fields) == len(lines) and titles.issuperset(dict(fields)):
            return "titles"
    names = ", ".join(map(repr, list(first)[:8])) or "no fields"
    raise InvalidInputError(f"its first line has {names}; expected {title_key!r} and {text_key!r}{KEYS_HINT}")
