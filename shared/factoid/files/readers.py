"""Reading users' files as documents, one by one.

Text, Markdown, JSON lines, tables, and formats with a converter. Text is UTF-8, with or without a
byte order mark. Line ends are kept unchanged, because spans count them. The id of a file with one
document comes from the file's path, so that an edited file replaces its old version in a store; the
id of a record (a JSON line, a row of a table) is its own, or comes from its content.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.documents.clean import clean
from factoid.documents.pdf import read_pdf
from factoid.errors import InvalidInputError, UnreadableFileError, shown
from factoid.files.conversion import CONVERTED_ENDINGS, EXTRA, convert
from factoid.files.encodings import decode, read_text_lines
from factoid.files.isolation import run_isolated
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.lines import (
    COMPRESSED_ENDINGS,
    located,
    parse_object,
    read_lines,
    read_stream,
    read_whole,
    refuse,
    visible_files,
)
from factoid.files.parquet import unpack
from factoid.files.table_layout import TEXT_FIELDS
from factoid.files.tables import read_rows, row_text, row_title
from factoid.files.timed import (
    LOG_ENDING,
    SUBTITLE_ENDINGS,
    TimedText,
    read_log,
    read_subtitles,
)
from factoid.files.web_pages import escaped, table_markdown
from factoid.metadata import plain_metadata
from factoid.text.front_matter import front_matter, title_of
from factoid.units import Document, content_id

STDIN = "-"
TEXT_ENDINGS = frozenset(
    {".txt", ".text", ".md", ".markdown", ".mdx", ".qmd", ".rmd", ".rst", ".adoc", ".asciidoc"}
)
JSONL_ENDING = ".jsonl"
PARQUET_ENDING = ".parquet"
PDF_ENDING = ".pdf"
TABLE_ENDINGS = frozenset({".csv", ".tsv"})

_EXPORT = "factoid"  # the key of the metadata of Parquet files that are exports of stores
_HEADING = ("title", "section")
# no code ("007"), and short enough for exact floats
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(\.[0-9]+)?")
_BOM = b"\xef\xbb\xbf"
# of texts whose file's ending does not say that they are Markdown
_MARKDOWN = {"content_type": "text/markdown"}
_FIRST_HEADING = re.compile(r"^# ", re.MULTILINE)

logger = logging.getLogger(__name__)


def read_documents(
    paths: Iterable[str | Path], *, follow_links: bool = False, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[Document]:
    """Yield the documents in files and folders, as `find_files` takes them.

    One file, or one line, is in memory at a time.

    Raises:
        UnreadableFileError: A file is missing, damaged, of an unknown kind or above a limit, or a
            record is not a document. Errors of `find_files` come before the first document.
        MissingDependencyError: A file needs the extra `documents`.
    """
    files = find_files(paths, follow_links=follow_links)
    return chain.from_iterable(read_file(file, limits=limits) for file in files)


def ending_of(path: Path) -> str:
    """Return the ending of a file; of compressed JSON lines that of JSON lines."""
    ending = path.suffix.lower()
    unpacked = Path(path.stem).suffix.lower()
    if ending in COMPRESSED_ENDINGS and unpacked in (JSONL_ENDING, ".json"):
        return unpacked
    return ending


def find_files(
    paths: Iterable[str | Path],
    *,
    allow_empty: bool = False,
    follow_links: bool = False,
    more_endings: Collection[str] = (),
) -> list[Path]:
    """List the files to read.

    The paths are files, folders, or "-" for standard input. In folders and their subfolders, text,
    Markdown, subtitles and JSON lines are found, and with the extra `documents` also the formats
    that it converts, in order of their names. Hidden files are left out; others are counted in a
    warning. Tables (.csv, .tsv, .parquet) and logs (.log) are read only if named, unless their
    endings are among `more_endings`.

    Symbolic links in folders, which may lead out of them, are left out and counted in the warning,
    wherever they lead, unless `follow_links` is set. A path that is a link itself is followed. A
    file that is found twice is read once.

    Raises:
        UnreadableFileError: A path is neither a file nor a folder, or a folder holds no such file,
            unless `allow_empty` is set.
    """
    files: dict[Path, Path] = {}  # by what links lead to
    given = list(map(Path, paths))
    named = {path.resolve() for path in given if path.is_file()}
    for path in given:
        if path.is_dir():
            wanted = found_endings() | {*more_endings}
            for file in _list_folder(path, wanted, named, allow_empty, follow_links):
                files.setdefault(file.resolve(), file)
        elif path.is_file() or str(path) == STDIN:
            files.setdefault(path.resolve(), path)
        else:
            what = "is neither a file nor a folder" if path.exists() else "does not exist"
            raise UnreadableFileError(f"{path} {what}")
    return list(files.values())


def read_file(path: str | Path, *, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[Document]:
    """Yield the documents of one file.

    docs/cli.md lists the kinds of files and their fields. Title and section may also stand inside
    `metadata`. The id of standard input ("-") comes from the content. `metadata["source"]` is the
    path as given, unless the file has its own.

    Raises:
        UnreadableFileError, MissingDependencyError: See `read_documents`.
    """
    for document in read_each(path, limits=limits):
        if isinstance(document, UnreadableFileError):
            raise document
        yield document


def read_each(
    path: str | Path, *, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[Document | UnreadableFileError]:
    """Yield the documents of one file as `read_file` does, and go on after what is none.

    In the place of a record that is no document, its error is yielded.

    Raises:
        UnreadableFileError: The file cannot be read, or not to its end.
        MissingDependencyError: See `read_documents`.
    """
    path = Path(path)
    ending = ending_of(path)
    _check_name(path)
    try:
        if str(path) == STDIN:
            raw = read_stream(sys.stdin.buffer, "standard input", limits)
            if raw.removeprefix(_BOM).lstrip().startswith(b"{"):
                yield from _read_records(path, _lines(enumerate(raw.splitlines(), start=1)))
            else:
                text, title, metadata = _parse_text(raw, "standard input", limits)
                yield Document(text, title, metadata={"source": STDIN, **metadata})
        elif ending in (JSONL_ENDING, ".json"):
            yield from _read_records(path, _lines(read_lines(path, limits)))
        elif ending == PARQUET_ENDING:
            yield from _read_records(path, _parquet_rows(path, limits))
        elif ending in TABLE_ENDINGS:
            yield from _read_records(path, _rows(path, limits))
        elif ending in SUBTITLE_ENDINGS or ending == LOG_ENDING:
            yield from _read_records(path, _timed(path, limits))
        else:
            document_id = content_id("file", path.resolve().as_posix())
            with located(path):
                if ending == PDF_ENDING:
                    text, title, metadata = _pdf(path, limits)
                elif ending in CONVERTED_ENDINGS:
                    text, title, metadata = _convert(path, limits)
                else:
                    text, title, metadata = _parse_text(read_whole(path, limits), str(path), limits)
                document = Document(
                    text, title, id=document_id, metadata={"source": path.as_posix(), **metadata}
                )
            yield document
    except UnreadableFileError:
        raise
    except OSError as error:
        refuse(path, error)


def _check_name(path: Path) -> None:
    """Refuse a path that cannot be stored as the source of a document."""
    try:
        str(path.resolve()).encode()
    except UnicodeEncodeError as error:
        name = os.fsencode(path)
        raise UnreadableFileError(
            f"the name {name!r} is not UTF-8: rename the file, or a folder above it"
        ) from error
    except RuntimeError as error:  # Python 3.11 and 3.12, for a link that leads to itself
        raise UnreadableFileError(f"{path} cannot be read: {error}") from error


def found_endings() -> frozenset[str]:
    """Return the endings of the files that are found in folders."""
    endings = TEXT_ENDINGS | SUBTITLE_ENDINGS | {JSONL_ENDING}
    if find_spec("markitdown"):
        endings |= {*CONVERTED_ENDINGS, PDF_ENDING}
    return endings


def _list_folder(
    folder: Path,
    wanted: Collection[str],
    named: Collection[Path],
    allow_empty: bool,
    follow_links: bool,
) -> list[Path]:
    """List the files of a folder to read; of others, only those not named are counted."""
    files: list[Path] = []
    skipped: Counter[str] = Counter()
    links = 0
    for path in visible_files(folder, follow_links=follow_links):
        ending = ending_of(path)
        if path.is_symlink() and not follow_links:
            links += 1
        elif not path.is_file():
            skipped["pipe, device or broken link"] += 1
        elif ending in wanted or path.resolve() in named:
            files.append(path)
        else:
            skipped[ending or "no ending"] += 1
    if skipped:
        advice = ""
        if skipped.keys() & {*CONVERTED_ENDINGS, PDF_ENDING}:
            advice = f'; some are read after: pip install "factoid[{EXTRA}]"'
        if skipped.keys() & {*TABLE_ENDINGS, PARQUET_ENDING, LOG_ENDING, ".json"}:
            advice += "; tables, logs and JSON are read if they are named"
        kinds = ", ".join(sorted(skipped))
        logger.warning(
            "skipped files of other kinds in %s: %d (%s)%s", folder, skipped.total(), kinds, advice
        )
    if links:
        advice = "they may lead out of the folder; follow_links=True, or --follow-links, reads them"
        logger.warning("skipped symbolic links in %s: %d; %s", folder, links, advice)
    if not files and not allow_empty:
        endings = ", ".join(sorted(wanted))
        raise UnreadableFileError(
            f"{folder} holds no file that can be read: expected files that end in {endings}"
        )
    return files


# Files of records


def _read_records(
    path: Path, records: Iterable[tuple[str, Any]]
) -> Iterator[Document | UnreadableFileError]:
    """Yield the documents of records, or of lines that hold them, and errors of the others.

    Errors say the place in the file.
    """
    for place, record in records:
        try:
            with located(f"{path}{place}"):
                if isinstance(record, bytes):
                    record = parse_object(record)
                document = _from_record(record, path)
        except UnreadableFileError as error:
            yield error
        else:
            yield document


def _lines(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[str, bytes]]:
    return ((f":{number}", line) for number, line in lines if line.strip())


def _rows(path: Path, limits: ReadLimits) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a table as records, each with the place where it ends."""
    for row in read_rows(path, limits):
        record: dict[str, Any] = dict(row.cells)
        for name in record.keys() - {*TEXT_FIELDS, *_HEADING, "id"}:
            if number := _NUMBER.fullmatch(record[name]):
                record[name] = float(number[0]) if number[1] else int(number[0])
        text_name = next((name for name in TEXT_FIELDS if name in row.columns), None)
        title = row.title
        if text_name is None:
            record = {"text": row_text(row), "metadata": record}
            title = row_title(row)
        else:
            record = {text_name: ""} | record
        if title and "title" not in row.cells:
            record["title"] = title
        yield row.place, record


def _parquet_rows(path: Path, limits: ReadLimits) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a Parquet file as records, without its columns of vectors."""
    rows = unpack(path, limits)
    about = next(rows)
    if _EXPORT in about["metadata"]:
        raise UnreadableFileError(
            f"{path} is an export of a store, whose documents are cut already: use factoid store "
            "import"
        )
    for number, (row, size) in enumerate(rows, start=1):
        if size > limits.unpacked_bytes:
            limits.refuse(f"{path}, row {number} has", "unpacked_bytes", "bytes")
        for name in about["packed"]:
            del row[name]
        yield f", row {number}", row


def _timed(path: Path, limits: ReadLimits) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the sentences of subtitles or the entries of a log as records.

    Each has the place where it begins.
    """
    if path.suffix.lower() == LOG_ENDING:
        texts: Iterable[TimedText] = read_log(read_text_lines(path, limits))
    else:
        with located(path):
            texts = read_subtitles(decode(read_whole(path, limits), str(path)))
    for timed in texts:
        yield f":{timed.line}", {"text": timed.text, "metadata": timed.metadata}


def _from_record(record: Any, path: Path) -> Document:
    name = (
        next((name for name in TEXT_FIELDS if name in record), None)
        if isinstance(record, dict)
        else None
    )
    if name is None:
        raise InvalidInputError(f'expected an object with a field "text", got {shown(record)}')
    fields = dict(record)
    text = fields.pop(name)
    metadata = fields.pop("metadata", None)
    metadata = {} if metadata is None else metadata
    if not isinstance(metadata, dict):
        raise InvalidInputError(f'expected an object in "metadata", got {shown(metadata)}')
    strings: dict[str, Any] = {
        key: metadata[key] for key in _HEADING if isinstance(metadata.get(key), str)
    }
    for key in (*_HEADING, "id"):
        if (value := fields.pop(key, None)) is not None:
            strings[key] = value
    if type(strings.get("id")) is int:
        strings["id"] = str(strings["id"])
    metadata = fields | metadata  # the remaining fields are the user's own
    document = Document(text, **strings, metadata=metadata)
    # Added after the id is made: the same content at another path is the same document.
    return replace(document, metadata={"source": path.as_posix(), **metadata})


# Files of one document: text, title and metadata


def _parse_text(raw: bytes, place: str, limits: ReadLimits) -> tuple[str, str, dict[str, Any]]:
    text = decode(raw, place)
    return text, *_front_matter(text, place, limits)


def _convert(path: Path, limits: ReadLimits) -> tuple[str, str, dict[str, Any]]:
    if find_spec("markitdown") is None:
        require("markitdown", extra=EXTRA)  # says how to install it
    converted: list[list[str]] = []
    run_isolated(convert, path, limits, converted.append)
    ((text, title),) = converted
    if not text.strip():
        raise UnreadableFileError(
            f"{path} holds no text: pages that are pictures have to be recognized first (OCR)"
        )
    # A page's heading goes before its title for browsers ("Vasa - Wikipedia").
    if _FIRST_HEADING.search(text):
        title = ""
    return text, title, _titled(title)


def _pdf(path: Path, limits: ReadLimits) -> tuple[str, str, dict[str, Any]]:
    """Return the clean text of a PDF as Markdown, with its tables in their places.

    `factoid clean` prints the same.
    """
    document = clean(read_pdf(path, limits=limits))
    parts: list[str] = []
    for part in document.parts:
        if part.table:
            parts.append(table_markdown(part.table))
        elif part.text:
            parts.append(escaped(part.text, lines=False))
    text = "\n\n".join(parts)
    if not text.strip():
        raise UnreadableFileError(
            f"{path} holds no text: pages that are pictures have to be recognized first (OCR)"
        )
    title = document.title
    if _FIRST_HEADING.search(text):
        title = ""
    return text, title, _titled(title)


def _titled(title: str) -> dict[str, Any]:
    """Return metadata of a converted file: with its title, as front matter gives it."""
    if title:
        return {"title": title, **_MARKDOWN}
    return dict(_MARKDOWN)


def _front_matter(text: str, place: str, limits: ReadLimits) -> tuple[str, dict[str, Any]]:
    """Return title and metadata from the front matter of a text, which keeps it."""
    fields, _ = front_matter(text, place=place, depth=limits.depth)
    try:
        metadata = plain_metadata(fields)
    except InvalidInputError as error:
        logger.warning("%s: its front matter gives no metadata: %s", place, error)
        return "", {}
    return title_of(metadata), metadata
