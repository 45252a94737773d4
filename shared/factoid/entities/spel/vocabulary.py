"""Which entity each row of a SpEL checkpoint's output embedding stands for, by the order of lines in the published files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from factoid.errors import InvalidInputError, UnreadableFileError

OUTSIDE, PADDING = 0, 1  # the ids of what names no entity
_PUBLISHED = {"aida": "aida.txt", "enwiki": "enwiki_20230827.txt", "out_of_domain": "out_of_domain.txt"}
_PUBLISHED_NAME = re.compile(r"(aida|enwiki|out_of_domain)(?:_\d+)?\.txt", re.IGNORECASE)


def title_of(entry: str) -> str:
    """Return the title of an entry: spaces for underscores, and characters for the %27 and %26 of out_of_domain.txt."""
    return entry.replace("%27", "'").replace("%26", "&").replace("_", " ").strip()


@dataclass(frozen=True)
class Vocabulary:
    """Entities by their ids."""

    entries: tuple[str, ...]  # the first two are no entities; one of the others is empty if a file ends in a line end

    @cached_property
    def ids(self) -> dict[str, int]:
        """The first id of each entry, and of each title that is no entry."""
        backwards = list(enumerate(self.entries))[::-1]
        return {title_of(entry): at for at, entry in backwards} | {entry: at for at, entry in backwards}

    def names_entity(self, entity: int) -> bool:
        """Tell whether an id stands for an entity that can be reported."""
        return entity not in (OUTSIDE, PADDING) and bool(title_of(self.entries[entity]))

    def find(self, title: str) -> int | None:
        """Return the id of a title, with spaces or underscores; None if it is not in the vocabulary."""
        entity = self.ids.get(title, self.ids.get(title_of(title)))
        return entity if entity is not None and self.names_entity(entity) else None


@dataclass(frozen=True, slots=True)
class VocabularyFiles:
    """The files that a vocabulary is made of; each line is the entity of one row, so the published order must be kept.

    Raises:
        InvalidInputError: A file has the published name of another one.
    """

    aida: Path  # the entities of the AIDA training data; all that a "shrunk" step-3 checkpoint knows
    enwiki: Path | None = None  # the entities of step 2
    out_of_domain: Path | None = None  # the entities of further test sets

    def __post_init__(self) -> None:
        for role in _PUBLISHED:
            name = _PUBLISHED_NAME.fullmatch(Path(getattr(self, role) or "").name)
            if name and name[1].lower() != role:
                raise InvalidInputError(
                    f"{name[0]} is given as {role}, but has the name of the published file {name[1].lower()}: the order of "
                    "the three files makes the ids, so each must be given in its place"
                )

    @classmethod
    def in_folder(cls, folder: str | PathLike[str]) -> VocabularyFiles:
        """Return the files of a folder under their published names; only aida.txt must be there."""
        aida, *others = (Path(folder, name) for name in _PUBLISHED.values())
        if not aida.is_file():
            names = ", ".join(_PUBLISHED.values())
            raise UnreadableFileError(f"{folder} holds no aida.txt: expected SpEL's vocabulary files {names}")
        return cls(aida, *(path if path.is_file() else None for path in others))

    def read(self, rows: int) -> Vocabulary:
        """Return the vocabulary of an output embedding with so many rows: of all files, or of aida.txt if that is as long.

        Raises:
            InvalidInputError: The files have another length.
            UnreadableFileError: A file is missing, is not UTF-8, has Windows line ends or an end that was changed.
        """
        aida = read_lines(self.aida)
        vocabulary = make_vocabulary(aida)
        if len(vocabulary.entries) == rows:
            return vocabulary
        enwiki, further = ([] if path is None else read_lines(path) for path in (self.enwiki, self.out_of_domain))
        # Line ends that move ids without changing their number: the empty entry changes its place.
        fault = ""
        if (enwiki or further) and aida[-1] == "":
            fault = f"{self.aida} ends in a line end, which the published file does not. Remove it"
        elif enwiki and further and enwiki[-1] != "" and "" in further:
            fault = f"{self.enwiki} does not end in a line end, which the published file does. Add it, or get the whole file"
        if fault:
            raise UnreadableFileError(f"every entity of some lines would be taken for its neighbour: {fault}")
        vocabulary = make_vocabulary(aida, enwiki, further)
        if (length := len(vocabulary.entries)) != rows:
            missing = [name for role, name in _PUBLISHED.items() if getattr(self, role) is None]
            raise InvalidInputError(
                f"the vocabulary has {length:,} entries, but the checkpoint's output embedding has {rows:,} rows: "
                f"{', '.join(missing) or 'no file'} is missing; others may be cut short, of another version, or have a line "
                "end more or less"
            )
        return vocabulary


def make_vocabulary(aida: Iterable[str], enwiki: Sequence[str] = (), out_of_domain: Sequence[str] = ()) -> Vocabulary:
    """Return the vocabulary: no entity, padding, all lines of the first file, and those of the others that are new."""
    first = ["|||O|||", "<pad>", *aida]
    known = frozenset(first)
    return Vocabulary((*first, *(entry for entry in dict.fromkeys([*enwiki, *out_of_domain]) if entry not in known)))


def read_lines(path: str | PathLike[str]) -> list[str]:
    r"""Return what stands between "\n" and nothing else, an empty last line included: titles may hold other line ends."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFileError(f"the vocabulary file {path} cannot be read as UTF-8: {error}") from error
    fault = ""
    if not text.strip() or text.startswith("version https://git-lfs"):
        fault = "holds no titles: expected one on each line, not an empty file or a Git LFS pointer"
    elif text.startswith("\ufeff") or "\r\n" in text or text.count("\r") >= max(text.count("\n"), 1):
        fault = "has a byte order mark or carriage returns at line ends, which the published file has not"
    if fault:
        raise UnreadableFileError(f"the vocabulary file {path} {fault}. Get the file as it was published")
    return text.split("\n")
