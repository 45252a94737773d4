"""SQLite works for a store only where a fork waits for it.

A child that is forked while another thread is inside SQLite inherits SQLite's own locks as they are at that moment, and
waits for them when it opens its first database.
"""

from __future__ import annotations

import sqlite3

import pytest

from factoid import Document, UnitStore, forks
from factoid.files import sqlite
from factoid.testing import HashEncoder, ScriptedPropositionizer
from tests.store.content import filled
from tests.towns import add, hits

pytest.importorskip("faiss")


@pytest.fixture
def unguarded(monkeypatch):
    """Collect the calls of SQLite that a thread makes without its lock."""
    calls: set[str] = set()

    def watched(name, original):
        def call(*arguments, **options):
            if not forks.at_work()._is_owned():
                calls.add(f"{name}: {arguments[1:2]!r:.90}")
            return original(*arguments, **options)

        return call

    for name in ("execute", "executemany", "close", "backup"):
        monkeypatch.setattr(
            sqlite._Connection,
            name,
            watched(name, getattr(sqlite._Connection, name)),
            raising=False,
        )
    monkeypatch.setattr(sqlite3, "connect", watched("connect", sqlite3.connect))
    return calls


def forked(store):
    """Close the connections of a store, as a fork does."""
    with forks.at_work():
        store.opened.connections.before_fork()


def test_a_store_guards_all_that_it_does(tmp_path, unguarded):
    path = tmp_path / "store"
    with filled(path, 20) as store:
        for work in (
            lambda: add(store, 1),
            lambda: hits(store),
            lambda: hits(store, filter={"lang": "en"}, rerank=None),
            lambda: store.add(store.get(store.ids()[:3])),
            lambda: store.update_metadata({"year": 3}, ids=["tower"]),
            lambda: store.delete(["ship"]),
            store.retry_failures,
            store.refresh,
            store.verify,
            lambda: store.verify(repair=True),
            store.compact,
            store.stats,
            lambda: store.export(tmp_path / "e.jsonl"),
            lambda: store.import_from(tmp_path / "e.jsonl"),
            lambda: store.copy_to(tmp_path / "copy"),
            lambda: store.copy_over(tmp_path / "copy"),
            lambda: store.save_to(f"file://{tmp_path}/s.zip"),
            lambda: store.merge(tmp_path / "copy"),
        ):
            forked(store)
            work()
    UnitStore.load_from(
        f"file://{tmp_path}/s.zip", tmp_path / "loaded", encoder=store.encoder
    ).close()
    with UnitStore(path, encoder=store.encoder, read_only=True) as reader:
        forked(reader)
        assert len(reader.ids()) > 3
    assert unguarded == set()


def test_its_caches_do_too(tmp_path, unguarded):
    script = ScriptedPropositionizer(lambda passage: [passage.text])
    script.costly = True
    script.name = "script"
    with UnitStore(tmp_path / "s", encoder=HashEncoder()) as store:
        store.add_documents([Document("The tower leans.")], propositionizer=script)
        store.retry_failures()
        store.clear()
    assert unguarded == set()


def test_stores_in_memory_do_too(unguarded):
    with filled(None, 20) as store:
        hits(store)
        store.compact()
    assert unguarded == set()
