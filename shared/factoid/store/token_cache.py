"""Cache the token vectors of a late-interaction model on disk, in a file of their own.

In a store's folder the file is beside the database. Missing and damaged entries are encoded again.
Copies of a store leave it out.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from factoid.files import sqlite
from factoid.files.disk_errors import explain_disk_error, is_damage
from factoid.files.sqlite import row_checksum
from factoid.forks import at_work

TOKENS = "tokens.sqlite"
"""Name of the file in a store's folder."""

APPLICATION_ID = 0x0FAC7004
FORMAT = 1

TokenDtype = Literal["float32", "float16", "int8"]

# `passage` is a digest of the passage's own text, by which `keep_only` knows what a store still
# needs. The checksum covers the key and all other values.
_SQL = (
    "CREATE TABLE IF NOT EXISTS token_vectors (\n"
    "    key BLOB PRIMARY KEY, passage BLOB NOT NULL, tokens INTEGER NOT NULL, "
    "dim INTEGER NOT NULL, windows INTEGER NOT NULL,\n"
    "    content BLOB NOT NULL, checksum INTEGER NOT NULL\n"
    ")"
)
_COLUMNS = "key, passage, tokens, dim, windows, content"
_TABLE = sqlite.CacheTable("token vectors", "token_vectors", _SQL, _COLUMNS, APPLICATION_ID, FORMAT)
_GET = "SELECT passage, tokens, dim, windows, content, checksum FROM token_vectors WHERE key = ?"
_PUT = "INSERT OR REPLACE INTO token_vectors VALUES (?, ?, ?, ?, ?, ?, ?)"
_SPANS = np.dtype("<i4")
_STEPS = 127  # of int8, on each side of 0
_REMEDY = "Delete it, and passages are encoded again"

logger = logging.getLogger(__name__)


class _DamagedCacheError(StoreFormatError):
    """The file could not be read, which is logged; the entries in it are lost."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenVectors:
    """The scored tokens of a text.

    `spans` are (0, 0) for special tokens, markers and the [MASK]s after a query.

    Attributes:
        vectors: A vector for each token, float32; shape: (tokens, dim).
        spans: Start and end of each token in the text, without white space; shape: (tokens, 2).
        windows: In how many windows the model read the text.
        stored: Whether they were read from a cache.
    """

    vectors: Vectors
    spans: NDArray[np.int64]
    windows: int = 1
    stored: bool = False


class TokenVectorCache:
    """Stores the token vectors of passages on disk, for several threads and processes at once.

    The key of an entry consists of the model's fingerprint, the encoded text and the dtype. The
    file is open only while it is used. A file without write permission is read, but gets no new
    entries. An entry that has changed on disk counts as missing, and a damaged file is replaced;
    both are logged.

    Args:
        path: A file, created if absent, or the folder of a store, in which it is called
            `tokens.sqlite`.
        dtype: How components are stored. "float16" is off by at most 1/2048 of each, "int8" by at
            most 1/254 of the largest of its token, whose scale is stored with it; "float32" is
            exact.

    Raises:
        InvalidInputError: The dtype is unknown.
        StoreFormatError: On use, if the path holds something else or a cache of another version,
            except under the name `tokens.sqlite`, where it is replaced.
        StoreError: On use, if the file cannot be opened, read or written, for example on a full
            disk.
    """

    def __init__(self, path: str | Path, *, dtype: TokenDtype = "float16") -> None:
        if dtype not in get_args(TokenDtype):
            raise InvalidInputError(
                f"dtype must be one of {', '.join(get_args(TokenDtype))}, got {dtype!r}"
            )
        self.path = Path(path).absolute()  # the working folder may change
        self.dtype = dtype

    @property
    def file(self) -> Path:
        """The file; in a folder it is part of the store there."""
        if self.path.is_dir():
            return self.path / TOKENS
        return self.path

    def get(self, model: str, texts: Iterable[str]) -> dict[str, TokenVectors]:
        """Return the tokens of those texts that are in the cache.

        Args:
            model: A fingerprint of everything that the vectors depend on besides the text.
            texts: The texts as encoded. A hundred tokens of 128 components take 50 KB of memory.
        """
        texts = list(dict.fromkeys(texts))
        stored = {}
        damaged = 0
        with suppress(_DamagedCacheError), self._session() as connection:
            for text in texts:
                if connection is None:
                    break
                for row in connection.execute(_GET, [self._key(model, text)]):
                    tokens = self._checked(model, text, *row)
                    if tokens is None:
                        damaged += 1
                    else:
                        stored[text] = tokens
        if damaged:
            logger.warning(
                "%d entries of %s have changed on disk: their passages are encoded again",
                damaged,
                self.file,
            )
        return stored

    def put(
        self, model: str, entries: Mapping[str, tuple[str, TokenVectors]]
    ) -> dict[str, TokenVectors]:
        """Store tokens in one transaction, and return them as they will be read.

        A full disk is logged, and nothing is stored.

        Args:
            model: As in `get`.
            entries: The passage's own text, without its heading, and its tokens, by the encoded
                text.

        Raises:
            InvalidInputError: The dtype cannot hold a vector.
            StoreFormatError: The file is damaged, or holds something else.
        """
        rows = []
        stored = {}
        for text, (passage, tokens) in entries.items():
            content = self._packed(tokens)
            shape = (*tokens.vectors.shape, tokens.windows)
            row = (self._key(model, text), _digest(passage), *shape, content)
            rows.append((*row, row_checksum(*row)))
            stored[text] = self._unpacked(content, *shape)
        if self.file.exists() and not sqlite.is_writable(self.file):
            return stored
        try:
            try:
                self._write(rows)
            except _DamagedCacheError:
                self._write(rows)  # into a new file
        except StoreFormatError:
            raise
        except StoreError as error:
            logger.warning("%d passages are not kept: %s", len(rows), error)
        return stored

    def _write(self, rows: Sequence[tuple[Any, ...]]) -> None:
        with self._session(create=True) as connection:
            if connection:
                with sqlite.committing(connection):
                    connection.executemany(_PUT, rows)

    def clear(self) -> None:
        """Delete all entries."""
        self.keep_only(())

    def verify(self, *, repair: bool = False) -> list[str]:
        """Check the file and every entry; return what is wrong.

        With `repair`, damaged entries, or the damaged file, are deleted.

        Raises:
            StoreFormatError: The path holds something else, or a cache of another version.
            StoreError: The file cannot be read, or not be written for a repair.
        """
        file = self.file
        if not file.exists():
            return []
        damaged: list[int] = []
        try:
            with at_work(), closing(_TABLE.open(file, read_only=True)) as connection:
                lines = [line for (line,) in connection.execute("PRAGMA integrity_check(3)")]
                if lines == ["ok"]:
                    damaged = _TABLE.damaged_rows(connection)
        except (sqlite3.Error, StoreFormatError) as error:
            if isinstance(error, sqlite3.Error) and not is_damage(error):
                raise _TABLE.failure(file, error, _REMEDY) from error
            lines = [str(error)]
        finally:
            if sqlite.is_writable(file):
                with at_work():
                    sqlite.drop_log(file)
        problems = []
        if damaged:
            problems = [
                f"{len(damaged):,} entries of {file} changed on disk. They are encoded again when "
                "they are needed"
            ]
        elif lines != ["ok"]:
            problems = [
                f"the cache of token vectors {file} is damaged ({'; '.join(lines)}). {_REMEDY}"
            ]
        if repair and damaged:
            with self._session() as opened:
                if opened is not None:
                    with sqlite.committing(opened) as connection:
                        connection.executemany(
                            "DELETE FROM token_vectors WHERE rowid = ?", [(row,) for row in damaged]
                        )
        elif repair and problems:
            if not self._is_ours():
                raise StoreFormatError(problems[0])
            self._remove()
        return problems

    def keep_only(self, passages: Iterable[str]) -> None:
        """Delete the entries of all passages with other texts, and free their space."""
        with suppress(_DamagedCacheError), self._session() as connection:
            if connection is None:
                return
            used = set(map(_digest, passages))
            stored = connection.execute("SELECT DISTINCT passage FROM token_vectors").fetchall()
            with sqlite.committing(connection):
                unused = [row for row in stored if row[0] not in used]
                connection.executemany("DELETE FROM token_vectors WHERE passage = ?", unused)
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _key(self, model: str, text: str) -> bytes:
        return _digest(json.dumps([model, self.dtype, text]))

    def _packed(self, tokens: TokenVectors) -> bytes:
        """Return spans, the scales of int8, and vectors."""
        vectors = np.asarray(tokens.vectors, "<f4")
        scales = np.empty(0, "<f4")
        if self.dtype == "int8":
            scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(_STEPS)
            steps = np.divide(
                vectors, scales[:, None], out=np.zeros_like(vectors), where=scales[:, None] > 0
            )
            packed = np.rint(steps).astype("<i1")
            fits = np.isfinite(vectors).all()
        else:
            with np.errstate(over="ignore"):
                packed = vectors.astype(np.dtype(self.dtype).newbyteorder("<"))
            fits = np.isfinite(packed).all()
        if not fits:
            raise InvalidInputError(
                f"token vectors with components up to {np.abs(vectors).max():.3g} cannot be "
                f"stored as {self.dtype}"
            )
        return b"".join(
            part.tobytes() for part in (np.asarray(tokens.spans, _SPANS), scales, packed)
        )

    def _checked(
        self,
        model: str,
        text: str,
        passage: bytes,
        tokens: int,
        dim: int,
        windows: int,
        content: bytes,
        written: int,
    ) -> TokenVectors | None:
        """Return the tokens of a text from a row.

        It is None if the row is not as written, or holds no such tokens.
        """
        row = (self._key(model, text), passage, tokens, dim, windows, content)
        numbers = (tokens, dim, windows)
        if row_checksum(*row) != written or not all(type(number) is int for number in numbers):
            return None
        if tokens < 0 or dim < 1 or windows < 1 or not isinstance(content, bytes):
            return None
        scale = np.dtype(np.float32).itemsize if self.dtype == "int8" else 0
        size = 2 * _SPANS.itemsize + scale + dim * np.dtype(self.dtype).itemsize
        if len(content) != tokens * size:
            return None
        with np.errstate(all="ignore"):
            unpacked = self._unpacked(content, tokens, dim, windows, stored=True)
        starts, ends = unpacked.spans.T
        are_spans = (starts >= 0).all() and (starts <= ends).all() and (ends <= len(text)).all()
        if are_spans and np.isfinite(unpacked.vectors).all():
            return unpacked
        return None

    def _unpacked(
        self, content: bytes, tokens: int, dim: int, windows: int, *, stored: bool = False
    ) -> TokenVectors:
        spans = content[: 8 * tokens]
        rest = content[8 * tokens :]
        if self.dtype == "int8":
            scales = np.frombuffer(rest[: 4 * tokens], "<f4")
            vectors = (
                np.frombuffer(rest[4 * tokens :], "<i1").reshape(tokens, dim) * scales[:, None]
            )
        else:
            vectors = np.frombuffer(rest, np.dtype(self.dtype).newbyteorder("<")).reshape(
                tokens, dim
            )
        places = np.frombuffer(spans, _SPANS).reshape(tokens, 2).astype(np.int64)
        return TokenVectors(vectors.astype(np.float32), places, windows, stored)

    @contextmanager
    def _session(self, *, create: bool = False) -> Iterator[sqlite3.Connection | None]:
        """Open the file for a block.

        None if it does not exist and should not or cannot be created.
        """
        file = self.file
        try:
            if not file.exists() and not (create and sqlite.is_writable(file)):
                yield None
                return
            with at_work(), closing(_TABLE.open(file)) as connection:
                yield connection
        except StoreFormatError as error:  # a foreign file, or one of another version
            if file.name != TOKENS:
                raise
            self._discard(error)
        except sqlite3.Error as error:
            failure = _TABLE.failure(file, error, _REMEDY)
            if isinstance(failure, StoreFormatError) and self._is_ours():
                self._discard(error)
            raise failure from error

    def _is_ours(self) -> bool:
        """Tell whether the file may be replaced.

        It is named or marked as a cache of token vectors.
        """
        return self.file.name == TOKENS or sqlite.identify(self.file) == (APPLICATION_ID, FORMAT)

    def _discard(self, error: Exception) -> NoReturn:
        """Remove a damaged file; a process that has it open loses what it writes there.

        One that is not writable stays.
        """
        logger.warning("%s is damaged, and passages are encoded again: %s", self.file, error)
        if sqlite.is_writable(self.file):
            self._remove()
        raise _DamagedCacheError(f"{self.file} is damaged: {error}. {_REMEDY}") from error

    def _remove(self) -> None:
        try:
            for ending in ("", "-wal", "-shm"):
                self.file.with_name(f"{self.file.name}{ending}").unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"the damaged cache {self.file} cannot be removed: {explain_disk_error(error)}"
            ) from error


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
