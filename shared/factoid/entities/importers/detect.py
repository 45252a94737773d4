"""Which importer reads a file, by its name and its first bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from factoid.entities.articles.sources import Source
from factoid.entities.importers.json_kind import kind_of_lines
from factoid.entities.importers.jsonl import ArticleJsonl, TitleTextJsonl
from factoid.entities.importers.kilt import KiltJsonl
from factoid.entities.importers.parquet import WikipediaParquet
from factoid.entities.importers.paths import numbered_lines
from factoid.entities.importers.redirect_lines import RedirectLines
from factoid.entities.importers.table import ArticleCsv
from factoid.entities.importers.table_rows import ENDINGS as TABLES
from factoid.entities.importers.table_rows import has_columns
from factoid.entities.importers.wikiextractor import WikiExtractorJson
from factoid.errors import InvalidInputError, UnreadableFileError

_PARQUET = b"PAR1"
_NOTES = (".md", ".rst", ".txt", ".html", ".pdf")
IMPORTERS: dict[str, Callable[[list[Path]], Source]] = {
    "wikiextractor": WikiExtractorJson,
    "kilt": KiltJsonl,
    "parquet": WikipediaParquet,
    "titles": TitleTextJsonl,
    "jsonl": ArticleJsonl,
    "csv": ArticleCsv,
    "redirects": RedirectLines,
}
DUMP = "dump"


def make_sources(
    paths: Sequence[Path],
    kind: str = "auto",
    *,
    workers: int = 1,
    words: int = 1000,
    title_key: str = "title",
    text_key: str = "text",
    allow_truncated: bool = False,
) -> list[Source]:
    """Return the sources of some files and folders: those of one format together, in the order of their first.

    Args:
        paths: Files and folders.
        kind: "dump", one of IMPORTERS, or "auto" to look at each.
        workers: Processes that read a dump.
        words: Words of an article that are needed; a dump's importer cleans no more.
        title_key: Field of articles in JSON Lines ("jsonl"), or column of tables ("csv"), that holds the title.
        text_key: Field that holds the text.
        allow_truncated: Read a dump that is cut off or damaged up to there.

    Raises:
        InvalidInputError: There is no such format, or no path.
        UnreadableFileError: A path is missing or of no known format.
        MissingDependencyError: What a dump needs is not installed.
    """
    if kind not in ("auto", DUMP, *IMPORTERS):
        message = f"unknown format {kind!r}: expected auto, {DUMP}, {', '.join(IMPORTERS)}"
        raise InvalidInputError(message)
    kinds: dict[str, list[Path]] = {}
    for path in chain.from_iterable(map(_parts, paths)) if kind == "auto" else paths:
        kinds.setdefault(detect(path, title_key, text_key) if kind == "auto" else kind, []).append(path)
    special: dict[str, Callable[[list[Path]], Source]] = {
        DUMP: partial(_dump, workers=workers, words=words, allow_truncated=allow_truncated),
        "jsonl": partial(ArticleJsonl, title_key=title_key, text_key=text_key),
        "csv": partial(ArticleCsv, title_key=title_key, text_key=text_key),
    }
    return [(special.get(each) or IMPORTERS[each])(files) for each, files in kinds.items()]


def detect(path: Path, title_key: str = "title", text_key: str = "text") -> str:
    """Return the format of a file, or of the first file of a folder.

    Args:
        path: The file or folder.
        title_key: Field or column that holds the title.
        text_key: Field or column that holds the text.

    Raises:
        UnreadableFileError: It is missing, empty or of no known format.
    """
    file = _first_file(path) if path.is_dir() else path
    name = file.name.lower()
    if name.endswith(".parquet") or _begins(file, _PARQUET):
        return "parquet"
    if name.endswith(TABLES):
        return "redirects" if ".tsv" in name and not has_columns(file, title_key, text_key) else "csv"
    _, line = next(numbered_lines(file), (0, b""))
    if not line:
        message = f"{file} is empty: expected articles, such as one JSON object per line"
        raise UnreadableFileError(message)
    if line.lstrip(b"\xef\xbb\xbf \t").startswith((b"<mediawiki", b"<?xml", b"<page")):
        return DUMP
    return kind_of_lines(file, title_key, text_key)


def _parts(path: Path) -> list[Path]:
    """Return what is looked at by itself: the tables of a folder that has some, since they may be of articles or redirects."""
    tables = [file for file in _files(path) if file.name.lower().endswith(TABLES)] if path.is_dir() else []
    return tables or [path]


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))


def _first_file(folder: Path) -> Path:
    """Return the first file that is not called as notes are, else the first of all."""
    files = _files(folder)
    if not files:
        message = f"{folder} holds no file"
        raise UnreadableFileError(message)
    return next((file for file in files if file.suffix.lower() not in _NOTES), files[0])


def _begins(file: Path, begin: bytes) -> bool:
    try:
        with file.open("rb") as raw:
            return raw.read(len(begin)) == begin
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror or error}"
        raise UnreadableFileError(message) from error


def _dump(files: list[Path], *, workers: int, words: int, allow_truncated: bool) -> Source:
    from factoid.entities.importers.mediawiki import MediaWikiDump

    source: Source = MediaWikiDump(files, workers=workers, words=words, allow_truncated=allow_truncated)
    return source
