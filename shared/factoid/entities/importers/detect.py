"""Choice of the importer for a file, by its name, its first bytes and the fields of its first line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from factoid.entities.articles.article import Source
from factoid.entities.importers.json_lines import ArticleJsonl, KiltJsonl, TitleTextJsonl, WikiExtractorJson
from factoid.entities.importers.mediawiki import MediaWikiDump
from factoid.entities.importers.source_files import KEYS_HINT, is_named
from factoid.entities.importers.table import TABLES, ArticleCsv, WikipediaParquet
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.lines import filled_lines, parse_object, visible_files

_XML = (b"<mediawiki", b"<?xml", b"<page")
_NOTES = (".md", ".rst", ".txt", ".html", ".pdf")
IMPORTERS: dict[str, Callable[..., Source]] = {
    "dump": MediaWikiDump,
    "wikiextractor": WikiExtractorJson,
    "kilt": KiltJsonl,
    "parquet": WikipediaParquet,
    "titles": TitleTextJsonl,  # is not detected
    "jsonl": ArticleJsonl,
    "csv": ArticleCsv,
}


def make_sources(
    paths: Sequence[Path],
    kind: str = "auto",
    *,
    title_key: str = "title",
    text_key: str = "text",
    **dump_options: Any,
) -> list[Source]:
    """Return the sources for some files and folders, one for each format.

    The kind is one of IMPORTERS, or "auto" to detect it for each path. Other options are those of `MediaWikiDump`.
    """
    files_by_kind: dict[str, list[Path]] = {}
    for path in paths:
        name = detect(path, title_key, text_key) if kind == "auto" else kind
        files_by_kind.setdefault(name, []).append(path)
    keys = {"title_key": title_key, "text_key": text_key}
    options = {"dump": dump_options, "jsonl": keys, "csv": keys}
    return [IMPORTERS[name](files, **options.get(name, {})) for name, files in files_by_kind.items()]


def detect(path: Path, title_key: str = "title", text_key: str = "text") -> str:
    """Return the format of a file, or of the first file of a folder; raise an UnreadableFileError if there is none."""
    files = list(visible_files(path)) if path.is_dir() else [path]
    if not files:
        raise UnreadableFileError(f"{path} holds no file")
    file = next((file for file in files if file.suffix.lower() not in _NOTES), files[0])
    if is_named(file, WikipediaParquet.patterns):
        return "parquet"
    if is_named(file, TABLES):
        return "csv"
    first = next((line for _, line in filled_lines(file)), None)
    if first is None:
        raise UnreadableFileError(f"{file} is empty: expected articles, such as one JSON object per line")
    if first.lstrip(b"\xef\xbb\xbf \t").startswith(_XML):
        return "dump"
    try:
        fields = parse_object(first)
        if title_key in fields and text_key in fields:
            return "wikiextractor" if "url" in fields and (title_key, text_key) == ("title", "text") else "jsonl"
        if "wikipedia_title" in fields:
            return "kilt"
        names = ", ".join(map(repr, list(fields)[:8])) or "no fields"
        raise InvalidInputError(f"its first line has {names}; expected {title_key!r} and {text_key!r}{KEYS_HINT}")
    except InvalidInputError as error:
        raise UnreadableFileError(
            f"{file} is of no known format: {error}. Expected XML of MediaWiki, one JSON object per line, or a table that ends "
            f"in .csv or .tsv, in UTF-8; its first line is {first.strip()[:60]!r}. If it is of another format, name it "
            "with --format"
        ) from error
