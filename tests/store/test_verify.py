"""`UnitStore.verify`: what is wrong is found and named, and what follows from the rest is mended."""

from __future__ import annotations

import hashlib
import re
from operator import attrgetter

import numpy as np
import pytest

from factoid.errors import StoreFormatError
from factoid.index import VectorIndex, load, save
from factoid.store import VerifyReport
from tests.store.content import DIM, answers, change, filled, flipped, opened, state, unit

pytest.importorskip("faiss")


def verified(folder, **options):
    with opened(folder) as store:
        return store.verify(**options)


def test_a_whole_store_has_no_problem(folder):
    with opened(folder) as store:
        report = store.verify(show_progress=True)
        found, vectors, documents = state(store)
    metadata = {str(dict(unit.metadata)) for unit in found}
    counts = {"units": len(found), "documents": len(documents), "vectors": len(set(vectors.values()))}
    assert report == VerifyReport(**counts, metadata=len(metadata), indexes=3)
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
        ("UPDATE metadata SET json = '{\"a\": ' WHERE row = 2", r"1 metadata are not JSON objects \(rows 2\)"),
        ("UPDATE documents SET metadata = '[]' WHERE id = 'ship'", r"1 documents changed on disk \('ship'\)"),
        ("UPDATE units SET text = 'The kakapo flies.' WHERE id = 'u4'", r"1 units changed on disk \('u4'\)"),
        ("UPDATE units SET checksum = 1 WHERE id = 'u4'", r"1 units changed on disk \('u4'\)"),
        ("UPDATE documents SET text = 'Another' WHERE id = 'ship'", r"1 documents changed on disk \('ship'\)"),
        ("DROP INDEX units_by_vector", "altered: CREATE INDEX units_by_vector"),
    ],
)
def test_what_cannot_be_mended_is_told_with_what_to_do(folder, damage, problem):
    change(folder, damage)
    for repair in (False, True):
        report = verified(folder, repair=repair)
        assert any(re.search(problem, told) for told in report.problems), report.problems
        assert not report.repaired
    assert all(". " in told for told in report.problems)  # what is wrong, and what to do


@pytest.mark.parametrize(
    ("damages", "problem"),
    [
        (["DELETE FROM fields WHERE key = 'year'"], "filters would miss fields of metadata"),
        (
            ["INSERT INTO fields VALUES ('year', 0, 77, 1)", "INSERT INTO fields VALUES ('x', 0, 1, 12345)"],
            "or find some that do not exist",
        ),
        (["UPDATE fields SET value = value + 1 WHERE key = 'year'"], "filters would miss"),
        (["INSERT INTO metadata (json) VALUES ('{\"left\": 1}')"], r"no unit uses \(1 of metadata\)"),
        (["INSERT INTO metadata (json) VALUES ('broken')"], r"no unit uses \(1 of metadata\)"),
        ([("INSERT INTO vectors (digest, vector) VALUES (x'00', ?)", (BLOB,))], r"no unit uses \(1 of vectors\)"),
        (["INSERT INTO documents (id) VALUES ('left')"], r"no unit uses \(1 of documents\)"),
    ],
)
def test_what_follows_from_the_rest_is_mended(folder, before, damages, problem):
    year = {"year": {"$gte": 2}}
    with opened(folder) as store:
        passing = store.ids(year)
    change(folder, *damages)
    report = verified(folder)
    assert any(re.search(problem, told) for told in report.problems), report.problems
    mended = verified(folder, repair=True)
    assert mended.ok, mended.problems
    assert mended.repaired
    with opened(folder) as store:
        assert (state(store), answers(store)) == before
        assert store.ids(year) == passing != []
        store.add([store.get(["u4"])[0]], vectors=[np.ones(DIM)])  # takes new rows
        assert store.verify().ok


@pytest.mark.parametrize("name", ["sentence.faiss", "sentence.columns.npy", "sentence.json"])
@pytest.mark.parametrize("damaged", [flipped, lambda content: content[:-3]])
def test_damaged_index_files_are_found_and_removed(folder, before, name, damaged):
    (folder / name).write_bytes(damaged((folder / name).read_bytes()))
    report = verified(folder)
    assert [problem for problem in report.problems if "sentence is damaged" in problem]
    mended = verified(folder, repair=True)
    assert (mended.ok, mended.indexes, list(folder.glob("sentence.*"))) == (True, 2, [])
    with opened(folder) as store:
        assert (state(store), answers(store)) == before


@pytest.mark.parametrize(
    ("dim", "units", "problem"),
    [
        (None, -1, "holds other units"),
        (DIM, None, "holds other vectors"),
        (DIM + 1, None, f"of {DIM + 1} dimensions"),
    ],
)
def test_an_index_that_says_other_than_the_database_is_found(folder, before, dim, units, problem):
    index, stamp, arrays = attrgetter("index", "stamp", "arrays")(load(folder / "sentence"))
    if dim:
        ids, index = index.ids, VectorIndex(dim)
        index.add(ids, np.ones((len(ids), dim), np.float32))
    save(index, folder / "sentence", stamp=stamp, arrays={"columns": arrays["columns"][:, :units]})
    assert [problem in told for told in verified(folder).problems] == [True]
    with opened(folder) as store:
        assert store.verify(repair=True).ok
        assert (state(store), answers(store)) == before


def test_index_files_of_an_earlier_generation_are_no_problem(folder):
    with opened(folder) as store:
        store.delete(["u1"])
        report = store.verify()
    assert (report.ok, report.indexes) == (True, 3)


@pytest.mark.parametrize("repair", [False, True])
def test_a_damaged_database_is_a_problem_and_no_crash(folder, repair):
    file = folder / "units.sqlite"
    content = bytearray(file.read_bytes())
    page = int.from_bytes(content[16:18], "big")
    for number in range(6, len(content) // page):
        content[number * page : number * page + 200] = b"\xff" * 200
    file.write_bytes(content)
    assert "Restore the store from a backup" in verified(folder, repair=repair).problems[0]


@pytest.mark.parametrize(
    "damage", ["DELETE FROM meta WHERE key = 'dim'", "UPDATE meta SET value = 9 WHERE key = 'dim'"]
)
def test_a_record_that_was_changed_is_told_when_the_store_is_opened(folder, damage):
    change(folder, damage)
    with pytest.raises(StoreFormatError, match=r"is damaged: the record of .* Restore it from a backup"):
        opened(folder)


def test_units_that_were_lost_are_missed(folder):
    change(folder, "DELETE FROM units WHERE id = 'u4'")
    assert any("units were lost" in problem for problem in verified(folder).problems)
    report = verified(folder, repair=True)
    assert report.ok
    assert any("units were lost" in problem for problem in report.repaired)


def test_a_search_says_that_a_text_was_changed_and_a_new_one_may_take_its_place(folder):
    change(folder, "UPDATE units SET text = 'The kakapo flies.' WHERE id = 'u4'")
    with opened(folder) as store:
        vector = store.vectors(["u4"])["u4"]
        for call in (lambda: store.get(["u4"]), lambda: store.search_by_vector(vector, 50, granularity="mixed")):
            with pytest.raises(StoreFormatError, match=r"is damaged: unit 'u4' .*verify"):
                call()
        store.add([unit("u4", kind="sentence", document="doc4", parent="u3")[0]], vectors=[vector])
        assert store.verify().ok
        assert store.get(["u4"])[0].text == "A town on a hill."
