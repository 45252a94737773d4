"""LangChain documents to and from factoid's records.

Fields that factoid adds to metadata never overwrite the caller's: a different value under the same
key moves to `source_<key>`. So a passage that is split again keeps the `start_index` in its own
source as `source_start_index`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from langchain_core.documents import Document
from typing_extensions import override

from factoid.framework import (
    EMBED_TEMPLATE,
    MARKUP_KEYS,
    Granularity,
    Hit,
    InvalidInputError,
    MatchFields,
    Unit,
    check_metadata_keys,
    check_template,
    hit_fields,
    match_fields,
    plain_metadata,
    shown,
    text_field,
    with_fields,
    with_heading,
    with_metadata,
)
from factoid.framework import Document as CoreDocument

SPAN = ("start_index", "end_index")  # keys of a unit's place in its source
_HEADINGS = ("title", "section")

S = TypeVar("S")
T = TypeVar("T")


class RetrievedMetadata(dict[str, Any]):
    """Metadata of a retrieved document: a dict that is compared without what depends on the query.

    Whatever fuses the results of several queries compares documents, and sees one where their
    metadata differ under `query_keys` only. Copies and pickles keep this; what is written as JSON
    or in a checkpoint, and read again, is a plain dict.
    """

    def __init__(
        self, fields: Mapping[str, Any] = MappingProxyType({}), query_keys: Iterable[str] = ()
    ) -> None:
        super().__init__(fields)
        self.query_keys = tuple(query_keys)

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, dict):
            return NotImplemented
        query_keys = {*self.query_keys}
        if isinstance(other, RetrievedMetadata):
            query_keys |= {*other.query_keys}
        return _without(self, query_keys) == _without(other, query_keys)

    @override
    def __ne__(self, other: object) -> bool:  # dict has one of its own
        return not self == other

    __hash__ = None  # as of all dicts: they can be changed


def _without(metadata: Mapping[str, Any], keys: Container[str]) -> dict[str, Any]:
    result = {}
    for key, value in metadata.items():
        if key not in keys:
            result[key] = value
    return result


def without_query(document: Document) -> tuple[Document, tuple[str, ...]]:
    """Return a document without the metadata that depend on a query, and the keys of these."""
    metadata = document.metadata
    if not isinstance(metadata, RetrievedMetadata):
        return document, ()
    lasting = _without(metadata, metadata.query_keys)
    return Document(
        page_content=document.page_content, id=document.id, metadata=lasting
    ), metadata.query_keys


def one_each(name: str, values: Iterable[T], items: Iterable[S]) -> list[tuple[S, T]]:
    """Return pairs of items and their values; `name` says what the values are.

    Raises:
        InvalidInputError: Their numbers differ.
    """
    items = list(items)
    values = list(values)
    if len(values) != len(items):
        raise InvalidInputError(
            f"got {len(values)} {name} for {len(items)} texts: give one for each, or none at all"
        )
    return list(zip(items, values, strict=True))


def to_document(text: str, metadata: Mapping[str, Any]) -> Document:
    """Return a text with its metadata as a document.

    Raises:
        InvalidInputError: The text is no string, or the metadata are no dict.
    """
    if not isinstance(text, str):
        raise InvalidInputError(
            f"expected texts, got {shown(text)}: leave it out, or write it as a string"
        )
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(
            f"expected a dict of metadata for each text, got {shown(metadata)}: give {{}} for a "
            "text without any"
        )
    return Document(page_content=text, metadata=dict(metadata))


def to_core(document: Document, document_id: str | None = None) -> CoreDocument:
    """Return a document as the core takes it.

    Title and section are those of the metadata where they are strings.
    Without an id, one is made from content and metadata. The score and the matches of a retrieved
    document are those of a query, and are left out.

    Raises:
        InvalidInputError: It is not a document, its text holds lone surrogates, or its metadata
            cannot be stored.
    """
    if not isinstance(document, Document):
        raise InvalidInputError(
            f"expected langchain_core.documents.Document, got {type(document).__name__}"
        )
    document, _ = without_query(document)
    metadata = plain_metadata(document.metadata)
    title, section = (text_field(metadata, key) for key in _HEADINGS)
    return CoreDocument(
        document.page_content, title, section, document_id or document.id or "", metadata
    )


def to_passage(document: Document) -> CoreDocument:
    """Return a document as one passage.

    Of its metadata only title, section and what it is remain, so that any metadata will do.
    """
    keys = (*_HEADINGS, *MARKUP_KEYS)
    metadata = {}
    for key in keys:
        if isinstance(value := document.metadata.get(key), str):
            metadata[key] = value
    return to_core(Document(page_content=document.page_content, metadata=metadata, id=document.id))


def stored_document(document: CoreDocument | Unit) -> Document:
    """Return a document as it was added, with title and section in its metadata."""
    metadata = dict(document.metadata)
    for key, value in (("title", document.title), ("section", document.section)):
        if value:
            metadata.setdefault(key, value)
    return Document(page_content=document.text, metadata=metadata, id=document.id)


def unit_document(unit: Unit, fields: Mapping[str, Any] | None = None) -> Document:
    """Return a unit as a document with its place in it.

    It has the metadata of its source, and fields that depend on the query.
    """
    passage_id = unit.parent_id
    if unit.granularity is Granularity.PASSAGE:
        passage_id = unit.id
    place: dict[str, Any] = {
        "granularity": unit.granularity.value,
        "start_index": unit.start,
        "end_index": unit.end,
        "parent_id": unit.document_id,
        "passage_id": passage_id,
        "title": unit.title,
        "section": unit.section,
    }
    document = Document(
        page_content=unit.text, id=unit.id, metadata=with_fields(unit.metadata, place)
    )
    if fields:
        return retrieved(document, fields)
    return document


def retrieved(document: Document, fields: Mapping[str, Any]) -> Document:
    """Return a copy of a document with fields that depend on the query.

    They do not count when documents are compared.
    """
    copy = Document(page_content=document.page_content, id=document.id)
    # Assigned, since a dict that is passed to the constructor is copied as a plain one.
    copy.metadata = RetrievedMetadata(with_fields(document.metadata, fields), query_keys=fields)
    return copy


def with_note(document: Document, fields: Mapping[str, Any]) -> Document:
    """Return a retrieved document with more fields that depend on the query."""
    lasting, names = without_query(document)
    of_query = {name: document.metadata[name] for name in names}
    return retrieved(lasting, of_query | dict(fields))


def hit_documents(
    hits: Iterable[Hit], *, scores: bool = False, matches: bool = False
) -> list[Document]:
    """Return hits as the documents that were added, or as units with their place.

    Scores and matches go into the metadata.
    """
    documents = []
    for hit in hits:
        fields: dict[str, Any] = {}
        if scores:
            fields["score"] = hit.score
        fields |= hit_fields(hit, *SPAN, matches=matches)
        documents.append(found_document(hit.unit, fields))
    return documents


def found_document(unit: Unit, fields: Mapping[str, Any] | None = None) -> Document:
    """Return a document as it was added, or a unit with its place.

    It has fields that depend on the query.
    """
    if unit.granularity is not Granularity.DOCUMENT:
        return unit_document(unit, fields)
    document = stored_document(unit)
    if fields:
        return retrieved(document, fields)
    return document


def matches_of(document: Document) -> list[MatchFields]:
    """Return the facts that made a retrieved document a hit, best first.

    They have scores and places. [] if there are none.
    """
    return match_fields(document.metadata, *SPAN)


def with_headings(
    documents: Iterable[Document],
    template: str = EMBED_TEMPLATE,
    *,
    embed_metadata: Sequence[str] = (),
) -> list[Document]:
    """Return copies of documents with title and section before the page_content.

    For models that read what was retrieved, `retriever | with_headings | prompt`, and for other
    vector stores, which embed only the page_content. Template and `embed_metadata` are those of
    `MultiGranularFAISS`: `partial(with_headings, embed_metadata=["product"])` says of which product
    a text is.

    Raises:
        InvalidInputError: Something is not a document, the template does not name {text} once, or a
            key of the metadata cannot be written.
    """
    template = with_metadata(check_template(template), check_metadata_keys(embed_metadata))
    copies = []
    for document in documents:
        copies.append(
            Document(
                page_content=with_heading(to_core(document), template),
                metadata=document.metadata,
                id=document.id,
            )
        )
    return copies
