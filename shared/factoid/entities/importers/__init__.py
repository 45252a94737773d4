"""Importers of articles from dumps, datasets and the user's own documents."""

from factoid.entities.importers.json_lines import (
    ArticleJsonl,
    KiltJsonl,
    RedirectLines,
    TitleTextJsonl,
    WikiExtractorJson,
)
from factoid.entities.importers.mediawiki import MediaWikiDump
from factoid.entities.importers.own_documents import OwnDocuments
from factoid.entities.importers.table import ArticleCsv, WikipediaParquet

__all__ = [
    "ArticleCsv",
    "ArticleJsonl",
    "KiltJsonl",
    "MediaWikiDump",
    "OwnDocuments",
    "RedirectLines",
    "TitleTextJsonl",
    "WikiExtractorJson",
    "WikipediaParquet",
]
