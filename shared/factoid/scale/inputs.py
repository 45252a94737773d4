"""The input of a build: which files there are, and their documents, a shard's worth at a time.

Files lie on this machine's disks or at any address of fsspec. They are grouped into parts: small
files together, a large one alone. The shards of a part are numbered, and a shard never spans two
parts, so that parts can be read at the same time and any shard be made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from factoid.entities.articles.article import Article
from factoid.entities.importers import MediaWikiDump, read_kilt
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.atomic import temporary_folder
from factoid.files.limits import ReadLimits
from factoid.files.lines import filled_lines, parse_object, visible_files
from factoid.files.readers import (
    PARQUET_ENDING,
    STDIN,
    TABLE_ENDINGS,
    ending_of,
    find_files,
    found_endings,
    read_each,
)
from factoid.scale.folders import is_url, resolve
from factoid.scale.shards import Failure
from factoid.units import Document, content_id

DUMP_ENDINGS = frozenset({".xml", ".gz", ".bz2", ".xz"})  # .gz and others: but for JSON lines
_MORE = frozenset({PARQUET_ENDING, *TABLE_ENDINGS, ".xml", ".bz2"})  # found in folders, too
_MAGIC = frozenset("*?[")
_PREFIX = "factoid-input-"  # of temporary folders
_LEAST = 100  # characters as which a document counts, be it as short as it may
_FIELDS = ("text", "title", "section", "id", "metadata")


# -- Which files --


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of the input.

    Attributes:
        address: As it was given, or found in a folder that was given.
        place: Its whole path, so that it is found from any folder; for a URL the address.
        size: In bytes.
        stamp: Changes when the file does: what the file system says of its last change.
    """

    address: str
    place: str
    size: int
    stamp: str

    @property
    def identity(self) -> str:
        """Tells whether two files are one: the place without links."""
        if is_url(self.place):
            return self.place
        return str(Path(self.place).resolve())


def find_inputs(
    addresses: Iterable[str | Path],
    *,
    options: Mapping[str, Any],
    follow_links: bool = False,
    without: Path | None = None,
) -> list[InputFile]:
    """List the files of the input, in the order of the addresses and, in folders, of names.

    In folders are found what `factoid.files.readers.find_files` finds, tables, Parquet files and
    dumps.

    Args:
        addresses: Paths of files and folders, or addresses of fsspec, also with wildcards.
        options: What fsspec's file systems take.
        follow_links: Follow symbolic links in folders.
        without: A folder whose files do not belong to the input: that of the output.

    Raises:
        UnreadableFileError: There is nothing at an address, or a folder holds no such file.
        InvalidInputError: An address is that of standard input, or there are none.
    """
    files: dict[str, InputFile] = {}
    for address in addresses:
        if str(address) == STDIN:
            raise InvalidInputError(
                "a build reads files: standard input cannot be read again after an interruption"
            )
        if isinstance(address, str) and is_url(address):
            listed: Iterable[InputFile] = _remote_files(address, options)
        else:
            listed = _local_files(Path(address), follow_links, without)
        for file in listed:
            files.setdefault(file.identity, file)
    if not files:
        raise InvalidInputError("there is no input: name files, folders or addresses of them")
    return list(files.values())


def _local_files(path: Path, follow_links: bool, without: Path | None) -> Iterator[InputFile]:
    beside: set[Path] = set()
    if without is not None and path.is_dir() and _is_below(without, path):
        beside = {file.resolve() for file in visible_files(without.resolve())}
    for file in find_files([path], follow_links=follow_links, more_endings=_MORE):
        if file.resolve() not in beside:
            status = file.stat()
            stamp = str(status.st_mtime_ns)
            yield InputFile(file.as_posix(), str(file.absolute()), status.st_size, stamp)


def _is_below(path: Path, folder: Path) -> bool:
    return path.exists() and path.resolve().is_relative_to(folder.resolve())


def _remote_files(address: str, options: Mapping[str, Any]) -> Iterator[InputFile]:
    system, path = resolve(address, options)
    try:
        if _MAGIC & {*path}:
            entries = system.glob(path, detail=True)
        elif system.isdir(path):
            entries = system.find(path, detail=True)
            wanted = found_endings() | _MORE
            for name in list(entries):
                below = name.removeprefix(path)
                is_hidden = any(part.startswith(".") for part in below.split("/"))
                if is_hidden or ending_of(Path(name)) not in wanted:
                    del entries[name]
        else:
            entries = {path: system.info(path)}
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else str(error)
        raise UnreadableFileError(f"{address} {reason}") from error
    files = {}
    for name, info in entries.items():
        if info.get("type") != "directory":
            files[name] = info
    if not files:
        raise UnreadableFileError(f"{address} holds no file that can be read")
    for name, info in sorted(files.items()):
        url = system.unstrip_protocol(name)
        yield InputFile(url, url, int(info.get("size") or 0), _stamp(info))


def _stamp(info: Mapping[str, Any]) -> str:
    """Return what a file system says of a file's last change."""
    for name in ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "created"):
        if info.get(name):
            return str(info[name])
    return ""


def describe_inputs(files: Sequence[InputFile]) -> dict[str, Any]:
    """Return what tells one input from another, for the record of a build."""
    total = sum(file.size for file in files)
    return {
        "files": len(files),
        "bytes": total,
        "digest": content_id(*(list(asdict(file).values()) for file in files)),
    }


# -- Parts --


@dataclass(frozen=True, slots=True)
class Part:
    """Files that are read one after the other."""

    number: int
    files: Sequence[InputFile]

    @property
    def size(self) -> int:
        """The bytes of its files."""
        return sum(file.size for file in self.files)

    def shard(self, number: int) -> str:
        """Return the name of one of its shards."""
        return f"part-{self.number:06}-{number:06}"


def parts_of(files: Iterable[InputFile], size: int) -> list[Part]:
    """Group files into parts of about a size in bytes, in their order."""
    parts: list[Part] = []
    group: list[InputFile] = []
    bytes_in_group = 0
    for file in files:
        if group and bytes_in_group + file.size > size:
            parts.append(Part(len(parts), group))
            group = []
            bytes_in_group = 0
        group.append(file)
        bytes_in_group += file.size
    if group:
        parts.append(Part(len(parts), group))
    return parts


# -- Documents --


class Portion(NamedTuple):
    """The documents of one shard.

    Attributes:
        name: That of the shard.
        documents: Each with the place where it was read.
        failures: What is no document.
        is_last: Whether it is the last shard of its part.
    """

    name: str
    documents: list[tuple[str, Document]]
    failures: list[Failure]
    is_last: bool

    @property
    def characters(self) -> int:
        """The characters of all texts."""
        return sum(len(document.text) for _, document in self.documents)

    def to_json(self) -> bytes:
        """Return the portion as it is sent to a worker."""
        documents = []
        for place, document in self.documents:
            fields = [getattr(document, name) for name in _FIELDS[:-1]]
            documents.append([place, *fields, dict(document.metadata)])
        failures = [asdict(failure) for failure in self.failures]
        return json.dumps([self.name, documents, failures, self.is_last]).encode()

    @classmethod
    def from_json(cls, content: bytes) -> Portion:
        """Return the portion that was sent."""
        name, documents, failures, is_last = json.loads(content)
        pairs = []
        for place, *fields in documents:
            pairs.append((place, Document(*fields)))
        return cls(name, pairs, [Failure(**failure) for failure in failures], is_last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the input is read.

    Attributes:
        shard_characters: A shard ends with the document that brings it to so many.
        most_characters: A longer document is a failure.
        limits: Of what a file may ask for.
        options: What fsspec's file systems take.
    """

    shard_characters: int
    most_characters: int
    limits: ReadLimits
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def portions(self, part: Part, done: AbstractSet[str] = frozenset()) -> Iterator[Portion]:
        """Yield the documents of the shards of a part, but for those that are done.

        There is at least one shard, though it may hold nothing.
        """
        number = 0
        portion = Portion(part.shard(0), [], [], False)
        size = 0
        for outcome in self._outcomes(part):
            if size >= self.shard_characters:
                if portion.name not in done:
                    yield portion
                number += 1
                portion = Portion(part.shard(number), [], [], False)
                size = 0
            if isinstance(outcome, Failure):
                portion.failures.append(outcome)
                size += _LEAST
            else:
                portion.documents.append(outcome)
                size += max(_LEAST, len(outcome[1].text))
        if portion.name not in done:
            yield portion._replace(is_last=True)

    def _outcomes(self, part: Part) -> Iterator[tuple[str, Document] | Failure]:
        """Yield the documents of a part with their places, and what is none."""
        for file in part.files:
            number = 0
            try:
                for document in self._read(file):
                    number += 1
                    place = f"{file.address}, document {number}"
                    if isinstance(document, UnreadableFileError):
                        yield Failure(place, "", str(document))
                    elif len(document.text) > self.most_characters:
                        yield Failure(place, document.id, self._too_long(document))
                    else:
                        yield place, document
            except UnreadableFileError as error:
                place = f"{file.address}, after document {number}"
                yield Failure(place, "", str(error))

    def _too_long(self, document: Document) -> str:
        return (
            f"the text has {len(document.text):,} characters, and {self.most_characters:,} are "
            "allowed: cut it, or raise --most-characters (most_characters)"
        )

    def _read(self, file: InputFile) -> Iterator[Document | UnreadableFileError]:
        """Yield the documents of a file as if it lay at its address."""
        with _local_copy(file, self.options) as path:
            document_id = content_id("file", path.resolve().as_posix())
            try:
                for document in _read_file(path, self.limits):
                    if isinstance(document, UnreadableFileError):
                        yield _at_address(document, path, file)
                        continue
                    if document.id == document_id and is_url(file.place):
                        document = replace(document, id=content_id("file", file.place))
                    if document.metadata.get("source") == path.as_posix():
                        metadata = {**document.metadata, "source": file.address}
                        document = replace(document, metadata=metadata)
                    yield document
            except UnreadableFileError as error:
                raise _at_address(error, path, file) from error


def _at_address(error: UnreadableFileError, path: Path, file: InputFile) -> UnreadableFileError:
    """Return an error of a file's copy as one of the file."""
    return UnreadableFileError(str(error).replace(str(path), file.address))


@contextmanager
def _local_copy(file: InputFile, options: Mapping[str, Any]) -> Iterator[Path]:
    """Yield a path at which a file can be read."""
    if not is_url(file.place):
        yield Path(file.place)
        return
    system, path = resolve(file.place, options)
    with temporary_folder(_PREFIX) as folder:
        copy = folder / path.rpartition("/")[2]
        try:
            system.get_file(path, str(copy))
        except OSError as error:
            raise UnreadableFileError(f"{copy} cannot be fetched: {error}") from error
        yield copy


def _read_file(path: Path, limits: ReadLimits) -> Iterator[Document | UnreadableFileError]:
    """Yield the documents of a file by its kind."""
    ending = ending_of(path)
    if ending in DUMP_ENDINGS:
        yield from _articles(MediaWikiDump(path, words=None, limits=limits))
    elif ending == ".json" and _is_kilt(path, limits):
        yield from _articles(read_kilt(path, limits=limits))
    else:
        yield from read_each(path, limits=limits)


def _articles(records: Iterable[object]) -> Iterator[Document]:
    """Yield articles as documents; redirects have no text."""
    for record in records:
        if isinstance(record, Article) and record.text.strip():
            yield Document(record.text, title=record.title)


def _is_kilt(path: Path, limits: ReadLimits) -> bool:
    """Return whether the first line of a file is an article of KILT."""
    for _, line in filled_lines(path, limits):
        try:
            return "wikipedia_title" in parse_object(line)
        except InvalidInputError:
            return False
    return False
