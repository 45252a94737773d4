"""Article stores of the user's documents: a glossary, a product catalogue, articles."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path

from factoid.entities.articles.build import build_articles
from factoid.entities.articles.finish import Duplicates
from factoid.entities.articles.store import ArticleStore
from factoid.entities.importers.own_documents import OwnDocuments
from factoid.units import Document


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

    Args:
        documents: Documents with a `title`, or with one in their metadata.
        path: The store's file, written anew; None for a temporary one that is deleted with the store.
        title_key: Where the metadata holds the title.
        aliases_key: Where it holds other names: a list of strings, or one string.
        words: So many words of each text are kept.
        duplicates: What to do with a title that occurred before: see `build_articles`.
        show_progress: Show a progress bar.

    Raises:
        InvalidInputError: A document has no title, or there is none with a text, or a title occurs twice and
            `duplicates` is "error".
    """
    source = OwnDocuments(documents, title_key=title_key, aliases_key=aliases_key)
    folder = tempfile.mkdtemp(prefix="factoid-") if path is None else None
    try:
        file = Path(folder, "articles.sqlite") if folder else Path(path or "")
        build_articles(file, source, words=words, duplicates=duplicates, resume=False, show_progress=show_progress)
        store = ArticleStore(file)
    except BaseException:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if folder:
        weakref.finalize(store, shutil.rmtree, folder, ignore_errors=True)
    return store
