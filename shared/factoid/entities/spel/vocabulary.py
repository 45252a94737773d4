"""Which entity each row of a SpEL checkpoint's output embedding stands for: order is all, and no checkpoint holds it.

Id 0 is "no entity", id 1 is padding, then come the lines of three files of Wikipedia titles with underscores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from factoid.entities.spel.published import AIDA, ENWIKI, OUT_OF_DOMAIN, check_lines, check_role
from factoid.errors import InvalidInputError, UnreadableFileError

OUTSIDE = 0  # the id of what names no entity
PADDING = 1
OUTSIDE_ENTRY, PADDING_ENTRY = "|||O|||", "<pad>"

# What some lines of out_of_domain.txt still write for characters of titles.
_ESCAPES = (("%27", "'"), ("%26", "&"))


def title_of(entry: str) -> str:
    """Return the title that an entry of the vocabulary stands for: spaces for underscores, characters for %27 and %26."""
    for escape, character in _ESCAPES:
        entry = entry.replace(escape, character)
    return entry.replace("_", " ").strip()


@dataclass(frozen=True)
class Vocabulary:
    """Entities by their ids.

    Attributes:
        entries: The entry of each id; the first two are no entities, and one of the others is empty if a file ends in a
            line end.
    """

    entries: tuple[str, ...]

    @cached_property
    def ids(self) -> dict[str, int]:
        """The first id of each entry."""
        return {entry: at for at, entry in reversed(list(enumerate(self.entries)))}

    @cached_property
    def _titles(self) -> dict[str, int]:
        return {title_of(entry): at for at, entry in reversed(list(enumerate(self.entries)))}

    def names_entity(self, entity: int) -> bool:
        """Tell whether an id stands for an entity that can be reported."""
        return entity not in (OUTSIDE, PADDING) and bool(title_of(self.entries[entity]))

    def find(self, title: str) -> int | None:
        """Return the id of a title, as its entry or as `title_of` gives it; None if it is not in the vocabulary."""
        found = self.ids.get(title, self._titles.get(title_of(title)))
        return found if found is not None and self.names_entity(found) else None


@dataclass(frozen=True, slots=True)
class VocabularyFiles:
    """The files that a vocabulary is made of.

    Each line is the entity of one row, counted through the three files: their order and that of their lines must be the
    published one. Of lines in another order nothing can be noticed, and every mention would get another entity's title.

    Attributes:
        aida: The entities of the AIDA training data; all that a "shrunk" step-3 checkpoint knows.
        enwiki: The entities of step 2, a large file of its own.
        out_of_domain: The entities of further test sets.

    Raises:
        InvalidInputError: A file has the published name of another one.
    """

    aida: Path
    enwiki: Path | None = None
    out_of_domain: Path | None = None

    def __post_init__(self) -> None:
        for role, path in (("aida", self.aida), ("enwiki", self.enwiki), ("out_of_domain", self.out_of_domain)):
            if path is not None:
                check_role(role, path)

    @classmethod
    def in_folder(cls, folder: str | PathLike[str]) -> VocabularyFiles:
        """Return the files of a folder under their published names; only aida.txt must be there.

        Raises:
            UnreadableFileError: There is no aida.txt.
        """
        aida, enwiki, further = (Path(folder) / name for name in (AIDA, ENWIKI, OUT_OF_DOMAIN))
        if not aida.is_file():
            message = f"{folder} holds no {AIDA}: expected SpEL's vocabulary files {AIDA}, {ENWIKI} and {OUT_OF_DOMAIN}"
            raise UnreadableFileError(message)
        return cls(aida, enwiki if enwiki.is_file() else None, further if further.is_file() else None)

    def read(self, rows: int) -> Vocabulary:
        """Return the vocabulary of an output embedding with so many rows.

        The files are all used, or aida.txt alone where that has the length of a shrunk checkpoint.

        Raises:
            InvalidInputError: No choice has this length; names both lengths and the file that is likely to be at fault. Or it
            has, of some 500,000, but not of the published files.
            UnreadableFileError: A file is missing, is not UTF-8, has Windows line ends or an end that was changed.
        """
        aida = read_lines(self.aida)
        shrunk = make_vocabulary(aida)
        if len(shrunk.entries) == rows:
            return shrunk
        enwiki = [] if self.enwiki is None else read_lines(self.enwiki)
        further = [] if self.out_of_domain is None else read_lines(self.out_of_domain)
        self._check_ends(aida, enwiki, further)
        whole = make_vocabulary(aida, enwiki, further)
        if len(whole.entries) != rows:
            message = (
                f"the vocabulary has {len(whole.entries):,} entries, but the checkpoint's output embedding has {rows:,} "
                f"rows: {self._suspect(len(whole.entries), len(shrunk.entries), rows)}"
            )
            raise InvalidInputError(message)
        check_lines(rows, (self.aida, len(aida)), len(enwiki), len(further))
        return whole

    def _check_ends(self, aida: Sequence[str], enwiki: Sequence[str], further: Sequence[str]) -> None:
        """Refuse line ends that would move ids without changing their number: the empty entry would change its place."""
        if (enwiki or further) and aida[-1] == "":
            message = (
                f"{self.aida} ends in a line end, which the published file does not: every entity after it would be taken "
                "for its neighbour. Remove the line end"
            )
            raise UnreadableFileError(message)
        if enwiki and further and enwiki[-1] != "" and "" in further:
            message = (
                f"{self.enwiki} does not end in a line end, which the published file does: every entity after it would be "
                "taken for its neighbour. Add the line end, or get the whole file"
            )
            raise UnreadableFileError(message)

    def _suspect(self, entries: int, shrunk: int, rows: int) -> str:
        if self.enwiki is None and rows > entries + 1:
            return f"{ENWIKI} is missing; give it, it is a large file of its own in SpEL's repository"
        if self.out_of_domain is None and rows > entries + 1:
            return f"{OUT_OF_DOMAIN} is missing, or {self.enwiki} is cut short"
        if rows == entries + 1:
            last = self.out_of_domain or self.enwiki or self.aida
            return f"one line is missing, probably the empty one after a line end at the end of {last}"
        if rows == entries - 1:
            return f"one line is too many, probably an empty one in {self.out_of_domain or self.enwiki or self.aida}"
        if rows < shrunk:
            return f"{self.aida} alone has more; the checkpoint was trained with another vocabulary"
        if rows > entries:
            return f"{self.enwiki or self.aida} is cut short, or of another version"
        return (
            f"{self.enwiki or self.out_of_domain} is too long or of another version, or this is a shrunk checkpoint (O, "
            f"padding and {AIDA}) whose own {AIDA} is not {self.aida}, which gives {shrunk:,}"
        )


def make_vocabulary(aida: Iterable[str], enwiki: Iterable[str] = (), out_of_domain: Iterable[str] = ()) -> Vocabulary:
    """Return the vocabulary of the lines of the three files.

    After the two ids that are no entities come all lines of the first file, then of each further file those that are not
    there yet.
    """
    entries = dict.fromkeys([OUTSIDE_ENTRY, PADDING_ENTRY])
    first = [*entries, *aida]
    entries.update(dict.fromkeys(first))
    before = len(entries)
    entries.update(dict.fromkeys(enwiki))
    entries.update(dict.fromkeys(out_of_domain))
    return Vocabulary((*first, *list(entries)[before:]))


def read_lines(path: str | PathLike[str]) -> list[str]:
    r"""Return the lines of a vocabulary file: what stands between "\n" and nothing else, an empty last one included.

    Titles may hold other characters that end lines elsewhere, and each line is an id.

    Raises:
        UnreadableFileError: The file is missing, empty, not UTF-8, or was changed by an editor (a byte order mark, line
            ends of Windows, or those of old Macs: as many "\r" as "\n", or more).
    """
    try:
        raw = Path(path).read_bytes()
        text = raw.decode("utf-8")
    except OSError as error:
        message = f"the vocabulary file {path} cannot be read: {error.strerror or error}"
        raise UnreadableFileError(message) from error
    except UnicodeDecodeError as error:
        message = f"the vocabulary file {path} is not UTF-8: byte {error.object[error.start]:#04x} at {error.start}"
        raise UnreadableFileError(message) from error
    if not text.strip():
        message = f"the vocabulary file {path} is empty: expected a title on each line"
        raise UnreadableFileError(message)
    windows, old_mac = "\r\n" in text, text.count("\r") >= max(text.count("\n"), 1)
    if text.startswith("\ufeff") or windows or old_mac:
        mark = text.startswith("\ufeff")
        changed = "a byte order mark" if mark else "Windows line ends" if windows else "carriage returns as line ends"
        message = f"the vocabulary file {path} has {changed}, which the published file has not: get the file as it was"
        raise UnreadableFileError(message)
    if text.startswith("version https://git-lfs"):
        message = f"the vocabulary file {path} is a Git LFS pointer and not the file: run git lfs pull"
        raise UnreadableFileError(message)
    return text.split("\n")
