"""Articles about entities, found by the names of the entities, in one file."""

from factoid.entities.articles.article import Article, Name, Record, Redirect, Source
from factoid.entities.articles.build import BuildReport, build_articles
from factoid.entities.articles.names import NameKind, canonical_title, clean_name, name_key, split_title
from factoid.entities.articles.store import ArticleStats, ArticleStore

__all__ = [
    "Article",
    "ArticleStats",
    "ArticleStore",
    "BuildReport",
    "Name",
    "NameKind",
    "Record",
    "Redirect",
    "Source",
    "build_articles",
    "canonical_title",
    "clean_name",
    "name_key",
    "split_title",
]
