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
        self.keys = {"title_key": title_key, "aliases_key": aliases_key}

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
        key = self._title_key
        for number, document in enumerate(islice(self._documents, skip, None), start=skip + 1):
            if not isinstance(document, Document):
                raise InvalidInputError(f"document {number} is no factoid.Document, got {type(document).__name__}")
            metadata = document.metadata
            title = document.title if key == "title" and document.title else metadata.get(key, "")
            if not isinstance(title, str) or not title.strip():
                expected = ("document.title or " if key == "title" else "") + f"metadata[{key!r}]"
                message = f"document {number} (id {document.id!r}) has no title: expected {expected}, got {title!r}"
                raise InvalidInputError(message)
            aliases = read_names(metadata.get(self._aliases_key), f"the aliases of {title!r} must be a list of strings")
            yield Article(title, document.text, aliases, metadata=metadata, document_id=document.id)


def read_names(value: Any, expected: str) -> tuple[str, ...]:
    """Return a list of names, or one name by itself, without null and blank ones; an error begins with what was expected."""
    names = [value] if value is None or isinstance(value, str) else value
    if not isinstance(names, list | tuple | set | frozenset) or not all(isinstance(name, str | None) for name in names):
        raise InvalidInputError(f"{expected}, got {value!r:.80}")
    return tuple(name for name in names if name and name.strip())
