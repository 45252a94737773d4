"""Limits of what is read from users' files.

No small hostile file fills the memory or keeps a process busy for hours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NoReturn

from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.units import whole_number

_DEEPEST = 1000  # Python itself goes no deeper


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """Limits of what is read from users' files.

    A file above one of them is an UnreadableFileError that names it. With the defaults, books and
    manuals of 2,000 pages can be read, results of layout services for them, and Wikipedia's dumps:
    what is read line by line or page by page may have any size in total.

    Attributes:
        file_bytes: Of a file that is read as a whole: text, HTML, a notebook, the JSON of a layout
            service, standard input.
        unpacked_bytes: Of what is unpacked, or taken from a stream, at once: the text of an archive
            (DOCX, PPTX, EPUB; pictures do not count, and are not unpacked), a stream in a PDF, a
            line of JSON lines, a row of a table, a page of a dump.
        pages: Pages of a PDF, slides of a presentation, chapters of an EPUB.
        depth: Elements inside each other in HTML, in archives and in dumps, and collections in
            front matter; at most 1,000.
        seconds: To convert a file that is neither text nor records. It is converted in a process of
            its own, which is ended after this time. None converts in this process, without limits
            of time and memory.
        memory_bytes: Of that process. Only Linux enforces it.

    Raises:
        InvalidInputError: A limit is not a number, or is too small or too large.
    """

    file_bytes: int = 500_000_000
    unpacked_bytes: int = 64_000_000
    pages: int = 10_000
    depth: int = 200
    seconds: float | None = 600
    memory_bytes: int = 4_000_000_000

    def __post_init__(self) -> None:
        for name in ("file_bytes", "unpacked_bytes", "pages", "depth", "memory_bytes"):
            whole_number(name, getattr(self, name))
        if self.depth > _DEEPEST:
            raise InvalidInputError(f"depth must be at most {_DEEPEST}, got {self.depth}")
        if self.seconds is not None and not _is_time(self.seconds):
            raise InvalidInputError(
                f"seconds must be a number above 0, or None, got {self.seconds!r}"
            )

    def refuse(self, subject: str, limit: str, unit: str) -> NoReturn:
        """Raise an UnreadableFileError that names a limit.

        An example is "a.pdf has more than 10,000 pages".
        """
        advice = (
            f"If you trust the file, raise the limit: ReadLimits({limit}=…), or --limit {limit}=…"
        )
        raise UnreadableFileError(f"{subject} more than {getattr(self, limit):,} {unit}. {advice}")

    def refuse_nesting(self, path: Path) -> NoReturn:
        """Raise an UnreadableFileError for a file whose reader ran out of Python's stack."""
        raise UnreadableFileError(
            f"{path} is nested too deeply to be read: the limit depth is {self.depth}"
        )


def _is_time(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value > 0  # type: ignore[arg-type, operator]


DEFAULT_LIMITS = ReadLimits()


def parse_limits(options: Iterable[str]) -> ReadLimits:
    """Return the limits that options such as "pages=20000" and "seconds=none" set.

    Raises:
        InvalidInputError: An option is not NAME=NUMBER, there is no such limit, or its number is
            too small or too large.
    """
    names = [field.name for field in fields(ReadLimits)]
    values: dict[str, float | int | None] = {}
    for option in options:
        name, _, number = option.partition("=")
        if name not in names:
            raise InvalidInputError(
                f"expected a limit as in pages=20000, one of {', '.join(names)}, got {option!r}"
            )
        values[name] = _number(name, number)
    return ReadLimits(**values)  # type: ignore[arg-type]


def _number(name: str, text: str) -> float | int | None:
    if name == "seconds" and text.lower() == "none":
        return None
    try:
        if name == "seconds":
            return float(text)
        return int(text)
    except ValueError as error:
        raise InvalidInputError(f"expected a number for the limit {name}, got {text!r}") from error
