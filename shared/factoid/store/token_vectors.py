"""Cache the token vectors of a late-interaction model on disk, in a file of their own.

In a store's folder the file is beside the database. Missing, damaged or deleted entries are encoded again. Copies of a store
leave it out, and `verify` skips it, since every entry is checked when it is read.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from factoid.files import sqlite
from factoid.files.sqlite import FILE

TOKENS = "tokens.sqlite"
"""Name of the file in a store's folder."""

APPLICATION_ID = 0x0FAC7004
FORMAT = 1

TokenDtype = Literal["float32", "float16", "int8"]

# `passage` is a digest of the passage's own text, by which `keep_only` knows what a store still needs. The vectors come last, so
# that reads without them do not touch their pages.
_SQL = """CREATE TABLE IF NOT EXISTS token_vectors (
    key BLOB PRIMARY KEY, passage BLOB NOT NULL, tokens INTEGER NOT NULL, dim INTEGER NOT NULL, windows INTEGER NOT NULL,
    checksum INTEGER NOT NULL, content BLOB NOT NULL
)"""
_TABLE = sqlite.CacheTable("token vectors", "token_vectors", _SQL, APPLICATION_ID, FORMAT)
_SELECT = "SELECT tokens, dim, windows, checksum, content FROM token_vectors WHERE key = ?"
_KEY_VERSION = 1  # raise when the meaning of a stored value changes
_SPANS = np.dtype("<i4")
_STEPS = 127  # of int8, on each side of 0

logger = logging.getLogger(__name__)


Shape = tuple[int, int, int]  # tokens, dim, windows


@dataclass(frozen=True, slots=True, eq=False)
class TokenVectors:
    """The scored tokens of a text.

    Attributes:
        vectors: float32. Shape: (tokens, dim).
        spans: Start and end of each token in the text, without white space; (0, 0) for special tokens, markers and the [MASK]s
            after a query, which represent no text. Shape: (tokens, 2).
        windows: Number of windows in which the model read the text.
        stored_bytes: Their size in the cache; 0 if the model computed them.
    """

    vectors: Vectors
    spans: NDArray[np.int64]
    windows: int = 1
    stored_bytes: int = 0


class TokenVectorCache:
    """Stores the token vectors of passages on disk, for several threads and processes at once.

    The key of an entry consists of the model's fingerprint, the encoded text and the dtype. Damaged entries are skipped and
    logged. The file is open only while it is used. A file without write permission is read, but gets no new entries.

    Args:
        path: A file, created if absent, or the folder of a store, in which it is called `tokens.sqlite`.
        dtype: How components are stored. "float16" is off by at most 1/2048 of each, "int8" by at most 1/254 of the largest of
            its token, whose scale is stored with it; "float32" is exact.

    Raises:
        InvalidInputError: `path` is not a path, or the dtype is unknown.
        StoreFormatError: On use, if the path holds something else, a damaged file or one of another version.
        StoreError: On use, if the file cannot be opened, read or written, for example on a full disk.
    """

    def __init__(self, path: str | Path, *, dtype: TokenDtype = "float16") -> None:
        if not isinstance(path, str | os.PathLike):
            raise InvalidInputError(f"expected the path of a file of token vectors, a str or Path, got {path!r:.80}")
        if dtype not in get_args(TokenDtype):
            raise InvalidInputError(f"dtype must be one of {', '.join(get_args(TokenDtype))}, got {dtype!r}")
        self.path = Path(path).absolute()  # the working folder may change
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"TokenVectorCache({str(self.path)!r}, dtype={self.dtype!r})"

    @property
    def file(self) -> Path:
        """The file; in a folder it is part of the store there."""
        return self.path / TOKENS if self.path.is_dir() else self.path

    def get(self, model: str, texts: Iterable[str]) -> dict[str, TokenVectors]:
        """Return the tokens of those texts that are in the cache.

        Args:
            model: A fingerprint of everything that the vectors depend on besides the text.
            texts: The texts as encoded. A hundred tokens of 128 components take 50 KB of memory.
        """
        stored, damaged = {}, 0
        with self._session() as connection:
            for text in dict.fromkeys(texts) if connection else ():
                key = self._key(model, text)
                for tokens, dim, windows, checksum, content in connection.execute(_SELECT, [key]):  # type: ignore[union-attr]
                    shape = (tokens, dim, windows)
                    if isinstance(content, bytes) and _checksum(key, shape, content) == checksum:
                        stored[text] = self._unpacked(shape, content)
                    else:
                        damaged += 1
        if damaged:
            logger.warning("%d entries of %s are damaged: they are encoded again", damaged, self.file)
        return stored

    def put(
        self, model: str, entries: Mapping[str, tuple[str, TokenVectors]], *, strict: bool = False
    ) -> dict[str, TokenVectors]:
        """Store tokens in one transaction, and return them as they will be read.

        Args:
            model: As in `get`.
            entries: The passage's own text, without its heading, and its tokens, by the encoded text.
            strict: Raise if the disk is full or fails; otherwise the failure is logged, and nothing is stored.

        Raises:
            InvalidInputError: The dtype cannot hold a vector.
            StoreError: See `strict`.
            StoreFormatError: The file is damaged, or holds something else.
        """
        rows, stored = [], {}
        for text, (passage, tokens) in entries.items():
            key, content = self._key(model, text), self._packed(tokens)
            shape = (*tokens.vectors.shape, tokens.windows)
            rows.append((key, _digest(passage), *shape, _checksum(key, shape, content), content))
            stored[text] = replace(self._unpacked(shape, content), stored_bytes=0)
        try:
            with self._session(create=True) as connection:
                if connection and sqlite.is_writable(self.file):
                    with sqlite.committing(connection):
                        connection.executemany(
                            "INSERT OR REPLACE INTO token_vectors VALUES (?, ?, ?, ?, ?, ?, ?)", rows
                        )
        except StoreError as error:
            if strict or isinstance(error, StoreFormatError):
                raise
            logger.warning("%d passages are not kept: %s", len(rows), error)
        return stored

    def count(self) -> int:
        """Return the number of entries of all models and dtypes."""
        with self._session() as connection:
            return connection.execute("SELECT count(*) FROM token_vectors").fetchone()[0] if connection else 0

    def size(self) -> int:
        """Return the bytes on disk, including the log of writes."""
        files = (self.file, self.file.with_name(f"{self.file.name}-wal"))
        return sum(file.stat().st_size for file in files if file.is_file())

    def clear(self) -> None:
        """Delete all entries."""
        self.keep_only(())

    def keep_only(self, passages: Iterable[str]) -> int:
        """Delete the entries of all passages with other texts, free their space, and return how many were deleted."""
        with self._session() as connection:
            if connection is None:
                return 0
            used = {_digest(text) for text in passages}
            stored = connection.execute("SELECT DISTINCT passage FROM token_vectors").fetchall()
            unused = [(digest,) for (digest,) in stored if digest not in used]
            if not unused:
                return 0
            with sqlite.committing(connection):
                sql = "DELETE FROM token_vectors WHERE passage = ?"
                deleted = connection.executemany(sql, unused).rowcount
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return deleted

    def _key(self, model: str, text: str) -> bytes:
        return _digest(json.dumps([_KEY_VERSION, model, self.dtype, text]))

    def _packed(self, tokens: TokenVectors) -> bytes:
        """Return spans, the scales of int8, and vectors."""
        vectors = np.asarray(tokens.vectors, "<f4")
        scales = np.empty(0, "<f4")
        if self.dtype == "int8":
            scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(_STEPS)
            steps = np.divide(vectors, scales[:, None], out=np.zeros_like(vectors), where=scales[:, None] > 0)
            packed = np.rint(steps).astype("<i1")
            fits = np.isfinite(vectors).all()
        else:
            with np.errstate(over="ignore"):
                packed = vectors.astype(np.dtype(self.dtype).newbyteorder("<"))
            fits = np.isfinite(packed).all()
        if not fits:
            raise InvalidInputError(
                f"token vectors with components up to {np.abs(vectors).max():.3g} cannot be stored as {self.dtype}"
            )
        return b"".join(part.tobytes() for part in (np.asarray(tokens.spans, _SPANS), scales, packed))

    def _unpacked(self, shape: Shape, content: bytes) -> TokenVectors:
        tokens, dim, windows = shape
        spans, rest = content[: 8 * tokens], content[8 * tokens :]
        if self.dtype == "int8":
            scales = np.frombuffer(rest[: 4 * tokens], "<f4")
            vectors = np.frombuffer(rest[4 * tokens :], "<i1").reshape(tokens, dim) * scales[:, None]
        else:
            vectors = np.frombuffer(rest, np.dtype(self.dtype).newbyteorder("<")).reshape(tokens, dim)
        places = np.frombuffer(spans, _SPANS).reshape(tokens, 2).astype(np.int64)
        return TokenVectors(vectors.astype(np.float32), places, windows, len(content))

    @contextmanager
    def _session(self, *, create: bool = False) -> Iterator[sqlite3.Connection | None]:
        """Open the file for a block; None if it does not exist and should not or cannot be created."""
        file = self.file
        if self.path.is_dir() and not (self.path / FILE).is_file():
            raise StoreFormatError(
                f"{self.path} is a folder without {FILE}: token vectors go into a file, or the folder of a store"
            )
        try:
            if not file.exists() and not (create and sqlite.is_writable(file)):
                yield None
                return
            with closing(_TABLE.open(file)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise _TABLE.failure(file, error, "Delete it, and passages are encoded again") from error


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _checksum(key: bytes, shape: Shape, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(key + repr(shape).encode()))
