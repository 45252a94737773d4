"""The file of a cache: what goes in comes out, whatever else happens to it."""

from __future__ import annotations

import os
import sqlite3
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
    outputs = [
        NoPropositions("refusal"),
        NoPropositions("timed out", transient=True),
        [],
        ["Fact."],
    ]
    cache.put("m", passages(4), outputs)
    failed, transient, empty, fact = cache.get("m", passages(4))
    assert (failed, failed.reason, failed.transient, failed.cached) == ([], "refusal", False, True)
    assert (transient, empty, fact) == (None, [], ["Fact."])
    assert (fact.cached, empty.cached) == (True, True)
    assert (cache.count(), cache.count(failures=True), cache.count("m"), cache.count("other")) == (
        3,
        2,
        3,
        0,
    )
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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("no database " * 99), "not a database"),
        (
            lambda path: foreign(path),
            "is not a cache of propositions of format 1 .application 0x0, format 0.",
        ),
        (lambda path: foreign(path, application_id=0x0FAC70CA, version=2), "format 2"),
        (lambda path: path.mkdir(), "is a folder without units.sqlite"),
        (
            lambda path: (path.mkdir(), (path / "units.sqlite").touch()),
            "is a folder without units.sqlite",
        ),
    ],
    ids=["text", "foreign", "version", "folder", "unmade store"],
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
            f"CREATE TABLE users (name); PRAGMA application_id = {application_id}; PRAGMA "
            f"user_version = {version}"
        )


def test_a_damaged_file_is_one_clear_error(cache, path):
    cache.put("m", passages(500), [facts(unit) for unit in passages(500)])
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StoreFormatError, match=r"Name another file; .* move it away"):
        cache.get("m", passages(500))


def test_nobody_is_told_to_delete_a_store_that_is_damaged(tmp_path):
    with UnitStore(tmp_path, encoder=HashEncoder()) as store:
        store.add(passages(50))
    os.truncate(tmp_path / "units.sqlite", 9000)
    for path in (tmp_path, tmp_path / "units.sqlite"):
        with pytest.raises(StoreFormatError, match="Restore the store from a backup"):
            PropositionCache(path).get("m", passages(1))


def test_places_that_cannot_be_written(tmp_path, cache, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be used"):
        PropositionCache(tmp_path / "file" / "c").get("m", passages(1))
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write whatever its mode says
    with pytest.raises(StoreError, match="unable to open"):
        cache.get("m", passages(1))


def test_a_store_keeps_a_cache_and_stays_a_store(tmp_path):
    with UnitStore(tmp_path, encoder=HashEncoder()) as store:
        PropositionCache(tmp_path).put("m", passages(1), [["a"]])
        store.add([passage(1)])
    assert PropositionCache(tmp_path / "units.sqlite").get("m", passages(1)) == [["a"]]
    with UnitStore(tmp_path, encoder=HashEncoder()) as store:
        assert len(store) == 1
        store.clear()
    assert PropositionCache(tmp_path).count() == 0


def test_an_index_that_loses_keys_is_one_clear_error(cache, path):
    """Otherwise passages would be asked again, and paid for, each time."""
    cache.put("m", passages(60), [["Fact."]] * 60)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        [page] = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE type = 'index'"
        ).fetchone()
        [size] = connection.execute("PRAGMA page_size").fetchone()
    content = path.read_bytes()
    refused = 0
    for place in range(size * page - 1400, size * page - 60, 40):
        path.write_bytes(content[:place] + bytes(60) + content[place + 60 :])
        try:
            cache.put("m", passages(60), [["Fact."]] * 60)
            assert None not in cache.get("m", passages(60))
        except StoreFormatError as error:
            assert "Name another file" in str(error)  # noqa: PT017
            refused += 1
    assert refused
