"""The multi-granular store: units and their vectors on disk, searched at any granularity.

A store is a folder. Its database (`units.sqlite`) holds all data. The index files beside it, one
FAISS index for each granularity, are only caches: they are read, built or updated on the first
search after a change.
"""

from factoid.store.ingest import AddReport
from factoid.store.options import SearchOptions
from factoid.store.settings import GRANULARITIES
from factoid.store.unit_store import UnitStore
from factoid.store.upkeep.tune import TuneRow, WeightsReport

__all__ = ["GRANULARITIES", "AddReport", "SearchOptions", "TuneRow", "UnitStore", "WeightsReport"]
