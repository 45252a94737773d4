"""Add, replace and delete articles of a finished store.

The changed store is a file that takes its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import closing
from itertools import count

from factoid.entities.articles.article import Article
from factoid.entities.articles.build import Build, writing
from factoid.entities.articles.file import ARTICLES, ArticleFile, article_of
from factoid.entities.articles.names import clean_name
from factoid.errors import InvalidInputError

_ALL = f"{ARTICLES} ORDER BY id"


def change_articles(
    file: ArticleFile, articles: Sequence[Article], deleted: Collection[str]
) -> None:
    """Add, replace and delete articles by `document_id`, all or nothing.

    The store is built again. The file then reads the new one. Articles that stay or are replaced
    keep their numbers, and no new one has the number of one that is deleted.
    """
    for article in articles:
        if not (clean_name(article.title) and article.document_id and article.text.strip()):
            raise InvalidInputError(
                f"an article needs a title, a document_id and a text, got {article!r:.200}"
            )
    ids = [article.document_id for article in articles]
    if len({*ids}) < len(ids):
        raise InvalidInputError(f"the id {max(ids, key=ids.count)!r} was given twice")
    with writing(file.path):
        with closing(ArticleFile(file.path, file.content)) as latest:
            meta = latest.meta
            stored = {}
            for row in latest.query(_ALL):
                stored[row[0]] = article_of(file.place, row)
        if meta["redirects"] or meta["links"]:
            raise InvalidInputError(
                f"the article store in {file.place} has redirects or links, which a change would "
                "lose: build it again"
            )
        numbers = {article.document_id or None: number for number, article in stored.items()}
        if unknown := [document_id for document_id in deleted if document_id not in numbers]:
            raise InvalidInputError(f"no article has the id {unknown[0]!r}")
        changed = {*ids, *deleted}
        unchanged = {}
        for number, article in stored.items():
            if article.document_id not in changed:
                unchanged[number] = article
        titles = Counter(article.title for article in unchanged.values())
        titles.update(clean_name(article.title) for article in articles)
        if meta["duplicates"] != "keep" and (
            repeated := [title for title, number in titles.items() if number > 1]
        ):
            raise InvalidInputError(
                f"several articles would have the title {repeated[0]!r}: give the id of the one "
                "to replace, or build the store "
                'with duplicates="keep" to keep all'
            )
        settings = {name: meta[name] for name in ("words", "duplicates", "keys")}
        with Build(file.path, {**settings, "resume": ""}) as build:
            for number, article in unchanged.items():
                build.add(article, number)
            new = count(max(numbers.values()) + 1)
            for article in articles:
                build.add(article, numbers.get(article.document_id) or next(new))
            build.finish()
    file.reopen(build.content)
