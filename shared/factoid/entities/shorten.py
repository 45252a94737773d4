"""Documents that are shortened to what a model takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_LONG_WORD = 50  # characters: a cut looks no further back for white space, since not all scripts have it


def shorten(documents: Sequence[str], fits: Callable[[Sequence[str]], bool]) -> list[str]:
    """Return the longest beginning of some documents that fits, the last ones shortened or left out first.

    A document is cut between words where it has white space near the cut.

    Args:
        documents: The documents in order.
        fits: Whether documents are short enough; no documents are.
    """
    low, high = 0, sum(map(len, documents))  # characters of all: `low` fit, and above `high` nothing does
    while low < high:
        middle = (low + high + 1) // 2
        if fits(_beginning(documents, middle)):
            low = middle
        else:
            high = middle - 1
    return _beginning(documents, low)


def _beginning(documents: Sequence[str], characters: int) -> list[str]:
    kept: list[str] = []
    for document in documents:
        if len(document) > characters:
            part = document[:characters]
            if part and not part[-1].isspace() and not document[characters].isspace():
                place = max((at for at, char in enumerate(part) if char.isspace()), default=-1)
                part = part[:place] if place >= 0 and characters - place <= _LONG_WORD else part
            return [*kept, part.rstrip()] if part.strip() else kept
        kept.append(document)
        characters -= len(document)
    return kept
