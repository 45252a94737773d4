"""Results of a search as numbered text that a model can quote.

Each result has its number, title, section, page and id, the facts that matched, and its text. The
tools of agents and the MCP server answer with it. Lines of stored text begin with ">", so that no
document can pass for a result of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from factoid.terminal import plain
from factoid.units import Document, Granularity, Hit, Unit

CHARACTERS = 2_000  # of a text, at most; longer ones are cut around their best fact
FACTS = 10  # of a result
_BEFORE = 500  # characters before a fact where a text is cut
_PAGES = ("page_label", "page_number", "page")  # where readers of files put it, the best first
_STRING = 500  # characters of a value of metadata
_KEYS = 20


@dataclass(frozen=True, slots=True)
class Fact:
    """A unit that made a result a hit."""

    id: str
    text: str
    granularity: str
    start: int | None  # of its place in the document, half-open; None where that is not known
    end: int | None
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedHit:
    """A result of a search, as tools return it beside their text."""

    number: int  # from 1, as in the text
    id: str  # of the unit or document, to read more around it
    document_id: str
    title: str
    section: str
    page: str  # "" where the metadata names none
    text: str
    is_cut: bool  # the text is longer, and this is the part with the best fact
    facts: list[Fact]  # that matched, best first
    score: float
    metadata: dict[str, Any]  # strings (their first 500 characters), numbers and bools; 20 at most

    @property
    def heading(self) -> str:
        """Title, section and page on one line."""
        line = " › ".join(part for part in (self.title, self.section) if part)
        if not line:
            line = "(no title)"
        if self.page:
            line += f", page {self.page}"
        return line


def numbered_hits(hits: Iterable[Hit], *, first: int = 1) -> list[NumberedHit]:
    """Return hits as numbered results, the first with the number `first`."""
    results = []
    for number, hit in enumerate(hits, start=first):
        facts = []
        for match in hit.matches:
            if match.unit.granularity is not Granularity.PASSAGE:
                facts.append(_fact(match))
        best = 0
        if facts and facts[0].start is not None:
            best = facts[0].start - hit.unit.start
        text = cut_around(hit.unit.text, best)
        results.append(numbered_unit(number, hit.unit, text, score=hit.score, facts=facts))
    return results


def numbered_unit(
    number: int,
    unit: Unit | Document,
    text: str,
    *,
    score: float = 0.0,
    facts: Sequence[Fact] = (),
) -> NumberedHit:
    """Return a unit or document as a numbered result, with all or a part of its text."""
    document_id = unit.id
    if isinstance(unit, Unit):
        document_id = unit.document_id
    return NumberedHit(
        number=number,
        id=unit.id,
        document_id=document_id,
        title=_line(unit.title),
        section=_line(unit.section),
        page=page_of(unit.metadata),
        text=text,
        is_cut=text != unit.text,
        facts=list(facts[:FACTS]),
        score=score,
        metadata=_short(unit.metadata),
    )


def page_of(metadata: Mapping[str, Any]) -> str:
    """Return the page that metadata name, as readers of files write it; "" if there is none."""
    for key in _PAGES:
        value = metadata.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return _line(str(value))
    return ""


def as_text(results: Iterable[NumberedHit]) -> str:
    """Return numbered results as one text.

    Each says by which id more can be read around it.
    """
    blocks = []
    for result in results:
        lines = [f"[{result.number}] {result.heading} (id: {plain(result.id)})"]
        for fact in result.facts:
            lines.append(f"- {plain(fact.text)}")
        lines.append(quoted(result.text))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def quoted(text: str) -> str:
    """Return a text with ">" before each line."""
    lines = []
    for line in text.splitlines() or [""]:
        lines.append(f"> {line}".rstrip())
    return "\n".join(lines)


def cut_around(text: str, place: int) -> str:
    """Return a text, or the part of a long one around a place."""
    if len(text) <= CHARACTERS:
        return text
    first = max(0, min(place - _BEFORE, len(text) - CHARACTERS))
    return text[first : first + CHARACTERS]


def _fact(match: Hit) -> Fact:
    unit = match.unit
    start = None
    end = None
    if unit.end:
        start = unit.start
        end = unit.end
    return Fact(unit.id, unit.text, unit.granularity.value, start, end, match.score)


def _line(text: str) -> str:
    return plain(text)[:_STRING]


def _short(metadata: Mapping[str, Any]) -> dict[str, Any]:
    short: dict[str, Any] = {}
    for key, value in metadata.items():
        if len(short) == _KEYS:
            break
        if isinstance(value, str):
            short[key] = value[:_STRING]
        elif value is None or isinstance(value, bool | int | float):
            short[key] = value
    return short
