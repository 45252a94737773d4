"""The file of a cache: what goes in comes out, whatever else happens to it."""

from __future__ import annotations

import os
import pickle
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest

from factoid import UnitStore
from factoid.errors import InvalidInputError, PropositionizerError, StoreError, StoreFormatError
from factoid.propositions import NoPropositions, PropositionCache
from factoid.propositions.cache import passage_key
from factoid.testing import HashEncoder
from tests.propositions.passages import facts, passage, passages


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "cache.sqlite"


@pytest.fixture
def cache(path):
    return PropositionCache(path)


def test_what_is_put_is_found_by_text_title_section_and_name(cache, path):
    assert cache.get("m@1", passages(2)) == [None, None]
    texts = ["One.", "Zwei, 二 \0 \ud800.", ""]
    cache.put("m@1", [passage_key("m@1", passage(1))], [texts])
    assert cache.get("m@1", [passage(0), passage(1), passage(1)]) == [None, texts, texts]
    changed = replace(passage(1), text="x"), passage(1, title="x"), passage(1, section="x")
    assert cache.get("m@1", changed) == [None] * 3
    assert cache.get("m@2", [passage(1)]) == [None]
    same = replace(passage(1), id="x", document_id="y", metadata={"a": 1}, start=7)
    assert PropositionCache(str(path)).get("m@1", [same]) == [texts]
    # Nothing but the parts makes the key: one may not run into the next.
    cache.put("m@1", [passage(1, title="ab", section="c")], [["x"]])
    assert cache.get("m@1", [passage(1, title="a", section="bc")]) == [None]


def test_failures_are_kept_with_their_reason_unless_another_try_may_mend_them(cache):
    outputs = [NoPropositions("refusal"), NoPropositions("timed out", transient=True), [], ["Fact."]]
    cache.put("m", passages(4), outputs)
    failed, transient, empty, fact = cache.get("m", passages(4))
    assert (failed, failed.reason, failed.transient, failed.cached) == ([], "refusal", False, True)
    assert (transient, empty, fact) == (None, [], ["Fact."])
    assert (fact.cached, empty.cached) == (True, True)
    assert (cache.count(), cache.count(failures=True), cache.count("m"), cache.count("other")) == (3, 2, 3, 0)
    cache.put("m", passages(4), [["Now."]] * 4)
    assert cache.get("m", passages(4)) == [["Now."], ["Now."], ["Now."], ["Fact."]]
    cache.put("m", passages(1), [NoPropositions("refusal")])
    assert cache.get("m", passages(1)) == [["Now."]]


def test_forgetting(cache):
    for name in ("a", "b"):
        cache.put(name, passages(3), [["x"], NoPropositions("r"), ["y"]])
    assert cache.forget("a", failures=True) == 1
    assert (cache.count("a"), cache.count("b", failures=True)) == (2, 1)
    assert (cache.forget("b"), cache.forget(), cache.count()) == (3, 2, 0)


def test_what_is_refused(cache):
    with pytest.raises(InvalidInputError, match="local file, got 's3://bucket/cache'"):
        PropositionCache("s3://bucket/cache")
    for outputs in ([], [["a"], ["b"]], ["a"], [None], [[1]]):
        with pytest.raises(PropositionizerError, match="expected"):
            cache.put("m", passages(1), outputs)
    assert cache.count() == 0
    for name in ("", None, 3):
        with pytest.raises(InvalidInputError, match="expected the name of a propositionizer"):
            cache.get(name, passages(1))


def test_no_file_stays_open_and_caches_can_be_pickled(cache, path):
    cache.put("m", passages(1), [["a"]])
    assert [file.name for file in path.parent.iterdir()] == ["cache.sqlite"]
    assert pickle.loads(pickle.dumps(cache)).get("m", passages(1)) == [["a"]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("no database " * 99), "not a database"),
        (lambda path: path.write_bytes(b"\0" * 9999), "not a database"),
        (lambda path: foreign(path), "is not a cache of propositions of format 1 .application 0x0, format 0."),
        (lambda path: foreign(path, application_id=0x0FAC70CA, version=2), "format 2"),
        (lambda path: path.mkdir(), "is a folder without units.sqlite"),
        (lambda path: (path.mkdir(), (path / "units.sqlite").touch()), "is a folder without units.sqlite"),
    ],
    ids=["text", "zeros", "foreign", "version", "folder", "unmade store"],
)
def test_what_is_no_cache_is_refused_and_left_as_it_is(tmp_path, make, message):
    def contents():
        return {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}

    make(tmp_path / "c")
    before = contents()
    with pytest.raises(StoreFormatError, match=message):
        PropositionCache(tmp_path / "c").put("m", passages(1), [["a"]])
    assert contents() == before


def foreign(path, application_id=0, version=0):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"CREATE TABLE users (name); PRAGMA application_id = {application_id}; PRAGMA user_version = {version}"
        )


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_damaged_file_is_one_clear_error(cache, path, share):
    cache.put("m", passages(500), map_facts(500))
    os.truncate(path, int(path.stat().st_size * share))
    with pytest.raises(StoreFormatError, match=r"Name another file; .* move it away"):
        cache.get("m", passages(500))


def test_nobody_is_told_to_delete_a_store_that_is_damaged(tmp_path):
    with UnitStore(tmp_path, encoder=HashEncoder()) as store:
        store.add(passages(50))
    os.truncate(tmp_path / "units.sqlite", 9000)
    for path in (tmp_path, tmp_path / "units.sqlite"):
        with pytest.raises(StoreFormatError, match="Restore the store from a backup"):
            PropositionCache(path).get("m", passages(1))


def map_facts(count):
    return [facts(unit) for unit in passages(count)]


def test_places_that_cannot_be_written(tmp_path, cache, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be used"):
        PropositionCache(tmp_path / "file" / "c").get("m", passages(1))
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write whatever its mode says
    with pytest.raises(StoreError, match="is read-only"):
        cache.get("m", passages(1))


def test_a_full_disk_is_an_error_and_what_was_kept_is_safe(cache):
    cache.put("m", passages(10), map_facts(10))
    with cache.session() as session:
        (pages,) = session.connection.execute("PRAGMA page_count").fetchone()
        session.connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(StoreError, match=r"database or disk is full\. What was committed before is safe"):
            cache.put("m", passages(1000), map_facts(1000), session=session)
    assert cache.get("m", passages(11)) == [*map_facts(10), None]
    cache.put("m", passages(1000), map_facts(1000))
    assert cache.count() == 1000


def test_a_store_keeps_a_cache_and_stays_a_store(tmp_path):
    with UnitStore(tmp_path, encoder=HashEncoder()) as store:
        PropositionCache(tmp_path).put("m", passages(1), [["a"]])
        store.add([passage(1)])
    assert PropositionCache(tmp_path / "units.sqlite").get("m", passages(1)) == [["a"]]
    with UnitStore(tmp_path, encoder=HashEncoder()) as store:
        assert len(store) == 1
        store.clear()
    assert PropositionCache(tmp_path).count() == 0


def test_eight_threads_share_a_cache_and_eight_may_make_one(tmp_path):
    start = threading.Barrier(8)

    def work(path, number, shared):
        start.wait()
        cache = shared or PropositionCache(path)
        for unit in passages(40)[number::4]:
            cache.put("m", [unit], [facts(unit)])
            assert cache.get("m", [unit]) == [facts(unit)]

    with ThreadPoolExecutor(8) as threads:
        for trial in range(4):
            path = tmp_path / str(trial)
            shared = PropositionCache(path)
            list(threads.map(work, [path] * 8, range(8), [shared if trial % 2 else None] * 8))
            assert shared.get("m", passages(40)) == map_facts(40)
            assert shared.count() == 40
