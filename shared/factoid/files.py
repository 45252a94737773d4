"""Text, Markdown and JSONL files into documents, one after the other.

All files are UTF-8, with or without a byte order mark. Line ends are kept as they are, because spans count them. The id
of a text file comes from where it lies, so that an edited file replaces its old version in a store; the id of a JSONL
line is its own, or comes from its content.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.units import Document, content_id

TEXT_ENDINGS = frozenset({".txt", ".text", ".md", ".markdown", ".rst"})
JSONL_ENDING = ".jsonl"

_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_SNIFFED = 8192  # bytes in which a NUL tells a binary file from a text in another encoding
_TEXT_FIELDS = ("text", "content", "page_content")

logger = logging.getLogger(__name__)


def read_documents(paths: Iterable[str | Path]) -> Iterator[Document]:
    """Yield the documents of files and folders; one file is in memory at a time, of a JSONL file one line.

    Args:
        paths: As for `find_files`.

    Raises:
        UnreadableFileError: A file that is missing, binary, not UTF-8, or a JSONL line that holds no document. What
            `find_files` refuses is refused before the first document.
    """
    files = find_files(paths)
    return (document for file in files for document in read_file(file))


def find_files(paths: Iterable[str | Path]) -> list[Path]:
    """List the files to read.

    Args:
        paths: Files, read whatever their ending, and folders. In folders, and the folders in them, all files that end
            in .txt, .text, .md, .markdown, .rst or .jsonl count, in order of their names; hidden ones are left out, and
            others are counted in a warning.

    Raises:
        UnreadableFileError: A path that is neither file nor folder, or a folder without any such file.
    """
    found: dict[Path, None] = {}  # a file that is named twice is read once
    for path in map(Path, paths):
        try:
            is_folder, is_file = path.is_dir(), path.is_file()
        except (OSError, ValueError) as error:  # names that are too long, or hold a NUL
            message = f"{str(path)!r} cannot be opened: {error}"
            raise UnreadableFileError(message) from error
        if is_folder:
            found.update(dict.fromkeys(_readable(path)))
        elif is_file:
            found[path] = None
        else:
            message = f"{path} is neither a file nor a folder" if path.exists() else f"{path} does not exist"
            raise UnreadableFileError(message)
    return list(found)


def read_file(path: str | Path) -> Iterator[Document]:
    """Yield the documents of one file: one for a text, one for each line of a JSONL file that is not blank.

    A JSONL line is an object. `text` (or `content`, `page_content`) is required; `title`, `section`, `id` and
    `metadata` are optional, title and section also inside `metadata`; other fields become metadata.
    `metadata["source"]` is the path as given, unless the line has its own.

    Raises:
        UnreadableFileError: See `read_documents`.
    """
    path = Path(path)
    if path.suffix.lower() == JSONL_ENDING:
        yield from _read_jsonl(path)
        return
    try:
        raw = path.read_bytes()
        own = content_id("file", path.resolve().as_posix())
    except OSError as error:
        _refuse(path, error)
    yield Document(_decode(raw, str(path)), id=own, metadata={"source": path.as_posix()})


def _readable(folder: Path) -> list[Path]:
    found: list[Path] = []
    skipped: Counter[str] = Counter()
    # Path.walk is younger than the oldest Python we support. Links to folders are not followed: they can make circles.
    for root, folders, names in os.walk(folder, onerror=lambda error: _refuse(folder, error)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".")):
            path = Path(root, name)
            ending = path.suffix.lower()
            if ending not in TEXT_ENDINGS and ending != JSONL_ENDING:
                skipped[ending or "no ending"] += 1
            elif path.is_file():
                found.append(path)
    if skipped:
        kinds = ", ".join(f"{count} {ending}" for ending, count in sorted(skipped.items()))
        what = "file of another kind" if skipped.total() == 1 else "files of other kinds"
        logger.warning("skipped %d %s in %s (%s)", skipped.total(), what, folder, kinds)
    if not found:
        endings = ", ".join([*sorted(TEXT_ENDINGS), JSONL_ENDING])
        message = f"{folder} holds no file that can be read: expected files that end in {endings}"
        raise UnreadableFileError(message)
    return found


def _read_jsonl(path: Path) -> Iterator[Document]:
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.removeprefix(_BOM).strip():
                    yield _parse(_decode(line, f"{path}:{number}"), path, number)
    except UnreadableFileError:
        raise
    except OSError as error:
        _refuse(path, error)


def _parse(line: str, path: Path, number: int) -> Document:
    place = f"{path}:{number}"
    try:
        record = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
        message = f"{place}: not JSON: {reason}"
        raise UnreadableFileError(message) from error
    if not isinstance(record, dict):
        message = f'{place}: expected an object such as {{"text": "…"}}, got {_kind(record)}'
        raise UnreadableFileError(message)
    name = next((name for name in _TEXT_FIELDS if name in record), None)
    if name is None:
        fields = ", ".join(map(repr, list(record)[:5])) or "an empty object"
        message = f'{place}: expected a field "text", got {fields}'
        raise UnreadableFileError(message)
    metadata = record.pop("metadata", None)
    if metadata is None:
        metadata = {}
    elif not isinstance(metadata, dict):
        message = f'{place}: expected an object in "metadata", got {_kind(metadata)}'
        raise UnreadableFileError(message)
    text = _string(record, name, place)
    title, section = (_string(record, name, place, _own(metadata, name)) for name in ("title", "section"))
    if type(record.get("id")) is int:
        record["id"] = str(record["id"])
    own = _string(record, "id", place, "")
    metadata = {**record, **metadata}  # what is left are fields of the user's own
    try:
        document = Document(text, title, section, own, metadata)
    except InvalidInputError as error:
        message = f"{place}: {error}"
        raise UnreadableFileError(message) from error
    # Added after the id is made: the same content at another path is the same document.
    return replace(document, metadata={"source": path.as_posix(), **metadata})


def _string(record: dict[str, object], name: str, place: str, default: str | None = None) -> str:
    """Take a string out of a record. Null is the same as absent where there is a default."""
    value = record.pop(name, None)
    if value is None:
        value = default
    if not isinstance(value, str):
        message = f'{place}: expected a string in "{name}", got {_kind(value)}'
        raise UnreadableFileError(message)
    return value


def _own(metadata: dict[str, object], name: str) -> str:
    value = metadata.get(name)
    return value if isinstance(value, str) else ""


def _kind(value: object) -> str:
    names = {bool: "true or false", str: "a string", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "a number")


def _decode(raw: bytes, place: str) -> str:
    try:
        return raw.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        if raw.startswith(_UTF16_BOMS):
            message = f"{place} is UTF-16: convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8"
        elif b"\0" in raw[:_SNIFFED]:
            message = f"{place} is a binary file: expected text in UTF-8"
        else:
            message = (
                f"{place} is not UTF-8: byte {error.object[error.start]:#04x} at offset {error.start}. "
                "Convert it, for example with iconv -f LATIN1 -t UTF-8"
            )
        raise UnreadableFileError(message) from error


def _refuse(path: Path, error: OSError) -> NoReturn:
    message = f"{error.filename or path} cannot be read: {error.strerror or error}"
    raise UnreadableFileError(message) from error


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is no JSON number"
    raise ValueError(message)
