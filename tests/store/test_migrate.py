"""Stores of format 1 are brought to today's by opening them: everything is there, or nothing has happened."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from factoid import UnitStore
from factoid.errors import StoreFormatError
from factoid.propositions import PropositionCache
from factoid.sqlite_file import APPLICATION_ID
from factoid.units import Granularity, Unit
from tests.store.content import rows

pytest.importorskip("faiss")

ROOT = Path(__file__).resolve().parents[2]
DIM = 6

FORMAT_1 = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE documents (
    id TEXT PRIMARY KEY, text TEXT NOT NULL, title TEXT NOT NULL, section TEXT NOT NULL, metadata TEXT NOT NULL,
    digest TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE units (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, granularity TEXT NOT NULL,
    document_id TEXT NOT NULL, parent_id TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
    title TEXT NOT NULL, section TEXT NOT NULL, metadata TEXT NOT NULL, vector BLOB
);
CREATE INDEX units_by_parent ON units (parent_id);
CREATE INDEX units_by_document ON units (document_id);
CREATE INDEX units_by_granularity ON units (granularity);
INSERT INTO meta VALUES ('generation', 17);
INSERT INTO meta VALUES ('dim', 6);
INSERT INTO meta VALUES ('encoder', 'old');
CREATE TABLE propositions (
    row INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, name TEXT NOT NULL, output TEXT NOT NULL, reason TEXT
);
CREATE TABLE claims (key BLOB PRIMARY KEY, at REAL NOT NULL, owner TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO propositions VALUES (1, x'01', 'model', '["One."]', NULL);
INSERT INTO propositions VALUES (2, x'02', 'model', '[]', 'time-out');
PRAGMA application_id = %d;
PRAGMA user_version = 1;
PRAGMA journal_mode = WAL;
"""

DOCUMENTS = [
    ("d0", "The text of d0.", "Title", "Section", '{"lang": "en"}', "digest-0"),
    ("d1", "", "", "", "{}", "digest-1"),
]
NODE = {"_node_content": '{"id": "n"}', "_node_type": "TextNode", "_ids": {"node": "n"}, "_stand_in": True}


def old_units(count):
    """Return units of format 1 as (row, unit without payload, payload keys, vector)."""
    numbers = np.random.default_rng(1).normal(size=(count, DIM)).astype(np.float32)
    made = []
    for number in range(count):
        kind = ("passage", "sentence", "proposition")[number % 3]
        document = f"d{number // 30}"
        parent = document if kind == "passage" else f"u{number - number % 3}"
        metadata = {"lang": "en"} if number % 2 else {"year": number % 5, "é": [1.5, None]}
        node = {**NODE, "_node_content": f"node {number}"} if number % 4 == 0 else {}
        text = "The same text." if number % 7 == 0 else f"Text {number} 😀."
        vector = None if number % 10 == 9 else numbers[number % 7 if number % 7 == 0 else number]
        unit = Unit(f"u{number}", text, Granularity(kind), document, parent, number, number + 5, "T", "S", metadata)
        made.append((2 * number + 1, unit, node, vector))  # rows with gaps, as deletes leave them
    return made


def make(path, count=90, page=4096):
    path.mkdir()
    connection = sqlite3.connect(path / "units.sqlite")
    connection.execute(f"PRAGMA page_size = {page}")
    connection.executescript(FORMAT_1 % APPLICATION_ID)
    connection.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", DOCUMENTS)
    connection.executemany(
        "INSERT INTO units VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(row, unit.id, unit.text, unit.granularity, unit.document_id, unit.parent_id, unit.start, unit.end),
                *(unit.title, unit.section, json.dumps({**unit.metadata, **node}), None if v is None else v.tobytes()),
            )
            for row, unit, node, v in old_units(count)
        ],
    )
    connection.commit()
    connection.close()
    for kind in ("passage", "sentence", "proposition"):
        (path / f"{kind}.faiss").write_bytes(b"an index of format 1")
        (path / f"{kind}.json").write_text(
            json.dumps({"format": 1, "generation": 17, "dim": DIM, "count": 30, "sha256": ""})
        )
    return path


def check(path, count=90):
    """Compare a store with the units that were put into it, and its answers with those of numpy."""
    made = old_units(count)
    with UnitStore(path, encoder=None) as store:
        found = store.get(store.ids())
        assert [unit.id for unit in found] == [unit.id for _, unit, _, _ in made]
        for unit, (_, expected, node, _) in zip(found, made, strict=True):
            payload = json.loads(unit.payload) if unit.payload else {}
            assert payload == {key: value for key, value in node.items() if key != "_ids"}
            # What LlamaIndex's filters find by stays in the metadata, too.
            kept = {"_node_type": "TextNode"} if node else {}
            assert replace(unit, payload="") == replace(expected, metadata={**expected.metadata, **kept})
        vectors = store.vectors([unit.id for unit in found])
        assert {own: vector.tobytes() for own, vector in vectors.items()} == {
            unit.id: vector.tobytes() for _, unit, _, vector in made if vector is not None
        }
        assert store.document("d0").text == "The text of d0."
        assert dict(store.document("d0").metadata) == {"lang": "en"}
        assert store.document("d1").text == ""
        assert store.document("d2") is None
        query = np.arange(DIM, dtype=np.float32) - 2
        for kind in ("passage", "sentence", "proposition"):
            scored = {u.id: float(v @ query) for _, u, _, v in made if v is not None and u.granularity == kind}
            hits = store.search_by_vector(query, 5, granularity=kind, parents=False)
            best = sorted(scored.values(), reverse=True)[:5]
            np.testing.assert_allclose([hit.score for hit in hits], best, rtol=1e-5)
            np.testing.assert_allclose([scored[hit.unit.id] for hit in hits], best, rtol=1e-5)
        passing = [u.id for _, u, _, _ in made if u.metadata.get("year", -1) >= 3]
        assert store.ids({"year": {"$gte": 3}}) == passing != []
        assert store.ids({"_node_type": {"$exists": True}}) == [u.id for _, u, node, _ in made if node]
        assert store.ids({"_node_content": {"$exists": True}}) == []
        assert store.ids({"_ids": {"$exists": True}}) == []
        assert store.verify().ok
        assert store.stats().encoder == "old"
    with PropositionCache(path) as cache:
        assert (cache.count(), cache.count(failures=True)) == (2, 1)


def test_everything_is_there_after_opening(tmp_path):
    check(make(tmp_path / "s"))
    assert rows(tmp_path / "s", "PRAGMA user_version") == [(2,)]
    assert (
        rows(tmp_path / "s", "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '%\\_1' ESCAPE '\\'")
        == []
    )
    assert rows(tmp_path / "s", "SELECT row FROM units ORDER BY row") == [(row,) for row, *_ in old_units(90)]
    check(tmp_path / "s")  # and again


def test_what_is_equal_is_shared_from_then_on(tmp_path):
    with UnitStore(make(tmp_path / "s"), encoder=None) as store:
        stats = store.stats()
    made = old_units(90)
    assert stats.vectors == len({v.tobytes() for *_, v in made if v is not None}) < len(made) - 9
    assert stats.metadata == len({json.dumps([dict(unit.metadata), bool(node)]) for _, unit, node, _ in made})


def test_a_store_goes_on_after_it_was_migrated(tmp_path):
    path = make(tmp_path / "s")
    with UnitStore(path, encoder=None) as store:
        highest = max(row for row, *_ in old_units(90))
        store.add([Unit("new", "New.", Granularity.SENTENCE, "d0", "u0", 0, 4)], vectors=[np.ones(DIM)])
        store.delete(["d1", "u3"])
        assert store.verify().ok
        store.compact()
        assert store.verify().ok
    assert rows(path, "SELECT row > ? FROM units WHERE id = 'new'", highest) == [(1,)]


def test_an_empty_store_of_format_1(tmp_path):
    path = make(tmp_path / "s", 0)
    with UnitStore(path, encoder=None) as store:
        assert len(store) == 0
        assert store.verify().ok


def content(path):
    """Return the tables of format 1, as they were."""
    return [rows(path, f"SELECT * FROM {table} ORDER BY 1") for table in ("meta", "documents", "units", "propositions")]


def test_reading_alone_does_not_migrate(tmp_path):
    path = make(tmp_path / "s")
    before = content(path)
    for opening in (
        lambda: UnitStore(path, encoder=None, read_only=True),
        lambda: UnitStore(None, encoder=None).merge(path),
    ):
        with pytest.raises(StoreFormatError, match="of an earlier format: open it for writing once, which mends that"):
            opening()
    assert content(path) == before


def test_what_a_later_factoid_wrote_is_refused(tmp_path):
    path = make(tmp_path / "s")
    connection = sqlite3.connect(path / "units.sqlite")
    connection.execute("PRAGMA user_version = 3")
    connection.close()
    before = content(path)
    for read_only in (False, True):
        with pytest.raises(StoreFormatError, match=r"of format 2 \(.*format 3, which a newer factoid reads\)"):
            UnitStore(path, encoder=None, read_only=read_only)
    assert content(path) == before


def test_an_error_half_way_changes_nothing(tmp_path):
    path = make(tmp_path / "s")
    connection = sqlite3.connect(path / "units.sqlite")
    connection.execute("UPDATE units SET metadata = '{' WHERE id = 'u80'")
    connection.commit()
    connection.close()
    before = content(path)
    with pytest.raises((StoreFormatError, ValueError)):
        UnitStore(path, encoder=None)
    assert content(path) == before
    assert rows(path, "PRAGMA user_version") == [(1,)]


OPEN = "import sys; from factoid import UnitStore; print('ready', flush=True); UnitStore(sys.argv[1], encoder=None)"


def test_a_kill_half_way_leaves_the_old_store_or_the_new_one(tmp_path):
    count, left = 3000, 0
    for attempt in range(8):
        path = make(tmp_path / f"s{attempt}", count)
        before = content(path)
        with subprocess.Popen([sys.executable, "-c", OPEN, path], cwd=ROOT, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"ready\n"
            time.sleep(attempt * 0.03)
            process.kill()
        if rows(path, "PRAGMA user_version") == [(1,)]:
            left += 1
            assert content(path) == before
        check(path, count)
    assert left


def test_two_processes_may_open_an_old_store_at_once(tmp_path):
    path = make(tmp_path / "s", 900)
    processes = [
        subprocess.Popen([sys.executable, "-c", OPEN, path], cwd=ROOT, stdout=subprocess.DEVNULL) for _ in range(3)
    ]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    check(path, 900)
