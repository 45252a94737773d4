"""Copy archives of markup (DOCX, PPTX, EPUB) with nothing but the markup.

No more of it is copied than the limits allow.
"""

from __future__ import annotations

import posixpath
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile, ZipInfo

from factoid.errors import UnreadableFileError
from factoid.files.limits import ReadLimits
from factoid.files.lines import open_file
from factoid.files.safe_markup import check_xml, regular_html

_CHUNK = 1 << 16
_CONTAINER = "META-INF/container.xml"
# KeyError: it lacks a member. NotImplementedError and RuntimeError: an unknown compression, a
# password.
_DAMAGE = (
    BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
    struct.error,
)


class _Archive:
    """A zip file, of which no more is unpacked in total than the limit of bytes."""

    def __init__(self, file: BinaryIO, path: Path, limits: ReadLimits) -> None:
        self._file = file
        self._path = path
        self._limits = limits
        self._zip = ZipFile(file)
        self.names = list(dict.fromkeys(self._zip.namelist()))
        self._unpacked = 0

    def check_sizes(self, names: Iterable[str]) -> None:
        """Refuse members whose sizes are above the limit together.

        The directory states them.
        """
        self._check(sum(self._zip.getinfo(name).file_size for name in names))

    def read(self, name: str) -> bytes:
        """Unpack a member; the sizes that the directory states may be wrong."""
        content = bytearray()
        info = self._zip.getinfo(name)
        self._mend_name(info)
        with self._zip.open(info) as member:
            while chunk := member.read(_CHUNK):
                content += chunk
                self._unpacked += len(chunk)
                self._check(self._unpacked)
        return bytes(content)

    def _check(self, size: int) -> None:
        if size > self._limits.unpacked_bytes:
            self._limits.refuse(
                f"{self._path} unpacks to", "unpacked_bytes", "bytes of text and markup"
            )

    def _mend_name(self, info: ZipInfo) -> None:
        """Take the name before a member's content for its name.

        Some programs write it in another case than the directory.
        """
        self._file.seek(info.header_offset)
        header = self._file.read(30)
        if len(header) == 30:
            (length,) = struct.unpack_from("<H", header, 26)
            encoding = "utf-8" if info.flag_bits & 0x800 else "cp437"
            name = self._file.read(length).decode(encoding, "replace")
            if name.lower() == info.orig_filename.lower():
                info.orig_filename = name


@contextmanager
def repack_office(path: Path, limits: ReadLimits) -> Iterator[BinaryIO]:
    """Open a DOCX or PPTX without its pictures, fonts and other files that are no text.

    Raises:
        UnreadableFileError: The file is missing, damaged or above a limit.
    """
    with _opened(path, limits) as archive:
        markup = {name for name in archive.names if name.lower().endswith((".xml", ".rels"))}
        archive.check_sizes(markup)

        def read(name: str) -> bytes:
            if name not in markup:
                return b""
            content = archive.read(name)
            counts = check_xml(content, f"{path}: {name}", limits)
            if counts["sldId"] > limits.pages:
                limits.refuse(f"{path} has", "pages", "slides")
            return content

        copy = _copied(archive.names, read)
    with copy:
        yield copy


@contextmanager
def repack_book(path: Path, limits: ReadLimits) -> Iterator[BinaryIO]:
    """Open an EPUB with nothing but its chapters, as regular HTML.

    Raises:
        UnreadableFileError: The file is missing, damaged or above a limit.
    """
    contents: dict[str, bytes] = {}
    chapters: list[str] = []
    with _opened(path, limits) as archive:

        def read_xml(name: str) -> Counter[str]:
            contents[name] = archive.read(name)
            return check_xml(contents[name], f"{path}: {name}", limits)

        read_xml(_CONTAINER)
        for package in _package_names(contents[_CONTAINER]):
            counts = read_xml(package)
            if counts["itemref"] > limits.pages:
                limits.refuse(f"{path} has", "pages", "chapters")
            chapters += _chapters(contents[package], posixpath.dirname(package), {*archive.names})
        # one that is listed twice counts twice: it is converted twice
        archive.check_sizes(chapters)
        for name in dict.fromkeys(chapters):
            contents[name] = regular_html(archive.read(name), f"{path}: {name}", limits)
    with _copied(contents, contents.__getitem__) as copy:
        yield copy


@contextmanager
def _opened(path: Path, limits: ReadLimits) -> Iterator[_Archive]:
    with open_file(path) as file:
        try:
            yield _Archive(file, path, limits)
        except UnreadableFileError:
            raise
        except _DAMAGE as error:
            raise UnreadableFileError(
                f"{path} cannot be converted: it is no archive, or damaged: {error}"
            ) from error


def _copied(names: Iterable[str], read: Callable[[str], bytes]) -> BytesIO:
    """Return an archive with members of these names, not compressed."""
    copy = BytesIO()
    with ZipFile(copy, "w") as out:
        for name in names:
            out.writestr(name, read(name))
    copy.seek(0)
    return copy


def _package_names(container: bytes) -> list[str]:
    """Return the names of the packages that the container of an EPUB lists."""
    elements = _elements(container, "rootfile")
    names = []
    for fields in elements:
        if "full-path" in fields:
            names.append(fields["full-path"])
    return names


def _chapters(package: bytes, folder: str, names: set[str]) -> list[str]:
    """Return the names of an EPUB's chapters in the order of reading.

    markitdown finds them so.
    """
    addresses = {
        fields.get("id", ""): fields.get("href", "") for fields in _elements(package, "item")
    }
    chapters = []
    for fields in _elements(package, "itemref"):
        address = addresses.get(fields.get("idref", ""))
        if address is not None:
            candidates = []
            for name in (unquote(address), address):
                candidates.append(posixpath.normpath(posixpath.join(folder, name)))
            chapters += [name for name in candidates if name in names][:1]
    return chapters


def _elements(content: bytes, wanted: str) -> list[dict[str, str]]:
    """Return the attributes of all elements of one name."""
    elements: list[dict[str, str]] = []

    def start(name: str, fields: dict[str, str]) -> None:
        if name.rpartition(":")[2] == wanted:
            elements.append(fields)

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.Parse(content, True)
    return elements
