"""The multi-granular store: units and their vectors on disk, searched at any granularity.

A store is a folder. Its database (`units.sqlite`) is the truth; the index files beside it, one FAISS index for each
granularity, are caches of it that are read, built or brought up to date on the first search after a change.
"""

from factoid.store.compact import CompactReport
from factoid.store.export import ExportReport
from factoid.store.importing import ImportReport, read_documents, read_units
from factoid.store.ingest import AddReport
from factoid.store.merge import MergeReport
from factoid.store.reading import GRANULARITIES
from factoid.store.records import to_json
from factoid.store.stats import StoreStats
from factoid.store.tuning import TuneReport
from factoid.store.unit_store import UnitStore
from factoid.store.verify import VerifyReport

__all__ = [
    "GRANULARITIES",
    "AddReport",
    "CompactReport",
    "ExportReport",
    "ImportReport",
    "MergeReport",
    "StoreStats",
    "TuneReport",
    "UnitStore",
    "VerifyReport",
    "read_documents",
    "read_units",
    "to_json",
]
