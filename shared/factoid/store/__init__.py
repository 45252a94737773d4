"""The multi-granular store: units and their vectors on disk, searched at any granularity.

A store is a folder. Its database (`units.sqlite`) holds all data. The index files beside it, one FAISS index for each
granularity, are only caches: they are read, built or updated on the first search after a change.
"""

from factoid.ingest import GRANULARITIES, AddReport
from factoid.store.database.records import to_json
from factoid.store.options import SearchOptions
from factoid.store.transfer.exports import ExportReport, ImportReport
from factoid.store.transfer.merge import MergeReport
from factoid.store.unit_store import UnitStore
from factoid.store.upkeep.compact import CompactReport
from factoid.store.upkeep.stats import StoreStats
from factoid.store.upkeep.tune import TuneReport, TuneRow, WeightsReport
from factoid.store.upkeep.verify import VerifyReport

__all__ = [
    "GRANULARITIES",
    "AddReport",
    "CompactReport",
    "ExportReport",
    "ImportReport",
    "MergeReport",
    "SearchOptions",
    "StoreStats",
    "TuneReport",
    "TuneRow",
    "UnitStore",
    "VerifyReport",
    "WeightsReport",
    "to_json",
]
