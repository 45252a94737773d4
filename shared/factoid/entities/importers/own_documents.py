"""Documents of your own: a glossary or a catalogue becomes an index of entities."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from factoid.entities.articles.article import Article
from factoid.errors import InvalidInputError
from factoid.units import Document


class OwnDocuments:
    """Documents with a title, `document.title` or `metadata["title"]`, and aliases in `metadata["aliases"]`, if any.

    What else is in the metadata is given back with the article, and the document's id as "document_id". Where one entity
    has several documents, build with `duplicates="join"`.

    Args:
        documents: The documents. Of a list a build that was interrupted goes on; of other iterables it starts over.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = documents

    @property
    def name(self) -> str:
        """What is read; "" if it cannot be told without using it up."""
        if not isinstance(self._documents, Sequence):
            return ""
        digest = hashlib.sha256()
        for document in self._documents:
            digest.update(f"{document.id}\n{document.title}\n{document.text}\n".encode())
        return f"OwnDocuments: {len(self._documents)} documents, digest {digest.hexdigest()[:16]}"

    def read(self, skip: int = 0) -> Iterator[Article]:
        """Yield the articles from number `skip` on.

        Raises:
            InvalidInputError: A document has no title, or its aliases are no strings.
        """
        for number, document in enumerate(islice(self._documents, skip, None), start=skip + 1):
            yield _article(document, number)


def _article(document: Document, number: int) -> Article:
    if not isinstance(document, Document):
        message = f"document {number} is no factoid.Document, got {type(document).__name__}"
        raise InvalidInputError(message)
    metadata = dict(document.metadata)
    title, aliases = document.title or metadata.pop("title", ""), metadata.pop("aliases", None)
    if not isinstance(title, str) or not title.strip():
        message = (
            f"document {number} (id {document.id!r}) has no title: expected document.title or metadata['title'], "
            f"got {title!r}"
        )
        raise InvalidInputError(message)
    own = {"document_id": document.id}
    return Article(title, document.text, _aliases(aliases, title), metadata=own | metadata)


def _aliases(value: Any, title: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    aliases: list[Any] = list(value) if isinstance(value, Iterable) else [None]
    if not all(isinstance(alias, str) for alias in aliases):
        message = f"the aliases of {title!r} must be a list of strings, got {value!r:.80}"
        raise InvalidInputError(message)
    return tuple(aliases)
