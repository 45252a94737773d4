"""Documents of your own: a glossary or a catalogue becomes an article store."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from factoid.entities.articles.article import Article
from factoid.entities.articles.build import Duplicates, build_articles
from factoid.entities.articles.store import ArticleStore
from factoid.errors import InvalidInputError
from factoid.units import Document


class OwnDocuments:
    """Documents with a title and, in their metadata, optional aliases.

    Articles keep metadata and id. Where one entity has several documents, build with `duplicates="join"`.

    Args:
        documents: The documents.
        title_key: The metadata key of the title; a document's own `title` goes before `metadata["title"]`.
        aliases_key: The metadata key of other names: a list of strings, or one string.
    """

    name = ""  # an interrupted build of them starts over

    def __init__(
        self, documents: Iterable[Document], *, title_key: str = "title", aliases_key: str = "aliases"
    ) -> None:
        self._documents, self.keys = documents, {"title_key": title_key, "aliases_key": aliases_key}

    def read(self, skip: int = 0) -> Iterator[Article]:
        """Yield the articles from number `skip` on; refuse documents without a title, or with aliases that are not strings."""
        key = self.keys["title_key"]
        for number, document in enumerate(islice(self._documents, skip, None), start=skip + 1):
            if not isinstance(document, Document):
                raise InvalidInputError(f"document {number} is not a factoid.Document, got {type(document).__name__}")
            metadata = document.metadata
            title = document.title if key == "title" and document.title else metadata.get(key, "")
            if not isinstance(title, str) or not title.strip():
                expected = ("document.title or " if key == "title" else "") + f"metadata[{key!r}], got {title!r}"
                raise InvalidInputError(f"document {number} (id {document.id!r}) has no title: expected {expected}")
            aliases = metadata.get(self.keys["aliases_key"])
            names = read_names(aliases, f"the aliases of {title!r} must be a list of strings")
            yield Article(title, document.text, names, metadata=metadata, document_id=document.id)


def add_own_articles(store: ArticleStore, documents: Iterable[Document]) -> None:
    """Add documents to a store that `build_own_articles` made, or replace the articles with their ids.

    Title and aliases are read from the same keys as the store's first documents. `ArticleStore.delete` takes document ids.

    Raises:
        InvalidInputError: A document has no title or text, or the title of another document's article.
    """
    store.add(OwnDocuments(list(documents), **store.document_keys).read())


def build_own_articles(
    documents: Iterable[Document],
    path: str | Path | None = None,
    *,
    title_key: str = "title",
    aliases_key: str = "aliases",
    words: int = 10_000,
    duplicates: Duplicates = "first",
    show_progress: bool = False,
) -> ArticleStore:
    """Make an article store of documents, each about the entity that its title names, and open it.

    A file at the path is replaced; without a path the file is temporary and deleted with the store. The other arguments are
    those of `OwnDocuments` and of `build_articles`, which also list the errors.
    """
    source = OwnDocuments(documents, title_key=title_key, aliases_key=aliases_key)
    with ExitStack() as stack:
        if path is None:
            folder = stack.enter_context(TemporaryDirectory(prefix="factoid-", ignore_cleanup_errors=True))
            path = Path(folder, "articles.sqlite")
        build_articles(path, source, words=words, duplicates=duplicates, resume=False, show_progress=show_progress)
        store = ArticleStore(path)
        weakref.finalize(store, stack.pop_all().close)
    return store


def read_names(value: Any, expected: str) -> tuple[str, ...]:
    """Return a list of names, or a single name, without null and blank ones; errors begin with `expected`."""
    names = [value] if value is None or isinstance(value, str) else value
    if not isinstance(names, list | tuple | set | frozenset) or not all(isinstance(name, str | None) for name in names):
        raise InvalidInputError(f"{expected}, got {value!r:.80}")
    return tuple(name for name in names if name and name.strip())
