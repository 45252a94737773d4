"""What lies around a unit, and which documents there are."""

from __future__ import annotations

import pytest

from factoid import Document, UnitStore
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from factoid.units import Granularity, Unit
from tests.cities import OSLO, PISA, add

PARTS = [f"Part number {number}." for number in range(6)]


@pytest.fixture
def store():
    with UnitStore(encoder=HashEncoder()) as store:
        store.add_documents([Document("\n\n".join(PARTS), id="parts")], words=3, min_words=0)
        add(store, PISA, OSLO)
        yield store


def passages(store, document_id="parts"):
    units = [
        unit for unit in store.units_of([document_id]) if unit.granularity is Granularity.PASSAGE
    ]
    return sorted(units, key=lambda unit: unit.start)


@pytest.mark.parametrize("count", range(8))
@pytest.mark.parametrize("place", range(6))
def test_around_a_passage_and_its_facts(store, place, count):
    every = passages(store)
    expected = every[max(place - count, 0) : place + count + 1]
    inner = [unit for unit in store.units_of(["parts"]) if unit.parent_id == every[place].id]
    assert inner
    for unit in (every[place], *inner):
        assert store.around(unit.id, count) == expected
        assert store.around(unit.id, count, filter={}) == expected


def test_around_what_is_excluded_or_unknown(store):
    [unit] = passages(store, "oslo")
    assert store.around(unit.id, filter={"country": "no"}) == [unit]
    assert store.around(unit.id, filter={"country": "it"}) == []
    assert store.around("unknown") == []
    with pytest.raises(InvalidInputError, match="count must be at least 0"):
        store.around(unit.id, -1)


def test_around_a_node_whose_place_is_unknown(store):
    parent = Unit("p", "One. Two.", Granularity.PASSAGE, "d", "d", 0, 0)
    store.add([parent, Unit("s", "One.", Granularity.SENTENCE, "d", "p", 0, 0)])
    assert store.around("s") == [parent]
    assert store.around("p") == [parent]


def test_an_excluded_neighbour_is_left_out(store):
    first, second, *_ = passages(store)
    store.update_metadata({"secret": True}, unit_ids=[second.id])
    around = store.around(first.id, 2, filter={"secret": {"$exists": False}})
    assert [unit.text for unit in around] == [PARTS[0], PARTS[2]]


def test_document_ids(store):
    assert store.document_ids() == ["parts", "pisa", "oslo"]
    assert store.document_ids({"country": {"$exists": True}}) == ["pisa", "oslo"]
    assert store.document_ids({"country": "it"}) == ["pisa"]
    # A document of which a part is excluded is closed.
    [first, *_] = passages(store, "pisa")
    store.update_metadata({"country": "fr"}, unit_ids=[first.id])
    assert store.document_ids({"country": "it"}) == []
    # Units that came without a text are of no document that could be listed.
    store.add([Unit("u", "Text.", Granularity.PASSAGE, "alone", "alone", 0, 5)])
    assert "alone" not in store.document_ids()


def test_many_documents_are_listed_in_order():
    with UnitStore(encoder=HashEncoder(), granularities=["passage"]) as store:
        store.add_documents(
            [Document(f"Text {n}.", id=f"d{n}", metadata={"n": n}) for n in range(1100)]
        )
        assert store.document_ids({"n": {"$gte": 3}}) == [f"d{n}" for n in range(3, 1100)]
