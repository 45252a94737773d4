"""What an article store is built from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from factoid.entities.articles.article import Record
from factoid.errors import UnreadableFileError


class Source(Protocol):
    """Articles and redirects, always in the same order.

    Two more attributes are optional. `left_out` counts what was left out by reason, complete once all was read: the report of
    a build has the sums. `keys` says where the metadata of documents hold titles and aliases, as `title_key` and
    `aliases_key`: what is added to the store later is read likewise.

    Attributes:
        name: What is read, told apart from all else, as `describe_files` makes it: a build that was interrupted goes on
            only with sources of the same names. "" if that cannot be told; then a build starts over.
    """

    @property
    def name(self) -> str:
        """What is read, or ""."""

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the records from number `skip` on. To skip is much cheaper than to read.

        Raises:
            UnreadableFileError: What is read is missing or damaged; says where.
        """


def describe_files(importer: str, files: Sequence[Path], **options: object) -> str:
    """Return the name of a source: its importer and options, and its files with their sizes and times of change.

    Raises:
        UnreadableFileError: A file is missing.
    """
    described = []
    for file in files:
        try:
            state = file.stat()
        except OSError as error:
            message = f"{file} cannot be read: {error.strerror or error}"
            raise UnreadableFileError(message) from error
        seconds, rest = divmod(state.st_mtime_ns, 10**9)
        changed = datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")
        described.append(f"{file.absolute()} ({state.st_size:,} bytes, of {changed}.{rest:09d})")
    chosen = "".join(f" {name}={value!r}" for name, value in sorted(options.items()))
    if len(described) > 3:  # a folder of many: what they are is kept as a digest
        digest = hashlib.sha256("\n".join(described).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        described = [described[0], f"{len(described) - 1} more files, digest {digest}"]
    return f"{importer}{chosen}: {', '.join(described)}"


def unusual_keys(title_key: str, text_key: str) -> dict[str, str]:
    """Return as options what the fields of title and text are called, where that is something else."""
    keys = {"title": title_key, "text": text_key}
    return {f"{usual}_key": key for usual, key in keys.items() if key != usual}
