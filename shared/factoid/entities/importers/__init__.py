"""Importers of articles from dumps, datasets and the user's own documents."""

from factoid.entities.importers.datasets import read_kilt, read_parquet
from factoid.entities.importers.mediawiki import MediaWikiDump
from factoid.entities.importers.own_documents import OwnDocuments

__all__ = ["MediaWikiDump", "OwnDocuments", "read_kilt", "read_parquet"]
