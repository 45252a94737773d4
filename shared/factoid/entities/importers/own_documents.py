"""Documents of your own: a glossary or a catalogue becomes an article store."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Iterable, Iterator, Sequence
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
        self._documents, self.keys = documents, {"title_key": title_key, "aliases_key": aliases_key}

    @property
    def name(self) -> str:
        """What is read; "" if it cannot be told without using it up."""
        if not isinstance(self._documents, Sequence):
            return ""
        digest = hashlib.sha256()
        for document in self._documents:
            if not isinstance(document, Document):
                continue  # `read` refuses it
            digest.update(f"{document.id}\n{document.title}\n{document.text}\n".encode())
        return f"OwnDocuments: {len(self._documents)} documents, digest {digest.hexdigest()[:16]}"

    def read(self, skip: int = 0) -> Iterator[Article]:
        """Yield the articles from number `skip` on, or refuse a document without title, or whose aliases are no strings."""
        key = self.keys["title_key"]
        for number, document in enumerate(islice(self._documents, skip, None), start=skip + 1):
            if not isinstance(document, Document):
                raise InvalidInputError(f"document {number} is no factoid.Document, got {type(document).__name__}")
            metadata = document.metadata
            title = document.title if key == "title" and document.title else metadata.get(key, "")
            if not isinstance(title, str) or not title.strip():
                expected = ("document.title or " if key == "title" else "") + f"metadata[{key!r}], got {title!r}"
                raise InvalidInputError(f"document {number} (id {document.id!r}) has no title: expected {expected}")
            aliases = metadata.get(self.keys["aliases_key"])
            names = read_names(aliases, f"the aliases of {title!r} must be a list of strings")
            yield Article(title, document.text, names, metadata=metadata, document_id=document.id)


def add_own_articles(store: ArticleStore, documents: Iterable[Document]) -> None:
    """Add documents to a store that `build_own_articles` made, in the place of the articles of their ids.

    Title and aliases are read where the store's first documents had them. `ArticleStore.delete` takes the ids of documents.

    Raises:
        InvalidInputError: A document has no title or text, or a title that the article of another document has.
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

    The file at the path is written anew; without a path it is temporary and deleted with the store. The other arguments are
    those of `OwnDocuments` and of `build_articles`, which also say what is raised.
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
    """Return a list of names, or one name by itself, without null and blank ones; an error begins with what was expected."""
    names = [value] if value is None or isinstance(value, str) else value
    if not isinstance(names, list | tuple | set | frozenset) or not all(isinstance(name, str | None) for name in names):
        raise InvalidInputError(f"{expected}, got {value!r:.80}")
    return tuple(name for name in names if name and name.strip())
