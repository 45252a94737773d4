"""`UnitStore.verify`: what is wrong is found and named, and what follows from the rest is mended."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest

from factoid import UnitStore
from factoid.errors import StoreError, StoreFormatError
from factoid.index import VectorIndex, load, save
from tests.store.content import DIM, answers, change, filled, opened, state, unit

pytest.importorskip("faiss")


@pytest.fixture
def path(tmp_path):
    with filled(tmp_path / "store") as store:
        answers(store)
    return tmp_path / "store"


@pytest.fixture
def before(path):
    with opened(path) as store:
        return state(store), answers(store)


def verified(path, **options):
    with opened(path) as store:
        return store.verify(**options)


def test_a_whole_store_has_no_problem(path):
    with opened(path) as store:
        report = store.verify(show_progress=True)
        found, vectors, documents = state(store)
    assert report.ok
    assert (report.problems, report.repaired) == ((), ())
    assert report.units == len(found)
    assert report.documents == len(documents) == 3
    assert report.vectors == len(set(vectors.values()))
    assert report.metadata == len({str(dict(unit.metadata)) for unit in found})
    assert report.indexes == 3
    assert str(report).endswith("all is well")


def test_stores_in_memory_and_empty_ones_are_whole(tmp_path):
    for path in (None, tmp_path / "empty"):
        with filled(path, 0) as store:
            assert store.verify().ok
            store.clear()
            assert store.verify().ok


BLOB = np.arange(DIM, dtype=np.float32).tobytes()
NAN = np.full(DIM, np.nan, np.float32).tobytes()


def with_digest(blob):
    digest = hashlib.blake2b(blob, digest_size=16).digest()
    return ("UPDATE vectors SET vector = ?, digest = ? WHERE row = 3", (blob, digest))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (("UPDATE vectors SET vector = ? WHERE row = 3", (BLOB,)), r"1 vectors changed on disk \(of units such as '"),
        (with_digest(BLOB[:-4]), "1 vectors are of another dimension"),
        (with_digest(NAN), "1 vectors are not finite"),
        ("DELETE FROM vectors WHERE row = 3", r"units name vectors that are not there \('"),
        ("UPDATE units SET document = 9999 WHERE id = 'u4'", r"1 units name documents that are not there \('u4'\)"),
        ("UPDATE units SET metadata = 9999 WHERE id = 'u4'", r"1 units name metadata that are not there \('u4'\)"),
        ("UPDATE units SET granularity = 'word' WHERE id = 'u4'", r"1 units are of an unknown granularity \('u4'\)"),
        ("UPDATE metadata SET json = '{\"a\": ' WHERE row = 2", r"1 metadata are no JSON objects \(rows 2\)"),
        ("UPDATE documents SET metadata = '[]' WHERE id = 'ship'", r"1 documents changed on disk \('ship'\)"),
        ("UPDATE units SET text = 'The kakapo flies.' WHERE id = 'u4'", r"1 units changed on disk \('u4'\)"),
        ("UPDATE units SET title = 'Another' WHERE id = 'u4'", r"1 units changed on disk \('u4'\)"),
        ("UPDATE units SET checksum = 1 WHERE id = 'u4'", r"1 units changed on disk \('u4'\)"),
        ("UPDATE documents SET text = 'Another' WHERE id = 'ship'", r"1 documents changed on disk \('ship'\)"),
        ("DROP INDEX units_by_vector", "altered: CREATE INDEX units_by_vector"),
    ],
)
def test_what_cannot_be_mended_is_told_with_what_to_do(path, damage, problem):
    change(path, damage)
    for repair in (False, True):
        report = verified(path, repair=repair)
        assert not report.ok
        assert any(re.search(problem, each) for each in report.problems), report.problems
    assert all(each.count(". ") >= 1 for each in report.problems)  # what is wrong, and what to do


@pytest.mark.parametrize(
    ("damages", "problem"),
    [
        (["UPDATE commits SET last = last + 1"], "what open readers are told of commits is not what was written"),
        (["DELETE FROM fields WHERE key = 'year'"], "filters would miss fields of metadata"),
        (
            ["INSERT INTO fields VALUES ('year', 0, 77, 1)", "INSERT INTO fields VALUES ('x', 0, 1, 12345)"],
            "or find some that are not there",
        ),
        (["UPDATE fields SET value = value + 1 WHERE key = 'year'"], "filters would miss"),
        (["INSERT INTO metadata (json) VALUES ('{\"left\": 1}')"], r"no unit uses \(1 of metadata\)"),
        (["INSERT INTO metadata (json) VALUES ('broken')"], r"no unit uses \(1 of metadata\)"),
        ([("INSERT INTO vectors (digest, vector) VALUES (x'00', ?)", (BLOB,))], r"no unit uses \(1 of vectors\)"),
        (["INSERT INTO documents (id) VALUES ('left')"], r"no unit uses \(1 of documents\)"),
    ],
)
def test_what_follows_from_the_rest_is_mended(path, before, damages, problem):
    year = {"year": {"$gte": 2}}
    with opened(path) as store:
        passing = store.ids(year)
    change(path, *damages)
    report = verified(path)
    assert any(re.search(problem, each) for each in report.problems), report.problems
    mended = verified(path, repair=True)
    assert mended.ok, mended.problems
    assert mended.repaired
    assert verified(path).ok
    with opened(path) as store:
        assert (state(store), answers(store)) == before
        assert store.ids(year) == passing != []
        store.add([store.get(["u4"])[0]], vectors=[np.ones(DIM)])  # takes new rows
        assert store.verify().ok


def flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("name", ["sentence.faiss", "sentence.columns.npy", "sentence.json"])
@pytest.mark.parametrize(
    "damage", [flip, lambda file: file.write_bytes(b""), lambda file: file.write_bytes(file.read_bytes()[:-3])]
)
def test_damaged_index_files_are_found_and_removed(path, before, name, damage):
    if name == "sentence.json":
        (path / name).write_bytes(b"{}")
    else:
        damage(path / name)
    report = verified(path)
    assert [each for each in report.problems if "sentence is damaged" in each]
    mended = verified(path, repair=True)
    assert mended.ok
    assert mended.indexes == 2
    assert not list(path.glob("sentence.*"))
    with opened(path) as store:
        assert (state(store), answers(store)) == before


@pytest.mark.parametrize("what", ["units", "vectors", "dimension"])
def test_an_index_that_says_other_than_the_database_is_found(path, before, what):
    held = load(path / "sentence")
    index, stamp, columns = held.index, held.stamp, held.arrays["columns"]
    if what == "units":
        columns = columns[:, :-1]
    if what != "units":
        dim = DIM + (what == "dimension")
        other = VectorIndex(dim)
        other.add(index.ids, np.ones((len(index), dim), np.float32))
        index = other
    save(index, path / "sentence", stamp=stamp, arrays={"columns": columns})
    expected = {"units": "holds other units", "vectors": "holds other vectors", "dimension": f"of {DIM + 1} dimensions"}
    (problem,) = verified(path).problems
    assert expected[what] in problem
    with opened(path) as store:
        report = store.verify(repair=True)
        assert report.ok
        assert (state(store), answers(store)) == before


def test_index_files_of_an_earlier_generation_are_no_problem(path):
    with opened(path) as store:
        store.delete(["u1"])
        report = store.verify()
    assert report.ok
    assert report.indexes == 3


@pytest.mark.parametrize("repair", [False, True])
def test_a_damaged_database_is_a_problem_and_no_crash(path, repair):
    file = path / "units.sqlite"
    content = bytearray(file.read_bytes())
    page = int.from_bytes(content[16:18], "big")
    for number in range(6, len(content) // page):
        content[number * page : number * page + 200] = b"\xff" * 200
    file.write_bytes(content)
    report = verified(path, repair=repair)
    assert not report.ok
    assert "Restore the store from a backup" in report.problems[0]


def test_only_what_is_open_and_may_be_written_is_mended(path):
    change(path, "DELETE FROM fields")
    with UnitStore(path, encoder=None, read_only=True) as store:
        assert not store.verify().ok
        with pytest.raises(StoreError, match="read_only=True"):
            store.verify(repair=True)


@pytest.mark.parametrize(
    "damage", ["DELETE FROM meta WHERE key = 'dim'", "UPDATE meta SET value = 9 WHERE key = 'dim'"]
)
def test_a_record_that_was_changed_is_told_when_the_store_is_opened(path, damage):
    change(path, damage)
    with pytest.raises(StoreFormatError, match=r"is damaged: the record of .* Restore it from a backup"):
        opened(path)


def test_units_that_were_lost_are_missed(path):
    change(path, "DELETE FROM units WHERE id = 'u4'")
    assert any("units were lost" in problem for problem in verified(path).problems)
    report = verified(path, repair=True)
    assert report.ok
    assert any("units were lost" in problem for problem in report.repaired)


def test_a_search_says_that_a_text_was_changed_and_a_new_one_may_take_its_place(path):
    change(path, "UPDATE units SET text = 'The kakapo flies.' WHERE id = 'u4'")
    with opened(path) as store:
        vector = store.vectors(["u4"])["u4"]
        for call in (lambda: store.get(["u4"]), lambda: store.search_by_vector(vector, 50, granularity="mixed")):
            with pytest.raises(StoreFormatError, match=r"is damaged: unit 'u4' .*verify"):
                call()
        store.add([unit("u4", kind="sentence", document="doc4", parent="u3")[0]], vectors=[vector])
        assert store.verify().ok
        assert store.get(["u4"])[0].text == "A town on a hill."
