"""What a caller adds, read once and batch by batch: nothing of it is held longer than its batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar, cast

from langchain_core.documents import Document

from factoid.errors import InvalidInputError
from factoid.store import to_json
from factoid.units import Document as CoreDocument
from langchain_factoid.convert import check_count, from_texts, to_core

_Item = TypeVar("_Item")
_Given = TypeVar("_Given")

_END = object()


def check(documents: Iterable[Document], ids: Iterable[str | None] | None) -> None:
    """Refuse what cannot be added before any work is done, as far as it can be read twice: lists and the like.

    Raises:
        InvalidInputError: Not documents, another number of ids, lone surrogates, or metadata that JSON would change.
    """
    if isinstance(documents, Document):
        message = "expected a list of documents, got a single one"
        raise InvalidInputError(message)
    if not isinstance(documents, Sequence):
        return
    if isinstance(ids, Sequence):
        check_count("ids", ids, len(documents))
    given = ids if isinstance(ids, Sequence) else [None] * len(documents)
    for document, own in zip(documents, given, strict=True):
        _core(document, own)


def batches(documents: Iterable[Document], ids: Iterable[str | None] | None, size: int) -> Iterator[list[CoreDocument]]:
    """Return the documents as the core takes them, in batches.

    Args:
        documents: Any iterable, read once.
        ids: Their ids; None for the documents' own.
        size: Documents in a batch, at least 1.

    Raises:
        InvalidInputError: At once for the size; while reading, as `check`.
    """
    if size < 1:
        message = f"batch_size must be at least 1, got {size}"
        raise InvalidInputError(message)
    given: Iterator[tuple[Document, str | None]] = in_step("ids", documents, ids, None)
    cores = (_core(document, own) for document, own in given)
    return iter(lambda: list(islice(cores, size)), [])


def text_documents(texts: Iterable[str], metadatas: Iterable[Mapping[str, Any]] | None) -> Iterable[Document]:
    """Return texts as documents: lists as a list, checked at once; what can be read only once as it comes.

    Raises:
        InvalidInputError: A single string instead of several, or another number of metadatas than of texts.
    """
    if isinstance(texts, Sequence) and (metadatas is None or isinstance(metadatas, Sequence)):
        return from_texts(texts, metadatas)
    given: Iterator[tuple[str, Mapping[str, Any]]] = in_step("metadatas", texts, metadatas or None, {})
    return (Document(page_content=text, metadata=dict(metadata or {})) for text, metadata in given)


def in_step(
    name: str, items: Iterable[_Item], given: Iterable[_Given] | None, default: _Given
) -> Iterator[tuple[_Item, _Given]]:
    """Yield each item with what is given for it, or with the default where nothing is given at all.

    Raises:
        InvalidInputError: When it turns out that more is given, or less.
    """
    if isinstance(given, str):
        message = f"expected a list of {name}, got the string {given[:60]!r}"
        raise InvalidInputError(message)
    coming: Iterator[Any] | None = None if given is None else iter(given)
    count = 0
    for count, item in enumerate(items, start=1):
        own = default if coming is None else next(coming, _END)
        if own is _END:
            message = f"the number of {name} must match the number of texts: got {count - 1} for at least {count}"
            raise InvalidInputError(message)
        yield item, cast("_Given", own)
    if coming is not None and next(coming, _END) is not _END:
        message = f"the number of {name} must match the number of texts: got more than {count}"
        raise InvalidInputError(message)


def _core(document: Document, own: str | None) -> CoreDocument:
    core = to_core(document, own)
    to_json(core.metadata)
    return core
