"""What articles come from: dumps, datasets and the user's own documents."""

from factoid.entities.importers.jsonl import ArticleJsonl, TitleTextJsonl
from factoid.entities.importers.kilt import KiltJsonl
from factoid.entities.importers.mediawiki import MediaWikiDump
from factoid.entities.importers.own_documents import OwnDocuments
from factoid.entities.importers.parquet import WikipediaParquet
from factoid.entities.importers.redirect_lines import RedirectLines
from factoid.entities.importers.table import ArticleCsv
from factoid.entities.importers.wikiextractor import WikiExtractorJson

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
