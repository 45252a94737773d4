"""What is known of the published vocabulary files, to notice where others were given for them.

Lengths alone do not tell: the same lines in another order make a vocabulary of the same length, in which every entity stands
for another one.
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

from factoid.errors import InvalidInputError

AIDA, ENWIKI, OUT_OF_DOMAIN = "aida.txt", "enwiki_20230827.txt", "out_of_domain.txt"

_ROLES = {
    "aida": re.compile(r"aida\.txt", re.IGNORECASE),
    "enwiki": re.compile(r"enwiki(_\d+)?\.txt", re.IGNORECASE),
    "out_of_domain": re.compile(r"out_of_domain\.txt", re.IGNORECASE),
}
_AIDA_LINES = 5_598
_PUBLISHED_ROWS = 100_000  # the published output embeddings have some 500,000; smaller ones are of one's own training


def check_role(role: str, path: str | PathLike[str]) -> None:
    """Refuse a file whose name is the published one of another role.

    Args:
        role: "aida", "enwiki" or "out_of_domain".
        path: What was given for it.

    Raises:
        InvalidInputError: It has such a name.
    """
    named = next((other for other, name in _ROLES.items() if name.fullmatch(Path(path).name)), role)
    if named != role:
        message = (
            f"{path} is given as {role}, but has the name of the published file {named}: the order of the three files makes "
            "the ids, so each must be given in its place"
        )
        raise InvalidInputError(message)


def check_lines(rows: int, aida: tuple[Path, int], enwiki: int, out_of_domain: int) -> None:
    """Refuse files that cannot be the published ones for an output embedding of published size.

    Args:
        rows: Of the output embedding.
        aida: The first file, and its number of lines.
        enwiki: Number of lines of the second.
        out_of_domain: Number of lines of the third.

    Raises:
        InvalidInputError: They cannot.
    """
    if rows < _PUBLISHED_ROWS:
        return
    path, lines = aida
    if Path(path).name == AIDA and lines != _AIDA_LINES:
        message = (
            f"{path} has {lines:,} lines, and the published {AIDA} has {_AIDA_LINES:,}: every entity after it would be "
            "taken for another. Get the file again, or give a vocabulary of your own another name"
        )
        raise InvalidInputError(message)
    if out_of_domain > enwiki:
        message = (
            f"out_of_domain has {out_of_domain:,} lines and enwiki {enwiki:,}, but the published {ENWIKI} is the longer one "
            "by far: are they swapped?"
        )
        raise InvalidInputError(message)
