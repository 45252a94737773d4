"""Hits into the text that a reader model gets, within a budget of words (Dense X Retrieval, §4.4)."""

from __future__ import annotations

from collections.abc import Iterable

from factoid.errors import InvalidInputError
from factoid.units import Hit, Unit
from factoid.words import count_words, cut_words, stands_in


def pack_context(hits: Iterable[Hit | Unit], *, words: int = 100, separator: str = "\n") -> str:
    """Return the first `words` words of the ranked units, best first, without repeating a text.

    Propositions of one passage often say the same in other order or case of letters; only exact repetition, white space
    and case aside, is left out. A unit contained in one already taken (a sentence of a passage) is left out as well.

    Args:
        hits: Hits or units, best first.
        words: The budget, at least 1. The last unit is cut where the budget ends.
        separator: Stands between units; it must not hold words of its own.

    Raises:
        InvalidInputError: `words` is below 1.
    """
    if words < 1:
        message = f"words must be at least 1, got {words}"
        raise InvalidInputError(message)
    taken: list[str] = []
    kept: list[str] = []
    left = words
    for hit in hits:
        text = (hit.unit if isinstance(hit, Hit) else hit).text.strip()
        folded = " ".join(text.split()).casefold()
        if not folded or any(stands_in(folded, other) for other in taken):
            continue
        taken.append(folded)
        kept.append(cut_words(text, left))
        left -= count_words(folded)
        if left <= 0:
            break
    return separator.join(kept)
