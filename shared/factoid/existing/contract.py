"""The metadata contract: how units and documents are rows of a vector store of any make.

A row is an id, a text that is embedded, and flat metadata. Every row of ours has every key below,
since stores disagree on what a filter does where a key is missing. The user's metadata are beside
them twice: flat, for the store's own filters, and as JSON, as they were given.

A document is kept as well, in one row or several, so that it can be returned whole, is not added
twice, and leaves no unit behind when it changes: `factoid_content` holds it with the ids of its
units.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from factoid.errors import StoreFormatError
from factoid.heading_template import encoded_text
from factoid.units import Document, Granularity, Unit, content_id

PREFIX = "factoid_"
ID = "factoid_id"  # of the unit; the row's is the same where it is a UUID
GRANULARITY = "factoid_granularity"
PASSAGE = "factoid_passage"  # the passage that a unit belongs to; a passage's own id
PARENT = "factoid_parent"
DOCUMENT = "factoid_document"
PASSAGES = "factoid_passages"  # how many the document has
START = "factoid_start"
END = "factoid_end"
TITLE = "factoid_title"
SECTION = "factoid_section"
TEXT = "factoid_text"  # the unit's own; the row's has the heading before it
VISIBLE = "factoid_visible"
PAYLOAD = "factoid_payload"
METADATA = "factoid_metadata"  # JSON of all, as they were given
PART = "factoid_part"  # number of a row of a document, and how many there are
PARTS = "factoid_parts"
CONTENT = "factoid_content"  # JSON, cut into pieces

_OF_UNITS: dict[str, Any] = {
    ID: "",
    GRANULARITY: "",
    PASSAGE: "",
    PARENT: "",
    DOCUMENT: "",
    PASSAGES: 0,
    START: 0,
    END: 0,
    TITLE: "",
    SECTION: "",
    TEXT: "",
    VISIBLE: "",
    PAYLOAD: "",
    METADATA: "{}",
    PART: 0,
    PARTS: 0,
    CONTENT: "",
}
KEYS = frozenset(_OF_UNITS)

# Characters of one row's piece of a document. It is ASCII, so they are bytes: Pinecone takes 40 kB
# of metadata in a row, Milvus 65,535 bytes in a field.
_PIECE = 16_000
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SHOWN = 200  # characters of a document's text that stand for it
_LARGEST = 1 << 63


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a vector store."""

    id: str
    text: str  # what is embedded
    metadata: Mapping[str, Any]
    score: float = 0.0  # as the store gives it
    vector: Sequence[float] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as its rows hold it."""

    document: Document
    digest: str  # of content and recipe; "" while it is being written
    unit_ids: Sequence[str]  # ids of the rows of its units


def row_id(unit_id: str) -> str:
    """Return the id of a unit's row: a UUID, which every store takes."""
    if _UUID.fullmatch(unit_id):
        return unit_id
    return content_id("row", unit_id)


def unit_row(unit: Unit, passages: int, *, template: str, lists: bool = False) -> Row:
    """Return a unit as a row.

    Args:
        unit: The unit.
        passages: How many its document has.
        template: What is written before its text, as in `factoid.heading_template.with_heading`.
        lists: Whether the store takes lists among flat metadata.
    """
    passage = unit.parent_id
    if unit.granularity is Granularity.PASSAGE:
        passage = unit.id
    fields = {
        ID: unit.id,
        GRANULARITY: unit.granularity.value,
        PASSAGE: passage,
        PARENT: unit.parent_id,
        DOCUMENT: unit.document_id,
        PASSAGES: passages,
        START: unit.start,
        END: unit.end,
        TITLE: unit.title,
        SECTION: unit.section,
        TEXT: unit.text,
        VISIBLE: unit.visible,
        PAYLOAD: unit.payload,
        METADATA: json.dumps(dict(unit.metadata)),
    }
    metadata = flat_metadata(unit.metadata, lists=lists) | _OF_UNITS | fields
    return Row(row_id(unit.id), encoded_text(unit, template), metadata)


def flat_metadata(metadata: Mapping[str, Any], *, lists: bool) -> dict[str, Any]:
    """Return the metadata that every store can hold and filter."""
    flat = {}
    for key, value in metadata.items():
        if key in KEYS:
            continue
        is_listed = lists and isinstance(value, list) and value and _are_alike(value)
        if _is_scalar(value) or is_listed:
            flat[key] = value
    return flat


def _is_scalar(value: object) -> bool:
    if isinstance(value, int):
        return -_LARGEST <= value < _LARGEST
    return isinstance(value, str | float)


def _are_alike(values: Sequence[object]) -> bool:
    kinds = {type(value) for value in values}
    return len(kinds) == 1 and all(map(_is_scalar, values))


def is_unit(row: Row) -> bool:
    """Return whether a row holds a unit of ours."""
    kind = row.metadata.get(GRANULARITY)
    return bool(kind) and kind != Granularity.DOCUMENT.value


def to_unit(row: Row) -> Unit:
    """Return the unit that a row holds.

    Raises:
        StoreFormatError: The row does not follow the contract; the message names what is missing.
    """
    metadata = row.metadata
    for key in (ID, GRANULARITY, PARENT, DOCUMENT, START, END, TEXT, METADATA):
        if key not in metadata:
            raise StoreFormatError(f"the row {row.id!r} has no {key}: it was not written whole")
    try:
        original = json.loads(metadata[METADATA])
        # Some stores return every number as a float.
        start = int(metadata[START])
        end = int(metadata[END])
    except (TypeError, ValueError) as error:
        raise StoreFormatError(
            f"the row {row.id!r} does not follow the metadata contract: {error}"
        ) from error
    return Unit(
        id=metadata[ID],
        text=metadata[TEXT],
        granularity=Granularity(metadata[GRANULARITY]),
        document_id=metadata[DOCUMENT],
        parent_id=metadata[PARENT],
        start=start,
        end=end,
        title=metadata.get(TITLE, ""),
        section=metadata.get(SECTION, ""),
        metadata=original,
        payload=metadata.get(PAYLOAD, ""),
        visible=metadata.get(VISIBLE, ""),
    )


def passage_of(row: Row) -> str:
    """Return the id of the passage that a row of a unit belongs to."""
    return str(row.metadata[PASSAGE])


# -- Documents --


def document_row_id(document_id: str, part: int = 0) -> str:
    """Return the id of a row of a document."""
    return content_id("document row", document_id, part)


def document_rows(stored: StoredDocument, *, lists: bool = False) -> list[Row]:
    """Return the rows that hold a document and the ids of its units."""
    document = stored.document
    content = json.dumps(
        {
            "text": document.text,
            "title": document.title,
            "section": document.section,
            "metadata": dict(document.metadata),
            "digest": stored.digest,
            "units": list(stored.unit_ids),
        }
    )
    pieces = [content[start : start + _PIECE] for start in range(0, len(content), _PIECE)]
    flat = flat_metadata(document.metadata, lists=lists) | _OF_UNITS
    flat |= {GRANULARITY: Granularity.DOCUMENT.value, DOCUMENT: document.id, ID: document.id}
    text = document.title or document.text[:_SHOWN] or document.id
    rows = []
    for number, piece in enumerate(pieces):
        fields = {PART: number, PARTS: len(pieces), CONTENT: piece}
        rows.append(Row(document_row_id(document.id, number), text, flat | fields))
    return rows


def other_parts(first: Row) -> list[str]:
    """Return the ids of the rows of a document after its first."""
    document_id = first.metadata[DOCUMENT]
    ids = []
    for number in range(1, int(first.metadata[PARTS])):
        ids.append(document_row_id(document_id, number))
    return ids


def to_document(rows: Iterable[Row]) -> StoredDocument:
    """Return the document that some rows hold.

    Raises:
        StoreFormatError: A row is missing, or they were written at different times.
    """
    ordered = sorted(rows, key=lambda row: int(row.metadata[PART]))
    document_id = str(ordered[0].metadata[DOCUMENT])
    content = "".join(str(row.metadata[CONTENT]) for row in ordered)
    numbers = [int(row.metadata[PART]) for row in ordered]
    try:
        if numbers != list(range(int(ordered[0].metadata[PARTS]))):
            raise ValueError(f"it has the parts {numbers}")
        record = json.loads(content)
        document = Document(
            record["text"],
            record["title"],
            record["section"],
            document_id,
            record["metadata"],
        )
        return StoredDocument(document, record["digest"], record["units"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreFormatError(
            f"the rows of document {document_id!r} are not whole: add the document again"
        ) from error


def own_id(metadata: Mapping[str, Any], otherwise: str = "") -> str:
    """Return the id of a row of ours by its metadata: some stores do not return ids.

    Args:
        metadata: The row's.
        otherwise: The id of a row of the user's own.
    """
    kind = metadata.get(GRANULARITY)
    if not kind:
        return otherwise
    if kind == Granularity.DOCUMENT.value:
        return document_row_id(str(metadata[DOCUMENT]), int(metadata[PART]))
    return row_id(str(metadata[ID]))


def scoped_row_id(scope: str, name: str) -> str:
    """Return the id of a row where several collections share one table of ids."""
    return content_id("scope", scope, name)
