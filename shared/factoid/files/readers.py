"""Reading users' files as documents, one by one: text, Markdown, JSON lines, tables, and formats with a converter.

Text is UTF-8, with or without a byte order mark. Line ends are kept unchanged, because spans count them. The id of a
file with one document comes from the file's path, so that an edited file replaces its old version in a store; the id of a
record (a JSON line, a row of a table) is its own, or comes from its content.
"""

from __future__ import annotations

import logging
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.lines import located, parse_json, parse_object, read_lines, refuse, visible_files
from factoid.files.tables import read_table
from factoid.metadata import plain_metadata
from factoid.sections import FRONT_MATTER
from factoid.units import Document, content_id

STDIN = "-"
TEXT_ENDINGS = frozenset({".txt", ".text", ".md", ".markdown", ".rst"})
JSONL_ENDING = ".jsonl"
TABLE_ENDINGS = frozenset({".csv", ".tsv"})
CONVERTED_ENDINGS = frozenset({".pdf", ".docx", ".pptx", ".html", ".htm", ".epub", ".ipynb"})  # by the extra documents

_EXTRA = "documents"
_TEXT_FIELDS = ("text", "content", "page_content")
_HEADING = ("title", "section")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(\.[0-9]+)?")  # no code ("007"), and short enough for exact floats
_MARKUP = {"<?xml": "XML", "<!doctype html": "HTML", "<html": "HTML", "{\\rtf": "RTF", "%pdf-": "PDF"}
_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_SNIFFED = 8192  # leading bytes in which a NUL shows a binary file, not a text in another encoding
_FIRST_HEADING = re.compile(r"^# ", re.MULTILINE)

logger = logging.getLogger(__name__)


def read_documents(paths: Iterable[str | Path]) -> Iterator[Document]:
    """Yield the documents in files and folders, as `find_files` takes them; one file, or one line, is in memory at a time.

    Raises:
        UnreadableFileError: A file is missing, damaged or of an unknown kind, or a record is not a document. Errors of
            `find_files` come before the first document.
        MissingDependencyError: A file needs the extra `documents`.
    """
    files = find_files(paths)
    return (document for file in files for document in read_file(file))


def find_files(paths: Iterable[str | Path], *, allow_empty: bool = False) -> list[Path]:
    """List the files to read.

    The paths are files, folders, or "-" for standard input. In folders and their subfolders, text, Markdown and JSON lines
    are found, and with the extra `documents` also the formats that it converts, in order of their names. Hidden files are left
    out; others are counted in a warning. Tables (.csv, .tsv) and .json are read only if named.

    Raises:
        UnreadableFileError: A path is neither a file nor a folder, or a folder holds no such file, unless `allow_empty` is set.
    """
    files: dict[Path, None] = {}  # a file that is named twice is read once
    for path in map(Path, paths):
        try:
            is_folder, is_file = path.is_dir(), path.is_file()
        except (OSError, ValueError) as error:  # names that are too long, or hold a NUL
            raise UnreadableFileError(f"{str(path)!r} cannot be opened: {error}") from error
        if is_folder:
            files.update(dict.fromkeys(_list_folder(path, allow_empty=allow_empty)))
        elif is_file or str(path) == STDIN:
            files[path] = None
        else:
            what = "is neither a file nor a folder" if path.exists() else "does not exist"
            raise UnreadableFileError(f"{path} {what}")
    return list(files)


def read_file(path: str | Path) -> Iterator[Document]:
    """Yield the documents of one file.

    docs/cli.md lists the kinds of files and their fields. Title and section may also stand inside `metadata`. The id of
    standard input ("-") comes from the content. `metadata["source"]` is the path as given, unless the file has its own.

    Raises:
        UnreadableFileError, MissingDependencyError: See `read_documents`.
    """
    path = Path(path)
    ending = path.suffix.lower()
    try:
        if str(path) == STDIN:
            raw = sys.stdin.buffer.read()
            if raw.removeprefix(_BOM).lstrip().startswith(b"{"):
                yield from _read_records(path, _lines(enumerate(raw.splitlines(), start=1)))
            else:
                text, title, metadata = _parse_text(raw, "standard input")
                yield Document(text, title, metadata={"source": STDIN, **metadata})
        elif ending == JSONL_ENDING:
            yield from _read_records(path, _lines(read_lines(path)))
        elif ending == ".json":
            yield from _read_records(path, _objects(path))
        elif ending in TABLE_ENDINGS:
            yield from _read_records(path, _rows(path))
        else:
            document_id = content_id("file", path.resolve().as_posix())
            with located(path):
                is_converted = ending in CONVERTED_ENDINGS
                text, title, metadata = _convert(path) if is_converted else _parse_text(path.read_bytes(), str(path))
                document = Document(text, title, id=document_id, metadata={"source": path.as_posix(), **metadata})
            yield document
    except UnreadableFileError:
        raise
    except OSError as error:
        refuse(path, error)


def _list_folder(folder: Path, *, allow_empty: bool) -> list[Path]:
    wanted = TEXT_ENDINGS | {JSONL_ENDING} | (CONVERTED_ENDINGS if find_spec("markitdown") else frozenset())
    files: list[Path] = []
    skipped: Counter[str] = Counter()
    for path in visible_files(folder):
        ending = path.suffix.lower()
        if ending in wanted:
            files.append(path)
        else:
            skipped[ending or "no ending"] += 1
    if skipped:
        kinds = ", ".join(f"{count} {ending}" for ending, count in sorted(skipped.items()))
        advice = f'; some are read after: pip install "factoid[{_EXTRA}]"' if skipped.keys() & CONVERTED_ENDINGS else ""
        noun = "file of another kind" if skipped.total() == 1 else "files of other kinds"
        logger.warning("skipped %d %s in %s (%s)%s", skipped.total(), noun, folder, kinds, advice)
    if not files and not allow_empty:
        endings = ", ".join(sorted(wanted))
        raise UnreadableFileError(f"{folder} holds no file that can be read: expected files that end in {endings}")
    return files


# Files of records


def _read_records(path: Path, records: Iterable[tuple[str, Any]]) -> Iterator[Document]:
    """Yield the documents of records, or of lines that hold them; errors say the place in the file."""
    for place, record in records:
        with located(f"{path}{place}"):
            document = _from_record(parse_object(record) if isinstance(record, bytes) else record, path)
        yield document


def _lines(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[str, bytes]]:
    return ((f":{number}", line) for number, line in lines if line.strip())


def _objects(path: Path) -> Iterator[tuple[str, Any]]:
    with located(path):
        content = parse_json(path.read_bytes())
    records = content if isinstance(content, list) else [content]
    return ((f": object {number}", record) for number, record in enumerate(records, start=1))


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    names, rows = read_table(path)
    text_name = next((name for name in _TEXT_FIELDS if name in names), None)
    for line, cells in rows:
        record: dict[str, Any] = {name: cell.strip() for name, cell in cells.items() if cell.strip()}
        text = "\n".join(f"{name}: {cell}" for name, cell in record.items())
        for name in record.keys() - {*_TEXT_FIELDS, *_HEADING, "id"}:
            if number := _NUMBER.fullmatch(record[name]):
                record[name] = float(number[0]) if number[1] else int(number[0])
        yield f":{line}", {text_name: ""} | record if text_name else {"text": text, "metadata": record}


def _from_record(record: Any, path: Path) -> Document:
    name = next((name for name in _TEXT_FIELDS if name in record), None) if isinstance(record, dict) else None
    if name is None:
        raise InvalidInputError(f'expected an object with a field "text", got {record!r:.60}')
    fields = dict(record)
    text, metadata = fields.pop(name), fields.pop("metadata", None)
    metadata = {} if metadata is None else metadata
    if not isinstance(metadata, dict):
        raise InvalidInputError(f'expected an object in "metadata", got {metadata!r:.60}')
    strings: dict[str, Any] = {key: metadata[key] for key in _HEADING if isinstance(metadata.get(key), str)}
    strings |= {key: value for key in (*_HEADING, "id") if (value := fields.pop(key, None)) is not None}
    if type(strings.get("id")) is int:
        strings["id"] = str(strings["id"])
    metadata = fields | metadata  # the remaining fields are the user's own
    document = Document(text, **strings, metadata=metadata)
    # Added after the id is made: the same content at another path is the same document.
    return replace(document, metadata={"source": path.as_posix(), **metadata})


# Files of one document: text, title and metadata


def _parse_text(raw: bytes, place: str) -> tuple[str, str, dict[str, Any]]:
    text = decode(raw, place)
    start = text[:64].lstrip().lower()
    if kind := next((kind for mark, kind in _MARKUP.items() if start.startswith(mark)), None):
        raise UnreadableFileError(
            f"{place} is {kind}, not text: give a file the ending of its kind, or convert it to Markdown"
        )
    return text, *_front_matter(text, place)


def _convert(path: Path) -> tuple[str, str, dict[str, Any]]:
    markitdown = require("markitdown", extra=_EXTRA)
    with path.open("rb") as file:
        try:
            result = _converter().convert_stream(file, file_extension=path.suffix.lower())
        except markitdown.MarkItDownException as error:
            reason = str(error).strip().splitlines()[-1].strip(" -")
            raise UnreadableFileError(f"{path} cannot be converted: {reason}") from error
    text: str = result.markdown
    if not text.strip():
        raise UnreadableFileError(f"{path} holds no text: pages that are pictures have to be recognized first (OCR)")
    # A page's heading goes before its title for browsers ("Vasa - Wikipedia").
    return text, "" if _FIRST_HEADING.search(text) else result.title or "", {}


@cache
def _converter() -> Any:
    markitdown = require("markitdown", extra=_EXTRA)
    converters = import_module("markitdown.converters")
    # Only these: the converter for plain text would take a damaged archive for text.
    converter = markitdown.MarkItDown(enable_builtins=False, enable_plugins=False)
    for kind in ("Pdf", "Docx", "Pptx", "Html", "Epub", "Ipynb"):
        converter.register_converter(getattr(converters, f"{kind}Converter")())
    return converter


def _front_matter(text: str, place: str) -> tuple[str, dict[str, Any]]:
    """Return title and metadata from YAML between lines of "---" at the beginning of a text; the text keeps it."""
    matter = FRONT_MATTER.match(text)
    if matter is None:
        return "", {}
    import yaml

    block = matter[0].strip().strip("-")
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(block)):
            raise yaml.YAMLError("aliases are not read")
        fields = yaml.safe_load(block)
        fields = fields if isinstance(fields, dict) else {}
        metadata = plain_metadata({str(name): value for name, value in fields.items()})
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: the 30th of February
        reason = " ".join(str(getattr(error, "problem", None) or error).split())
        logger.warning("%s: its front matter is not YAML and gives no metadata: %s", place, reason)
        return "", {}
    title = metadata.pop("title", None)
    return "" if title is None else str(title), metadata


def decode(raw: bytes, place: str) -> str:
    """Return bytes as text, without a byte order mark."""
    try:
        return raw.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        if raw.startswith(_UTF16_BOMS):
            message = f"{place} is UTF-16: convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8"
        elif b"\0" in raw[:_SNIFFED]:
            message = f"{place} is a binary file: expected text in UTF-8"
        else:
            byte = f"byte {error.object[error.start]:#04x} at offset {error.start}"
            message = f"{place} is not UTF-8: {byte}. Convert it, for example with iconv -f LATIN1 -t UTF-8"
        raise UnreadableFileError(message) from error
