"""Entity Retrieval (Shavarani and Sarkar, 2024).

It goes from the entities in a question to the first words of their articles.

Two rooms stand apart, for those who repeat the paper: `factoid.entities.spel` (its linker) and
`factoid.entities.importers` (Wikipedia). Its reader is in `factoid.readers`.
"""

from factoid.entities.articles.article import Article, Redirect
from factoid.entities.articles.build import BuildReport, build_articles
from factoid.entities.articles.own_documents import add_own_articles, build_own_articles
from factoid.entities.articles.store import ArticleStore
from factoid.entities.linkers.annotated import AnnotatedLinker
from factoid.entities.linkers.spacy import SpacyLinker
from factoid.entities.linkers.titles import TitleLinker
from factoid.entities.mention import Candidate, EntityLinker, Match, Mention
from factoid.entities.retriever import EntityHit, EntityRetriever

__all__ = [
    "AnnotatedLinker",
    "Article",
    "ArticleStore",
    "BuildReport",
    "Candidate",
    "EntityHit",
    "EntityLinker",
    "EntityRetriever",
    "Match",
    "Mention",
    "Redirect",
    "SpacyLinker",
    "TitleLinker",
    "add_own_articles",
    "build_articles",
    "build_own_articles",
]
