"""Documents of your own: a glossary or a catalogue becomes an article store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypedDict

from factoid.entities.articles.article import Article
from factoid.entities.articles.build import Duplicates, build_articles, build_in_memory
from factoid.entities.articles.file import ArticleFile
from factoid.entities.articles.store import ArticleStore, opened
from factoid.errors import InvalidInputError, shown
from factoid.units import Document

_BETWEEN_NAMES = re.compile(r"[|;\n]")


class OwnDocuments:
    """Documents with a title and, in their metadata, optional aliases.

    Articles keep metadata and id. Where one entity has several documents, build with
    `duplicates="join"`.

    Args:
        documents: The documents.
        title_key: The metadata key of the title; a document's own `title` goes before
            `metadata["title"]`.
        aliases_key: The metadata key of other names: a list of strings, or one string with "|", ";"
            or line breaks between them.
    """

    def __init__(
        self,
        documents: Iterable[Document],
        *,
        title_key: str = "title",
        aliases_key: str = "aliases",
    ) -> None:
        self._documents = documents
        self.keys = {"title_key": title_key, "aliases_key": aliases_key}

    def __iter__(self) -> Iterator[Article]:
        """Yield the articles.

        Refuse documents without a title, or with aliases that are not strings.
        """
        key = self.keys["title_key"]
        for number, document in enumerate(self._documents, start=1):
            if not isinstance(document, Document):
                raise InvalidInputError(
                    f"document {number} is not a factoid.Document, got {type(document).__name__}"
                )
            metadata = document.metadata
            title = document.title if key == "title" and document.title else metadata.get(key, "")
            title = str(title) if type(title) is int else title  # from a table's column of numbers
            if not isinstance(title, str) or not title.strip():
                expected = f"metadata[{key!r}], got {shown(title)}"
                if key == "title":
                    expected = f"document.title or {expected}"
                raise InvalidInputError(
                    f"document {number} (id {document.id!r}) has no title: expected {expected}"
                )
            aliases = _read_aliases(metadata.get(self.keys["aliases_key"]), title)
            yield Article(title, document.text, aliases, metadata=metadata, document_id=document.id)


def add_own_articles(store: ArticleStore, documents: Iterable[Document]) -> None:
    """Add documents to a store that `build_own_articles` made.

    Articles with their ids are replaced. Title and aliases are read from the same keys as the
    store's first documents. Either all or none of them are on disk when this returns. The file is
    built again, so add many at once. `ArticleStore.delete` takes document ids.

    Raises:
        InvalidInputError: A document has no title or text; or another document's article has its
            title, unless the store was built with `duplicates="keep"`.
        StoreError: The disk is full or fails.
    """
    store.put(list(OwnDocuments(documents, **store.stats()["keys"])))


class BuildingKwargs(TypedDict, total=False):
    """The options of `build_own_articles` that the frameworks share."""

    path: str | Path | None
    title_key: str
    aliases_key: str
    duplicates: Duplicates
    progress: bool | None


def build_own_articles(
    documents: Iterable[Document],
    path: str | Path | None = None,
    *,
    title_key: str = "title",
    aliases_key: str = "aliases",
    words: int = 10_000,
    duplicates: Duplicates = "first",
    progress: bool | None = None,
) -> ArticleStore:
    """Make an article store of documents, each about the entity that its title names, and open it.

    A file at the path is replaced; without a path the store is in memory. The other arguments are
    those of `OwnDocuments` and of `build_articles`, which also list the errors.
    """
    source = OwnDocuments(documents, title_key=title_key, aliases_key=aliases_key)
    if path is None:
        _, content = build_in_memory(source, words=words, duplicates=duplicates, progress=progress)
        return opened(ArticleFile(None, content))
    build_articles(path, source, words=words, duplicates=duplicates, progress=progress)
    return ArticleStore(path)


def _read_aliases(value: Any, title: str) -> tuple[str, ...]:
    """Return a list of names, without null and blank ones.

    A single string may hold several, as the cell of a table does.
    """
    value = str(value) if type(value) is int else value
    if isinstance(value, str):
        names = _BETWEEN_NAMES.split(value)
    else:
        names = [] if value is None else value
    if not isinstance(names, list | tuple | set | frozenset) or not all(
        isinstance(name, str | None) for name in names
    ):
        raise InvalidInputError(
            f"the aliases of {title!r} must be a list of strings, got {shown(value, 80)}"
        )
    return tuple(name.strip() for name in names if name and name.strip())
