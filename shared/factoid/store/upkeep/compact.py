"""Shrink a store to its content."""

from __future__ import annotations

from factoid.store.indexes.build import INDEXES, remove_indexes
from factoid.store.opened import OpenedStore
from factoid.store.token_cache import TOKENS, TokenVectorCache


def compact(store: OpenedStore, *, progress: bool | None = None) -> None:
    """Do what `UnitStore.compact` describes."""
    with store.connections.transaction() as transaction:
        transaction.forget_changes()
        transaction.compact_vectors()
    store.connections.sweep_vectors()
    store.indexes.unload()
    if store.path is not None:
        remove_indexes(store.path, INDEXES)
    store.indexes.refresh(progress=progress)
    store.indexes.save()
    if store.path is not None and (store.path / TOKENS).exists():
        with store.connections.reading() as snapshot:
            texts = snapshot.connection.execute(
                "SELECT text FROM units WHERE granularity = 'passage'"
            )
            TokenVectorCache(store.path).keep_only(text for (text,) in texts)
    with store.connections.outside_transaction() as connection:
        connection.execute("VACUUM")
        # Active readers keep the log from being emptied now; the next checkpoint then does it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
