"""Which importer reads a file, by its name and its first bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from factoid.entities.articles.sources import Source
from factoid.entities.importers.jsonl import ArticleJsonl, TitleTextJsonl
from factoid.entities.importers.kilt import KiltJsonl
from factoid.entities.importers.parquet import WikipediaParquet
from factoid.entities.importers.paths import numbered_lines
from factoid.entities.importers.redirect_lines import RedirectLines
from factoid.entities.importers.wikiextractor import WikiExtractorJson
from factoid.errors import InvalidInputError, UnreadableFileError

_PARQUET = b"PAR1"
IMPORTERS: dict[str, Callable[[list[Path]], Source]] = {
    "wikiextractor": WikiExtractorJson,
    "kilt": KiltJsonl,
    "parquet": WikipediaParquet,
    "titles": TitleTextJsonl,
    "jsonl": ArticleJsonl,
    "redirects": RedirectLines,
}
DUMP = "dump"


def make_sources(paths: Sequence[Path], kind: str = "auto", *, workers: int = 1, words: int = 1000) -> list[Source]:
    """Return the sources of some files and folders: those of one format together, in the order of their first.

    Args:
        paths: Files and folders.
        kind: "dump", one of IMPORTERS, or "auto" to look at each.
        workers: Processes that read a dump.
        words: Words of an article that are needed; a dump's importer cleans no more.

    Raises:
        InvalidInputError: There is no such format, or no path.
        UnreadableFileError: A path is missing or of no known format.
        MissingDependencyError: What a dump needs is not installed.
    """
    if kind not in ("auto", DUMP, *IMPORTERS):
        message = f"unknown format {kind!r}: expected auto, {DUMP}, {', '.join(IMPORTERS)}"
        raise InvalidInputError(message)
    kinds: dict[str, list[Path]] = {}
    for path in paths:
        kinds.setdefault(detect(path) if kind == "auto" else kind, []).append(path)
    return [_dump(files, workers, words) if each == DUMP else IMPORTERS[each](files) for each, files in kinds.items()]


def detect(path: Path) -> str:
    """Return the format of a file, or of the first file of a folder.

    Raises:
        UnreadableFileError: It is missing or of no known format.
    """
    file = _first_file(path) if path.is_dir() else path
    name = file.name.lower()
    if name.endswith(".parquet") or _begins(file, _PARQUET):
        return "parquet"
    if name.endswith((".tsv", ".tsv.gz", ".tsv.bz2")):
        return "redirects"
    _, line = next(numbered_lines(file), (0, b""))
    if line.lstrip(b"\xef\xbb\xbf \t").startswith((b"<mediawiki", b"<?xml", b"<page")):
        return DUMP
    try:
        return _of_json(json.loads(line))
    except (ValueError, RecursionError) as error:
        message = (
            f"{file} is of no known format: its first line is neither XML of MediaWiki nor a JSON object, {line[:60]!r}. "
            "Name the format with --format"
        )
        raise UnreadableFileError(message) from error


def _of_json(fields: Any) -> str:
    if not isinstance(fields, dict) or not fields:
        message = "no JSON object"
        raise ValueError(message)
    if "wikipedia_title" in fields:
        return "kilt"
    if "title" in fields and "text" in fields:
        return "wikiextractor" if "url" in fields else "jsonl"
    if set(fields) == {"name", "target"}:
        return "redirects"
    if all(isinstance(value, str) for value in fields.values()):
        return "titles"
    message = "unknown fields"
    raise ValueError(message)


def _first_file(folder: Path) -> Path:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))
    if not files:
        message = f"{folder} holds no file"
        raise UnreadableFileError(message)
    return files[0]


def _begins(file: Path, begin: bytes) -> bool:
    try:
        with file.open("rb") as raw:
            return raw.read(len(begin)) == begin
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror or error}"
        raise UnreadableFileError(message) from error


def _dump(files: list[Path], workers: int, words: int) -> Source:
    from factoid.entities.importers.mediawiki import MediaWikiDump

    source: Source = MediaWikiDump(files, workers=workers, words=words)
    return source
