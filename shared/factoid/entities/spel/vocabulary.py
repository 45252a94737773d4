"""The entity of each row of a SpEL checkpoint's output embedding, by the order of lines in the published files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from factoid.errors import InvalidInputError, UnreadableFileError

OUTSIDE, PADDING = 0, 1  # the ids that do not name an entity
_PUBLISHED = {"aida": "aida.txt", "enwiki": "enwiki_20230827.txt", "out_of_domain": "out_of_domain.txt"}
_PUBLISHED_NAME = re.compile(r"(aida|enwiki|out_of_domain)(?:_\d+)?\.txt", re.IGNORECASE)


def entity_title(vocabulary: Sequence[str], entity: int) -> str:
    """Return the title of an id; "" for the first two ids, and for the empty entry after a last line end.

    Underscores become spaces, and the %27 and %26 of out_of_domain.txt become characters.
    """
    if entity in (OUTSIDE, PADDING):
        return ""
    return vocabulary[entity].replace("%27", "'").replace("%26", "&").replace("_", " ").strip()


@dataclass(frozen=True, slots=True)
class VocabularyFiles:
    """The files of a vocabulary; each line is the entity of one row, so the published order must be kept.

    Raises:
        InvalidInputError: A file has the published name of another one.
    """

    aida: Path  # the entities of the AIDA training data; the only ones of a "shrunk" step-3 checkpoint
    enwiki: Path | None = None  # the entities of step 2
    out_of_domain: Path | None = None  # the entities of further test sets

    def __post_init__(self) -> None:
        for role in _PUBLISHED:
            name = _PUBLISHED_NAME.fullmatch(Path(getattr(self, role) or "").name)
            if name and name[1].lower() != role:
                raise InvalidInputError(
                    f"{name[0]} is given as {role}, but has the name of the published file {name[1].lower()}: the order of "
                    "the three files determines the ids, so each must be given in its place"
                )

    @classmethod
    def in_folder(cls, folder: str | PathLike[str]) -> VocabularyFiles:
        """Return the files of a folder under their published names; only aida.txt must be there."""
        aida, *others = (Path(folder, name) for name in _PUBLISHED.values())
        if not aida.is_file():
            names = ", ".join(_PUBLISHED.values())
            raise UnreadableFileError(f"{folder} holds no aida.txt: expected SpEL's vocabulary files {names}")
        return cls(aida, *(path if path.is_file() else None for path in others))

    def read(self, rows: int) -> list[str]:
        """Return the entity of each row of an output embedding: from aida.txt if its length fits, else from all files.

        Raises:
            InvalidInputError: The files have another length.
            UnreadableFileError: A file is missing or not UTF-8, has Windows line ends, or its last line end was changed.
        """
        aida = read_lines(self.aida)
        vocabulary = make_vocabulary(aida)
        if len(vocabulary) == rows:
            return vocabulary
        enwiki, further = ([] if path is None else read_lines(path) for path in (self.enwiki, self.out_of_domain))
        # Line ends that shift ids without changing their number: the empty entry changes its place.
        if ((enwiki or further) and aida[-1] == "") or (enwiki and further and enwiki[-1] != "" and "" in further):
            raise UnreadableFileError(
                "each entity of some lines would be taken for its neighbour: as published, "
                f"{self.aida} does not end in a line end, and {self.enwiki} does. Get the whole files"
            )
        vocabulary = make_vocabulary(aida, enwiki, further)
        if len(vocabulary) != rows:
            missing = [name for role, name in _PUBLISHED.items() if getattr(self, role) is None]
            raise InvalidInputError(
                f"the vocabulary has {len(vocabulary):,} entries, but the checkpoint's output embedding has {rows:,} rows: "
                f"{', '.join(missing) or 'no file'} is missing; others may be cut short, of another version, or have a line "
                "end too many or too few"
            )
        return vocabulary


def make_vocabulary(aida: Iterable[str], enwiki: Sequence[str] = (), out_of_domain: Sequence[str] = ()) -> list[str]:
    """Return the vocabulary: no entity, padding, all lines of the first file, and the new lines of the others."""
    first = ["|||O|||", "<pad>", *aida]
    known = frozenset(first)
    return first + [entry for entry in dict.fromkeys([*enwiki, *out_of_domain]) if entry not in known]


def read_lines(path: str | PathLike[str]) -> list[str]:
    r"""Return the lines between "\n", an empty last line included; other line ends may be part of titles."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFileError(f"the vocabulary file {path} cannot be read as UTF-8: {error}") from error
    if not text.strip() or text.startswith(("\ufeff", "version https://git-lfs")) or "\r\n" in text:
        raise UnreadableFileError(
            f"the vocabulary file {path} is not as it was published: it holds no titles, is a Git LFS pointer, or has a byte "
            "order mark or carriage returns at line ends. Get it again"
        )
    return text.split("\n")
