"""Try a shard again whose worker was killed, and leave out the document that kills it.

A worker that is killed, for want of memory or by a fault in a library, leaves no error. What it was
making is made again, by another worker or the next call, and kills that one, too. So each attempt
at a shard is noted beside it until it ends. After some that did not, the documents are tried one by
one, each noted before. A document at which workers died twice is then left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from factoid.files.lines import located, parse_object
from factoid.scale.folders import Folder
from factoid.scale.shards import Failure
from factoid.units import Document

_PATIENCE = 3  # attempts that may end by death before documents are tried one by one
_DEATHS = 2  # at a document, until it is left out

KILLED = "its worker was killed each time that it was made: it may need more memory than there is"


@dataclass(slots=True)
class Attempts:
    """What happened to earlier attempts at a shard.

    Attributes:
        folder: That of the shard.
        name: That of the file with the notes.
        starts: Attempts that began, this one too.
        deaths: At documents that were tried alone, by id.
    """

    folder: Folder
    name: str
    starts: int = 0
    deaths: Counter[str] = field(default_factory=Counter)

    @property
    def is_careful(self) -> bool:
        """Whether documents are to be tried one by one before the shard is made."""
        return self.starts > _PATIENCE

    def is_deadly(self, document_id: str) -> bool:
        """Return whether a document is left out."""
        return self.deaths[document_id] >= _DEATHS

    def try_alone(self, document_id: str) -> None:
        """Note that a document is tried alone: if nothing else is noted, it was deadly."""
        self._write(document_id)

    def go_on(self) -> None:
        """Note that no document is tried any more."""
        self._write()

    def begin(self) -> None:
        """Note that another attempt begins."""
        if self.folder.has(self.name):
            self._read()
        self.starts += 1
        self._write()

    def _write(self, trying: str = "") -> None:
        notes = {"starts": self.starts, "deaths": dict(self.deaths), "trying": trying}
        self.folder.write(self.name, json.dumps(notes).encode())

    def _read(self) -> None:
        with located(self.folder.place(self.name)):
            notes = parse_object(self.folder.read(self.name))
        self.starts = int(notes["starts"])
        self.deaths = Counter(notes["deaths"])
        if notes["trying"]:
            self.deaths[notes["trying"]] += 1


def leave_out_deadly(
    documents: dict[str, tuple[str, Document]],
    failures: list[Failure],
    attempts: Attempts,
    make_alone: Callable[[str, Document], None],
) -> None:
    """Try documents one by one, and leave out those at which workers died.

    Args:
        documents: The documents of a shard with their places, by id; the deadly ones are removed.
        failures: What was left out, and why.
        attempts: The notes about the shard.
        make_alone: Makes the units of one document, to see whether the worker survives it.
    """
    for place, document in list(documents.values()):
        if attempts.is_deadly(document.id):
            failures.append(Failure(place, document.id, KILLED))
            del documents[document.id]
            continue
        attempts.try_alone(document.id)
        make_alone(place, document)
    attempts.go_on()


def notes_of(shard: str) -> str:
    """Return the name of the hidden file that notes the attempts at a shard."""
    return f".{shard}.attempts"


@contextmanager
def attempt(folder: Folder, shard: str) -> Iterator[Attempts]:
    """Note an attempt at a shard during the block; an attempt that ends by an error has ended, too.

    Raises:
        StoreError: The folder cannot be written to.
    """
    attempts = Attempts(folder, notes_of(shard))
    try:
        attempts.begin()
        yield attempts
    finally:
        folder.remove(attempts.name)
