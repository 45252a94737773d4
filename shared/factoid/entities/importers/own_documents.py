"""Documents of your own: a glossary or a catalogue becomes an index of entities."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from factoid.entities.articles.article import Article
from factoid.entities.importers.other_names import other_names
from factoid.errors import InvalidInputError
from factoid.units import Document


class OwnDocuments:
    """Documents with a title, and with aliases in their metadata, if any.

    Metadata and id are given back with the article. Where one entity has several documents, build with `duplicates="join"`.

    Args:
        documents: The documents. Of a list a build that was interrupted goes on; of other iterables it starts over.
        title_key: Where the metadata holds the title; a document's own `title` goes before `metadata["title"]`.
        aliases_key: Where it holds other names: a list of strings, or one string.
    """

    def __init__(
        self, documents: Iterable[Document], *, title_key: str = "title", aliases_key: str = "aliases"
    ) -> None:
        self._documents, self._title_key, self._aliases_key = documents, title_key, aliases_key

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
            yield self._article(document, number)

    def _article(self, document: Document, number: int) -> Article:
        if not isinstance(document, Document):
            message = f"document {number} is no factoid.Document, got {type(document).__name__}"
            raise InvalidInputError(message)
        metadata, key = document.metadata, self._title_key
        title = document.title if key == "title" and document.title else metadata.get(key, "")
        if not isinstance(title, str) or not title.strip():
            own = "document.title or " if key == "title" else ""
            message = (
                f"document {number} (id {document.id!r}) has no title: expected {own}metadata[{key!r}], got {title!r}"
            )
            raise InvalidInputError(message)
        expected = f"the aliases of {title!r} must be a list of strings"
        aliases = other_names(metadata.get(self._aliases_key), expected)
        return Article(title, document.text, aliases, metadata=metadata, document_id=document.id)
