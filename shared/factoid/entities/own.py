"""The user's own documents as an article store: a glossary, a product catalogue, articles."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from factoid.entities.articles.build import build_articles
from factoid.entities.articles.duplicates import Duplicates
from factoid.entities.articles.store import ArticleStore
from factoid.entities.importers.own_documents import OwnDocuments
from factoid.errors import UnreadableFileError
from factoid.units import Document

WORDS = 10_000


class _Temporary(ArticleStore):
    """A store whose file goes with the store that `build_own_articles` gave; copies of it do not keep the file."""

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return _open_again, (self.path,)


def _open_again(path: Path) -> ArticleStore:
    if not path.is_file():
        message = f"the temporary article store {path} went with the one that it is a copy of: build it with path=... to keep it"
        raise UnreadableFileError(message)
    return ArticleStore(path)


def build_own_articles(
    documents: Iterable[Document],
    path: str | Path | None = None,
    *,
    title_key: str = "title",
    aliases_key: str = "aliases",
    words: int = WORDS,
    duplicates: Duplicates = "first",
    show_progress: bool = False,
) -> ArticleStore:
    """Make an article store of documents, each about the entity that its title names, and open it.

    Args:
        documents: Documents with a `title`, or with one in their metadata.
        path: The store's file, written anew; None for a temporary one that goes with the store.
        title_key: Where the metadata holds the title.
        aliases_key: Where it holds other names: a list of strings, or one string.
        words: So many words of each text are kept, more than of Wikipedia's articles: texts of one's own are few.
        duplicates: What to do with a title that occurred before: see `build_articles`.
        show_progress: Show a progress bar.

    Raises:
        InvalidInputError: A document has no title, or there is none with a text, or a title occurs twice and
            `duplicates` is "error".
    """
    source = OwnDocuments(documents, title_key=title_key, aliases_key=aliases_key)
    folder = tempfile.mkdtemp(prefix="factoid-") if path is None else None
    try:
        file = Path(folder) / "articles.sqlite" if folder is not None else Path(path or "")
        build_articles(file, source, words=words, duplicates=duplicates, resume=False, show_progress=show_progress)
        store = ArticleStore(file) if folder is None else _Temporary(file)
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if folder is not None:
        weakref.finalize(store, shutil.rmtree, folder, ignore_errors=True)
    return store
