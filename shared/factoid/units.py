"""The records that factoid works with: documents, retrieval units and hits.

Spans are half-open `[start, end)`, in characters of the document's text. A passage's and a
sentence's text is `document.text[start:end]`; a proposition is rewritten text, and its span is that
of its source.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha1
from itertools import chain
from typing import TYPE_CHECKING, Any
from uuid import UUID

from factoid.errors import InvalidInputError, shown

if TYPE_CHECKING:
    from factoid.text.reading import Sentence

# Ids are uuid5 in this namespace, so the same content has the same id in every process and on every
# machine.
NAMESPACE = UUID("5f0a3b1e-8f0c-5d53-9a2c-1f6d3c0e7b41")

# A document with this in its metadata holds propositions, one on each line, as a table's rows do;
# no model is used.
PROPOSITIONS = "propositions"
LINES = "lines"

# The most that metadata, and operands of filters, may hold.
DEPTH = 100
VALUES = 1_000_000
CHARACTERS = 100_000_000
BITS = 14_000  # of an integer: Python turns no more than 4,300 digits into text
_FEW = 100
_LARGE = 1 << 63

# characters of a title or section in a unit; a longer heading in a text is a paragraph
LONGEST_HEADING = 1000

Metadata = Mapping[str, Any]

_CONTENT = json.JSONEncoder(ensure_ascii=True, sort_keys=True, default=str)


class Granularity(StrEnum):
    """The size of a retrieval unit (Dense X Retrieval, §2)."""

    DOCUMENT = "document"
    PASSAGE = "passage"
    SENTENCE = "sentence"
    PROPOSITION = "proposition"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise InvalidInputError(f"unknown granularity {value!r}: expected one of {', '.join(cls)}")


def content_id(*parts: object) -> str:
    """Return the id of some content: equal parts give equal ids.

    Parts are any values that JSON can hold.
    """
    content = _CONTENT.encode(parts)
    # As `uuid.uuid5`, which takes four times as long: most of it to make an object of the text.
    digest = sha1(NAMESPACE.bytes + content.encode(), usedforsecurity=False).digest()[:16]
    number = bytearray(digest)
    number[6] = number[6] & 0x0F | 0x50  # the version, 5
    number[8] = number[8] & 0x3F | 0x80  # the variant
    written = number.hex()
    return f"{written[:8]}-{written[8:12]}-{written[12:16]}-{written[16:20]}-{written[20:]}"


def check_text(text: object, name: str = "text") -> None:
    """Reject text that an encoder, tokenizer or database cannot store.

    Raises:
        InvalidInputError: Not a string, or a string with lone surrogates (half of a character, from
            a bad decode).
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"{name} must be a str, got {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{name} holds a lone surrogate, {text[error.start]!r}, at character {error.start}: "
            "it was decoded wrongly. "
            f'Mend it with {name}.encode("utf-16", "surrogatepass").decode("utf-16", "replace")'
        ) from error


def check_size(value: object, name: str = "metadata") -> None:
    """Reject metadata that would take too deep a recursion, too much memory, or too many digits.

    Raises:
        InvalidInputError: Dicts and lists are nested more than `DEPTH` levels deep, there are more
            than `VALUES` values or `CHARACTERS` characters (what is named twice counts twice), or
            an integer has more than `BITS` bits.
    """
    if _is_flat(value):
        return
    values = 0
    characters = 0
    nested = [iter((value,))]
    while nested:
        for element in nested[-1]:
            values += 1
            if _is_small(element):
                continue
            if isinstance(element, str):
                characters += len(element)
            elif isinstance(element, int):
                if element.bit_length() > BITS:
                    raise InvalidInputError(
                        f"{name} holds an integer of {element.bit_length():,} bits, and {BITS:,} "
                        "are allowed: use a string"
                    )
            elif isinstance(element, Mapping | list | tuple | set | frozenset):
                if len(nested) > DEPTH:
                    raise InvalidInputError(
                        f"{name} is nested more than {DEPTH} levels deep: use fewer dicts and "
                        "lists in each other"
                    )
                if _is_flat(element):
                    values += len(element)
                    continue
                if isinstance(element, Mapping):
                    nested.append(chain.from_iterable(element.items()))
                else:
                    nested.append(iter(element))
                break
        else:
            nested.pop()
        if values > VALUES or characters > CHARACTERS:
            raise InvalidInputError(
                f"{name} holds more than {VALUES:,} values or {CHARACTERS:,} characters: keep "
                "what is large in a file of its own"
            )


def _is_flat(value: object) -> bool:
    """Return whether a value is a dict as metadata nearly always are.

    This is faster than to count what they hold.
    """
    if not isinstance(value, dict) or len(value) > _FEW:
        return False
    for element in value.values():
        is_short = type(element) is str and len(element) <= _FEW  # spares a call for most
        if not is_short and not _is_small(element):
            return False
    return True


def _is_small(value: object) -> bool:
    kind = type(value)
    if kind is str:
        return len(value) <= _FEW  # type: ignore[arg-type]
    if kind is int:
        return -_LARGE < value < _LARGE  # type: ignore[operator]
    return value is None or kind in (bool, float)


def whole_number(name: str, value: object, *, least: int = 1) -> int:
    """Return a value of any integer type as an int.

    Raises:
        InvalidInputError: The value is not a whole number, or is below the least.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError as error:
        raise InvalidInputError(f"{name} must be a whole number, got {shown(value)}") from error
    if number < least:
        raise InvalidInputError(f"{name} must be at least {least}, got {shown(number)}")
    return number


@dataclass(frozen=True, slots=True)
class Document:
    """A text to index.

    Attributes:
        text: The whole text; all spans count its characters.
        title: Name of the document, or "" to take it from the text's first heading.
        section: Where the text is within a larger work, or "".
        id: Any string; by default made from the content, metadata included.
        metadata: Values that JSON can hold; copied to every unit and searchable by filters.

    Raises:
        InvalidInputError: A text, title or section is not a string or holds lone surrogates, the id
            holds a NUL byte, or the metadata is not a mapping of strings to values that JSON can
            hold, or holds too much (see `check_size`).
    """

    text: str
    title: str = ""
    section: str = ""
    id: str = ""
    metadata: Metadata = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("text", "title", "section", "id"):
            check_text(getattr(self, name), name)
        if "\0" in self.id:
            raise InvalidInputError(f"id must not hold a NUL byte, got {self.id!r}")
        if not isinstance(self.metadata, Mapping):
            raise InvalidInputError(f"metadata must be a dict, got {type(self.metadata).__name__}")
        check_size(self.metadata)
        if not self.id:
            try:
                document_id = content_id(
                    "document", self.title, self.section, self.text, dict(self.metadata)
                )
            except (TypeError, ValueError, RecursionError) as error:
                raise InvalidInputError(
                    f"metadata must hold what JSON can hold, and its keys must be strings: {error}"
                ) from error
            object.__setattr__(self, "id", document_id)


@dataclass(frozen=True, slots=True)
class Unit:
    """A retrieval unit: a passage, sentence or proposition of a document.

    Attributes:
        id: Any string; if empty, made from granularity, document, span and text.
        text: What is encoded and searched.
        granularity: Which kind of unit this is.
        document_id: The document that the unit comes from.
        parent_id: The passage of a sentence or proposition; the document of a passage.
        start: Where the text starts in the document's, in characters.
        end: Where it ends there: its span is `[start, end)`.
        title: The document's title.
        section: Path of headings, outermost first, joined by ", ".
        metadata: The document's metadata. A proposition that replaces a failed decomposition adds
            `fallback`.
        payload: Any text of the caller's, returned with the unit; it is neither searched nor
            filtered.
        visible: What a reader sees of the text where that differs, as in Markdown: this is encoded
            and searched. Of an item of a list or a row of a table with what it goes on from, if the
            unit is a sentence.
        sentences: The sentences of a passage as it was read in its document, if it comes from
            there; never stored.
    """

    id: str
    text: str
    granularity: Granularity
    document_id: str
    parent_id: str
    start: int
    end: int
    title: str = ""
    section: str = ""
    metadata: Metadata = field(default_factory=dict, hash=False)
    payload: str = ""
    visible: str = ""
    sentences: tuple[Sentence, ...] = field(default=(), compare=False, repr=False)

    @property
    def search_text(self) -> str:
        """The text that a search compares: what a reader sees of the unit."""
        return self.visible or self.text

    @property
    def has_place(self) -> bool:
        """Whether the span is known: that of a framework's node may not be, and is then (0, 0)."""
        return self.end > 0

    def is_text_at_span(self) -> bool:
        """Return whether the span is as long as the text, as in a passage whose place is known."""
        return self.end - self.start == len(self.text)

    def __post_init__(self) -> None:
        if not self.id:
            unit_id = content_id(
                self.granularity, self.document_id, self.start, self.end, self.text
            )
            object.__setattr__(self, "id", unit_id)


@dataclass(frozen=True, slots=True)
class Hit:
    """A unit found by a search.

    Attributes:
        unit: The unit: by default a passage.
        score: A plain float; higher is better.
        matches: The units of a parent whose scores made it a hit, best first.
        neighbours: If requested, the sentences around the unit in its document, in order, or the
            passages around a passage.
        parts: The components of a blended score: the best score of each granularity, and under
            "lexical" BM25 as a share (see `Weights`).
    """

    unit: Unit
    score: float
    matches: tuple[Hit, ...] = ()
    neighbours: tuple[Unit, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict, hash=False, compare=False)


def child_unit(
    parent: Document | Unit,
    text: str,
    granularity: Granularity,
    start: int,
    end: int,
    *,
    visible: str = "",
    sentences: tuple[Sentence, ...] = (),
) -> Unit:
    """Return a unit under a document or unit.

    Its span counts characters of the document's text; the rest is the parent's. Of a document's
    title and section it has the first 1,000 characters: they are repeated in each unit, and before
    its text.
    """
    document_id = parent.id if isinstance(parent, Document) else parent.document_id
    title = parent.title
    section = parent.section
    if isinstance(parent, Document):
        title = title[:LONGEST_HEADING]
        section = section[:LONGEST_HEADING]
    return Unit(
        "",
        text,
        granularity,
        document_id,
        parent.id,
        start,
        end,
        title,
        section,
        parent.metadata,
        visible=visible,
        sentences=sentences,
    )


def document_unit(document: Document) -> Unit:
    """Return a document as a unit."""
    content = (document.text, Granularity.DOCUMENT, document.id, document.id, 0, len(document.text))
    return Unit(document.id, *content, document.title, document.section, document.metadata)
