"""Importers of articles from dumps of Wikipedia and from datasets."""

from factoid.entities.importers.datasets import read_kilt, read_parquet
from factoid.entities.importers.mediawiki import MediaWikiDump

__all__ = ["MediaWikiDump", "read_kilt", "read_parquet"]
