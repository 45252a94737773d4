"""What an exported store looks like: a file of units, one of documents, and one that tells what both are.

facts.jsonl             facts.jsonl.gz             facts.parquet
facts.documents.jsonl   facts.documents.jsonl.gz   facts.documents.parquet
facts.about.json        facts.about.json           facts.about.json
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, get_args

from factoid.errors import InvalidInputError, UnreadableFileError

FORMAT = 1
Format = Literal["jsonl", "parquet"]
ENDINGS: dict[str, Format] = {".parquet": "parquet", ".jsonl.gz": "jsonl", ".jsonl": "jsonl"}


@dataclass(frozen=True, slots=True)
class Files:
    """The files of an export.

    Attributes:
        units: As named by the caller.
        documents: Beside it.
        about: Beside both; written last.
        format: What the first two are.
        compressed: Whether they are compressed by gzip.
    """

    units: Path
    documents: Path
    about: Path
    format: Format
    compressed: bool = False

    @classmethod
    def of(cls, path: str | Path, format: str | None = None) -> Self:  # noqa: A002 - as users know it
        """Return the files that go with a file of units.

        Raises:
            InvalidInputError: A format that is unknown, or that cannot be told from the name.
        """
        units = Path(path)
        ending = next((ending for ending in ENDINGS if units.name.endswith(ending)), "")
        chosen = next((each for each in get_args(Format) if each == (format or ENDINGS.get(ending))), None)
        if chosen is None:
            message = (
                f"cannot tell the format of {units}: name it .jsonl, .jsonl.gz or .parquet, or give format='jsonl' or "
                f"'parquet' (got {format!r})"
            )
            raise InvalidInputError(message)
        if not ending:
            ending = units.suffix
        stem = units.name[: len(units.name) - len(ending)]
        beside = units.with_name(f"{stem}.documents{ending}")
        compressed = chosen == "jsonl" and ending.endswith(".gz")
        return cls(units, beside, units.with_name(f"{units.name}.about.json"), chosen, compressed)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What an export tells of the store that it came from.

    Attributes:
        units: How many units there are.
        documents: How many documents there are.
        encoder: The name of what made the vectors, if it has one.
        dim: Components of the vectors; None where there are none.
        similarity: What scores of the store were.
        vectors: Whether the vectors are in the file.
    """

    units: int
    documents: int
    encoder: str | None
    dim: int | None
    similarity: str
    vectors: bool

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """Read the file, or return None where there is none: files may be made by others.

        Raises:
            UnreadableFileError: It is damaged, or of another version.
        """
        try:
            record = json.loads(file.read_text(encoding="utf-8"))
            if record.pop("format") != FORMAT:
                raise ValueError
            return cls(**record)
        except FileNotFoundError:
            return None
        except OSError as error:
            message = f"{file} cannot be read: {error.strerror}"
            raise UnreadableFileError(message) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"{file} is not what factoid export writes (format {FORMAT}): export again, or delete this file"
            raise UnreadableFileError(message) from error

    def to_json(self) -> str:
        """Return the file's content."""
        own = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps({"format": FORMAT, **own}, indent=2) + "\n"
