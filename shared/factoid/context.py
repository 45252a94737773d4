"""Hits into the text that a reader model gets, within a budget of words (Dense X Retrieval, §4.4)."""

from __future__ import annotations

from collections.abc import Iterable

from factoid.encode import with_heading
from factoid.errors import InvalidInputError
from factoid.units import Hit, Unit
from factoid.words import count_words, cut_words, stands_in


def pack_context(hits: Iterable[Hit | Unit], *, words: int = 100, separator: str = "\n", headings: bool = True) -> str:
    """Return the first `words` words of the ranked units, best first, without repeating a text.

    Propositions of one passage often say the same in other order or case of letters; only exact repetition, white space
    and case aside, is left out. A unit contained in one already taken (a sentence of a passage) is left out as well. The
    same text under another heading is no repetition.

    Args:
        hits: Hits or units, best first.
        words: The budget, at least 1. The last unit is cut where the budget ends.
        separator: Stands between units; it must not hold words of its own.
        headings: Write "title — section: " before a unit, once where the next units are of the same section. Its words
            count.

    Raises:
        InvalidInputError: `words` is below 1.
    """
    if words < 1:
        message = f"words must be at least 1, got {words}"
        raise InvalidInputError(message)
    taken: list[tuple[str, str, str]] = []
    parts: list[str] = []
    left = words
    for hit in hits:
        unit = hit.unit if isinstance(hit, Hit) else hit
        text = unit.text.strip()
        folded = " ".join(text.split()).casefold()
        place = (unit.title, unit.section) if headings else ("", "")
        if not folded or any(place == other[:2] and stands_in(folded, other[2]) for other in taken):
            continue
        if headings and not (taken and place == taken[-1][:2]):
            text = with_heading(unit).strip()
            heading = count_words(text) - count_words(unit.text)
            if heading >= left:  # no room for a word of the unit itself
                if parts:
                    break
                text = unit.text.strip()
        taken.append((*place, folded))
        parts.append(cut_words(text, left))
        left -= count_words(text)
        if left <= 0:
            break
    return separator.join(parts)
