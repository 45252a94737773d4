"""Read files, results of services and Markdown as layouts.

Texts of frameworks' loaders are read as clean documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from factoid.documents.azure import EXPECTED, read_result
from factoid.documents.clean import clean
from factoid.documents.document import LayoutDocument
from factoid.documents.layout import Layout, Page, broken_pages, grouped
from factoid.documents.pdf import read_pdf
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.files.lines import read_whole
from factoid.metadata import plain_metadata

_SEPARATOR = "\n\n"
_RESULT = frozenset(  # fields of a result that are no lists, in JSON and in the Python packages
    "apiVersion api_version modelId model_id stringIndexType string_index_type contentFormat "
    "content_format content".split()
)


def read_layout(
    source: str | PathLike[str] | Mapping[str, Any] | Any, *, limits: ReadLimits = DEFAULT_LIMITS
) -> Layout:
    """Read the result of a layout service.

    Args:
        source: A path of a JSON file, the parsed JSON, or an object of the service's Python package
            (with `as_dict` or `to_dict`): API v2.1, v3.x and v4 of Azure Document Intelligence,
            content as text or Markdown, and Azure Content Understanding, with or without the
            envelope of the operation. A file that ends in .md or .txt is bare Markdown, and a PDF
            is read without a service (`read_pdf`).
        limits: Of a file.

    Raises:
        UnreadableFileError: The file is missing, not JSON, cut off or above a limit.
        InvalidInputError: The JSON is something else, the operation failed, or a field has a wrong
            type.
    """
    if isinstance(source, str | PathLike):
        return _read_file(Path(source), limits)
    if not isinstance(source, Mapping):
        convert = getattr(source, "as_dict", None) or getattr(source, "to_dict", None)
        if callable(convert):
            source = convert()
    if not isinstance(source, Mapping):
        raise InvalidInputError(
            f"a {type(source).__name__} is not a layout: {EXPECTED}, its JSON file or an SDK object"
        )
    return read_result(source)


def read_markdown(content: str) -> Layout:
    """Read bare Markdown, as converters and layout services write it.

    Page break comments separate its pages.
    """
    return Layout(content, pages=broken_pages(content))


def _read_file(path: Path, limits: ReadLimits) -> Layout:
    if path.suffix.lower() == ".pdf":
        return read_pdf(path, limits=limits)
    content = read_whole(path, limits)
    try:
        text = content.decode("utf-8-sig")
        if path.suffix.lower() in (".md", ".markdown", ".txt"):
            return read_markdown(text)
        result = json.loads(text)
    except (ValueError, RecursionError) as error:
        advice = "Analyse the document again; a file of Markdown needs a name that ends in .md"
        raise UnreadableFileError(
            f"{path} is not JSON, or was cut off: {error}. {advice}"
        ) from error
    if not isinstance(result, Mapping):
        raise InvalidInputError(f"{path} holds a {type(result).__name__}: {EXPECTED}")
    return read_result(result)


class Loaded(NamedTuple):
    """The clean document made from one or more documents of a loader."""

    document: LayoutDocument  # clean
    metadata: dict[str, Any]  # as JSON can hold it, without that of a result and of pages
    position: int  # of the first of the documents, from 0


def read_loaded(
    documents: Iterable[tuple[str, Mapping[str, Any]]], without: Iterable[str] = ()
) -> list[Loaded]:
    """Return the clean documents in the texts of a loader.

    * Metadata with a whole result, as from LangChain's `AzureAIDocumentIntelligenceLoader` with
      mode "single" or "markdown": the result is read.
    * Consecutive texts whose number under "page" rises by one, as with mode "page" and from other
      loaders: one document, with its pages.
    * Any other text: bare Markdown.

    Raises:
        InvalidInputError: The metadata is a damaged result, or there is no such rule.
    """
    skipped = [*without]
    result = []
    for layout, metadata, position in _layouts(documents):
        result.append(Loaded(clean(layout, without=skipped), plain_metadata(metadata), position))
    return result


def _layouts(
    documents: Iterable[tuple[str, Mapping[str, Any]]],
) -> Iterator[tuple[Layout, dict[str, Any], int]]:
    for group in grouped(enumerate(documents), _is_no_next_page):
        position, (text, metadata) = group[0]
        if isinstance(metadata.get("pages"), list) and "content" in metadata:
            fields = {}
            for key, value in metadata.items():
                if key not in _RESULT and not isinstance(value, list):
                    fields[key] = value
            yield read_layout(metadata), fields, position
        elif isinstance(metadata.get("page"), int):
            fields = {key: value for key, value in metadata.items() if key != "page"}
            yield (
                _joined([text for _, (text, _) in group], first=max(metadata["page"], 1)),
                fields,
                position,
            )
        else:
            yield read_markdown(text), dict(metadata), position


def _is_no_next_page(last: tuple[int, Any], new: tuple[int, Any]) -> bool:
    (_, (_, before)) = last
    (_, (_, after)) = new
    return not isinstance(before.get("page"), int) or after != {
        **before,
        "page": before["page"] + 1,
    }


def _joined(texts: Sequence[str], first: int) -> Layout:
    """Return texts as the pages of one layout, the first of which has this number."""
    pages: list[Page] = []
    at = 0
    for number, text in enumerate(texts, first):
        pages.append(Page(number, spans=((at, at + len(text)),)))
        at += len(text) + len(_SEPARATOR)
    return Layout(_SEPARATOR.join(texts), pages=tuple(pages))
