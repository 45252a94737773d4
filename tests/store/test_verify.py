"""`UnitStore.verify`: what is wrong is found and named, and repaired."""

from __future__ import annotations

import re

import numpy as np
import pytest

from factoid.errors import StoreFormatError
from factoid.vectors import load, save
from tests.store.content import (
    DIM,
    answers,
    change,
    change_vectors,
    filled,
    flipped,
    opened,
    state,
    unit,
    unordered,
)

pytest.importorskip("faiss")


def verified(folder, **options):
    with opened(folder) as store:
        return store.verify(**options)


def test_whole_stores_have_no_problem(folder, tmp_path):
    assert verified(folder) == []
    for path in (None, tmp_path / "empty"):
        with filled(path, 0) as store:
            assert store.verify() == []
            store.clear()
            assert store.verify() == []


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE vectors SET digest = 'text' WHERE row = 30", r"\d units changed on disk \('"),
        (30, r"\d units changed on disk \('"),
        ("DELETE FROM vectors WHERE row = 30", r"\d units changed on disk \('"),
        ("UPDATE units SET document = 9999 WHERE id = 'u4'", r"1 units changed on disk \('u4'\)"),
        ("UPDATE units SET metadata = 9999 WHERE id = 'u4'", r"1 units changed on disk \('u4'\)"),
        (
            "UPDATE units SET granularity = 'word' WHERE id = 'u4'",
            r"1 units changed on disk \('u4'\)",
        ),
        (
            "UPDATE units SET text = 'The kakapo flies.' WHERE id = 'u4'",
            r"1 units changed on disk \('u4'\)",
        ),
        (
            "UPDATE units SET text = CAST(x'80' AS TEXT) WHERE id = 'u4'",
            r"1 units changed on disk \('u4'\)",
        ),
        ("UPDATE units SET checksum = 1 WHERE id = 'u4'", r"1 units changed on disk \('u4'\)"),
        ("UPDATE metadata SET json = '{\"a\": ' WHERE row = 4", r"\d+ units changed on disk \('"),
        (
            "UPDATE documents SET metadata = '[]' WHERE id = 'ship'",
            r"1 documents changed on disk \('ship'\)",
        ),
        (
            "UPDATE documents SET text = 'Another' WHERE id = 'ship'",
            r"1 documents changed on disk \('ship'\)",
        ),
    ],
)
def test_what_changed_is_named_and_deleted(folder, before, damage, problem):
    (units, vectors, documents), _ = before
    if damage == 30:
        change_vectors(folder, damage)
    else:
        change(folder, damage)
    found = verified(folder)
    assert any(re.match(problem, told) for told in found), found
    assert all(". " in told for told in found)  # what is wrong, and what to do
    assert verified(folder, repair=True) == found
    assert verified(folder) == []
    with opened(folder) as store:
        left = {each.id: each for each in state(store)[0]}
        assert left.items() < {each.id: each for each in units}.items()
        assert state(store)[1].items() <= vectors.items()
        assert len(state(store)[2]) == len(documents) - ("documents" in problem)
        answers(store)
        filled(folder).close()  # adds everything again
        assert unordered(state(store)) == unordered(before[0])
        assert store.verify() == []


@pytest.mark.parametrize(
    "damages",
    [
        ["DELETE FROM fields WHERE key = 'year'"],
        [
            "INSERT INTO fields VALUES ('year', 0, 77, 1)",
            "INSERT INTO fields VALUES ('x', 0, 1, 12345)",
        ],
        ["UPDATE fields SET value = value + 1 WHERE key = 'year'"],
    ],
)
def test_fields_of_metadata_are_made_again(folder, before, damages):
    year = {"year": {"$gte": 2}}
    with opened(folder) as store:
        passing = store.ids(year)
    change(folder, *damages)
    assert [problem.split(",")[0] for problem in verified(folder)] == [
        "filters would miss fields of metadata"
    ]
    verified(folder, repair=True)
    with opened(folder) as store:
        assert store.verify() == []
        assert (state(store), answers(store)) == before
        assert store.ids(year) == passing != []


@pytest.mark.parametrize("damaged", [flipped, lambda content: content[:-3], None])
def test_wrong_index_files_are_found_and_removed(folder, before, damaged):
    if damaged:
        (file,) = folder.glob("sentence-*")
        file.write_bytes(damaged(file.read_bytes()))
    else:
        index, stamp, arrays = load(
            folder / "sentence", vectors=lambda ids: np.zeros((len(ids), DIM), np.float32)
        )
        save(folder / "sentence", stamp, {"columns": arrays["columns"][:, :-1]}, index)
    (problem,) = verified(folder)
    assert problem.startswith(
        "the index sentence is damaged, or holds other units than the database"
    )
    verified(folder, repair=True)
    assert (verified(folder), list(folder.glob("sentence*"))) == ([], [])
    with opened(folder) as store:
        assert (state(store), answers(store)) == before


def test_index_files_of_an_earlier_generation_are_no_problem(folder):
    with opened(folder) as store:
        store.delete(["u1"])
        assert store.verify() == []


@pytest.mark.parametrize("repair", [False, True])
def test_a_damaged_database_is_a_problem_and_no_crash(folder, repair):
    file = folder / "units.sqlite"
    content = bytearray(file.read_bytes())
    page = int.from_bytes(content[16:18], "big")
    for number in range(6, len(content) // page):
        content[number * page : number * page + 200] = b"\xff" * 200
    file.write_bytes(content)
    assert "Restore the store from a backup" in verified(folder, repair=repair)[0]
    for number in range(1, 6):
        content[number * page : number * page + 200] = b"\xff" * 200
    file.write_bytes(content)
    with pytest.raises(StoreFormatError, match="Restore it from a backup"):
        verified(folder, repair=repair)


@pytest.mark.parametrize(
    "damage", ["DELETE FROM meta WHERE key = 'dim'", "UPDATE meta SET value = 9 WHERE key = 'dim'"]
)
def test_a_record_that_was_changed_is_told_when_the_store_is_opened(folder, damage):
    change(folder, damage)
    with pytest.raises(
        StoreFormatError, match=r"is damaged: the record of .* Restore it from a backup"
    ):
        opened(folder)


def test_units_that_were_lost_are_missed(folder):
    change(folder, "DELETE FROM units WHERE id = 'u4'")
    assert [
        re.match(r"(\d+) of (\d+) units are there", problem) is not None
        for problem in verified(folder)
    ] == [True]
    verified(folder, repair=True)
    assert verified(folder) == []


def cut_short(folder):
    (file,) = folder.glob("vectors-*.bin")
    file.write_bytes(file.read_bytes()[:-50])


def without_vectors(folder):
    (file,) = folder.glob("vectors-*.bin")
    file.unlink()


@pytest.mark.parametrize(
    ("damage", "what", "read"),
    [
        (
            "UPDATE documents SET text = 'A' WHERE id = 'ship'",
            "document 'ship'",
            lambda store: store.documents(["ship"]),
        ),
        (
            lambda folder: change_vectors(folder, *range(1, 20)),
            "vector",
            lambda store: store.vectors(["u4"]),
        ),
        (lambda folder: change_vectors(folder, *range(1, 20)), "vector", answers),
        (cut_short, "vector", answers),
        (without_vectors, "the file of vectors", answers),
    ],
)
def test_what_is_read_says_that_it_was_changed(folder, damage, what, read):
    if callable(damage):
        damage(folder)
    else:
        change(folder, damage)
    for file in folder.glob("*.faiss"):
        file.unlink()
    with (
        opened(folder) as store,
        pytest.raises(StoreFormatError, match=f"is damaged: {what} .*verify"),
    ):
        read(store)


def test_a_search_says_that_a_text_was_changed_and_a_new_one_may_take_its_place(folder):
    change(folder, "UPDATE units SET text = 'The kakapo flies.' WHERE id = 'u4'")
    with opened(folder) as store:
        vector = store.vectors(["u4"])["u4"]
        for call in (
            lambda: store.get(["u4"]),
            lambda: store.search_by_vector(vector, 50, granularity="mixed"),
        ):
            with pytest.raises(StoreFormatError, match=r"is damaged: unit 'u4' .*verify"):
                call()
        store.add([unit("u4", kind="sentence", document="doc4", parent="u3")[0]], vectors=[vector])
        assert store.verify() == []
        assert store.get(["u4"])[0].text == "A town on a hill."
