"""Pack hits into a text within a budget of words (Dense X Retrieval, §4.4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, takewhile

from factoid.heading_template import with_heading
from factoid.units import Hit, Unit, whole_number
from factoid.words import count_words, cut_words, stands_in

# A source is replaced by what a reader sees of it if it is this much longer, in times and
# characters.
_TIMES = 2
_UNSEEN = 1000
_LEVELS = ", "  # between the headings of a section's path
_MARKS = ".,;:!?()[]\"'“”‘’«»"
_FILLERS = {
    "",
    *"a an the and or of in on at by for from to with as".split(),
    *"is are was were be been has have had which that".split(),
}


def pack_context(
    hits: Iterable[Hit | Unit],
    *,
    words: int = 100,
    separator: str = "\n",
    headings: bool = True,
    repeats: bool = False,
) -> str:
    """Return the first `words` words of the ranked units, best first, without repeating a text.

    With headings the units of a document come together, documents in the order of their best units,
    so that a title is written once and it stays clear what a text is about. A unit is left out if
    an earlier one contains it, ignoring case, or if all of its words are in earlier units of the
    same source span (facts of one sentence often overlap). The same text under another heading is
    not a repetition.

    Args:
        hits: Hits or units, best first.
        words: The budget, at least 1. The last unit is cut where the budget ends.
        separator: Text between units; it must not contain words.
        headings: Write "title — section: " before a unit: the title once for each document, and of
            a section's path what the unit before it does not share. What the unit's text says
            itself is not written. The words count.
        repeats: Keep units that repeat earlier ones. With `headings=False` this is the paper's
            context: the first words of the ranked texts as they are.

    Raises:
        InvalidInputError: `words` is below 1.
    """
    taken: list[tuple[tuple[str, str], str, Unit]] = []
    groups: dict[tuple[str, str], list[str]] = {}
    sections: dict[tuple[str, str], str] = {}  # of the latest unit in a group
    room = whole_number("words", words)
    for hit in hits:
        unit = hit.unit if isinstance(hit, Hit) else hit
        unit = _without_data(unit)
        text = unit.text.strip()
        folded = " ".join(text.split()).casefold()
        place = (unit.title, unit.section) if headings else ("", "")
        if not folded or (not repeats and _is_said(unit, folded, place, taken)):
            continue
        group = (unit.document_id, unit.title) if any(place) else ("", "")
        if headings:
            text = with_heading(_introduced(unit, sections.get(group))).strip()
            heading = count_words(text) - count_words(unit.text)
            if heading >= room:  # no room for a word of the unit itself
                if taken:
                    break
                text = unit.text.strip()
        taken.append((place, folded, unit))
        sections[group] = unit.section
        groups.setdefault(group, []).append(cut_words(text, room))
        room -= count_words(text)
        if room <= 0:
            break
    return separator.join(chain.from_iterable(groups.values()))


def _introduced(unit: Unit, before: str | None) -> Unit:
    """Return a unit with the headings to write after a unit of this section.

    These are parts of its title and section; None for the first unit.
    """
    said = _content(" ".join(unit.text.split()).casefold())
    title = unit.title if before is None else ""
    section = unit.section
    if before is not None:
        path = section.split(_LEVELS)
        shared = before.split(_LEVELS)
        same = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, shared, strict=False))
        )
        section = _LEVELS.join(path[same:])
    if _content(title.casefold()) <= said:
        title = ""
    if _content(section.casefold()) <= said:
        section = ""
    return replace(unit, title=title, section=section)


def _without_data(unit: Unit) -> Unit:
    """Return a unit with what a reader sees, if its source holds far more.

    Such is the data of a picture.
    """
    is_long = bool(unit.visible) and len(unit.text) > _TIMES * len(unit.visible) + _UNSEEN
    if is_long:
        return replace(unit, text=unit.visible)
    return unit


def _content(folded: str) -> set[str]:
    return {word.strip(_MARKS) for word in folded.split()} - _FILLERS


def _is_said(
    unit: Unit, folded: str, place: tuple[str, str], taken: list[tuple[tuple[str, str], str, Unit]]
) -> bool:
    """Return whether earlier units of the same heading say all that a unit does."""
    for other, text, _ in taken:
        if place == other and stands_in(folded, text):
            return True
    said = _said(unit, place, taken)
    return bool(said) and _content(folded) <= said


def _said(
    unit: Unit, place: tuple[str, str], taken: Iterable[tuple[tuple[str, str], str, Unit]]
) -> set[str]:
    """Return the words already taken from a unit's source, and of its heading."""
    texts = []
    for heading, text, other in taken:
        if (
            (heading, other.document_id) == (place, unit.document_id)
            and other.start < unit.end
            and unit.start < other.end
        ):
            texts.append(text)
    if texts:
        return _content(" ".join([*texts, unit.title.casefold(), unit.section.casefold()]))
    return set()
