"""LangChain documents to and from factoid's records.

Fields that factoid adds to metadata never replace the caller's: a different value under the same key moves to
`source_<key>`. So a passage that is split again keeps the `start_index` it has in its own source as
`source_start_index`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from factoid.errors import InvalidInputError
from factoid.units import Document as CoreDocument
from factoid.units import Granularity, Unit


def to_core(document: Document, id: str | None = None) -> CoreDocument:  # noqa: A002 - LangChain's own name for it
    """Return a document as the core takes it: title and section from metadata where they are strings.

    The id is the one given, else the document's own, else made from content and metadata.

    Raises:
        InvalidInputError: Not a document, a text that holds lone surrogates, or metadata with keys that have no order.
    """
    if not isinstance(document, Document):
        message = f"expected langchain_core.documents.Document, got {type(document).__name__}"
        raise InvalidInputError(message)
    title, section = (_string(document.metadata.get(key)) for key in ("title", "section"))
    try:
        return CoreDocument(document.page_content, title, section, id or document.id or "", document.metadata)
    except TypeError as error:
        message = f"the keys of metadata must be strings, got {list(document.metadata)}"
        raise InvalidInputError(message) from error


def from_texts(texts: Iterable[str], metadatas: Sequence[Mapping[Any, Any]] | None = None) -> list[Document]:
    """Return texts as documents.

    Raises:
        InvalidInputError: A single string instead of several, or another number of metadatas than of texts.
    """
    if isinstance(texts, str):
        message = f"expected a list of texts, got the string {texts[:60]!r}"
        raise InvalidInputError(message)
    texts = list(texts)
    given = check_count("metadatas", metadatas or None, len(texts))
    return [
        Document(page_content=text, metadata=dict(metadata or {})) for text, metadata in zip(texts, given, strict=True)
    ]


def check_count(name: str, values: Sequence[Any] | None, count: int) -> Sequence[Any]:
    """Return as many values as there are texts, None where none are given.

    Raises:
        InvalidInputError: Another number of values.
    """
    if values is None:
        return [None] * count
    if isinstance(values, str) or len(values) != count:
        message = f"the number of {name} must match the number of texts: got {len(values)} for {count}"
        raise InvalidInputError(message)
    return values


def stored_document(unit: Unit) -> Document:
    """Return what a store keeps under this unit's id: a document as its caller gave it, or a unit of one."""
    if unit.id != unit.document_id:
        return unit_document(unit)
    return Document(page_content=unit.text, metadata=dict(unit.metadata), id=unit.id)


def unit_document(unit: Unit, **fields: Any) -> Document:
    """Return a unit as a document: its text, its id, the metadata of its source, and where in it the unit stands."""
    passage_id = unit.id if unit.granularity is Granularity.PASSAGE else unit.parent_id
    place = {
        "granularity": unit.granularity.value,
        "start_index": unit.start,
        "end_index": unit.end,
        "parent_id": unit.document_id,
        "passage_id": passage_id,
        "title": unit.title,
        "section": unit.section,
    }
    return Document(page_content=unit.text, metadata=with_fields(unit.metadata, **place, **fields), id=unit.id)


def with_fields(metadata: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a copy of metadata with these fields; other values under their keys move to `source_<key>`."""
    merged = copy.deepcopy(dict(metadata))
    for key, value in fields.items():
        if key in merged and merged[key] != value:
            kept = f"source_{key}"
            while kept in merged:
                kept = f"source_{kept}"
            merged[kept] = merged[key]
        merged[key] = value
    return merged


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
