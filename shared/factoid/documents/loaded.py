"""Texts with metadata, as the loaders of frameworks give them, into clean documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from factoid.documents.clean import CleaningOptions, clean
from factoid.documents.document import LayoutDocument
from factoid.documents.layout import Layout, Page
from factoid.documents.read import read_layout, read_markdown
from factoid.metadata import plain_metadata

_SEPARATOR = "\n\n"
_PAGE = ("page", "page_label")
# The fields of a result, in JSON and in the Python packages.
_RESULT = frozenset(
    "apiVersion api_version modelId model_id stringIndexType string_index_type contentFormat content_format content pages "
    "paragraphs tables figures sections keyValuePairs key_value_pairs styles languages documents warnings".split()
)


class Loaded(NamedTuple):
    """What one or more documents of a loader hold.

    Attributes:
        document: The clean document.
        metadata: The loaded documents' metadata as JSON can hold them, without those of a result and of pages.
        position: Of the first of the documents, from 0.
    """

    document: LayoutDocument
    metadata: dict[str, Any]
    position: int


def read_loaded(
    documents: Iterable[tuple[str, Mapping[str, Any]]], options: CleaningOptions | None = None
) -> list[Loaded]:
    """Return the clean documents that the texts of a loader hold.

    * Metadata that are a whole result, as LangChain's `AzureAIDocumentIntelligenceLoader` gives with mode "single" or
      "markdown": the result counts.
    * Texts that follow each other with a number under "page" or "page_label" one higher each, as with mode "page" and from other
      loaders: one document, with its pages.
    * Any other text: bare Markdown.

    Args:
        documents: Texts and their metadata.
        options: The rules that clean; None for all of them.

    Raises:
        InvalidInputError: Metadata that are a damaged result.
    """
    return [
        Loaded(clean(layout, options), plain_metadata(metadata)[0], position)
        for layout, metadata, position in _layouts(documents)
    ]


def _layouts(documents: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[Layout, dict[str, Any], int]]:
    pages: list[tuple[int, str]] = []
    first, shared = 0, dict[str, Any]()
    for position, (text, metadata) in enumerate(documents):
        number = _page_number(metadata)
        rest = {key: value for key, value in metadata.items() if key not in _PAGE}
        if pages and (number != pages[-1][0] + 1 or rest != shared):
            yield _joined(pages), shared, first
            pages = []
        if isinstance(metadata.get("pages"), list) and "content" in metadata:
            result = {key: value for key, value in metadata.items() if key in _RESULT}
            rest = {key: value for key, value in metadata.items() if key not in _RESULT}
            yield read_layout(result), rest, position
        elif number is None:
            yield read_markdown(text), dict(metadata), position
        else:
            first, shared = (first, shared) if pages else (position, rest)
            pages.append((number, text))
    if pages:
        yield _joined(pages), shared, first


def _page_number(metadata: Mapping[str, Any]) -> int | None:
    number = next((metadata[key] for key in _PAGE if key in metadata), None)
    if isinstance(number, str) and number.isdecimal():
        return int(number)
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _joined(pages: list[tuple[int, str]]) -> Layout:
    """Return the texts of consecutive pages as one layout. Loaders that count from 0 begin with page 0: it is called 1."""
    offset = 1 if pages[0][0] == 0 else 0
    placed: list[Page] = []
    at = 0
    for number, text in pages:
        placed.append(Page(number + offset, spans=((at, at + len(text)),)))
        at += len(text) + len(_SEPARATOR)
    return Layout(_SEPARATOR.join(text for _, text in pages), pages=tuple(placed))
