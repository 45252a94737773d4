"""Shards: the units of a part of a corpus, with their vectors, in one Parquet file each.

A folder of shards may lie at any address that fsspec knows. It holds for each shard

* `NAME.parquet`, with the columns and the metadata of `factoid store export`, so that
  `factoid store import` reads it as well. One row is one unit, parents before their children; after
  the units of all documents come the documents, rows of granularity "document" whose `payload` is
  the digest of how they were added (empty if they have to be made again);
* `NAME.json`, its manifest: how many rows there are of each kind, the size and SHA-256 of the
  Parquet file, and the documents that could not be made, each with its error.

The manifest is written first. The Parquet file gets its name when it is whole, which is the record
that the shard is done: what lies there under another name was left by a process that was killed.
Equal content gives equal bytes with one version of pyarrow.

| column | type | |
|---|---|---|
| `id`, `document_id`, `parent_id` | string | as in `Unit` |
| `text`, `visible`, `title`, `section`, `payload` | string | as in `Unit` |
| `granularity` | string | passage, sentence, proposition; document |
| `start`, `end` | int64 | span in characters of the document's text |
| `metadata` | string | a JSON object |
| `vector` | list of float32 | null for a unit that is not searched, and for documents |
| `checksum` | int64 | of the row's number and values |

The Parquet file's own metadata say under "factoid", as JSON, what made the vectors: `encoder`,
`embed_template`, `embed_metadata`, `late_chunking`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from factoid._optional import require
from factoid.encode import Vectors
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.lines import located, parse_object
from factoid.scale.folders import Folder
from factoid.store.database.snapshot import StoredUnit
from factoid.store.transfer.exports import as_record, described, numbered, write_parquet
from factoid.units import Document, Granularity, Unit
from factoid.words import count_words

SHARD = ".parquet"
MANIFEST = ".json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_FORMAT = 1
_AGAIN = "Remove it and build again"

Identity = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that could not be made, and is in no shard."""

    place: str  # where it was read, such as "articles.jsonl:17"
    document_id: str  # empty if it could not even be read
    error: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a shard holds."""

    name: str
    documents: int
    units: Mapping[Granularity, int]  # by granularity, those without vectors, too
    words: Mapping[Granularity, int]  # in the texts of these units
    vectors: int
    dim: int  # of the vectors; 0 if there are none
    size: int  # of the Parquet file, in bytes
    sha256: str  # of the Parquet file
    identity: Identity  # what made the vectors, as a store records it
    failures: Sequence[Failure] = ()
    details: Mapping[str, Any] = field(default_factory=dict)  # of whoever wrote the shard

    @property
    def records(self) -> int:
        """The rows of the Parquet file."""
        return self.documents + sum(self.units.values())

    def to_json(self) -> bytes:
        """Return the manifest as its file holds it."""
        content = {"format": _FORMAT, **asdict(self)}
        return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()

    @classmethod
    def from_json(cls, content: bytes, place: str) -> Manifest:
        """Return the manifest that a file holds.

        Raises:
            UnreadableFileError: It is none, or one of another version.
        """
        with located(place):
            fields = parse_object(content)
            try:
                if fields.pop("format") != _FORMAT:
                    raise InvalidInputError("the manifest has another format than this version's")
                fields["failures"] = [Failure(**failure) for failure in fields["failures"]]
                for name in ("units", "words"):
                    fields[name] = {Granularity(key): n for key, n in fields[name].items()}
                return cls(**fields)
            except (KeyError, TypeError, AttributeError) as error:
                raise InvalidInputError(f"expected the manifest of a shard: {error}") from error


class ShardContent(NamedTuple):
    """The rows of a shard."""

    units: list[StoredUnit]  # parents before their children, document by document
    documents: list[tuple[Document, str]]  # each with the digest of how it was added


@dataclass(frozen=True, slots=True)
class Shard:
    """A finished shard in a folder."""

    folder: Folder
    manifest: Manifest

    @property
    def place(self) -> str:
        """The address of its Parquet file."""
        return self.folder.place(self.manifest.name + SHARD)

    def read(self) -> ShardContent:
        """Return the rows of the shard, all in memory.

        Raises:
            UnreadableFileError: The file is missing, or is not the one that was written.
            MissingDependencyError: pyarrow is not installed.
        """
        parquet = require("pyarrow.parquet", extra="parquet")
        with self.folder.fetched(self.manifest.name + SHARD) as file:
            if _sha256(file) != self.manifest.sha256:
                raise UnreadableFileError(
                    f"{self.place} differs from what its manifest states. {_AGAIN}"
                )
            content = ShardContent([], [])
            with parquet.ParquetFile(file) as opened:
                for batch in opened.iter_batches():
                    for stored in _rows(batch):
                        _sort_in(content, stored)
        return content

    def digests(self) -> dict[str, str]:
        """Return the digest of each document, by id, without reading or checking the rest.

        Raises:
            UnreadableFileError: The file is missing, or is no Parquet file.
            MissingDependencyError: pyarrow is not installed.
        """
        parquet = require("pyarrow.parquet", extra="parquet")
        documents = [("granularity", "==", Granularity.DOCUMENT.value)]
        columns = ["id", "granularity", "payload"]
        with self.folder.fetched(self.manifest.name + SHARD) as file:
            try:
                table = parquet.read_table(file, columns=columns, filters=documents)
            except (OSError, ValueError) as error:
                raise UnreadableFileError(f"{self.place} cannot be read: {error}") from error
        ids = table.column("id").to_pylist()
        return dict(zip(ids, table.column("payload").to_pylist(), strict=True))


def write_shard(
    folder: Folder,
    name: str,
    units: Sequence[StoredUnit],
    documents: Sequence[tuple[Document, str]],
    *,
    identity: Identity,
    failures: Sequence[Failure] = (),
    details: Mapping[str, Any] | None = None,
) -> Manifest:
    """Write a shard and then its name, and return its manifest.

    Args:
        folder: Where it is written.
        name: Its name; names are read in their order.
        units: Its units with their vectors, parents before their children.
        documents: Its documents, each with the digest of how it was added.
        identity: What made the vectors, as `UnitStore` records it.
        failures: Documents that could not be made.
        details: Further values for the manifest, which JSON can hold.

    Raises:
        InvalidInputError: The name cannot be that of a file, or vectors differ in dimension.
        MissingDependencyError: pyarrow is not installed.
        StoreError: The folder cannot be written to.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInputError(f"a shard is named by letters, digits, - and _, got {name!r:.60}")
    has_vectors = any(unit.vector is not None for unit in units)
    about = described(identity, len(units) + len(documents), vectors=has_vectors)
    records = numbered(chain(units, starmap(as_record, documents)), vectors=has_vectors)
    with folder.writing(name + SHARD) as writing:
        write_parquet(writing.part, about, records)
        manifest = Manifest(
            name=name,
            documents=len(documents),
            units=dict(Counter(unit.granularity for unit, _ in units)),
            words=_words(units),
            vectors=sum(unit.vector is not None for unit in units),
            dim=_dim(units),
            size=writing.part.stat().st_size,
            sha256=_sha256(writing.part),
            identity=dict(identity),
            failures=list(failures),
            details=dict(details or {}),
        )
        folder.write(name + MANIFEST, manifest.to_json())
        writing.finish()
    return manifest


def read_shards(folder: Folder | str | Path) -> list[Shard]:
    """Return the finished shards of a folder, in the order of their names.

    Raises:
        UnreadableFileError: There is no such folder, or a shard has no manifest.
        MissingDependencyError: The address needs a package that is not installed.
    """
    if not isinstance(folder, Folder):
        folder = Folder(folder)
    shards = []
    for file in folder.names():
        if file.endswith(SHARD):
            shards.append(Shard(folder, read_manifest(folder, file.removesuffix(SHARD))))
    return shards


def read_manifest(folder: Folder, name: str) -> Manifest:
    """Return the manifest of a shard.

    Raises:
        UnreadableFileError: It is missing or damaged.
    """
    file = name + MANIFEST
    return Manifest.from_json(folder.read(file), folder.place(file))


def _words(units: Sequence[StoredUnit]) -> dict[Granularity, int]:
    words: Counter[Granularity] = Counter()
    for unit, _ in units:
        words[unit.granularity] += count_words(unit.text)
    return dict(words)


def _dim(units: Sequence[StoredUnit]) -> int:
    """Return the dimension of the vectors; 0 if there are none."""
    dims = {len(unit.vector) for unit in units if unit.vector is not None}
    if len(dims) > 1:
        raise InvalidInputError(f"vectors of one shard have the dimensions {sorted(dims)}")
    return max(dims, default=0)


def _rows(batch: Any) -> Iterator[StoredUnit]:
    """Yield the rows of a batch of a Parquet file."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns.pop("checksum")  # the file's SHA-256 covers it
    vectors = _vectors(columns.pop("vector", None), len(batch))
    values = [column.to_pylist() for column in columns.values()]
    for vector, *row in zip(vectors, *values, strict=True):
        fields = dict(zip(columns, row, strict=True))
        fields["granularity"] = Granularity(fields["granularity"])
        fields["metadata"] = json.loads(fields["metadata"])
        yield StoredUnit(Unit(**fields), vector)


def _vectors(column: Any, count: int) -> list[Vectors | None]:
    """Return the vector of each row of a batch."""
    vectors: list[Vectors | None] = [None] * count
    if column is not None:
        numbers = column.values.to_numpy().astype(np.float32, copy=False)
        ends = column.offsets.to_numpy()
        for row in np.flatnonzero(column.is_valid()):
            vectors[row] = numbers[ends[row] : ends[row + 1]]
    return vectors


def _sort_in(content: ShardContent, stored: StoredUnit) -> None:
    """Put a row among the units or the documents of a shard."""
    unit = stored.unit
    if unit.granularity is Granularity.DOCUMENT:
        document = Document(unit.text, unit.title, unit.section, unit.id, unit.metadata)
        content.documents.append((document, unit.payload))
    else:
        content.units.append(stored)


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
