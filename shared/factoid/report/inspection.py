"""What a store holds of a document, and what it answers to a question, as it is shown.

All flags are found again from the stored units, so a store that somebody else made is looked at in
the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from factoid.documents.tables import Region
from factoid.documents.word_boxes import LAYOUT, regions
from factoid.packing import pack_context
from factoid.propositions.ground import Source, is_supported
from factoid.store import UnitStore
from factoid.units import Document, Granularity, Hit, Unit
from factoid.words import count_words

_LONGEST = 2_000  # characters of a value of metadata
_WORD = re.compile(r"\w+")
_FIRST = 3  # words by which a unit is found in a context
_RECEIVED = 50  # units that are shown of a context
_MARGIN = 0.02  # of a page's width around what is known of it

# Signs that a unit is not what an author wrote: each is a fault of the file or of its reader.
DIRT: Mapping[str, re.Pattern[str]] = {
    "no word": re.compile(r"\A(?!.*[^\W\d_]{2})", re.DOTALL),
    "wrongly decoded": re.compile(r"\ufffd|Ã[\x80-\xbf]|â€"),
    "control character": re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"),
    "soft hyphen or ligature": re.compile("[\u00adﬀ-ﬆ]"),
    "broken word": re.compile(r"[a-z]-[ \t]*\n[ \t]*[a-z]|[a-z]{3}- [a-z]{3}"),
    "markup": re.compile(
        r"</?[a-z][a-z0-9]*(?:\s[^<>]*)?/?>|\]\([^)\s]+\)|^\s*#{1,6} ", re.I | re.M
    ),
}


@dataclass(frozen=True, slots=True)
class TextRun:
    """A run of a passage's text, with the numbers of the units whose source it is."""

    text: str
    units: str  # numbers with spaces between them
    is_odd: bool  # of an odd sentence: neighbours are told apart by their shade


@dataclass(frozen=True, slots=True)
class FactView:
    """A unit below a passage.

    Attributes:
        number: Its number in the document, from 1.
        kind: Its granularity.
        text: What is encoded.
        flags: What is doubtful about it, in words.
        run: The number of the first run of the passage that it comes from, or 0.
    """

    number: int
    kind: str
    text: str
    flags: Sequence[str]
    run: int


@dataclass(frozen=True, slots=True)
class PassageView:
    """A passage with its units."""

    number: int
    section: str
    start: int
    end: int
    words: int
    flags: Sequence[str]
    before: str  # text of the document between the passage before and this one
    is_heading: bool  # whether that is nothing but headings, which the units carry
    runs: Sequence[TextRun]
    facts: Sequence[FactView]


@dataclass(frozen=True, slots=True)
class BoxView:
    """A rectangle on a page, in per mille of the page's width."""

    x: float
    y: float
    width: float
    height: float
    unit: int  # number of the unit, or 0 for a passage


@dataclass(frozen=True, slots=True)
class PageView:
    """A page of a layout, with boxes.

    Attributes:
        number: From 1.
        height: In per mille of its width.
        picture: As a data URI, or "".
        boxes: Of passages and of the units in them.
    """

    number: int
    height: float
    picture: str
    boxes: Sequence[BoxView]


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document as it is shown."""

    id: str
    name: str
    metadata: Sequence[tuple[str, str]]
    counts: str
    flags: Mapping[str, int]  # how many units have each kind of flag
    passages: Sequence[PassageView]
    after: str  # text behind the last passage
    pages: Sequence[PageView]


@dataclass(frozen=True, slots=True)
class Listed:
    """A document in the list of all."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Picture:
    """The picture of a page: its size in inches, and a data URI."""

    width: float
    height: float
    uri: str


# -- Documents --


def listed(store: UnitStore, start: int, count: int) -> tuple[list[Listed], int]:
    """Return some documents of a store, oldest first, and how many there are."""
    with store.opened.connections.reading() as snapshot:
        rows = snapshot.all_document_rows().tolist()
        chosen = rows[start : start + count]
        documents = snapshot.documents(chosen)
    entries = []
    for row in chosen:
        document_id, document = documents[row]
        entries.append(Listed(document_id, _name(document_id, document)))
    return entries, len(rows)


def view_document(
    store: UnitStore, document_id: str, pictures: Mapping[int, Picture] | None = None
) -> DocumentView | None:
    """Return a document as it is shown, or None if the store does not hold it.

    Args:
        store: The store.
        document_id: The id of the document.
        pictures: Of its pages by number, if there are any.
    """
    units = store.units_of([document_id])
    documents = store.documents([document_id])
    if not units and not documents:
        return None
    document = documents[0] if documents else None
    passages = [unit for unit in units if unit.granularity is Granularity.PASSAGE]
    passages.sort(key=lambda unit: (unit.start, unit.end))
    below: dict[str, list[Unit]] = {passage.id: [] for passage in passages}
    for unit in units:
        if unit.parent_id in below:
            below[unit.parent_id].append(unit)
    views = []
    flags: dict[str, int] = {}
    numbers: dict[int, Unit] = {}
    at = 0
    for number, passage in enumerate(passages, start=1):
        before = ""
        if document is not None:
            before = document.text[at : passage.start].strip()
        at = max(at, passage.end)
        view = _passage(number, passage, below[passage.id], before, len(numbers))
        views.append(view)
        for fact, unit in zip(view.facts, _in_order(below[passage.id]), strict=True):
            numbers[fact.number] = unit
        for flag in [*view.flags, *(flag for fact in view.facts for flag in fact.flags)]:
            kind = flag.partition(":")[0]
            flags[kind] = flags.get(kind, 0) + 1
    after = ""
    if document is not None:
        after = document.text[at:].strip()
    metadata = document.metadata if document is not None else units[0].metadata
    return DocumentView(
        document_id,
        _name(document_id, document, units),
        _shown_metadata(metadata),
        _counts(units),
        flags,
        views,
        after,
        _pages(passages, numbers, pictures or {}),
    )


def _name(document_id: str, document: Document | Unit | None, units: Sequence[Unit] = ()) -> str:
    """Return the title of a document, which its units may have from a heading, or its file."""
    known: list[Document | Unit] = [*units]
    if document is not None:
        known.insert(0, document)
    for holder in known[:2]:
        if holder.title:
            return holder.title
    for holder in known[:1]:
        file = PurePath(str(holder.metadata.get("source", ""))).name
        if file:
            return file
    return document_id


def _counts(units: Sequence[Unit]) -> str:
    counts = []
    for kind in Granularity:
        number = sum(unit.granularity is kind for unit in units)
        if number:
            counts.append(f"{number:,} {kind}{'s' * (number != 1)}")
    return ", ".join(counts) or "nothing is indexed"


def _shown_metadata(metadata: Mapping[str, object]) -> list[tuple[str, str]]:
    shown = []
    for key, value in metadata.items():
        if key != LAYOUT:
            shown.append((key, str(value)[:_LONGEST]))
    return shown


def _in_order(units: Sequence[Unit]) -> list[Unit]:
    """Return facts and sentences in order of the text, sentences first."""
    return sorted(units, key=lambda unit: (unit.granularity is Granularity.PROPOSITION, unit.start))


def _passage(
    number: int, passage: Unit, units: Sequence[Unit], before: str, counted: int
) -> PassageView:
    source = Source(passage)
    spans = [(read.sentence.start, read.sentence.end) for read in source.sentences]
    ordered = _in_order(units)
    numbered = list(enumerate(ordered, start=counted + 1))
    runs = list(_runs(passage, numbered, spans))
    facts = []
    for place, unit in numbered:
        first = 0
        for run_number, run in enumerate(runs, start=1):
            if str(place) in run.units.split():
                first = run_number
                break
        flags = _flags(unit, passage, source)
        facts.append(FactView(place, unit.granularity, unit.search_text, flags, first))
    flags = [f"dirty: {name}" for name in dirt(passage.search_text)]
    if not any(unit.granularity is Granularity.PROPOSITION for unit in units):
        flags.append("no propositions")
    return PassageView(
        number,
        passage.section,
        passage.start,
        passage.end,
        count_words(passage.search_text),
        flags,
        before,
        set(_WORD.findall(before)) <= set(_WORD.findall(f"{passage.title} {passage.section}")),
        runs,
        facts,
    )


def _runs(
    passage: Unit, numbered: Sequence[tuple[int, Unit]], spans: Sequence[tuple[int, int]]
) -> Iterator[TextRun]:
    """Yield the passage's text, cut wherever a unit or a sentence begins or ends."""
    cuts = {passage.start, passage.end}
    for start, end in [*((unit.start, unit.end) for _, unit in numbered), *spans]:
        cuts.update(at for at in (start, end) if passage.start < at < passage.end)
    for start, end in pairwise(sorted(cuts)):
        text = passage.text[start - passage.start : end - passage.start]
        units = []
        for number, unit in numbered:
            if unit.start <= start and end <= unit.end:
                units.append(str(number))
        sentence = sum(first <= start for first, _ in spans)
        yield TextRun(text, " ".join(units), sentence % 2 == 1)


def _flags(unit: Unit, passage: Unit, source: Source) -> list[str]:
    """Return what is doubtful about a unit below a passage."""
    flags = []
    if unit.granularity is Granularity.PROPOSITION:
        fallback = unit.metadata.get("fallback")
        if fallback is not None and fallback != passage.metadata.get("fallback"):
            flags.append(f"fallback: {fallback}")
        elif not is_supported(unit.text, source.known):
            flags.append("unsupported: it has names, numbers or words that its passage lacks")
    for name in dirt(unit.search_text):
        flags.append(f"dirty: {name}")
    return flags


def dirt(text: str) -> list[str]:
    """Return the names of the rules of `DIRT` that a text breaks."""
    return [name for name, pattern in DIRT.items() if pattern.search(text)]


# -- Pages of layouts --


def _pages(
    passages: Sequence[Unit], numbers: Mapping[int, Unit], pictures: Mapping[int, Picture]
) -> list[PageView]:
    """Return the pages that a document's layout knows, with the boxes of its units."""
    placed: list[tuple[int, Region]] = []
    for passage in passages:
        placed += [(0, region) for region in regions(passage)]
    if not placed:
        return []
    for number, unit in numbers.items():
        placed += [(number, region) for region in regions(unit)]
    views = []
    for page in sorted({region.page for _, region in placed}):
        on_page = []
        for number, region in placed:
            if region.page == page and region.rectangle:
                on_page.append((number, region.rectangle))
        views.append(_page(page, on_page, pictures.get(page)))
    return views


def _page(
    number: int, placed: Sequence[tuple[int, Sequence[float]]], picture: Picture | None
) -> PageView:
    if picture is not None:
        width, height, uri = picture.width, picture.height, picture.uri
    else:
        width = max((box[2] for _, box in placed), default=1.0) * (1 + _MARGIN)
        height = max((box[3] for _, box in placed), default=1.0) * (1 + _MARGIN)
        uri = ""
    scale = 1000 / width
    boxes = []
    for unit, (left, top, right, bottom) in placed:
        boxes.append(
            BoxView(
                round(left * scale, 1),
                round(top * scale, 1),
                round((right - left) * scale, 1),
                round((bottom - top) * scale, 1),
                unit,
            )
        )
    return PageView(number, round(height * scale, 1), uri, boxes)


# -- Answers --


@dataclass(frozen=True, slots=True)
class ScorePart:
    """A component of a score."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class MatchView:
    """A unit that made its passage a hit."""

    kind: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class HitView:
    """A result as it is shown.

    Attributes:
        before, source, after: The passage's text, with the source of the best unit apart.
        parts: Of the score.
    """

    rank: int
    document_id: str
    name: str
    section: str
    score: float
    parts: Sequence[ScorePart]
    before: str
    source: str
    after: str
    matches: Sequence[MatchView]


@dataclass(frozen=True, slots=True)
class AnswerView:
    """What a store answers to a question.

    Attributes:
        context: What a reader model would receive.
        words: How many words that is.
        budget: How many it may be.
        units: The units of which the context is made, best first, with their scores.
    """

    question: str
    budget: int
    context: str
    words: int
    units: Sequence[MatchView]
    hits: Sequence[HitView]


def view_answer(
    store: UnitStore, question: str, *, k: int, words: int, lexical: float | None
) -> AnswerView:
    """Return what a search finds, and what a reader model would receive of it.

    Args:
        store: The store.
        question: The question.
        k: How many passages.
        words: The words that a reader gets.
        lexical: As in `factoid.store.SearchOptions`.

    Raises:
        FactoidError: The search is refused.
    """
    hits = store.search(question, k, lexical=lexical)
    # Every unit has at least one word, so this many fill the budget.
    units = store.search(question, words, parents="unit", lexical=lexical)
    context = pack_context(units, words=words) if units else ""
    received: list[MatchView] = []
    for hit in units:
        if len(received) < _RECEIVED and _is_in(hit.unit, context):
            received.append(_match(hit))
    return AnswerView(
        question,
        words,
        context,
        count_words(context),
        received,
        [_hit(rank, hit) for rank, hit in enumerate(hits, start=1)],
    )


def _is_in(unit: Unit, context: str) -> bool:
    """Return whether a context holds a unit, or its beginning where the budget ended."""
    start = " ".join(unit.text.split()[:_FIRST])
    return start in " ".join(context.split())


def _match(hit: Hit) -> MatchView:
    return MatchView(hit.unit.granularity, hit.unit.search_text, hit.score)


def _hit(rank: int, hit: Hit) -> HitView:
    passage = hit.unit
    start = end = 0
    if hit.matches:
        best = hit.matches[0].unit
        start = max(best.start - passage.start, 0)
        end = min(best.end - passage.start, len(passage.text))
    parts = [ScorePart(name, score) for name, score in hit.parts.items()]
    return HitView(
        rank,
        passage.document_id,
        _name(passage.document_id, passage),
        passage.section,
        hit.score,
        parts,
        passage.text[:start],
        passage.text[start:end],
        passage.text[end:],
        list(map(_match, hit.matches)),
    )
