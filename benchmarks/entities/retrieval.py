"""Entity Retrieval for the benchmark: an article store of the data set's articles, and what is
retrieved from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

_STORE = "articles.sqlite"


def build(articles: Sequence[Sequence[str]], folder: str) -> int:
    """Build an article store of articles, given as (title, text); return how many there are."""
    from factoid import Document
    from factoid.entities import build_own_articles

    Path(folder).mkdir(parents=True, exist_ok=True)
    path = Path(folder) / _STORE
    with build_own_articles(
        (Document(text, title) for title, text in articles), path, duplicates="join"
    ) as store:
        return len(store)


def search(
    folder: str,
    questions: Sequence[str],
    titles: Sequence[str] | None = None,
    *,
    words: int,
    k: int = 4,
    granularity: str = "document",
) -> list[list[tuple[str, str]]]:
    """Retrieve documents for questions.

    Args:
        folder: Of `build`.
        questions: The questions.
        titles: The article that each question is annotated with; None to link them with
            TitleLinker.
        words: Words of each article.
        k: Most documents.
        granularity: "document", or what takes the place of the first words.

    Returns:
        For each question the titles and texts, best first.
    """
    from factoid.entities import ArticleStore, EntityRetriever, TitleLinker

    encoder = None
    if granularity != "document":
        from factoid import SentenceTransformerEncoder

        encoder = SentenceTransformerEncoder()
    with ArticleStore(Path(folder) / _STORE) as articles:
        linker: Any = TitleLinker(articles) if titles is None else _Annotations(titles)
        retriever = EntityRetriever(
            articles, linker, words=words, k=k, granularity=granularity, encoder=encoder
        )
        results = []
        for question in questions:
            hits = retriever.retrieve(question)
            results.append([(hit.unit.title, hit.unit.text) for hit in hits])
    return results


class _Annotations:
    """Links questions to the titles of a data set, by their order: two articles may share the words
    of a question.
    """

    def __init__(self, titles: Sequence[str]) -> None:
        self._titles = iter(titles)

    def link(self, text: str) -> list[Any]:
        from factoid.entities import Mention

        return [Mention(0, len(text), next(self._titles))]
